"""Foreign history as text: searches and citations of another provider become readable text.

Encrypted results and signed blocks mean something to their own dialect only. Another provider gets their
content: the text with numbered citations, and every source with its URL and its quotes.

Decoders mark each search part and each evidence with their dialect's name in `extras`. A dialect recognises
its own parts by that mark.
"""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.model import (
    Answer,
    Evidence,
    Message,
    Opaque,
    Part,
    Reasoning,
    Search,
    SearchCall,
    SearchResult,
    Source,
    Text,
)
from groundwire.text.markdown import render_body
from groundwire.text.sources import Numbering, label_of, number_sources


def is_native(message: Message, dialect: str) -> bool:
    """Whether all searches and citations of this message were made by that dialect."""
    marks: Iterable[SearchCall | SearchResult | Evidence] = (
        *(part for part in message.parts if isinstance(part, SearchCall | SearchResult)),
        *(item for citation in message.citations for item in citation.evidence),
    )
    return all(dialect in mark.extras for mark in marks)


def readable_parts(message: Message, dialect: str) -> tuple[Part, ...]:
    """Return the parts of a message in a form any provider can read: text first, then calls and images."""
    if (
        not any(isinstance(part, SearchCall | SearchResult) for part in message.parts)
        and not message.citations
    ):
        return tuple(part for part in message.parts if not _is_foreign(part, dialect))
    text = readable_text(message)
    others = tuple(
        part
        for part in message.parts
        if not isinstance(part, Text | SearchCall | SearchResult) and not _is_foreign(part, dialect)
    )
    return (Text(text), *others) if text else others


def readable_text(message: Message) -> str:
    """Render the text with `[n]`, then the queries, and every source with its quotes."""
    answer = Answer(message.parts, message.citations)
    numbering = number_sources(sorted(answer.sources, key=lambda source: source.state != "cited"))
    blocks = [render_body(answer, numbering)]
    queries = [_query_line(search) for search in answer.searches if search.query]
    if queries:
        blocks.append("Searched for: " + "; ".join(queries))
    if numbering.sources:
        blocks.append("Sources:\n" + "\n".join(_source_lines(answer, numbering)))
    return "\n\n".join(block for block in blocks if block.strip())


def _source_lines(answer: Answer, numbering: Numbering) -> Iterable[str]:
    quotes: dict[int, dict[str, None]] = {}
    for citation in answer.citations:
        for item in citation.evidence:
            if item.quote:
                quotes.setdefault(numbering.number(item.source) or 0, {})[item.quote] = None
    for number, source in enumerate(numbering.sources, 1):
        yield f"[{number}] {_source_label(source)}"
        for quote in (*quotes.get(number, ()), *source.excerpts):
            yield f'    "{" ".join(quote.split())}"'


def _query_line(search: Search) -> str:
    return f"{search.query} (failed: {search.error})" if search.error else search.query


def _source_label(source: Source) -> str:
    return f"{label_of(source)} ({source.url})" if source.url else label_of(source)


def _is_foreign(part: Part, dialect: str) -> bool:
    if isinstance(part, Opaque):
        return part.dialect != dialect
    return isinstance(part, Reasoning) and dialect not in part.extras
