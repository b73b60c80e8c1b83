"""An answer as a text to read: numbers where sources are cited, and the list of them at the end."""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.model import Answer, Source, Text
from groundwire.text.markers import place_markers, strip_markers
from groundwire.text.sources import Numbering, label_of, number_answer


def render_answer(answer: Answer) -> str:
    """Text with `[n]`, an empty line, and the Sources list, if there are sources."""
    numbering = number_answer(answer)
    body = render_body(answer, numbering)
    return f"{body}\n\n{render_sources(numbering.sources)}" if numbering.sources else body


def render_body(answer: Answer, numbering: Numbering) -> str:
    """The text with its numbers; commentary and answer stand apart."""
    text = place_markers(answer.text, answer.citations, numbering.number, _phase_breaks(answer))
    return strip_markers(text)


def render_sources(sources: Iterable[Source]) -> str:
    """`Sources:` and one line each: `[1] Title (address)`."""
    lines = (
        f"[{number}] {label_of(source)}" + (f" ({source.url})" if source.url else "")
        for number, source in enumerate(sources, 1)
    )
    return "\n".join(["Sources:", *lines])


def _phase_breaks(answer: Answer) -> list[int]:
    breaks: list[int] = []
    position = 0
    previous: Text | None = None
    for part in answer.parts:
        if not isinstance(part, Text):
            continue
        if previous is not None and previous.phase != part.phase and position:
            breaks.append(position)
        position += len(part.text)
        previous = part
    return breaks
