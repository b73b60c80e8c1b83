"""The request to the login service, and its responses."""

from __future__ import annotations

import json
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.credentials.oauth import (
    account_id,
    claims,
    expiry,
    read_refresh_answer,
    refresh_request,
    token_url,
)
from groundwire.credentials.secret import Secret, Tokens
from groundwire.errors import (
    AuthRejected,
    ConfigError,
    GroundwireError,
    NotFound,
    Overloaded,
    RateLimited,
    Refused,
    TimedOut,
    UpstreamError,
    UpstreamWireError,
)
from tests.credentials.builders import jwt


def test_the_request_is_the_standard_form() -> None:
    url, headers, body = refresh_request(Secret("r+&=1"))
    assert url == "https://auth.openai.com/oauth/token"
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert parse_qs(body.decode("ascii")) == {
        "grant_type": ["refresh_token"],
        "refresh_token": ["r+&=1"],
        "client_id": ["app_EMoamEEZ73f0CkXaXp7hrann"],
    }
    assert refresh_request(Secret("r"), "mine", "https://x").url == "https://x"


def test_our_variable_for_the_token_endpoint_has_precedence() -> None:
    codex = {"CODEX_REFRESH_TOKEN_URL_OVERRIDE": "http://127.0.0.1:9/token"}
    ours = {"GROUNDWIRE_OPENAI_OAUTH_TOKEN_URL": "https://login.example/token"}
    assert token_url({}) == "https://auth.openai.com/oauth/token"
    assert token_url(codex) == "http://127.0.0.1:9/token"
    assert token_url({**codex, **ours}) == "https://login.example/token"
    assert token_url({"GROUNDWIRE_OPENAI_OAUTH_TOKEN_URL": "http://[::1]:9/"}) == "http://[::1]:9/"


@pytest.mark.parametrize("url", ["http://login.example/", "ftp://127.0.0.1/", "login.example", "file:///x"])
def test_a_secret_is_not_sent_in_the_open(url: str) -> None:
    with pytest.raises(ConfigError, match="must be an https address"):
        token_url({"CODEX_REFRESH_TOKEN_URL_OVERRIDE": url})


def test_a_response_contains_tokens_and_their_expiry() -> None:
    access = jwt({"https://api.openai.com/auth": {"chatgpt_account_id": "acc"}, "exp": 5})
    body = {"access_token": access, "refresh_token": "r-2", "id_token": "i-2", "expires_in": 864000}
    assert read_refresh_answer(200, json.dumps(body).encode(), 1000.0) == Tokens(
        Secret(access), 865000.0, Secret("r-2"), Secret("i-2"), "acc"
    )


@pytest.mark.parametrize(
    ("access", "expires_in", "end"),
    [
        (jwt({"exp": 7777}), None, 7777.0),
        (jwt({"exp": 7777}), 0, 7777.0),
        (jwt({"exp": 7777}), "60", 7777.0),
        ("opaque", None, 4600.0),
        ("opaque", 1.5, 1001.5),
    ],
)
def test_the_expiry_comes_from_the_token_when_the_response_has_none(
    access: str, expires_in: object, end: float
) -> None:
    body = json.dumps({"access_token": access, "expires_in": expires_in}).encode()
    tokens = read_refresh_answer(200, body, 1000.0)
    assert (tokens.expires, tokens.refresh) == (end, Secret(""))


REFUSALS = [
    (400, b'{"error":"invalid_grant","error_description":"canary"}', AuthRejected, "invalid_grant"),
    (400, b'{"error":{"code":"refresh_token_expired"}}', AuthRejected, "refresh_token_expired"),
    (
        401,
        b'{"error":{"code":"refresh_token_reused","message":"canary"}}',
        AuthRejected,
        "refresh_token_reused",
    ),
    (401, b'{"code":"refresh_token_invalidated"}', AuthRejected, "refresh_token_invalidated"),
    (401, b"", AuthRejected, ""),
    (401, b'{"error":{"type":"invalid_request_error"}}', AuthRejected, "invalid_request_error"),
    (400, b'{"error":"invalid_request"}', Refused, "invalid_request"),
    (400, b'{"error":"canary is not a code"}', Refused, ""),
    (400, b"[1]", Refused, ""),
    (403, b"<html>Cloudflare canary</html>", Refused, ""),
    (404, b"{}", NotFound, ""),
    (408, b"", TimedOut, ""),
    (429, b'{"error":"slow_down"}', RateLimited, "slow_down"),
    (500, b"", Overloaded, ""),
    (503, b'{"error":{"code":7}}', Overloaded, ""),
    (302, b"", Refused, ""),
]


@pytest.mark.parametrize(("status", "body", "kind", "code"), REFUSALS)
def test_a_refusal_is_final_only_when_the_token_is_refused(
    status: int, body: bytes, kind: type[UpstreamError], code: str
) -> None:
    with pytest.raises(UpstreamError) as caught:
        read_refresh_answer(status, body, 0.0)
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.upstream_code) == (status, code)
    assert "canary" not in caught.value.message


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"access_token":7}', b'{"access_token":"two words"}'])
def test_an_answer_without_a_token_breaks_the_protocol(body: bytes) -> None:
    with pytest.raises(UpstreamWireError):
        read_refresh_answer(200, body, 0.0)


@given(st.integers(100, 599), st.binary() | st.text().map(str.encode))
def test_garbage_never_raises_anything_but_our_errors(status: int, body: bytes) -> None:
    with pytest.raises(GroundwireError):
        read_refresh_answer(status, body, 0.0)


AUTH = "https://api.openai.com/auth"


def test_the_payload_is_read_whatever_its_length() -> None:
    for size in range(8):
        assert claims(jwt({"a": "ÿ" * size})) == {"a": "ÿ" * size}


def test_the_expiry_of_a_token_is_in_seconds() -> None:
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
def test_the_account_is_found_in_any_of_its_claims(payloads: list[dict[str, object]], account: str) -> None:
    assert account_id(*map(jwt, payloads)) == account


@given(st.text() | st.builds("a.{}.b".format, st.text(alphabet="eyJ0-_=. {}\n\u00e9")))
def test_anything_else_is_a_token_without_claims(text: str) -> None:
    assert isinstance(claims(text), dict)
    assert expiry(text) is None
    assert account_id(text, text) == ""


@pytest.mark.parametrize("payload", ["W10", "bnVsbA", "MQ"])
def test_a_payload_that_is_not_an_object_has_no_claims(payload: str) -> None:
    assert claims(f"e30.{payload}.x") == {}
