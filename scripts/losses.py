"""Generate docs/losses.md: what each dialect cannot express, and where that information goes instead.

The tables come from the `losses` of the dialects, which the contract tests compare with the codecs.
With `--check`, nothing is written; the exit status is 1 if the page is out of date.
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

An answer can contain information that a wire format has no field for. This page lists, for each dialect,
what the dialect cannot express and where that information goes instead. Everything that is not listed is
preserved, streamed or not.

`groundwire.…` is a field of the object `groundwire`. The final object of a response, or the last event of a
stream, carries this object in addition to the dialect's own fields. Clients that do not know it ignore it.

If the client and the provider use the same dialect, a response can be passed through unchanged. Then it has
the limits of the provider's own format. For example, Perplexity lists its URLs outside the message, and a
Chat client does not send them back.

`scripts/losses.py` generates this page. The tables are tested against the codecs.
"""


def render(dialects: Sequence[Dialect]) -> str:
    """Return the page as Markdown."""
    lines = [_HEAD, "## Overview", "", *_overview(dialects)]
    for target in dialects:
        lines += ["", f"## Into `{target.name}`", "", *_table(target)]
        if target.not_resent:
            lines += ["", f"In the next turn: {target.not_resent}."]
    return "\n".join(lines) + "\n"


def _overview(dialects: Sequence[Dialect]) -> Iterator[str]:
    yield "Each cell counts what the dialect of the row can express and the dialect of the column cannot."
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
    """Write the page; with `--check`, compare it."""
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
