"""Every recorded request is understood: the question, the tools, the search options, the history."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from groundwire.dialects.registry import dialect
from groundwire.errors import ClientWireError, RequestError
from groundwire.model import FunctionTool, Json, JsonObject, OpaqueTool, Request
from groundwire.model.value import replace
from tests.contracts.recorded.asked import Asked, read_request
from tests.contracts.recorded.catalogue import Recording, recordings_of
from tests.contracts.recorded.deep import strings_in

REQUESTS = recordings_of("request")
SOURCES = "web_search_call.action.sources"
"""Asked of Responses whenever there is a search, or its pages would stay unknown."""
WITHOUT_A_QUESTION = "error-400-empty-messages"
"""OpenAI turned it down, and so may we."""
ASKING = [recording for recording in REQUESTS if WITHOUT_A_QUESTION not in recording.name]
every_request = pytest.mark.parametrize("recording", ASKING, ids=lambda recording: recording.name)


def _body(recording: Recording) -> JsonObject:
    body: Json = json.loads(recording.data)
    assert isinstance(body, dict), "every request is an object"
    return body


@cache
def _asked(recording: Recording) -> Asked:
    return read_request(_body(recording), recording.dialect)


@cache
def _request(recording: Recording) -> Request:
    """What our dialect makes of it."""
    return dialect(recording.dialect).decode_request(_body(recording))


def test_a_request_without_a_question_is_turned_down(recordings: Path) -> None:
    (recording,) = [item for item in REQUESTS if item not in ASKING]
    with pytest.raises((ClientWireError, RequestError)):
        _request(recording)


@every_request
def test_the_question_is_kept(recording: Recording) -> None:
    asked, request = _asked(recording), _request(recording)
    assert request.query == (asked.user[-1] if asked.user else "")
    assert [
        message.text for message in request.messages if message.role == "user" and message.text
    ] == asked.user
    assert "".join(turn.text for turn in request.messages if turn.role == "assistant") == asked.assistant


@every_request
def test_instructions_are_kept(recording: Recording) -> None:
    asked, request = _asked(recording), _request(recording)
    kept = [part.text for part in request.system]
    kept += [turn.text for turn in request.messages if turn.role in ("system", "developer")]
    assert sorted(kept) == sorted(asked.system)


@every_request
def test_tools_are_kept_and_search_is_none_of_them(recording: Recording) -> None:
    asked, request = _asked(recording), _request(recording)
    assert [tool.name for tool in request.tools if isinstance(tool, FunctionTool)] == asked.functions
    assert len([tool for tool in request.tools if isinstance(tool, OpaqueTool)]) == asked.other_tools


@every_request
def test_search_options_are_kept(recording: Recording) -> None:
    search = _request(recording).search
    assert (search and replace(search, extras={})) == _asked(recording).search


@every_request
def test_model_limits_and_form_are_kept(recording: Recording) -> None:
    asked, request = _asked(recording), _request(recording)
    assert (request.model, request.stream, request.previous_id) == (
        asked.model,
        asked.stream,
        asked.previous_id,
    )
    assert request.limits.max_output_tokens == asked.max_output_tokens


@every_request
def test_history_keeps_every_address_and_every_opaque_word(recording: Recording) -> None:
    asked, kept = _asked(recording), set(strings_in(_request(recording)))
    assert asked.urls <= kept
    assert [blob[:40] for blob in asked.blobs if blob not in kept] == []


@every_request
def test_said_again_in_its_own_dialect_it_is_the_same_request(recording: Recording) -> None:
    ours = dialect(recording.dialect)
    request = _request(recording)
    encoded = ours.encode_request(request)
    assert _essence(ours.decode_request(encoded.body)) == _essence(request)
    assert encoded.unsupported == ()


def _essence(request: Request) -> Request:
    """Without what stands in the path of Gemini's address, and what a dialect may ask for in addition."""
    extras = {name: kept for name, fields in request.extras.items() if (kept := _without_sources(fields))}
    return replace(request, model="", stream=False, extras=extras)


def _without_sources(fields: JsonObject) -> JsonObject:
    included = fields.get("include")
    if not isinstance(included, list):
        return fields
    rest: Json = [item for item in included if item != SOURCES]
    return {
        **{key: value for key, value in fields.items() if key != "include"},
        **({"include": rest} if rest else {}),
    }
