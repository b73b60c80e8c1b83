"""Secrets taken out of text that leaves us: messages, logs, errors, snippets of what a provider said.

Two nets. Known secrets: every stretch of eight characters or more that also stands in one of them is masked,
also in its URL-encoded, JSON-escaped and base64 forms, because providers quote keys in part. Patterns: what
looks like a key or token of anybody's.

Patterns may hit what is no secret (`?key=` in an address), so they are for diagnostics; text that must stay
as it is, such as an answer with its citations, gets `redact_known` alone.

Known secrets are found in one pass: any eight characters contain five that start at a multiple of four, so
one set lookup for every fourth character finds all candidates, and only those are looked at closely.
"""

from __future__ import annotations

import json
import re
from binascii import b2a_base64
from collections.abc import Iterator
from functools import cache

from groundwire.credentials.secret import Credential, Secret
from groundwire.errors import GroundwireError

MASK = "[redacted]"
SHORTEST = 8
_PROBE = 5
_STRIDE = 4

_FIELDS = (
    r"api[-_]?key|access[-_]?token|refresh[-_]?token|id[-_]?token|client[-_]?secret|auth[-_]?token"
    r"|(?:proxy-)?authorization|x-api-key|x-goog-api-key|password|secret"
)
_PATTERNS = (
    # a field of JSON, a header, a form, a setting
    (
        "key token secret authorization password",
        rf"(?i:\b({_FIELDS})(\\*[\"'])?(\s*[:=]\s*)(\\*[\"'])?(?:(?:Bearer|Basic)\s+)?[^\s\"'\\,;&<>\[\]}}]+)",
        rf"\1\2\3\4{MASK}",
    ),
    ("cookie", r"(?i:\b((?:set-)?cookie\\*[\"']?\s*:\s*\\*[\"']?)[^\r\n\"'\\]+)", rf"\1{MASK}"),
    (
        "access refresh key token",
        r"([\"'](?:access|refresh|key|token)\\*[\"']\s*:\s*\\*[\"'])[^\"'\\]+",
        rf"\1{MASK}",
    ),
    (
        "key= token= code= sig= signature=",
        r"(?i:([?&](?:key|token|code|sig|signature)=)[^&#\s\"'<>\\]+)",
        rf"\1{MASK}",
    ),
    ("bearer", r"(?i:\b(Bearer\s+)[\w.~+/=-]{8,})", rf"\1{MASK}"),
    ("basic", r"(?i:\b(Basic\s+)[\w+/=-]{16,})", rf"\1{MASK}"),
    # keys by their makers' prefixes, and tokens by their first brace
    ("sk- pk- rk-", r"\b[psr]k-[\w-]{6,}", MASK),
    ("xai- tvly- pplx-", r"\b(?:xai|tvly|pplx)-[\w-]{8,}", MASK),
    ("gsk_ hf_ gh github_pat_", r"\b(?:gsk|hf|gh[opsur]|github_pat)_\w{8,}", MASK),
    ("aiza", r"\bAIza[\w-]{8,}", MASK),
    ("aq. ya29.", r"\b(?:AQ|ya29)\.[\w.-]{16,}", MASK),
    ("bsa", r"\bBSA[\w-]{20,}", MASK),
    ("eyj", r"\beyJ[\w-]{8,}(?:\.[\w-]*){0,4}", MASK),
)
"""Words of which one must be there (in lower case) for a pattern to be tried; pattern; replacement."""


@cache
def _patterns() -> tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...]:
    # Compiled on first use: most commands end without anything to redact.
    return tuple((tuple(hints.split()), re.compile(pattern), mask) for hints, pattern, mask in _PATTERNS)


def redact_patterns(text: str) -> str:
    """The text without anything that looks like a key or a token."""
    lowered = text.lower()
    for hints, pattern, replacement in _patterns():
        if any(hint in lowered for hint in hints):
            text = pattern.sub(replacement, text)
    return text


class Redactor:
    """Knows secrets, and takes them out of texts."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._pieces: set[str] = set()
        self._probes: set[str] = set()

    def add(self, secret: Secret | str) -> None:
        """Learn a secret. Shorter ones than eight characters are words, and stay."""
        text = secret.reveal() if isinstance(secret, Secret) else secret
        if len(text) < SHORTEST or text in self._known:
            return
        self._known.add(text)
        for form in {text, *_forms(text)}:
            self._pieces.update(_windows(form, SHORTEST))
            self._probes.update(_windows(form, _PROBE))

    def add_credential(self, credential: Credential) -> None:
        """Learn all secrets of a credential."""
        self.add(credential.secret)
        self.add(credential.refresh)

    def redact(self, text: str) -> str:
        """The text without known secrets and without what looks like one. For diagnostics."""
        return redact_patterns(self.redact_known(text))

    def redact_known(self, text: str) -> str:
        """The text without known secrets. For everything else that leaves us."""
        kept: list[str] = []
        at = 0
        for start, end in self._stretches(text):
            kept += (text[at:start], MASK)
            at = end
        return "".join((*kept, text[at:])) if kept else text

    def cleaned(self, error: GroundwireError, longest: int = 2000) -> GroundwireError:
        """The error without secrets: providers echo keys in messages, in codes, in ids."""
        for name, item in list(vars(error).items()):
            if isinstance(item, str):
                setattr(error, name, self.redact(item)[:longest])
        error.args = (error.message,)
        error.__cause__ = error.__context__ = None  # what the libraries said may repeat whole bodies
        return error

    def redact_bytes(self, data: bytes) -> bytes:
        """Bytes on their way through, without whole known secrets: quick, for what is not ours to rewrite."""
        for known in self._known:
            secret = known.encode("utf-8", "surrogatepass")
            if secret in data:
                data = data.replace(secret, MASK.encode())
        return data

    def _stretches(self, text: str) -> Iterator[tuple[int, int]]:
        """Where known secrets, or stretches of them, stand: in order, apart from each other."""
        probes, pieces = self._probes, self._pieces
        if not probes:
            return
        begin = end = -1
        last = len(text) - SHORTEST
        for at in range(0, len(text) - _PROBE + 1, _STRIDE):
            if text[at : at + _PROBE] not in probes:
                continue
            for start in range(max(at - _STRIDE + 1, 0), min(at, last) + 1):
                if text[start : start + SHORTEST] not in pieces:
                    continue
                if start > end:
                    if end > 0:
                        yield begin, end
                    begin = start
                end = start + SHORTEST
        if end > 0:
            yield begin, end


class UnshownHeaders(dict[str, str]):
    """Headers with a key among them, for a call that some debugger may print."""

    def __repr__(self) -> str:
        return f"[{', '.join(self)}]"

    __str__ = __repr__


def _windows(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(len(text) - size + 1))


def _forms(text: str) -> Iterator[str]:
    """How a secret may stand in a URL, in JSON, and in base64 (also behind something else)."""
    data = text.encode("utf-8", "surrogatepass")
    for escape in ("%{:02X}", "%{:02x}"):
        yield "".join(chr(byte) if chr(byte) in _UNRESERVED else escape.format(byte) for byte in data)
    for plain in (True, False):
        yield json.dumps(text, ensure_ascii=plain)[1:-1]
    for shift in range(3):
        # What stands before decides the first characters, what stands after the last ones: leave them out.
        encoded = b2a_base64(b"\0" * shift + data, newline=False).decode("ascii").rstrip("=")
        inner = encoded[-(-8 * shift // 6) : (shift + len(data)) * 8 // 6]
        yield inner
        yield inner.replace("+", "-").replace("/", "_")


_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
