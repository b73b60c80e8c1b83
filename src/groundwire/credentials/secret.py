"""Secrets that cannot be shown by accident, and credentials.

Only `reveal()` returns the text of a `Secret`, so all code that sends one can be found by that name.
Printing, formatting, logging and tracebacks show a placeholder; pickling is refused.
"""

from __future__ import annotations

from typing import Literal, NoReturn, TypeAlias

from groundwire.model.value import value

PLACEHOLDER = "[secret]"

CredentialKind: TypeAlias = Literal["api", "oauth"]


class Secret:
    """A text that only `reveal()` returns. The empty text means that there is no secret."""

    __slots__ = ("_text",)
    _text: str

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "_text", text)

    def reveal(self) -> str:
        """The text itself, to send or store it."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        from hmac import compare_digest  # noqa: PLC0415  imports OpenSSL, seldom needed

        return compare_digest(self._bytes(), other._bytes())

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __repr__(self) -> str:
        return PLACEHOLDER if self._text else "[no secret]"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __setattr__(self, name: str, _: object) -> NoReturn:
        raise AttributeError(f"a secret cannot be changed ({name})")

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _: object) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled")

    def _bytes(self) -> bytes:
        return self._text.encode("utf-8", "surrogatepass")


NO_SECRET = Secret("")


@value
class Credential:
    """An API key or a session, and its origin."""

    secret: Secret
    kind: CredentialKind
    origin: str
    """For display: `environment GEMINI_API_KEY`, `OpenCode's auth.json (google)`."""
    account_id: str = ""
    expires: float | None = None
    """Seconds since the epoch; None when it is unknown or there is no expiry."""
    refresh: Secret = NO_SECRET
    store: str = ""
    """The file to write new tokens to, symbolic links resolved; empty when there is none."""
    entry: str = ""
    """The key of the record in that file."""
    warnings: tuple[str, ...] = ()


@value
class Tokens:
    """The tokens of a refresh response. An empty refresh token means that the old one stays valid."""

    access: Secret
    expires: float
    refresh: Secret = NO_SECRET
    id_token: Secret = NO_SECRET
    account_id: str = ""


def is_sendable(text: str) -> bool:
    """Is it valid as a header value? Keys and tokens are printable ASCII without blanks."""
    return text.isascii() and text.isprintable() and " " not in text


def sendable(text: object) -> Secret:
    """The text as a secret, without surrounding blanks; `NO_SECRET` if it cannot be a key or token."""
    if not isinstance(text, str):
        return NO_SECRET
    text = text.strip()
    return Secret(text) if is_sendable(text) else NO_SECRET
