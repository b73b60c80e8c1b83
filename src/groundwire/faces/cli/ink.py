"""Styled text for a terminal: Markdown and citation numbers become runs of one style each.

Only what the terminal supports is used: without colours Markdown is shown as it was written, without
hyperlinks URLs are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from groundwire.faces.cli.console import BOLD, CYAN, DIM
from groundwire.model.value import value
from groundwire.text.annotate import Placeholders
from groundwire.text.sanitise import sanitise
from groundwire.text.urls import safe_url

_BOLD = r"(?<![\w*])\*\*(?=[^\s*])(?P<bold>[^\n]+?)(?<=[^\s*])\*\*(?!\*)"
_CODE = r"`(?P<code>[^`\n]+)`"
_LINK = r"\[(?P<label>[^\[\]\n]{1,400})\]\((?P<url>https?://[^\s()]+(?:\([^\s()]*\)[^\s()]*)*)\)"
_MARKUP = f"{_CODE}|{_LINK}|{_BOLD}"
_HEADING = re.compile(r"(?m)^#{1,6} +([^\n]*)$")


class Run(NamedTuple):
    """Text of one style, optionally a hyperlink."""

    text: str
    style: str = ""
    url: str = ""


@value
class Styler:
    """Styles text with what the terminal supports."""

    colored: bool = False
    linked: bool = False
    is_plain: bool = False
    """The text is plain text, not Markdown: only citation numbers are styled."""

    def runs(
        self,
        text: str,
        urls: Mapping[int, str],
        *,
        at_line_start: bool = True,
        placeholders: Placeholders | None = None,
    ) -> list[Run]:
        """The runs of a text in which `placeholders` stand for citation numbers, with the URL of each number."""
        return list(_Styling(self, urls, placeholders).lines(sanitise(text), at_line_start=at_line_start))


class _Styling:
    """Styles one text."""

    def __init__(self, styler: Styler, urls: Mapping[int, str], placeholders: Placeholders | None) -> None:
        self._styler = styler
        self._urls = urls
        number = f"(?P<number>{placeholders.pattern.pattern})" if placeholders else "(?P<number>(?!)())"
        # Plain text has no markup: the other groups exist, and never match.
        markup = f"(?!)(?:{_MARKUP})" if styler.is_plain else _MARKUP
        self._token = re.compile(f"{number}|{markup}")

    def lines(self, text: str, *, at_line_start: bool) -> Iterator[Run]:
        position = 0
        for match in _HEADING.finditer(text) if self._styler.colored and not self._styler.is_plain else ():
            if match.start() or at_line_start:
                yield from self._tokens(text[position : match.start()], "")
                yield from self._tokens(match[1].replace("**", ""), BOLD)
                position = match.end()
        yield from self._tokens(text[position:], "")

    def _tokens(self, text: str, style: str) -> Iterator[Run]:
        position = 0
        for match in self._token.finditer(text):
            if match.start() > position:
                yield Run(text[position : match.start()], style)
            yield from self._runs_of(match, style)
            position = match.end()
        if position < len(text):
            yield Run(text[position:], style)

    def _runs_of(self, match: re.Match[str], style: str) -> Iterator[Run]:
        colored, linked = self._styler.colored, self._styler.linked
        if match["number"] is not None:
            number = int(match[2])
            url = safe_url(self._urls.get(number, "")) if linked else ""
            yield Run(f"[{number}]", DIM if colored else "", url)
        elif match["url"] is not None and linked:
            yield Run(match["label"], style, safe_url(match["url"]))
        elif match["code"] is not None and colored:
            yield Run(match["code"], CYAN)
        elif match["bold"] is not None and colored:
            yield from self._tokens(match["bold"], BOLD)
        elif match["bold"] is not None:
            yield Run("**", style)
            yield from self._tokens(match["bold"], style)
            yield Run("**", style)
        else:
            yield Run(match[0], style)
