"""Writes docs/matrix.md: which answers of which providers reach which clients whole, through the gateway.

Every recorded answer is served by a scripted upstream, asked for through a gateway on loopback, and read by
the official client of each dialect. The recordings are not part of the repository: without them nothing is
written. With `--check` nothing is written either; the exit status is 1 if the page is out of date, or if
anything is missing in an answer. `--print` prints the table.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "matrix.md"
sys.path.insert(0, str(ROOT))

from tests.faces.gateway.matrix import INBOUND, PROVIDERS, Cell, Score, all_recordings, play  # noqa: E402

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


def render(scores: Mapping[Cell, Score]) -> str:
    """The page."""
    lines = [_HEAD]
    for stream, title in ((False, "Whole answers"), (True, "Streams")):
        lines += [f"## {title}", "", *_table(scores, stream=stream), ""]
    return "\n".join(lines)


def _table(scores: Mapping[Cell, Score], *, stream: bool) -> Iterator[str]:
    yield _row("provider \\ client", *(f"`{inbound}`" for inbound in INBOUND))
    yield _row("---", *("--:" for _ in INBOUND))
    for provider in PROVIDERS:
        cells = (scores.get(Cell(inbound, provider, stream), Score()) for inbound in INBOUND)
        yield _row(f"`{provider}`", *map(str, cells))


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def main(arguments: Sequence[str]) -> int:
    """Write the page, or with `--check` compare it."""
    recordings = all_recordings()
    if not recordings:
        print("the recordings are not on this machine: not run", file=sys.stderr)
        return 0
    scores = asyncio.run(play(recordings))
    page = render(scores)
    faults = [f"{cell}: {fault}" for cell, score in scores.items() for fault in score.faults]
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
