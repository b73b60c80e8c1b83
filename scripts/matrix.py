"""Writes docs/matrix.md: which answers of which providers reach which clients whole, through the gateway.

Every recorded answer is served by a scripted upstream, asked for through a gateway on loopback, and read by
the official client of each dialect, in each rendering of citations; then it goes back to the gateway with the
next question. The recordings are not part of the repository: without them nothing is written. With `--check`
nothing is written either; the exit status is 1 if the page is out of date, or if anything is missing in an
answer. `--print` prints the page.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "matrix.md"
sys.path.insert(0, str(ROOT))

from tests.faces.gateway.matrix import (  # noqa: E402
    INBOUND,
    Cell,
    Row,
    Score,
    all_recordings,
    play,
    rows_of,
)
from tests.faces.gateway.turns import Turn, play_turns, with_citations  # noqa: E402

from groundwire.faces.gateway.rendering import RENDERINGS, Rendering  # noqa: E402

_HEAD = """\
# What reaches whom

Recorded answers of real providers, asked for through the gateway in each dialect and read by the official
client of that dialect (`anthropic`, `openai` for Responses and Chat, `google-genai` for Gemini and
Interactions). A cell tells how many answers arrived whole, of how many, and in brackets how many citations
the client found in them. Whole means: the words, every cited address on its words, the queries, the counts,
the tokens and the reason of the end, errors as errors, and nothing that nobody said. What a dialect has no
words for is listed in [losses.md](losses.md). In the same dialect the client holds exactly what it reads from
the provider itself.

This page is written by `scripts/matrix.py`.
"""
_MARKERS = """\
Citations are written into the text. Whole means here: each cited address stands in the list of sources once,
and each `[n]` after its claim or in the place of its marker. In brackets: addresses in the lists.
"""
_BOTH = "The same, and the citations are kept at their new positions.\n"
_TITLES: Mapping[Rendering, tuple[str, str]] = {
    "structured": ("", ""),
    "markers": ("Rendering `markers`", _MARKERS),
    "both": ("Rendering `both`", _BOTH),
}
_NEXT = """\
## The next turn

Each recorded answer that cites something goes back with the next question, as the client's protocol has it,
to a provider of each dialect. A cell tells after how many answers every cited address could be read in the
request to that provider, and in brackets how many addresses that are. Clients of Gemini send no citations
back ([losses.md](losses.md)).
"""


def render(scores: Mapping[Cell, Score], turns: Mapping[Turn, Score], rows: Sequence[Row]) -> str:
    """The page."""
    lines = [_HEAD]
    for rendering in RENDERINGS:
        title, about = _TITLES[rendering]
        lines += [f"## {title}", "", about] if title else []
        for stream, name in ((False, "Whole answers"), (True, "Streams")):
            lines += [f"{'###' if title else '##'} {name}", ""]
            lines += [*_table(scores, rows, rendering, stream=stream), ""]
    return "\n".join([*lines, _NEXT, *_next_turns(turns)]) + "\n"


def _table(
    scores: Mapping[Cell, Score], rows: Sequence[Row], rendering: Rendering, *, stream: bool
) -> Iterator[str]:
    yield _line("recordings", "dialect \\ client", *(f"`{inbound}`" for inbound in INBOUND))
    yield _line("---", "---", *("--:" for _ in INBOUND))
    for row in rows:
        cells = [scores.get(Cell(inbound, row, stream, rendering), Score()) for inbound in INBOUND]
        if any(cell.total for cell in cells):
            yield _line(row.folder, f"`{row.dialect}`", *map(str, cells))


def _next_turns(turns: Mapping[Turn, Score]) -> Iterator[str]:
    yield _line("client \\ next provider", *(f"`{target}`" for target in INBOUND))
    yield _line("---", *("--:" for _ in INBOUND))
    for inbound in INBOUND:
        cells = (
            _sum(score for turn, score in turns.items() if (turn.inbound, turn.target) == (inbound, target))
            for target in INBOUND
        )
        yield _line(f"`{inbound}`", *map(str, cells))


def _sum(scores: Iterable[Score]) -> Score:
    total = Score()
    for score in scores:
        total.total += score.total
        total.failed += score.failed
        total.citations += score.citations
    return total


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def play_rendering(rendering: Rendering) -> dict[Cell, Score]:
    """All recordings in one rendering, in a process of its own."""
    return asyncio.run(play(all_recordings(), renderings=(rendering,)))


def play_next() -> dict[Turn, Score]:
    """All next turns."""
    return asyncio.run(play_turns(with_citations(all_recordings())))


def played() -> tuple[dict[Cell, Score], dict[Turn, Score]]:
    """Everything, on all processors."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        renderings = [pool.submit(play_rendering, rendering) for rendering in RENDERINGS]
        turns = pool.submit(play_next)
        return {cell: score for done in renderings for cell, score in done.result().items()}, turns.result()


def main(arguments: Sequence[str]) -> int:
    """Write the page, or with `--check` compare it."""
    recordings = all_recordings()
    if not recordings:
        print("the recordings are not on this machine: not run", file=sys.stderr)
        return 0
    began = perf_counter()
    scores, turns = played()
    print(f"played in {perf_counter() - began:.0f} s", file=sys.stderr)
    page = render(scores, turns, rows_of(recordings))
    faults = [
        f"{cell}: {fault}" for cell, score in (*scores.items(), *turns.items()) for fault in score.faults
    ]
    for fault in faults:
        print(fault[:400], file=sys.stderr)
    if "--print" in arguments:
        print(page)
    elif "--check" not in arguments:
        PAGE.write_text(page, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != page:
        print(f"{PAGE.name} is out of date: run scripts/matrix.py", file=sys.stderr)
        return 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
