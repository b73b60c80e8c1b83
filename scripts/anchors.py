"""Writes the anchors of docs.python.org that the embedded engine links to, from an inventory of Sphinx.

    python scripts/anchors.py /usr/share/doc/python3.11/html/objects.inv

An inventory (`objects.inv`) is at the root of every copy of Python's documentation.
"""

from __future__ import annotations

import argparse
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

ANCHORS = Path(__file__).parents[1] / "src/groundwire/engine/knowledge/data/anchors.txt"
HEADER = """\
# Names and modules that docs.python.org documents: page, owner of the names, names. Written by
# scripts/anchors.py from the inventory of Python {version}'s documentation.
"""
_HEAD_LINES = 4
_ENTRY = re.compile(r"(?P<name>.+?)\s+py:(?P<kind>\w+)\s+-?\d+\s+(?P<page>\S+)\.html#\S*\s")
_KINDS = frozenset(("module", "class", "exception", "function", "method", "attribute", "property"))
"""Without constants, which have no docstrings."""
_REFERENCES = ("library/", "reference/")


def read_inventory(data: bytes) -> tuple[str, list[str]]:
    """The version of the documentation and the lines of the inventory."""
    *head, body = data.split(b"\n", _HEAD_LINES)
    return head[2].decode().rpartition(" ")[2], zlib.decompress(body).decode().splitlines()


def anchors(lines: list[str]) -> Iterator[tuple[str, str, str]]:
    """Page, owner and name of everything that the library and language references document."""
    for line in lines:
        entry = _ENTRY.match(line)
        if entry is None or entry["kind"] not in _KINDS or not entry["page"].startswith(_REFERENCES):
            continue
        if entry["kind"] == "module":
            yield entry["page"], "", f"module-{entry['name']}"
        else:
            owner, _, name = entry["name"].rpartition(".")
            yield entry["page"], owner, name


def table(lines: list[str]) -> str:
    """The data file without its header."""
    grouped: dict[str, list[str]] = {}
    for page, owner, name in sorted(anchors(lines)):
        grouped.setdefault(f"{page} {owner}".rstrip(), []).append(name)
    return "".join(f"{key}: {' '.join(names)}\n" for key, names in grouped.items())


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the anchors of docs.python.org.")
    parser.add_argument("inventory", type=Path)
    version, lines = read_inventory(parser.parse_args().inventory.read_bytes())
    ANCHORS.write_text(HEADER.format(version=version) + table(lines), "utf-8")


if __name__ == "__main__":
    main()
