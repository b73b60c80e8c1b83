"""What tokens say about themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.credentials.jwt import account_id, claims, expiry
from tests.credentials.builders import jwt

AUTH = "https://api.openai.com/auth"


def test_the_payload_is_read_whatever_its_length() -> None:
    for size in range(8):
        assert claims(jwt({"a": "ÿ" * size})) == {"a": "ÿ" * size}


def test_the_end_of_a_token_is_in_seconds() -> None:
    assert expiry(jwt({"exp": 1790000000})) == 1790000000.0
    assert expiry(jwt({"exp": 1.5})) == 1.5
    assert expiry(jwt({})) is None
    assert expiry(jwt({"exp": "soon"})) is None
    assert expiry(jwt({"exp": True})) is None


@pytest.mark.parametrize(
    ("payloads", "account"),
    [
        ([{AUTH: {"chatgpt_account_id": "a"}}], "a"),
        ([{"chatgpt_account_id": "b"}], "b"),
        ([{"organizations": [{"id": "c"}, {"id": "d"}]}], "c"),
        ([{"organizations": [{"id": "org"}]}, {AUTH: {"chatgpt_account_id": "a"}}], "a"),
        ([{"chatgpt_account_id": "b", AUTH: {"chatgpt_account_id": "a"}}], "a"),
        ([{}, {"chatgpt_account_id": "b"}], "b"),
        ([{AUTH: "x", "organizations": "y", "chatgpt_account_id": 3}], ""),
        ([{"organizations": []}], ""),
        ([], ""),
    ],
)
def test_the_account_is_found_in_any_of_its_places(payloads: list[dict[str, object]], account: str) -> None:
    assert account_id(*map(jwt, payloads)) == account


@given(st.text() | st.builds("a.{}.b".format, st.text(alphabet="eyJ0-_=. {}\n\u00e9")))
def test_anything_else_is_a_token_that_says_nothing(text: str) -> None:
    assert isinstance(claims(text), dict)
    assert expiry(text) is None
    assert account_id(text, text) == ""


@pytest.mark.parametrize("payload", ["W10", "bnVsbA", "MQ"])
def test_a_payload_that_is_no_object_says_nothing(payload: str) -> None:
    assert claims(f"e30.{payload}.x") == {}
