"""View of an answer for the page, the same while it is streamed and when it is loaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import NamedTuple, TypeAlias
from urllib.parse import urlencode

from groundwire.chat.answers import AnswerState, state_of, web_link
from groundwire.chat.follow_ups import Topic, topics_of
from groundwire.chat.indexed import has_only_index, is_indexed
from groundwire.dialects.extras import is_ungrounded
from groundwire.faces.web.headers import LINK_REL
from groundwire.faces.web.messages import (
    UserMessage,
    error_message,
    finish_message,
    search_failure,
    warning_message,
)
from groundwire.faces.web.suggestions import Suggestion, read_suggestions
from groundwire.faces.web.verdicts import CitationVerdict, Verification, read_verification, worst
from groundwire.model import (
    NOTICES,
    Answer,
    Citation,
    Evidence,
    Json,
    Reasoning,
    SearchCall,
    SearchResult,
    Source,
    Span,
    ToolCall,
)
from groundwire.model.value import replace, value
from groundwire.store.base import StoredMessage
from groundwire.text.annotate import MarkerStripper, map_citation, paragraph_breaks
from groundwire.text.markdown import is_plain_text, to_markdown
from groundwire.text.sanitise import one_line, sanitise, sanitise_with_offsets
from groundwire.text.sources import Numbering, label_of, number_answer, number_sources
from groundwire.text.urls import shown_address

_LONGEST_PASSAGE = 400
_MOST_PASSAGES = 3
_BROKEN = ("failed", "interrupted")
_COPY_BUTTON = '<button type="button" class="quiet" data-do="copy-code">{copy}</button>'
_FRAMES = {
    "pre": (f'<div class="code">{_COPY_BUTTON}<pre tabindex="0">', "</pre></div>"),
    "table": ('<div class="table" tabindex="0"><table>', "</table></div>"),
}
_FOOTNOTE = re.compile(r'<li value="(\d+)">')
_FOOTNOTE_NUMBER = re.compile(r'<sup class="footnote">(\d+)</sup>')
_TONES = 6
_LONGEST_QUOTE = 600


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
    verdicts: tuple[CitationVerdict, ...] = ()
    """One for each citation of the source, if the answer was verified."""
    stored: str = ""
    """Path of the viewer, if the page is in the index."""
    order: int = 0
    """Its place among all sources, as they were found."""

    @property
    def letter(self) -> str:
        """The first letter of the site, in place of an icon that would have to be loaded."""
        return next((char.upper() for char in self.domain or self.host or self.title if char.isalnum()), "?")

    @property
    def tone(self) -> int:
        """The colour of the letter: the same for all pages of a site."""
        return sum((self.domain or self.host).encode()) % _TONES

    @property
    def verdict(self) -> CitationVerdict | None:
        """The verdict that decides."""
        return worst(self.verdicts)


@value
class SearchView:
    """A search, and the reason if it failed."""

    query: str
    failure: str = ""


@value
class AnswerView:
    """Everything the page shows of an answer."""

    id: str
    session: str
    number: int
    """The number of the message in its session."""
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
    verification: Verification = Verification()
    follow_ups: tuple[str, ...] = ()
    """Questions that could be asked next."""
    preparing: bool = False
    """Is the index being built for the first search?"""

    @property
    def is_cited(self) -> bool:
        """Are there citations that can be verified?"""
        return self.state != "running" and bool(self.cited)

    @property
    def others(self) -> int:
        """How many pages were opened or found, and are not cited."""
        return len(self.opened) + len(self.retrieved)

    @property
    def count(self) -> int:
        """How many pages there are."""
        return len(self.cited) + self.others

    @property
    def has_failed_search(self) -> bool:
        """Did a search fail?"""
        return any(search.failure for search in self.searches_made)

    @property
    def strip(self) -> tuple[SourceView, ...]:
        """The sources above the text: all of them, as they were found, while the answer is being written; the
        cited ones when it is complete."""
        if self.state != "running":
            return self.cited
        return tuple(sorted((*self.cited, *self.opened, *self.retrieved), key=lambda item: item.order))


def _messages(answer: Answer, texts: Mapping[str, str], *, are_notices: bool) -> tuple[UserMessage, ...]:
    chosen = [warning for warning in answer.warnings if (warning.code in NOTICES) == are_notices]
    return tuple(dict.fromkeys(warning_message(warning, texts) for warning in chosen))


def view_of(message: StoredMessage, texts: Mapping[str, str], *, searching: bool = False) -> AnswerView:
    """The view of an answer. `searching`: the web is being searched now."""
    answer = message.content
    if not isinstance(answer, Answer):
        answer = Answer()
    numbering = number_answer(answer) if answer.citations else Numbering((), {})
    verification = read_verification(answer, texts)
    verdicts = _verdicts_by_number(answer, numbering, verification)
    words = (texts[name] for name in ("source", "answer_says", "page_says", "copy_code"))
    chips = _ChipTexts(message.id, *words)
    blocks, whole = _render(answer, numbering, chips, verification)
    others = number_sources(source for source in answer.sources if numbering.number(source) is None).sources
    state = state_of(answer)
    show = _SourceViews(answer, is_indexed=is_indexed(message))
    return AnswerView(
        message.id,
        message.session,
        message.number,
        state,
        blocks,
        whole,
        tuple(
            show(source, number, tuple(verdicts.get(number, ())))
            for number, source in enumerate(numbering.sources, 1)
        ),
        tuple(show(source) for source in others if source.state == "opened"),
        tuple(show(source) for source in others if source.state != "opened"),
        _searches_made(answer, texts),
        _searching(answer) if searching and state == "running" else None,
        _suggestions(answer),
        _messages(answer, texts, are_notices=True),
        _messages(answer, texts, are_notices=False),
        error_message(answer.error, texts) if answer.error and state in _BROKEN else UserMessage(),
        finish_message(answer, texts),
        state == "done" and is_ungrounded(answer),
        one_line(message.provider),
        one_line(answer.model),
        (answer.usage.input_tokens or 0) + (answer.usage.output_tokens or 0),
        answer.usage.searches or len(_queries(answer)),
        answer.usage.cost,
        sanitise("\n\n".join(part.text for part in answer.parts if isinstance(part, Reasoning))).strip(),
        tuple(one_line(part.name) for part in answer.parts if isinstance(part, ToolCall)),
        message.created,
        verification,
        tuple(follow_up_question(topic, texts) for topic in topics_of(answer)),
    )


def follow_up_question(topic: Topic, texts: Mapping[str, str]) -> str:
    """A question about a topic, in the language of the reader."""
    heading, page = one_line(topic.heading), one_line(topic.page)
    if heading.endswith("?"):
        return heading
    form = "follow_up_name" if topic.is_name else "follow_up_page" if page else "follow_up_topic"
    return texts[form].format(heading=heading, page=page)


def changed_blocks(old: tuple[str, ...], new: tuple[str, ...]) -> Json:
    """How many blocks stay, and those that follow them."""
    keep = 0
    while keep < min(len(old), len(new)) and old[keep] == new[keep]:
        keep += 1
    return {"keep": keep, "blocks": list(new[keep:])}


def _verdicts_by_number(
    answer: Answer, numbering: Numbering, verification: Verification
) -> dict[int | None, list[CitationVerdict]]:
    """The verdicts on all citations of each numbered source."""
    found: dict[int | None, list[CitationVerdict]] = {}
    if verification.verdicts:
        evidence = (item for citation in answer.citations for item in citation.evidence)
        numbers = {item.source.url: numbering.number(item.source) for item in evidence}
        for verdict in verification.verdicts:
            found.setdefault(numbers.get(verdict.url), []).append(verdict)
    return found


def _render(
    answer: Answer, numbering: Numbering, chips: _ChipTexts, verification: Verification
) -> tuple[tuple[str, ...], str]:
    """The blocks of HTML, and the chips of citations that have no position in them."""
    # In the text of pages, dollar signs and backslashes mean themselves.
    formulas = not is_plain_text(answer)
    answer = to_markdown(answer)
    text, map_offset = display_text(answer.text)
    citations = [map_citation(citation, map_offset) for citation in answer.citations]
    breaks = sorted({map_offset(offset) for offset in paragraph_breaks(answer, after=(object,))})
    verdicts: dict[_Place, list[CitationVerdict]] = {}
    for verdict in verification.verdicts:
        if 0 <= verdict.citation < len(citations):
            verdicts.setdefault((citations[verdict.citation].span, verdict.url), []).append(verdict)
    write = _chip_writer(numbering, chips, verdicts)
    # Imported with the first answer: many gateways never show one.
    from groundwire.faces.web.markdown import render_text  # noqa: PLC0415

    rendered = render_text(text, citations, breaks, write, formulas=formulas)
    blocks = tuple(_with_controls(block, chips) for block in rendered.blocks)
    return blocks, write(rendered.unplaced, -1) if rendered.unplaced else ""


def _with_controls(block: str, texts: _ChipTexts) -> str:
    """A block with copy buttons for its code, tables that scroll, and links to its footnotes.

    The block is sanitised, so the tags in it are ours: those that an answer contains are escaped.
    """
    for tag, (opening, closing) in _FRAMES.items():
        block = block.replace(f"<{tag}>", opening.format(copy=escape(texts.copy)))
        block = block.replace(f"</{tag}>", closing)
    name = escape(texts.message)
    if block.startswith('<ol class="footnotes">'):
        return _FOOTNOTE.sub(rf'<li id="note-{name}-\1" value="\1">', block)
    return _FOOTNOTE_NUMBER.sub(rf'<sup class="footnote"><a href="#note-{name}-\1">\1</a></sup>', block)


def display_text(text: str) -> tuple[str, Callable[[int], int]]:
    """The text without internal markers of providers and invisible characters, and a map of its offsets."""
    stripper = MarkerStripper()
    stripped = stripper.feed(text) + stripper.close()
    sanitised, map_offset = sanitise_with_offsets(stripped)
    return sanitised, lambda offset: map_offset(stripper.map_offset(offset))


_Place: TypeAlias = tuple[Span | None, str]
"""The span of a citation in the displayed text, and the URL of one of its sources."""


class _ChipTexts(NamedTuple):
    """The id of the message, and the words on chips and cards."""

    message: str
    source: str
    answer_says: str
    page_says: str
    copy: str


def _chip_writer(
    numbering: Numbering, texts: _ChipTexts, verdicts: Mapping[_Place, list[CitationVerdict]]
) -> Callable[[Sequence[Citation], int], str]:
    def write(citations: Sequence[Citation], position: int) -> str:
        found: dict[int, Evidence] = {}
        checked: dict[int, list[CitationVerdict]] = {}
        for citation in citations:
            for item in citation.evidence:
                number = numbering.number(item.source)
                if number is None:
                    continue
                if number not in found or not found[number].quote:
                    found[number] = item
                checked.setdefault(number, []).extend(verdicts.get((citation.span, item.source.url), ()))
        return "".join(
            _chip(number, found[number], numbering, position, texts, worst(checked[number]))
            for number in sorted(found)
        )

    return write


def _chip(
    number: int,
    item: Evidence,
    numbering: Numbering,
    position: int,
    texts: _ChipTexts,
    verdict: CitationVerdict | None,
) -> str:
    """A number that links to its source, and the card with its details."""
    view = _source(numbering.sources[number - 1])
    passage = _passage(item.quote) or next(iter(view.passages), "")
    source = numbering.sources[number - 1]
    stored = viewer_path(source.url, item.quote or passage) if has_only_index(source.url) else ""
    href = view.href or stored or f"#source-{texts.message}-{number}"
    outward = f' target="_blank" rel="{LINK_REL}"' if view.href or stored else ""
    origin = " · ".join(filter(None, (view.domain, view.host, view.date)))
    card = f"card-{escape(texts.message)}-{position + 1}-{number}"
    parts = (
        f'<span class="card-title" dir="auto">{escape(view.title)}</span>',
        f'<span class="card-host">{escape(origin)}</span>',
        _card_verdict(verdict, texts) if verdict else "",
        f'<span class="card-quote" dir="auto">{escape(passage)}</span>' if passage else "",
    )
    label = f"{texts.source} {number}: {view.title}"
    standing, sign = "", ""
    if verdict is not None:
        label = f"{texts.source} {number}, {verdict.label}: {view.title}"
        standing, sign = f" {verdict.standing}", f'<span class="sign">{verdict.symbol}</span>'
    # Browsers make a card that scrolls a tab stop, but it is hidden once its chip loses the focus.
    return (
        f'<span class="cite"><a class="chip{standing}" href="{escape(href)}"{outward} '
        f'aria-label="{escape(label)}" aria-describedby="{card}">{number}{sign}</a>'
        f'<span class="card" role="tooltip" id="{card}" tabindex="-1">{"".join(parts)}</span></span>'
    )


def _card_verdict(verdict: CitationVerdict, texts: _ChipTexts) -> str:
    """The verdict in a card: a sentence, and what both say."""
    finding = verdict.deciding
    sentence = f" {escape(finding.sentence)}" if finding else ""
    head = f'<span class="card-verdict {verdict.standing}"><strong>{escape(verdict.label)}</strong>{sentence}'
    pair = next(iter(finding.pairs), None) if finding else None
    sides = () if pair is None else ((texts.answer_says, pair.ours), (texts.page_says, pair.theirs))
    return f"{head}</span>" + "".join(
        f'<span class="card-side"><b>{escape(who)}</b> <span dir="auto">{escape(words)}</span></span>'
        for who, words in sides
        if words
    )


class _SourceViews:
    """Makes the views of the sources of one answer."""

    def __init__(self, answer: Answer, *, is_indexed: bool) -> None:
        self._is_indexed = is_indexed
        self._order = {source.url: place for place, source in reversed([*enumerate(answer.sources)])}
        evidence = [item for citation in answer.citations for item in citation.evidence]
        self._quotes = {item.source.url: item.quote for item in reversed(evidence) if item.quote}

    def __call__(
        self, source: Source, number: int | None = None, verdicts: tuple[CitationVerdict, ...] = ()
    ) -> SourceView:
        view = _source(source, number, verdicts)
        is_stored = self._is_indexed or has_only_index(source.url)
        path = viewer_path(source.url, self._quotes.get(source.url, "")) if is_stored else ""
        return replace(view, stored=path, order=self._order.get(source.url, len(self._order)))


def viewer_path(url: str, quote: str) -> str:
    """The path of the viewer for a stored page, at a quote."""
    query = urlencode({"url": url, "quote": quote[:_LONGEST_QUOTE]}, errors="replace")
    return f"/page?{query}#quote"


def _source(
    source: Source, number: int | None = None, verdicts: tuple[CitationVerdict, ...] = ()
) -> SourceView:
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
        verdicts,
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
