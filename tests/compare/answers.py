"""Cited answers for comparisons."""

from __future__ import annotations

from groundwire.compare.comparison import Contribution
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    assemble,
)


def cited_events(*claims: tuple[str, str], provider: str = "", model: str = "m") -> list[Event]:
    """The events of an answer: sentences, each with the address that it cites."""
    text = ""
    citations: list[Event] = []
    for sentence, url in claims:
        span = Span(len(text), len(text) + len(sentence))
        text += f"{sentence} "
        citations.append(Cited(Citation(span, (Evidence(Source(url, f"Title of {url}")),), "claim")))
    started = Started(model=model, provider=provider)
    return [started, TextDelta(0, text), *citations, TextSettled(0), Finished()]


def cited_answer(*claims: tuple[str, str]) -> Answer:
    """The answer itself."""
    return assemble(cited_events(*claims))


def contribution(provider: str, *claims: tuple[str, str]) -> Contribution:
    """What a provider answered."""
    return Contribution(provider, cited_answer(*claims), "answered")
