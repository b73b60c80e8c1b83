"""Google's search suggestions, which its terms require to be shown, without their HTML."""

from __future__ import annotations

from html.parser import HTMLParser

from groundwire.chat.answers import web_link
from groundwire.model.value import value
from groundwire.text.sanitise import one_line
from groundwire.text.urls import is_same_or_subdomain

_MAX_HTML = 100_000
_MAX_SUGGESTIONS = 20
_GOOGLE = "google.com"


@value
class Suggestion:
    """A link to a Google search."""

    label: str
    href: str


def read_suggestions(html: str) -> tuple[Suggestion, ...]:
    """The Google searches that an HTML fragment links to; other links are dropped."""
    parser = _SuggestionParser()
    parser.feed(html[:_MAX_HTML])
    parser.close()
    return tuple(parser.found[:_MAX_SUGGESTIONS])


class _SuggestionParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Suggestion] = []
        self._href = ""
        self._label: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            link = web_link(dict(attrs).get("href") or "")
            is_google = (
                link is not None
                and is_same_or_subdomain(link.host, _GOOGLE)
                and link.href.startswith("https:")
            )
            self._href = link.href if link is not None and is_google else ""
            self._label = []

    def handle_data(self, data: str) -> None:
        self._label.append(data)

    def handle_endtag(self, tag: str) -> None:
        label = one_line(" ".join(self._label))[:200]
        if tag == "a" and self._href and label:
            self.found.append(Suggestion(label, self._href))
            self._href = ""
