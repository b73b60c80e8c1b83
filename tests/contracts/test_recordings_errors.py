"""Every recorded error is understood: what it is, what it says, how long to wait, whom to ask about it."""

from __future__ import annotations

import json
import re

import pytest

from groundwire.dialects.registry import dialect
from groundwire.errors import UpstreamError
from groundwire.model import Failed, Json, Started
from tests.contracts.recorded.catalogue import Recording, recordings_of, status_and_headers
from tests.contracts.recorded.frames import decode, pieces_of
from tests.contracts.recorded.raw import string
from tests.contracts.recorded.refusals import read_refusal
from tests.contracts.recorded.told import Refusal

ERRORS = recordings_of("error")
every_error = pytest.mark.parametrize("recording", ERRORS, ids=lambda recording: recording.name)


def _told(recording: Recording) -> Refusal:
    body: Json = json.loads(recording.data)
    return read_refusal(body, status_and_headers(recording)[0])


def _error(recording: Recording) -> UpstreamError:
    status, headers = status_and_headers(recording)
    return dialect(recording.dialect).decode_error(status, recording.data, headers)


@every_error
def test_the_error_is_of_the_right_kind(recording: Recording) -> None:
    assert type(_error(recording)) is _told(recording).kind


@every_error
def test_the_error_says_what_the_provider_said(recording: Recording) -> None:
    error, told = _error(recording), _told(recording)
    assert told.message in error.message
    assert error.status == status_and_headers(recording)[0]
    assert not told.words or error.upstream_code in told.words


@every_error
def test_the_error_knows_how_long_to_wait(recording: Recording) -> None:
    assert _error(recording).retry_after == _told(recording).retry_after


@every_error
def test_the_error_can_be_asked_about(recording: Recording) -> None:
    body: Json = json.loads(recording.data)
    headers = status_and_headers(recording)[1]
    assert _error(recording).request_id == (string(body, "request_id") or headers.get("x-request-id", ""))


@every_error
def test_a_header_that_says_how_long_to_wait_is_heard(recording: Recording) -> None:
    status, headers = status_and_headers(recording)
    told = dialect(recording.dialect).decode_error(status, recording.data, {**headers, "retry-after": "7"})
    assert told.retry_after in (7.0, _told(recording).retry_after)


@every_error
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_an_error_body_in_the_place_of_a_stream_is_one_failure(recording: Recording, size: int) -> None:
    events = decode(dialect(recording.dialect).decoder(), pieces_of(recording.data, size))
    told = [event for event in events if not isinstance(event, Started)]
    assert len(told) == 1
    assert isinstance(told[0], Failed)
    assert _told(recording).message in told[0].error.message


@pytest.mark.parametrize("name", sorted({recording.dialect for recording in ERRORS}))
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_an_error_page_is_an_error_of_its_status(name: str, status: int) -> None:
    page = b"<html>\r\n<title>Bad \x00 gateway</title>" + b"<p>x</p>" * 1000
    error = dialect(name).decode_error(status, page, {})
    assert type(error) is read_refusal({}, status).kind
    assert len(error.message) <= 300
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", error.message)
