"""Readable text out of the descriptions that packages carry, without a library for their markup.

Only what nobody wants to read is taken out: badges, tags, directives, underlines, link targets. Words stay as
they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

_Change: TypeAlias = tuple[re.Pattern[str], str]

LONGEST = 40_000
"""Some descriptions hold the changes of twenty years."""

_MARKDOWN: tuple[_Change, ...] = (
    (re.compile(r"<!--.*?-->", re.DOTALL), ""),
    # What a program once printed on a terminal is no statement of the page's.
    (re.compile(r"^[ \t]*(```|~~~)[^\n]*\n\$ .*?^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL), ""),
    (re.compile(r"^[ \t]*(```|~~~).*$", re.MULTILINE), ""),
    (re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])[ \t]?"), ""),
    (re.compile(r"\[[ \t]*\](?:\([^)]*\)|\[[^\]]*\])[ \t]?"), ""),
    (re.compile(r"\[([^\]]+)\](?:\([^)\s]*(?:\s+\"[^\"]*\")?\)|\[[^\]]*\])"), r"\1"),
    (re.compile(r"^\[[^\]]+\]:\s*\S+.*$", re.MULTILINE), ""),
    (re.compile(r"</?[a-zA-Z][^<>]*>"), ""),
    (re.compile(r"^#{1,6}[ \t]+(.*?)[ \t]*#*$", re.MULTILINE), r"\1"),
    (re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"^(?:=+|-+|\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t:\-|]*)?)$", re.MULTILINE), ""),
)
_REST: tuple[_Change, ...] = (
    (
        re.compile(
            r"^[ \t]*\.\. (?!code|note|warning|tip|important|versionadded|versionchanged)[^\n]*\n"
            r"(?:[ \t]+[^\n]*\n|(?:[ \t]*\n)+(?=[ \t]+:))*",
            re.MULTILINE,
        ),
        "",
    ),
    (re.compile(r"^[ \t]*\.\. code[\w-]*::.*$", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*\.\. [\w-]+::[ \t]*(.*)$", re.MULTILINE), r"\1"),
    (re.compile(r"^[ \t]+:\w+:.*$", re.MULTILINE), ""),
    (re.compile(r"^[=\-~^\"'`#*+.:_]{3,}[ \t]*$", re.MULTILINE), ""),
    (re.compile(r":[\w:+.-]+:`(?:[^`<]*<)?([^`>]+)>?`"), r"\1"),
    (re.compile(r"`([^`<]+?)\s*<[^`>]+>`__?"), r"\1"),
    (re.compile(r"\|[^|\n]+\|_?_?"), ""),
    (re.compile(r"^[ \t]*\|[ \t]*$", re.MULTILINE), ""),
    (re.compile(r"``([^`\n]+)``"), r"\1"),
    (re.compile(r"`([^`\n]+)`__?"), r"\1"),
    (re.compile(r"\b([A-Za-z][\w-]*[A-Za-z0-9])__?(?=[\s.,;:!?)]|$)"), r"\1"),
    (re.compile(r"\*\*(?=\S)([^*\n]+)(?<=\S)\*\*"), r"\1"),
)
_BLANK = re.compile(r"\n\s*\n(?:\s*\n)+")


def plain(text: str, media_type: str) -> str:
    """The words of a description; what has no media type is reStructuredText, as it was when it began."""
    reader = _READERS.get(media_type.partition(";")[0].strip().lower(), _plain_rest)
    return _BLANK.sub("\n\n", reader(text[:LONGEST].replace("\r\n", "\n"))).strip()


def _changed(text: str, changes: tuple[_Change, ...]) -> str:
    for pattern, instead in changes:
        text = pattern.sub(instead, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def _plain_markdown(text: str) -> str:
    return _changed(text, _MARKDOWN)


def _plain_rest(text: str) -> str:
    return _changed(text, _REST)


_READERS: dict[str, Callable[[str], str]] = {
    "text/markdown": _plain_markdown,
    "text/x-rst": _plain_rest,
    "text/plain": str,
    "": _plain_rest,
}
