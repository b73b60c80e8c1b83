"""Put a variable into a file of `NAME=value` lines, or take it out, and leave every other byte alone."""

from __future__ import annotations

import re


def value_of(text: str, name: str) -> str | None:
    """What a variable is set to; the last line counts."""
    found = _line(name).findall(text)
    return _unquoted(found[-1].strip()) if found else None


def put(text: str, name: str, word: str) -> str:
    """The text with the variable set."""
    line = f"{name}={word}"
    lines = list(_line(name).finditer(text))
    if lines:
        last = lines[-1]
        return text[: last.start()] + line + text[last.end() :]
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = newline if text and not text.endswith("\n") else ""
    return text + gap + line + newline


def remove(text: str, name: str) -> str:
    """The text without the variable."""
    return re.sub(_line(name).pattern + r"(?:\r?\n|\Z)", "", text, flags=re.MULTILINE)


def _line(name: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*(?:export[ \t]+)?{re.escape(name)}[ \t]*=([^\r\n]*)", re.MULTILINE)


def _unquoted(word: str) -> str:
    quoted = re.fullmatch(r"(['\"])(.*)\1", word)
    return quoted[2] if quoted else word
