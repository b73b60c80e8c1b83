"""Edit tables of a TOML text and leave every other byte alone.

A new table is added at the end under a header of its own, and a table under such a header is replaced. A
table written otherwise (inline, or with dotted keys) is refused: its owner has to edit it.

tomlkit parses the layout and formats the values. It moves comments and blank lines along with tables, so the
edit itself cuts the text at the span that tomlkit gives the table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from groundwire.errors import ConfigError
from groundwire.files.toml import parse_toml
from groundwire.model import Json

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.items import Table

_BLANK_LINE = re.compile(r"(?<=\n)\r?\n\Z")
_MARKER = "groundwire-edits-this-table"


def table_at(text: str, path: Sequence[str], file: str) -> Json:
    """The value at a path; None if there is none. Raises `ConfigError` where the text is not valid TOML."""
    found: object = parse_toml(text, file)
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return cast("Json", found)


def put(text: str, path: Sequence[str], table: Mapping[str, Json], file: str) -> str:
    """Add or replace the table at a path."""
    newline = "\r\n" if "\r\n" in text else "\n"
    written = _format(path, table).replace("\n", newline)
    if table_at(text, path, file) is not None:
        start, end = _span(text, path, file)
        return text[:start] + written + text[end:]
    if not text.strip():
        return text + written
    edited = text + (newline if text.endswith("\n") else newline * 2) + written
    try:
        parse_toml(edited, file)
    except ConfigError:  # an inline table cannot be extended
        raise _edit_by_hand(path, file) from None
    return edited


def remove(text: str, path: Sequence[str], file: str) -> str:
    """Remove the table at a path, with the blank line before it."""
    if table_at(text, path, file) is None:
        return text
    start, end = _span(text, path, file)
    head = text[:start]
    blank = _BLANK_LINE.search(head)
    return (head[: blank.start()] if blank else head) + text[end:]


def _format(path: Sequence[str], table: Mapping[str, Json]) -> str:
    import tomlkit  # noqa: PLC0415  slow to import, and only commands that edit TOML need it

    inner = tomlkit.table()
    for name, item in table.items():
        inner.append(name, item)
    for name in reversed(path[1:]):
        outer = tomlkit.table(is_super_table=True)
        outer.append(name, inner)
        inner = outer
    document = tomlkit.document()
    document.append(path[0], inner)
    return tomlkit.dumps(document)


def _span(text: str, path: Sequence[str], file: str) -> tuple[int, int]:
    """From the header of a table to the end of it and of the tables in it, without trailing comments.

    The start is found by a comment that is put next to the header, the end by the length of the text without
    the table. The rest of the text must be unchanged by both.
    """
    import tomlkit  # noqa: PLC0415  see above

    marked = tomlkit.parse(text)
    table = _table(marked, path)
    if table is None:
        raise _edit_by_hand(path, file)
    trailing = _trailing_length(table)
    table.comment(_MARKER)
    before, marker, _ = tomlkit.dumps(marked).partition(_MARKER)
    without = tomlkit.parse(text)
    del _parent(without, path)[path[-1]]
    rest = tomlkit.dumps(without)
    start = before.rfind("\n") + 1
    end = start + len(text) - len(rest)
    if not marker or text[:start] + text[end:] != rest:
        raise _edit_by_hand(path, file)
    return start, end - trailing


def _parent(document: TOMLDocument, path: Sequence[str]) -> Table:
    node: object = document
    for name in path[:-1]:
        node = cast("Table", node)[name]
    return cast("Table", node)


def _table(document: TOMLDocument, path: Sequence[str]) -> Table | None:
    """The table at a path if it has one header of its own."""
    from tomlkit.items import Table  # noqa: PLC0415  see above

    table = _parent(document, path)[path[-1]]
    return table if isinstance(table, Table) and not table.is_super_table() else None


def _trailing_length(table: Table) -> int:
    """The length of the blank lines and comments at the end of a table: they are about what follows."""
    from tomlkit.items import AoT, Comment, Table, Whitespace  # noqa: PLC0415  see above

    length = 0
    for _, item in reversed(table.value.body):
        if isinstance(item, Whitespace | Comment):
            length += len(item.as_string())
        elif isinstance(item, Table):
            return length + _trailing_length(item)
        elif isinstance(item, AoT) and item.body:
            return length + _trailing_length(item.body[-1])
        else:
            break
    return length


def _edit_by_hand(path: Sequence[str], file: str) -> ConfigError:
    name = ".".join(path)
    return ConfigError(f"{file}: {name} is written in a form that is not edited here; change it by hand")
