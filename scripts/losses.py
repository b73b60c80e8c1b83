"""Writes docs/losses.md: what each dialect cannot say, and where it goes instead.

The tables come from the dialects themselves, whose `losses` the contract tests check against reality.
With `--check` nothing is written; the exit status is 1 if the page is out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from groundwire.dialects.base import Dialect
from groundwire.dialects.features import Feature, lost_between
from groundwire.dialects.registry import DIALECTS, dialect

PAGE = Path(__file__).parents[1] / "docs" / "losses.md"

_HEAD = """\
# What is lost between dialects

An answer may hold more than a wire format has words for. This page lists, for each dialect, what cannot be
said in it, and where it goes instead. Everything that is not listed is kept, streamed or not.

`groundwire.…` names a field of the object `groundwire`, which the final object of an answer, or the last
event of a stream, carries beside the dialect's own fields. Clients that do not know it ignore it.

An answer that passes unchanged, because client and provider speak the same dialect, is what the provider made
it: Perplexity lists its addresses beside the message, and a Chat client does not send them back.

This page is written by `scripts/losses.py`; the tables are tested against the codecs.
"""


def render(dialects: Sequence[Dialect]) -> str:
    """The page."""
    lines = [_HEAD, "## Overview", "", *_overview(dialects)]
    for target in dialects:
        lines += ["", f"## Into `{target.name}`", "", *_table(target)]
        if target.not_resent:
            lines += ["", f"In the next turn: {target.not_resent}."]
    return "\n".join(lines) + "\n"


def _overview(dialects: Sequence[Dialect]) -> Iterator[str]:
    yield "How many things the dialect of the row can say and the dialect of the column cannot."
    yield ""
    yield _row("from \\ into", *(f"`{target.name}`" for target in dialects))
    yield _row("---", *("--:" for _ in dialects))
    for source in dialects:
        yield _row(f"`{source.name}`", *(str(len(lost_between(source, target))) for target in dialects))


def _table(target: Dialect) -> Iterator[str]:
    if not target.losses:
        yield "Nothing is lost."
        return
    yield _row("lost", "goes to")
    yield _row("---", "---")
    for feature in Feature:
        if feature in target.losses:
            yield _row(feature.value, target.losses[feature])


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main(arguments: Sequence[str]) -> int:
    """Write the page, or with `--check` compare it."""
    page = render([dialect(name) for name in DIALECTS])
    if "--check" not in arguments:
        PAGE.write_text(page, encoding="utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page:
        return 0
    print(f"{PAGE.name} is out of date: run scripts/losses.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
