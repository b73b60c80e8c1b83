"""Tokens, stores and a login service in memory for the tests of credentials."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import parse_qs

from groundwire.credentials.lookup import Lookup, LookupContext, find
from groundwire.credentials.secret import Credential
from groundwire.credentials.session import RefreshTimeouts

QUICK = RefreshTimeouts(lock=5.0, answer=5.0, rival=0.05, grace=5.0, poll=0.005)
SESSIONS = {
    "opencode": (Lookup("opencode", "openai", "oauth"),),
    "codex": (Lookup("codex", "tokens", "oauth"),),
}


def jwt(payload: Mapping[str, object]) -> str:
    """An unsigned token with a payload."""
    parts = [json.dumps(part).encode() for part in ({"alg": "none"}, payload)]
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), "c2ln"])


def lookup_context(home: Path, **env: str) -> LookupContext:
    return LookupContext(env, str(home), str(home / ".config" / "groundwire"))


def opencode_file(home: Path) -> Path:
    return home / ".local" / "share" / "opencode" / "auth.json"


def codex_file(home: Path) -> Path:
    return home / ".codex" / "auth.json"


def write_private(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    return path


def write_opencode(home: Path, body: Mapping[str, object]) -> Path:
    return write_private(opencode_file(home), json.dumps(body, indent=2))


def write_session(home: Path, kind: str, access: str, refresh: str, expires: float) -> Path:
    """A ChatGPT session in one of the two stores; Codex has the expiry inside the token."""
    if kind == "opencode":
        record = {"type": "oauth", "refresh": refresh, "access": access, "expires": int(expires * 1000)}
        return write_opencode(home, {"openai": record, "google": {"type": "api", "key": "g-key-00000000"}})
    tokens = {
        "id_token": "old-id",
        "access_token": jwt({"exp": expires, "jti": access}),
        "refresh_token": refresh,
        "account_id": "acc",
    }
    body = {"OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": "2026-01-01T00:00:00Z"}
    return write_private(codex_file(home), json.dumps(body, indent=2))


def session(home: Path, kind: str) -> Credential:
    found = find(SESSIONS[kind], lookup_context(home))
    assert found is not None
    return found


def stored_refresh(path: Path) -> str:
    body = json.loads(path.read_text("utf-8"))
    return str(body["tokens"]["refresh_token"] if "tokens" in body else body["openai"]["refresh"])


class Rotation:
    """Single-use refresh tokens in one family; using one twice ends the family."""

    def __init__(
        self, first: str, life: float = 1000.0, access: Callable[[int], str] = "access-{:06d}".format
    ) -> None:
        self.current = first
        self.life = life
        self.access = access
        self.spent: set[str] = set()
        self.rotations = 0
        self.reuses = 0
        self.revoked = False

    def answer(self, body: bytes) -> tuple[int, bytes]:
        token = parse_qs(body.decode())["refresh_token"][0]
        if token in self.spent:
            self.reuses += 1
            self.revoked = True
            return 401, b'{"error":{"code":"refresh_token_reused","message":"already used"}}'
        if self.revoked or token != self.current:
            return 400, b'{"error":"invalid_grant","error_description":"unknown token"}'
        self.spent.add(token)
        self.rotations += 1
        self.current = f"refresh-{self.rotations:06d}"
        answer = {
            "access_token": self.access(self.rotations),
            "refresh_token": self.current,
            "expires_in": self.life,
        }
        return 200, json.dumps(answer).encode()

    def login(self, token: str) -> None:
        """A new family."""
        self.current = token
        self.revoked = False


class Service:
    """A login service in memory, which records its requests."""

    def __init__(self, answer: Callable[[bytes], tuple[int, bytes]]) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self._answer = answer

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        self.requests.append((url, dict(headers), body))
        return self._answer(body)
