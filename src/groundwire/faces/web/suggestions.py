"""Google's search suggestions: shown as their terms want it, without their HTML."""

from __future__ import annotations

from html.parser import HTMLParser

from groundwire.chat.answers import web_link
from groundwire.model.value import value
from groundwire.text.sanitise import one_line
from groundwire.text.urls import is_same_or_subdomain

_LONGEST = 100_000
_MOST = 20
_GOOGLE = "google.com"


@value
class Suggestion:
    """A search at Google's."""

    label: str
    href: str


def read_suggestions(html: str) -> tuple[Suggestion, ...]:
    """The searches that a piece of HTML links to; links to anybody but Google are left out."""
    reader = _Reader()
    reader.feed(html[:_LONGEST])
    reader.close()
    return tuple(reader.found[:_MOST])


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Suggestion] = []
        self._href = ""
        self._words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            link = web_link(dict(attrs).get("href") or "")
            ours = (
                link is not None
                and is_same_or_subdomain(link.host, _GOOGLE)
                and link.href.startswith("https:")
            )
            self._href = link.href if link is not None and ours else ""
            self._words = []

    def handle_data(self, data: str) -> None:
        self._words.append(data)

    def handle_endtag(self, tag: str) -> None:
        label = one_line(" ".join(self._words))[:200]
        if tag == "a" and self._href and label:
            self.found.append(Suggestion(label, self._href))
            self._href = ""
