"""Writes where sections without text of their own begin, from a copy of Python's documentation.

    python scripts/first_sections.py /usr/share/doc/python3.11/html

Some of the pages and sections that data/concepts.txt and data/purposes.txt name are headings only, with their
text in the sections and objects below. The engine quotes the first of these.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from groundwire.engine.knowledge.documentation import DocumentationCopy, file_pages, open_copy
from groundwire.engine.knowledge.purposes import purpose_index
from groundwire.engine.read.html import parse

SECTIONS = Path(__file__).parents[1] / "src/groundwire/engine/knowledge/data/first_sections.txt"
HEADER = """\
# Pages and sections of docs.python.org without text of their own, and the first anchor inside them that has
# some. Written by scripts/first_sections.py from the documentation of Python {version}.
"""


LEAST_TEXT = 400
"""Characters of the section with which a whole page begins: its title may be followed by its author only."""


def first_sections(copy: DocumentationCopy, targets: list[str]) -> Iterator[tuple[str, str]]:
    """The targets without text of their own, each with the first anchor inside it that has text."""
    for path in sorted({target.partition("#")[0] for target in targets} & {*copy.paths(everything=True)}):
        data = copy.read(path)
        pages = file_pages(data, path, copy.version)
        lengths = {page.url.partition("#")[2]: len(page.text) for page in pages}
        root = parse(data.decode("utf-8", "replace"))
        for target in targets:
            file, _, section = target.partition("#")
            if file != path or root is None or section in lengths:
                continue
            parents = [item for item in root.iter() if item.get("id") == section] if section else [root]
            inside = (str(item.get("id")) for parent in parents for item in parent.iter())
            least = 1 if section else LEAST_TEXT
            first = next((anchor for anchor in inside if lengths.get(anchor, 0) >= least), "")
            if first:
                yield target, first


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Write where the text of sections of Python's documentation begins that have none."
    )
    parser.add_argument("copy", type=Path, help="folder, zip or tar file with the HTML documentation")
    copy = open_copy(parser.parse_args().copy)
    targets = sorted({item.target for item in purpose_index().purposes if ".html" in item.target})
    lines = (f"{target} {anchor}\n" for target, anchor in first_sections(copy, targets))
    SECTIONS.write_text(HEADER.format(version=copy.version) + "".join(lines), "utf-8")


if __name__ == "__main__":
    main()
