"""Redaction: remove secrets from text that leaves the process (messages, logs, errors, excerpts of
responses).

Two methods. Known secrets: every run of eight characters or more that also occurs in a secret is masked, also
in its URL-encoded, JSON-escaped and base64 forms, because providers quote keys in part. Patterns: whatever
looks like a key or a token.

Patterns may match text that is not a secret (`?key=` in a URL), so they are for diagnostics; text that must
not be altered, such as an answer with its citations, gets `redact_known` alone.

Known secrets are found in one pass: any eight characters contain five that start at a multiple of four, so
one set lookup for every fourth character finds all candidates, and only those are compared closely.
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
_HINTED_PATTERNS = (
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
"""Substrings of which one must occur (in lower case) for the pattern to be tried; pattern; replacement."""
_PATTERNS = tuple((tuple(hints.split()), pattern, mask) for hints, pattern, mask in _HINTED_PATTERNS)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # On first use: most commands end without anything to redact.
    return re.compile(pattern)


def redact_patterns(text: str) -> str:
    """Mask everything that looks like a key or a token."""
    lowered = text.lower()
    for hints, pattern, replacement in _PATTERNS:
        if any(hint in lowered for hint in hints):
            text = _compiled(pattern).sub(replacement, text)
    return text


class Redactor:
    """Removes known secrets from text."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._known_bytes: list[bytes] = []
        self._windows_of_known: set[str] = set()
        self._probes: set[str] = set()

    def add(self, secret: Secret | str) -> None:
        """Add a secret. Secrets shorter than eight characters may be ordinary words, and are not masked."""
        text = secret.reveal() if isinstance(secret, Secret) else secret
        if len(text) < SHORTEST or text in self._known:
            return
        self._known.add(text)
        self._known_bytes.append(text.encode("utf-8", "surrogatepass"))
        for form in {text, *_forms(text)}:
            self._windows_of_known.update(_windows(form, SHORTEST))
            self._probes.update(_windows(form, _PROBE))

    def add_credential(self, credential: Credential) -> None:
        """Add all secrets of a credential."""
        self.add(credential.secret)
        self.add(credential.refresh)

    def redact(self, text: str) -> str:
        """Mask known secrets and everything that looks like one. For diagnostics."""
        return redact_patterns(self.redact_known(text))

    def redact_known(self, text: str) -> str:
        """Mask known secrets. For all other text that leaves the process."""
        kept: list[str] = []
        at = 0
        for start, end in self._spans(text):
            kept += (text[at:start], MASK)
            at = end
        return "".join((*kept, text[at:])) if kept else text

    def cleaned(self, error: GroundwireError, longest: int = 2000) -> GroundwireError:
        """Redact an error in place: providers echo keys in messages, codes and ids."""
        for name, item in list(vars(error).items()):
            if isinstance(item, str):
                setattr(error, name, self.redact(item)[:longest])
        error.args = (error.message,)
        error.__cause__ = error.__context__ = None  # messages of libraries may repeat whole bodies
        return error

    def redact_bytes(self, data: bytes) -> bytes:
        """Mask whole known secrets in bytes that are passed through: fast, and nothing else is altered."""
        for secret in self._known_bytes:
            if data.find(secret) >= 0:
                data = data.replace(secret, MASK.encode())
        return data

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The spans of known secrets and parts of them, in order and disjoint."""
        probes, known_windows = self._probes, self._windows_of_known
        if not probes:
            return
        begin = end = -1
        last = len(text) - SHORTEST
        for at in range(0, len(text) - _PROBE + 1, _STRIDE):
            if text[at : at + _PROBE] not in probes:
                continue
            for start in range(max(at - _STRIDE + 1, 0), min(at, last) + 1):
                if text[start : start + SHORTEST] not in known_windows:
                    continue
                if start > end:
                    if end > 0:
                        yield begin, end
                    begin = start
                end = start + SHORTEST
        if end > 0:
            yield begin, end


class UnshownHeaders(dict[str, str]):
    """Headers with a key, which printing does not show."""

    def __repr__(self) -> str:
        return f"[{', '.join(self)}]"

    __str__ = __repr__


def _windows(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(len(text) - size + 1))


def _forms(text: str) -> Iterator[str]:
    """The forms of a secret in a URL, in JSON, and in base64 (at any offset)."""
    data = text.encode("utf-8", "surrogatepass")
    for escape in ("%{:02X}", "%{:02x}"):
        yield "".join(chr(byte) if chr(byte) in _UNRESERVED else escape.format(byte) for byte in data)
    for plain in (True, False):
        yield json.dumps(text, ensure_ascii=plain)[1:-1]
    for shift in range(3):
        # The first and last characters depend on the neighbouring bytes: leave them out.
        encoded = b2a_base64(b"\0" * shift + data, newline=False).decode("ascii").rstrip("=")
        inner = encoded[-(-8 * shift // 6) : (shift + len(data)) * 8 // 6]
        yield inner
        yield inner.replace("+", "-").replace("/", "_")


_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
