"""Columns that line up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groundwire.faces.cli.paper import text_width

_GAP = "  "


def lined_up(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Each row as a line; all columns but the last as wide as their widest cell."""
    widths = [max(text_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (cell + " " * (width - text_width(cell)) for cell, width in zip(row, widths, strict=True))
        yield _GAP.join(cells).rstrip()
