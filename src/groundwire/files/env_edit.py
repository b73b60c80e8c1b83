"""Edit a file of `NAME=value` lines (`.env`) and leave every other byte alone."""

from __future__ import annotations

import re


def value_of(text: str, name: str) -> str | None:
    """The value of a variable; the last assignment counts."""
    found = _assignment(name).findall(text)
    return _unquoted(found[-1].strip()) if found else None


def put(text: str, name: str, value: str) -> str:
    """Set a variable."""
    line = f"{name}={value}"
    found = list(_assignment(name).finditer(text))
    if found:
        last = found[-1]
        return text[: last.start()] + line + text[last.end() :]
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = newline if text and not text.endswith("\n") else ""
    return text + gap + line + newline


def remove(text: str, name: str) -> str:
    """Remove a variable."""
    return re.sub(_assignment(name).pattern + r"(?:\r?\n|\Z)", "", text, flags=re.MULTILINE)


def _assignment(name: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*(?:export[ \t]+)?{re.escape(name)}[ \t]*=([^\r\n]*)", re.MULTILINE)


def _unquoted(value: str) -> str:
    quoted = re.fullmatch(r"(['\"])(.*)\1", value)
    return quoted[2] if quoted else value
