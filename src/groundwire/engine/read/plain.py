"""Plain text: kept as it is; its first line is its title if it looks like one."""

from __future__ import annotations

import re

from groundwire.engine.read.decoding import clean, decode
from groundwire.engine.read.document import Content, Document

_LONGEST_TITLE = 120
_UNDERLINE = re.compile(r"[=\-~*#\s]+")


def read(document: Document) -> Content:
    """What stands in it."""
    return read_text(decode(document.data, document.charset))


def read_text(text: str) -> Content:
    """The same for text that is decoded already."""
    text = clean(text).strip("\n").rstrip()
    first, _, rest = text.partition("\n")
    first = first.strip()
    following = rest.partition("\n")[0].strip()
    stands_alone = not following or _UNDERLINE.fullmatch(following) is not None
    titled = stands_alone and 0 < len(first) <= _LONGEST_TITLE and not first.endswith((".", ",", ";"))
    return Content(text, first if titled and rest else "")
