"""How long to wait, as the headers say."""

from __future__ import annotations

import pytest

from groundwire.dialects.error_tables import request_id, retry_after


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_seconds_are_read_and_nonsense_is_not(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({}, ""),
        ({"x-request-id": "a"}, "a"),
        ({"request-id": "b"}, "b"),
        ({"x-request-id": "a", "request-id": "b"}, "a"),
    ],
)
def test_the_request_has_the_name_its_provider_gave_it(headers: dict[str, str], name: str) -> None:
    assert request_id(headers) == name
