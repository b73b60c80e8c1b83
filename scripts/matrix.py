"""Generate docs/matrix.md: how completely answers of each provider reach each client through the gateway.

A scripted upstream serves every recorded answer. The official client of each dialect requests it through a
gateway on loopback, in each rendering of citations, and sends it back with the next question. The recordings
are not part of the repository; without them nothing is written. With `--check`, nothing is written either;
the exit status is 1 if the page is out of date, or if anything is missing in an answer. `--print` prints the
page.
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

from tests.contracts.documented import DOCUMENTED, documented  # noqa: E402
from tests.faces.gateway.matrix import (  # noqa: E402
    INBOUND,
    MatrixCell,
    Row,
    Score,
    all_recordings,
    play,
    rows_of,
)
from tests.faces.gateway.turns import NextTurn, play_turns, with_citations  # noqa: E402

from groundwire.faces.gateway.rendering import RENDERINGS, Rendering  # noqa: E402

_DOCUMENTED_VENDORS = frozenset(item.vendor for item in DOCUMENTED)
_HEAD = """\
# Compatibility matrix

This page shows how completely answers of each provider reach each client through the gateway. Recorded
responses of real providers are requested through the gateway in each dialect, and decoded by the official
client of that dialect (`anthropic`, `openai` for Responses and Chat, `google-genai` for Gemini and
Interactions, `botocore` for Bedrock Converse, `cohere`, `mistralai`). Rows in italics are vendors of which
there are no recordings: their answers are written in the shapes that their own SDKs document.

Each cell shows how many answers arrived complete, out of how many, and in brackets how many citations the
client found in them. An answer is complete if the client has its text, every cited URL on the right words,
the queries, the number of searches, the tokens and the finish reason; if errors arrive as errors; and if
nothing was added. [losses.md](losses.md) lists what a dialect cannot express. In the same dialect, the client
reads exactly what it would read from the provider itself.

`scripts/matrix.py` generates this page.
"""
_MARKERS = """\
Citations are written into the text. Here, an answer is complete if each cited URL is in the list of sources
once, and each `[n]` follows its claim or replaces its marker. The numbers in brackets count the URLs in the
lists.
"""
_BOTH = "The same as `markers`, and the structured citations are kept at their new positions.\n"
_TITLES: Mapping[Rendering, tuple[str, str]] = {
    "structured": ("", ""),
    "markers": ("Rendering `markers`", _MARKERS),
    "both": ("Rendering `both`", _BOTH),
}
_NEXT = """\
## The next turn

Each recorded answer with citations is sent back with the next question, in the client's protocol, to a
provider of each dialect. Each cell shows for how many answers every cited URL appeared in the request to that
provider, and in brackets the number of these URLs. Clients of Gemini send no citations back
([losses.md](losses.md)).
"""


def render(scores: Mapping[MatrixCell, Score], turns: Mapping[NextTurn, Score], rows: Sequence[Row]) -> str:
    """Return the page as Markdown."""
    lines = [_HEAD]
    for rendering in RENDERINGS:
        title, about = _TITLES[rendering]
        lines += [f"## {title}", "", about] if title else []
        for stream, name in ((False, "Whole answers"), (True, "Streams")):
            lines += [f"{'###' if title else '##'} {name}", ""]
            lines += [*_table(scores, rows, rendering, stream=stream), ""]
    return "\n".join([*lines, _NEXT, *_next_turns(turns)]) + "\n"


def _table(
    scores: Mapping[MatrixCell, Score], rows: Sequence[Row], rendering: Rendering, *, stream: bool
) -> Iterator[str]:
    yield _line("recordings", "dialect \\ client", *(f"`{inbound}`" for inbound in INBOUND))
    yield _line("---", "---", *("--:" for _ in INBOUND))
    for row in rows:
        cells = [scores.get(MatrixCell(inbound, row, stream, rendering), Score()) for inbound in INBOUND]
        if any(cell.total for cell in cells):
            name = f"*{row.folder}*" if row.folder in _DOCUMENTED_VENDORS else row.folder
            yield _line(name, f"`{row.dialect}`", *map(str, cells))


def _next_turns(turns: Mapping[NextTurn, Score]) -> Iterator[str]:
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


def play_rendering(rendering: Rendering) -> dict[MatrixCell, Score]:
    """Play all recordings in one rendering, in a separate process."""
    return asyncio.run(play([*all_recordings(), *documented()], renderings=(rendering,)))


def play_next() -> dict[NextTurn, Score]:
    """Play all next turns."""
    return asyncio.run(play_turns(with_citations(all_recordings())))


def played() -> tuple[dict[MatrixCell, Score], dict[NextTurn, Score]]:
    """Play everything, in parallel on all processors."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        renderings = [pool.submit(play_rendering, rendering) for rendering in RENDERINGS]
        turns = pool.submit(play_next)
        return {cell: score for done in renderings for cell, score in done.result().items()}, turns.result()


def main(arguments: Sequence[str]) -> int:
    """Write the page; with `--check`, compare it."""
    recordings = all_recordings()
    if not recordings:
        print("There are no recordings on this machine; nothing was checked.", file=sys.stderr)
        return 0
    began = perf_counter()
    scores, turns = played()
    print(f"played in {perf_counter() - began:.0f} s", file=sys.stderr)
    page = render(scores, turns, rows_of([*recordings, *documented()]))
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
