"""OAuth of ChatGPT sessions: refresh requests and responses, and JSON Web Tokens. No I/O.

Facts: the endpoint takes the standard form; a refresh token is spent by use and replaced by the response;
`expires_in` may be missing, then the access token has the expiry. A rejection of the token itself is final;
any other error is temporary (403 is about the network or the country, never about the token).

Tokens are decoded, not verified: their issuer checks them when we send them.
"""

from __future__ import annotations

from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from groundwire.credentials.secret import Secret, Tokens, sendable
from groundwire.dialects.json import load_json
from groundwire.errors import AuthRejected, ConfigError, Refused, UpstreamWireError, WireError
from groundwire.errors import upstream_error_class as class_of
from groundwire.model import Json, JsonObject

_AUTH_CLAIM = "https://api.openai.com/auth"
_ACCOUNT_CLAIM = "chatgpt_account_id"
_URL_SAFE = str.maketrans("-_", "+/")


def claims(token: str) -> JsonObject:
    """The payload of a JSON Web Token; empty for anything else."""
    parts = token.split(".")
    if len(parts) != 3 or not parts[1].isascii():
        return {}
    padded = parts[1].translate(_URL_SAFE) + "=" * (-len(parts[1]) % 4)
    try:
        payload = load_json(a2b_base64(padded), UpstreamWireError)
    except (NotBase64, WireError):
        return {}
    return payload if isinstance(payload, dict) else {}


def expiry(token: str) -> float | None:
    """The expiry of a token, in seconds since the epoch."""
    ends = claims(token).get("exp")
    return float(ends) if isinstance(ends, int | float) and not isinstance(ends, bool) else None


def account_id(*tokens: str) -> str:
    """The ChatGPT account that tokens of one session belong to.

    Three claims may hold it. Each is looked up in all tokens before the next claim, because an organisation
    (the last one) is only a fallback.
    """
    payloads = [claims(token) for token in tokens]
    for claim in (_auth_claim, _own_claim, _organization):
        for payload in payloads:
            found = claim(payload)
            if isinstance(found, str) and found:
                return found
    return ""


def _auth_claim(payload: JsonObject) -> Json:
    inner = payload.get(_AUTH_CLAIM)
    return inner.get(_ACCOUNT_CLAIM) if isinstance(inner, dict) else None


def _own_claim(payload: JsonObject) -> Json:
    return payload.get(_ACCOUNT_CLAIM)


def _organization(payload: JsonObject) -> Json:
    match payload.get("organizations"):
        case [{"id": str(found)}, *_]:
            return found
    return None


TOKEN_URL = "https://auth.openai.com/oauth/token"  # noqa: S105  an address
TOKEN_URL_VARIABLES = ("GROUNDWIRE_OPENAI_OAUTH_TOKEN_URL", "CODEX_REFRESH_TOKEN_URL_OVERRIDE")
CLIENT_ID = "app_EMoamEEZ73f0CkXaXp7hrann"

FINAL_CODES = frozenset(
    {
        "invalid_grant",
        "refresh_token_expired",
        "refresh_token_invalidated",
        "refresh_token_reused",
    }
)
_DEFAULT_LIFETIME = 3600.0
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_MAX_CODE_LENGTH = 64


class RefreshRequest(NamedTuple):
    """A POST request to the token endpoint."""

    url: str
    headers: Mapping[str, str]
    body: bytes


def token_url(env: Mapping[str, str]) -> str:
    """The token endpoint, or its replacement in the environment."""
    for name in TOKEN_URL_VARIABLES:
        if url := env.get(name, "").strip():
            parts = urlsplit(url)
            if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK):
                return url
            raise ConfigError(f"{name} must be an https address, because a secret is sent to it; change it")
    return TOKEN_URL


def refresh_request(refresh: Secret, client_id: str = CLIENT_ID, url: str = TOKEN_URL) -> RefreshRequest:
    """The request that spends a refresh token."""
    form = {"grant_type": "refresh_token", "refresh_token": refresh.reveal(), "client_id": client_id}
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    return RefreshRequest(url, headers, urlencode(form).encode("ascii"))


def read_refresh_answer(status: int, body: bytes, now: float) -> Tokens:
    """Parse the new tokens. Raises `AuthRejected` when the old token is rejected for good, else another
    error."""
    if not 200 <= status < 300:
        raise _refusal(status, body)
    answer = load_json(body, UpstreamWireError)
    if not isinstance(answer, dict):
        raise UpstreamWireError("expected an object")
    access = sendable(answer.get("access_token"))
    if not access:
        raise UpstreamWireError("no access token in the answer", "$.access_token")
    id_token = sendable(answer.get("id_token"))
    return Tokens(
        access,
        _end(answer.get("expires_in"), access, now),
        sendable(answer.get("refresh_token")),
        id_token,
        account_id(access.reveal(), id_token.reveal()),
    )


def _end(expires_in: Json, access: Secret, now: float) -> float:
    if isinstance(expires_in, int | float) and not isinstance(expires_in, bool) and expires_in > 0:
        return now + expires_in
    expires = expiry(access.reveal())
    return now + _DEFAULT_LIFETIME if expires is None else expires


def _refusal(status: int, body: bytes) -> Exception:
    code = _error_code(body)
    if status == 403:
        return Refused(
            "the login service refused this network (403); try from another network or later",
            status=status,
            upstream_code=code,
        )
    final = status == 401 or code in FINAL_CODES
    kind = AuthRejected if final else class_of(status)
    detail = f", {code}" if code else ""
    return kind(
        f"the login service rejected the request ({status}{detail})", status=status, upstream_code=code
    )


def _error_code(body: bytes) -> str:
    """The code in an error body, in all known forms. Free text is left out: it may quote the token."""
    try:
        answer = load_json(body, UpstreamWireError)
    except WireError:
        return ""
    match answer:
        case {"error": {"code": str(code)}} | {"error": {"type": str(code)}}:
            pass
        case {"error": str(code)} | {"code": str(code)}:
            pass
        case _:
            return ""
    is_code = len(code) <= _MAX_CODE_LENGTH and code.replace("_", "").isalpha() and code.isascii()
    return code if is_code else ""
