"""Edit an entry of a YAML text in place and leave every other byte alone.

Only what is edited is read: block mappings along the path of the entry, and the entry itself. A mapping that
is written in another form (`{…}` with members, an anchor, a list) is refused: its owner has to edit it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from groundwire.errors import ConfigError
from groundwire.model import Json

_KEY = re.compile(
    r"""(?P<indent>\ *)(?P<name>"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'#\-{}\[\],&*!|>%@`:][^#:]*?|-[^\s#:]+)
    \ *:(?P<rest>(?:\ .*)?)$""",
    re.VERBOSE,
)
_EMPTY = re.compile(r" *(?:#.*)?")
_NOTHING = re.compile(r" *(?:\{ *\}|null|~)? *(?:#.*)?")
_COMMENT = re.compile(r" +#.*$")
_PLAIN = re.compile(r"[A-Za-z_/.][\w/.-]*")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_WORDS: Mapping[str, Json] = {"true": True, "false": False, "null": None, "~": None, "": None}
_RESERVED = frozenset({*_WORDS, "yes", "no", "on", "off", "y", "n"})
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_TOP_LEVEL = re.compile(r"[-#{}\[\]%]|\.\.\.|$")
_UNIT = "  "


class _YamlBlock(NamedTuple):
    """A member of a block mapping: the lines `start` to `end`, the first of which has its name."""

    start: int
    end: int
    indent: int
    rest: str


def value_at(text: str, path: Sequence[str]) -> Json:
    """The value at a path; None if there is none. A form that is not read here is its text."""
    lines = _lines(text)
    found: _YamlBlock | None = None
    for name in path:
        found = _member(lines, found, name)
        if found is None:
            return None
    return _value(lines, found) if found else None


def put(text: str, path: Sequence[str], value: Json) -> str:
    """Set the value at a path. Missing mappings are added at the end of their parent."""
    lines = _lines(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    parent: _YamlBlock | None = None
    for depth, name in enumerate(path):
        found = _member(lines, parent, name)
        if found is None:
            nested = _nested(path[depth + 1 :], value)
            return newline.join(_insert(lines, parent, name, nested))
        parent = found
    if parent is None:
        return text
    written = _format_member(path[-1], value, " " * parent.indent)
    return newline.join([*lines[: parent.start], *written, *lines[parent.end :]])


def remove(text: str, path: Sequence[str], kept: int) -> str:
    """Remove the entry at a path, and the mappings around it that would become empty.

    The first `kept` names of the path stay in any case.
    """
    lines = _lines(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    chain: list[_YamlBlock] = []
    for name in path:
        found = _member(lines, chain[-1] if chain else None, name)
        if found is None:
            return text
        chain.append(found)
    depth = len(chain) - 1
    while depth > kept and len(_names(lines, chain[depth - 1])) == 1:
        depth -= 1
    block = chain[depth]
    return newline.join([*lines[: block.start], *lines[block.end :]])


def _lines(text: str) -> list[str]:
    """The lines. Raises `ConfigError` at the first one that cannot be part of one block mapping."""
    lines = text.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        if line.lstrip(" ").startswith("\t") and line.strip():
            raise ConfigError(f"line {number}, column 1: a tab is not allowed as indentation")
        begins = line[:1] not in ("", " ")
        if begins and not _KEY.match(line) and not _TOP_LEVEL.match(line):
            raise ConfigError(f"line {number}, column 1: expected `name: value`")
        if line.startswith(("---", "...")) and any(map(str.strip, lines[: number - 1])):
            raise ConfigError(f"line {number}, column 1: more than one document; add the entry by hand")
    return lines


def _body(lines: Sequence[str], block: _YamlBlock | None) -> tuple[int, int]:
    return (0, len(lines)) if block is None else (block.start + 1, block.end)


def _child_indent(lines: Sequence[str], block: _YamlBlock | None) -> int | None:
    """The indentation of the members; None if there are none."""
    start, end = _body(lines, block)
    for line in lines[start:end]:
        if not _EMPTY.fullmatch(line) and not line.startswith("---"):
            return len(line) - len(line.lstrip(" "))
    return None


def _members(lines: Sequence[str], block: _YamlBlock | None) -> list[tuple[str, int, str]]:
    """Name, line and rest of the line of each member."""
    indent = _child_indent(lines, block)
    start, end = _body(lines, block)
    matches = ((number, _KEY.match(lines[number])) for number in range(start, end))
    return [
        (str(_scalar(match["name"])), number, match["rest"])
        for number, match in matches
        if match and len(match["indent"]) == indent
    ]


def _names(lines: Sequence[str], block: _YamlBlock | None) -> list[str]:
    return [name for name, _, _ in _members(lines, block)]


def _member(lines: Sequence[str], block: _YamlBlock | None, name: str) -> _YamlBlock | None:
    _, end = _body(lines, block)
    indent = _child_indent(lines, block) or 0
    for found, number, rest in _members(lines, block):
        if found == name:
            return _YamlBlock(number, _end(lines, number, end, indent), indent, rest)
    return None


def _end(lines: Sequence[str], start: int, limit: int, indent: int) -> int:
    """The line after the last one of a member: comments and blank lines before the next are about that."""
    last = start
    for number in range(start + 1, limit):
        line = lines[number]
        if _EMPTY.fullmatch(line):
            continue
        depth = len(line) - len(line.lstrip(" "))
        if depth < indent or (depth == indent and not line[depth:].startswith("- ")):
            break
        last = number
    return last + 1


def _insert(lines: list[str], parent: _YamlBlock | None, name: str, value: Json) -> list[str]:
    if parent is None:
        trailing = [""] if lines and not lines[-1] else []
        kept = lines[:-1] if trailing else lines
        return [*kept, *_format_member(name, value, ""), *(trailing or [""])]
    indent = _child_indent(lines, parent)
    first = lines[parent.start]
    if indent is None and _NOTHING.fullmatch(parent.rest):
        comment = _COMMENT.search(parent.rest)
        head = first[: len(first) - len(parent.rest)] + (comment[0] if comment else "")
        written = _format_member(name, value, " " * parent.indent + _UNIT)
        return [*lines[: parent.start], head, *written, *lines[parent.start + 1 :]]
    if indent is None or not _names(lines, parent) or not _EMPTY.fullmatch(parent.rest):
        raise ConfigError(f"line {parent.start + 1}: this is not a block mapping; add the entry by hand")
    return [*lines[: parent.end], *_format_member(name, value, " " * indent), *lines[parent.end :]]


def _nested(path: Sequence[str], value: Json) -> Json:
    for name in reversed(path):
        value = {name: value}
    return value


def _format_member(name: str, value: Json, indent: str) -> list[str]:
    head = f"{indent}{_format_scalar(name)}:"
    if isinstance(value, dict) and value:
        return [
            head,
            *(line for key, item in value.items() for line in _format_member(key, item, indent + _UNIT)),
        ]
    if isinstance(value, list) and value:
        return [head, *(f"{indent}{_UNIT}- {_format_scalar(item)}" for item in value)]
    return [f"{head} {_format_scalar(value)}"]


def _format_scalar(value: Json) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
        return value
    # JSON is a part of YAML, but for characters that YAML refuses or reads as line breaks.
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _value(lines: Sequence[str], block: _YamlBlock) -> Json:
    body = [line for line in lines[block.start + 1 : block.end] if not _EMPTY.fullmatch(line)]
    if not body:
        return _scalar(block.rest)
    if body[0].lstrip(" ").startswith("- "):
        return [_scalar(line.lstrip(" ")[2:]) for line in body]
    names = _names(lines, block)
    if not names:
        return "\n".join(body)
    members = ((name, _member(lines, block, name)) for name in names)
    return {name: _value(lines, member) for name, member in members if member}


def _scalar(text: str) -> Json:
    plain = text.strip() if text.strip()[:1] in ("'", '"') else _COMMENT.sub("", text).strip()
    if plain in _WORDS:
        return _WORDS[plain]
    if _INTEGER.fullmatch(plain):
        return int(plain)
    if plain[:1] == "'" and plain[-1:] == "'":
        return plain[1:-1].replace("''", "'")
    if plain[:1] in ('"', "[", "{"):
        try:
            value: Json = json.loads(plain)
        except ValueError:
            return plain
        return value
    return plain
