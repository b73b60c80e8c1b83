"""Where the text of an answer goes on after something else."""

from __future__ import annotations

from collections.abc import Iterator

from groundwire.model import Answer, Text


def breaks_of(answer: Answer) -> Iterator[int]:
    """Places where another search, or another tone, divides the text: it must not run on in one line."""
    position = 0
    last: Text | None = None
    apart = False
    for part in answer.parts:
        if not isinstance(part, Text):
            apart = True
            continue
        if last is not None and position and (apart or last.phase != part.phase):
            yield position
        position += len(part.text)
        last, apart = part, False
