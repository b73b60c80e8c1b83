"""What a JSON Web Token says about itself. Read, not verified: its issuer checks it when we send it."""

from __future__ import annotations

from binascii import Error as NotBase64
from binascii import a2b_base64

from groundwire.dialects.json import load_json
from groundwire.errors import UpstreamWireError, WireError
from groundwire.model import Json, JsonObject

_AUTH_CLAIM = "https://api.openai.com/auth"
_ACCOUNT_CLAIM = "chatgpt_account_id"
_URL_SAFE = str.maketrans("-_", "+/")


def claims(token: str) -> JsonObject:
    """The payload of a token; empty for anything that is none."""
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
    """When a token ends, in seconds since the epoch."""
    ends = claims(token).get("exp")
    return float(ends) if isinstance(ends, int | float) and not isinstance(ends, bool) else None


def account_id(*tokens: str) -> str:
    """The ChatGPT account that tokens of one session belong to.

    Three places may tell it. The first is asked in all tokens before the next, because an organisation
    (the last one) is only a stand-in.
    """
    payloads = [claims(token) for token in tokens]
    for place in (_auth_claim, _own_claim, _organization):
        for payload in payloads:
            found = place(payload)
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
