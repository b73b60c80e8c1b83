"""Words become runs of one style each: numbers are links, and the Markdown that answers use is shown.

Only what a terminal can do is done: without colours Markdown stands as it was written, without links
addresses do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from groundwire.faces.cli.console import BOLD, CYAN, DIM
from groundwire.faces.cli.marked import MARK
from groundwire.faces.cli.printable import printable
from groundwire.model.value import value
from groundwire.text.urls import safe_address

_BOLD = r"(?<![\w*])\*\*(?=[^\s*])([^\n]+?)(?<=[^\s*])\*\*(?!\*)"
_CODE = r"`([^`\n]+)`"
_LINK = r"\[([^\[\]\n]{1,400})\]\((https?://[^\s()]+(?:\([^\s()]*\)[^\s()]*)*)\)"
_TOKEN = re.compile(f"{MARK}|{_CODE}|{_LINK}|{_BOLD}")
_NUMBER = re.compile(f"{MARK}|(?!)()()()()")
"""The same groups, of which all but the first never match."""
_HEADING = re.compile(r"(?m)^#{1,6} +([^\n]*)$")


class Run(NamedTuple):
    """Words of one style, which may lead somewhere."""

    text: str
    style: str = ""
    url: str = ""


@value
class Ink:
    """What a terminal can show."""

    colored: bool = False
    linked: bool = False
    is_plain: bool = False
    """The words are plain text: only numbers mean anything in it."""

    def runs(self, text: str, addresses: Mapping[int, str], *, fresh: bool = True) -> list[Run]:
        """The runs of a text with disguised numbers; `fresh` if it starts a line."""
        return list(self._lines(printable(text), addresses, fresh=fresh))

    def _lines(self, text: str, addresses: Mapping[int, str], *, fresh: bool) -> Iterator[Run]:
        position = 0
        for match in _HEADING.finditer(text) if self.colored and not self.is_plain else ():
            if match.start() or fresh:
                yield from self._tokens(text[position : match.start()], addresses, "")
                yield from self._tokens(match[1].replace("**", ""), addresses, BOLD)
                position = match.end()
        yield from self._tokens(text[position:], addresses, "")

    def _tokens(self, text: str, addresses: Mapping[int, str], style: str) -> Iterator[Run]:
        position = 0
        for match in (_NUMBER if self.is_plain else _TOKEN).finditer(text):
            if match.start() > position:
                yield Run(text[position : match.start()], style)
            yield from self._token(match, addresses, style)
            position = match.end()
        if position < len(text):
            yield Run(text[position:], style)

    def _token(self, match: re.Match[str], addresses: Mapping[int, str], style: str) -> Iterator[Run]:
        number, code, label, url, bold = match.groups()
        if number is not None:
            yield self.reference(int(number), addresses)
        elif url is not None and self.linked:
            yield Run(label, style, safe_address(url))
        elif code is not None and self.colored:
            yield Run(code, CYAN)
        elif bold is not None and self.colored:
            yield from self._tokens(bold, addresses, BOLD)
        elif bold is not None:
            yield Run("**", style)
            yield from self._tokens(bold, addresses, style)
            yield Run("**", style)
        else:
            yield Run(match[0], style)

    def reference(self, number: int, addresses: Mapping[int, str]) -> Run:
        """The number of a source."""
        url = safe_address(addresses.get(number, "")) if self.linked else ""
        return Run(f"[{number}]", DIM if self.colored else "", url)
