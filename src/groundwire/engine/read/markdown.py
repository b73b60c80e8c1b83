"""Markdown (CommonMark, tables): rendered, then read as the HTML it stands for."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

from groundwire.engine.read.dates import normal_date
from groundwire.engine.read.decoding import clean, decode
from groundwire.engine.read.document import Content, Document
from groundwire.engine.read.html import read_fragment
from groundwire.engine.read.html_head import two_letters
from groundwire.engine.read.plain import read_text

_LONGEST = 1_000_000
_FRONT = re.compile(r"\A---[ \t]*\n(.{0,10000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(\w+)[ \t]*:[ \t]*(.+)$", re.MULTILINE)


def read(document: Document) -> Content:
    """What stands in it. Beyond a million characters it is kept as plain text."""
    text = clean(decode(document.data, document.charset))
    if len(text) > _LONGEST:
        return read_text(text)
    fields: dict[str, str] = {}
    if front := _FRONT.match(text):
        fields = {name.lower(): value.strip().strip("\"'") for name, value in _FIELD.findall(front[1])}
        text = text[front.end() :]
    markup = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    body, heading = read_fragment(markup)
    return Content(
        body,
        title=fields.get("title", "") or heading,
        published=normal_date(fields.get("date", "")),
        language=two_letters(fields.get("lang", "") or fields.get("language", "")),
    )
