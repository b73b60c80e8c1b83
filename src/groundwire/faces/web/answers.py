"""View of an answer for the page, the same while it is streamed and when it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape

from groundwire.chat.answers import AnswerState, is_ungrounded, state_of, web_link
from groundwire.faces.web.markdown import REL, render_text
from groundwire.faces.web.messages import (
    UserMessage,
    error_message,
    finish_message,
    search_failure,
    warning_message,
)
from groundwire.faces.web.suggestions import Suggestion, read_suggestions
from groundwire.model import (
    NOTICES,
    Answer,
    Citation,
    Evidence,
    Reasoning,
    SearchCall,
    SearchResult,
    Source,
    ToolCall,
)
from groundwire.model.value import value
from groundwire.store.base import StoredMessage
from groundwire.text.annotate import MarkerStripper, map_citation, paragraph_breaks
from groundwire.text.markdown import to_markdown
from groundwire.text.sanitise import one_line, sanitise, sanitise_with_offsets
from groundwire.text.sources import Numbering, label_of, number_answer, number_sources
from groundwire.text.urls import shown_address

_LONGEST_PASSAGE = 400
_MOST_PASSAGES = 3
_BROKEN = ("failed", "interrupted")


@value
class SourceView:
    """A source in a list."""

    title: str
    href: str
    host: str
    """Host of the link; else the address of a page that only this machine has."""
    domain: str
    """Domain given by the provider, where a redirect hides it."""
    date: str
    passages: tuple[str, ...]
    number: int | None = None


@value
class SearchView:
    """A search, and the reason if it failed."""

    query: str
    failure: str = ""


@value
class AnswerView:
    """Everything the page shows of an answer."""

    id: str
    state: AnswerState
    blocks: tuple[str, ...]
    whole: str
    """Chips of citations without a position in the text."""
    cited: tuple[SourceView, ...]
    opened: tuple[SourceView, ...]
    retrieved: tuple[SourceView, ...]
    searches_made: tuple[SearchView, ...]
    searching: str | None
    """The current search; empty if its query is not known, None if there is none."""
    suggestions: tuple[Suggestion, ...]
    notices: tuple[UserMessage, ...]
    """How the question was understood."""
    warnings: tuple[UserMessage, ...]
    error: UserMessage
    finish: UserMessage
    """Why the answer is incomplete."""
    ungrounded: bool
    provider: str
    model: str
    tokens: int
    searches: int
    cost: float | None
    reasoning: str
    calls: tuple[str, ...]
    created: str

    @property
    def count(self) -> int:
        """How many sources there are."""
        return len(self.cited) + len(self.opened) + len(self.retrieved)

    @property
    def found(self) -> tuple[SourceView, ...]:
        """All sources, shown while the answer is incomplete."""
        return (*self.cited, *self.opened, *self.retrieved)


def _messages(answer: Answer, texts: Mapping[str, str], *, are_notices: bool) -> tuple[UserMessage, ...]:
    chosen = [warning for warning in answer.warnings if (warning.code in NOTICES) == are_notices]
    return tuple(dict.fromkeys(warning_message(warning, texts) for warning in chosen))


def view_of(
    message: StoredMessage, texts: Mapping[str, str], *, searched: bool, searching: bool = False
) -> AnswerView:
    """The view of an answer. `searched`: the web was to be searched; `searching`: it is being
    searched now."""
    answer = message.content
    if not isinstance(answer, Answer):
        answer = Answer()
    numbering = number_answer(answer) if answer.citations else Numbering((), {})
    blocks, whole = _render(answer, numbering, message.id, texts["source"])
    others = number_sources(source for source in answer.sources if numbering.number(source) is None).sources
    state = state_of(answer)
    return AnswerView(
        message.id,
        state,
        blocks,
        whole,
        tuple(_source(source, number) for number, source in enumerate(numbering.sources, 1)),
        tuple(_source(source) for source in others if source.state == "opened"),
        tuple(_source(source) for source in others if source.state != "opened"),
        _searches_made(answer, texts),
        _searching(answer) if searching and state == "running" else None,
        _suggestions(answer),
        _messages(answer, texts, are_notices=True),
        _messages(answer, texts, are_notices=False),
        error_message(answer.error, texts) if answer.error and state in _BROKEN else UserMessage(),
        finish_message(answer, texts),
        is_ungrounded(answer, searched=searched),
        one_line(message.provider),
        one_line(answer.model),
        (answer.usage.input_tokens or 0) + (answer.usage.output_tokens or 0),
        answer.usage.searches or len(_queries(answer)),
        answer.usage.cost,
        sanitise("\n\n".join(part.text for part in answer.parts if isinstance(part, Reasoning))).strip(),
        tuple(one_line(part.name) for part in answer.parts if isinstance(part, ToolCall)),
        message.created,
    )


def _render(answer: Answer, numbering: Numbering, name: str, label: str) -> tuple[tuple[str, ...], str]:
    """The blocks of HTML, and the chips of citations that have no position in them."""
    answer = to_markdown(answer)
    text, map_offset = display_text(answer.text)
    citations = [map_citation(citation, map_offset) for citation in answer.citations]
    breaks = sorted({map_offset(offset) for offset in paragraph_breaks(answer, after=(object,))})
    write = _chip_writer(numbering, name, label)
    rendered = render_text(text, citations, breaks, write)
    return rendered.blocks, write(rendered.unplaced, -1) if rendered.unplaced else ""


def display_text(text: str) -> tuple[str, Callable[[int], int]]:
    """The text without internal markers of providers and invisible characters, and a map of its offsets."""
    stripper = MarkerStripper()
    stripped = stripper.feed(text) + stripper.close()
    sanitised, map_offset = sanitise_with_offsets(stripped)
    return sanitised, lambda offset: map_offset(stripper.map_offset(offset))


def _chip_writer(numbering: Numbering, name: str, label: str) -> Callable[[Sequence[Citation], int], str]:
    def write(citations: Sequence[Citation], position: int) -> str:
        found: dict[int, Evidence] = {}
        for citation in citations:
            for item in citation.evidence:
                number = numbering.number(item.source)
                if number is not None and (number not in found or not found[number].quote):
                    found[number] = item
        ordered = sorted(found)
        return "".join(
            _chip(number, found[number], numbering, f"{name}-{position + 1}-{number}", label)
            for number in ordered
        )

    return write


def _chip(number: int, item: Evidence, numbering: Numbering, name: str, label: str) -> str:
    """A number that links to its source, and the card with its details."""
    view = _source(numbering.sources[number - 1])
    passage = _passage(item.quote) or next(iter(view.passages), "")
    href = view.href or f"#source-{name.partition('-')[0]}-{number}"
    outward = f' target="_blank" rel="{REL}"' if view.href else ""
    origin = " · ".join(filter(None, (view.domain, view.host, view.date)))
    card = f"card-{escape(name)}"
    parts = (
        f'<span class="card-title" dir="auto">{escape(view.title)}</span>',
        f'<span class="card-host">{escape(origin)}</span>',
        f'<span class="card-quote" dir="auto">{escape(passage)}</span>' if passage else "",
    )
    return (
        f'<span class="cite"><a class="chip" href="{escape(href)}"{outward} '
        f'aria-label="{escape(label)} {number}: {escape(view.title)}" aria-describedby="{card}">'
        f'{number}</a><span class="card" role="tooltip" id="{card}">{"".join(parts)}</span></span>'
    )


def _source(source: Source, number: int | None = None) -> SourceView:
    link = web_link(source.url)
    host = link.domain if link else shown_address(source.url)
    domain = one_line(source.domain).lower().removeprefix("www.")
    return SourceView(
        one_line(label_of(source))[:300] or host or "?",
        link.href if link else "",
        host,
        domain if domain != host else "",
        one_line(source.date)[:60],
        tuple(filter(None, map(_passage, source.excerpts[:_MOST_PASSAGES]))),
        number,
    )


def _passage(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST_PASSAGE else line[: _LONGEST_PASSAGE - 1].rstrip() + "…"


def _searches_made(answer: Answer, texts: Mapping[str, str]) -> tuple[SearchView, ...]:
    """Every search once, and every page that could not be opened; a failure is shown with its reason."""
    failures = {
        part.call_id: search_failure(part.error, texts)
        for part in answer.parts
        if isinstance(part, SearchResult) and part.error
    }
    made: dict[SearchView, None] = {}
    returned = {part.call_id for part in answer.parts if isinstance(part, SearchResult)}
    is_running = state_of(answer) == "running"
    for part in answer.parts:
        if isinstance(part, SearchCall) and (part.id in returned or not is_running):
            failure = failures.pop(part.id, "")
            subjects = (
                part.queries if part.kind == "search" else (part.pattern or part.url,) if failure else ()
            )
            made |= dict.fromkeys(
                SearchView(line, failure) for subject in subjects if (line := one_line(subject))
            )
            if failure and not any(map(one_line, subjects)):
                made[SearchView(texts["search"], failure)] = None
    # A failed call that was not reported.
    made |= dict.fromkeys(SearchView(texts["search"], failure) for failure in failures.values())
    return tuple(made)


def _queries(answer: Answer) -> list[str]:
    return [search.query for search in answer.searches if search.kind == "search" and search.query.strip()]


def _searching(answer: Answer) -> str:
    """The query of the last search, as far as it is known."""
    last = next((part for part in reversed(answer.parts) if not isinstance(part, Reasoning)), None)
    if not isinstance(last, SearchCall):
        return ""
    return one_line(", ".join(last.queries) or last.url or last.pattern)[:200]


def _suggestions(answer: Answer) -> tuple[Suggestion, ...]:
    found = (
        one
        for part in answer.parts
        if isinstance(part, SearchResult) and part.suggestions
        for one in read_suggestions(part.suggestions)
    )
    return tuple(dict.fromkeys(found))
