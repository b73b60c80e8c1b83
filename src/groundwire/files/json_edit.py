"""Put a member into a JSON text with comments, or take it out, and leave every other byte alone.

A text that is no JSON is refused with its place before anything is touched; from then on the spans of its
members are found by looking at signs alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from groundwire.errors import ConfigError
from groundwire.files.jsonc import parse_jsonc
from groundwire.files.text_file import position
from groundwire.model import Json
from groundwire.model.value import value

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/|[{}\[\]:,]|[^\s{}\[\]:,"/]+', re.DOTALL)
_BLANK = re.compile(r"(?:\s|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SAME_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_INDENT = re.compile(r"[ \t]*")


class Member(NamedTuple):
    """A name and its value; `comma` is where the one after it stands, or -1."""

    name: str
    start: int
    value: Node
    comma: int


class Node(NamedTuple):
    """A value. `members` is None unless it is an object."""

    start: int
    end: int
    members: tuple[Member, ...] | None


def value_at(text: str, path: Sequence[str]) -> Json:
    """What stands at a path; None if nothing does."""
    found = parse_jsonc(text) if not _BLANK.fullmatch(text) else None
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def put(text: str, path: Sequence[str], value: Json) -> str:
    """The text with the value at the path. What is missing on the way is made, at the end of its object."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if _BLANK.fullmatch(text):
        gap = "" if not text or text.endswith("\n") else newline
        return f"{text}{gap}{_laid_out(_nested(path, value), '  ', '', newline)}{newline}"
    parse_jsonc(text)
    node, unit = _root(text), _unit(text)
    for depth, name in enumerate(path):
        member = _member(text, node, name)
        if member is None:
            return _insert(text, node, name, _nested(path[depth + 1 :], value), unit)
        node, start = member.value, member.start
    written = _written(value, _own_line(text, start), unit, newline)
    return text[: node.start] + written + text[node.end :]


def remove(text: str, path: Sequence[str], kept: int) -> str:
    """The text without what stands at the path, nor objects around it that would be empty without it.

    The first `kept` names of the path stay in any case.
    """
    parse_jsonc(text)
    chain: list[tuple[Node, Member]] = []
    node = _root(text)
    for name in path:
        member = _member(text, node, name)
        if member is None:
            return text
        chain.append((node, member))
        node = member.value
    depth = len(path) - 1
    while depth > kept and len(chain[depth][0].members or ()) == 1:
        depth -= 1
    return _cut(text, *chain[depth])


def _nested(path: Sequence[str], value: Json) -> Json:
    for name in reversed(path):
        value = {name: value}
    return value


def _member(text: str, node: Node, name: str) -> Member | None:
    """The member of that name; of several the last, which is the one that counts."""
    if node.members is None:
        line, column = position(text, node.start)
        raise ConfigError(f"line {line}, column {column}: an object is expected here, to put {name!r} into")
    return next((member for member in reversed(node.members) if member.name == name), None)


def _insert(text: str, node: Node, name: str, value: Json, unit: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    if not node.members:
        outer = _indent_at(text, node.start)
        inner = f"{newline}{outer}{unit}{_entry(name, value, outer + unit, unit, newline)}"
        rest = text[node.start + 1 : node.end]
        return (
            text[: node.start + 1]
            + inner
            + ("" if "\n" in rest else newline + outer)
            + text[node.start + 1 :]
        )
    last = node.members[-1]
    indent = _own_line(text, node.members[0].start)
    written = f"{json.dumps(name)}: {_written(value, indent, unit, newline)}"
    if indent is None:
        return f"{text[: last.value.end]}, {written}{text[last.value.end :]}"
    at = last.value.end if last.comma < 0 else last.comma + 1
    comment = _SAME_LINE.match(text, at)
    after = comment.end() if comment else at
    first, final = (",", "") if last.comma < 0 else ("", ",")
    return f"{text[:at]}{first}{text[at:after]}{newline}{indent}{written}{final}{text[after:]}"


def _entry(name: str, value: Json, base: str, unit: str, newline: str) -> str:
    return f"{json.dumps(name)}: {_laid_out(value, unit, base, newline)}"


def _written(value: Json, indent: str | None, unit: str, newline: str) -> str:
    """A value in the manner of its surroundings: on lines of its own, or all on one."""
    return (
        json.dumps(value, ensure_ascii=False) if indent is None else _laid_out(value, unit, indent, newline)
    )


def _laid_out(value: Json, unit: str, base: str, newline: str) -> str:
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = base + unit
    members = (f"{inner}{_entry(name, item, inner, unit, newline)}" for name, item in value.items())
    return "{" + newline + f",{newline}".join(members) + newline + base + "}"


def _cut(text: str, node: Node, member: Member) -> str:
    members = node.members or ()
    at = members.index(member)
    end = member.value.end if member.comma < 0 else member.comma + 1
    if _own_line(text, member.start) is None:
        return _cut_inline(text, members, at)
    comment = _SAME_LINE.match(text, end)
    start = text.rfind("\n", 0, member.start) + 1
    after = text.find("\n", comment.end() if comment else end)
    rest = text[after + 1 :] if after >= 0 and not text[end:after].strip() else text[end:]
    before = text[:start]
    if member.comma < 0 and at:
        comma = members[at - 1].comma
        before = before[:comma] + before[comma + 1 :]
    return before + rest


def _cut_inline(text: str, members: tuple[Member, ...], at: int) -> str:
    if at:
        return text[: members[at - 1].value.end] + text[members[at].value.end :]
    end = members[1].start if len(members) > 1 else members[0].value.end
    return text[: members[0].start] + text[end:]


def _own_line(text: str, at: int) -> str | None:
    """The blanks before something that begins its line; None if it does not."""
    start = text.rfind("\n", 0, at) + 1
    before = text[start:at]
    return None if before.strip() or start == 0 else before


def _indent_at(text: str, at: int) -> str:
    match = _INDENT.match(text, text.rfind("\n", 0, at) + 1)
    return match[0] if match else ""


def _unit(text: str) -> str:
    """How the file indents."""
    members = _root(text).members or ()
    return next((own for member in members if (own := _own_line(text, member.start))), "  ")


def _root(text: str) -> Node:
    return _Spans(text).document()


class _Spans:
    """Finds where values begin and end in a text that is known to be JSON with comments."""

    def __init__(self, text: str) -> None:
        self._tokens = [
            (match[0], match.start(), match.end())
            for match in _TOKEN.finditer(text)
            if not match[0].startswith(("//", "/*"))
        ]
        self._at = 0

    def document(self) -> Node:
        return self._value()

    def _value(self) -> Node:
        word, start, end = self._next()
        if word == "{":
            members = self._members()
            return Node(start, self._tokens[self._at - 1][2], members)
        if word == "[":
            self._items()
            return Node(start, self._tokens[self._at - 1][2], None)
        return Node(start, end, None)

    def _members(self) -> tuple[Member, ...]:
        found: list[Member] = []
        while (token := self._next())[0] != "}":
            self._next()
            value = self._value()
            found.append(Member(str(json.loads(token[0])), token[1], value, self._comma()))
        return tuple(found)

    def _items(self) -> None:
        while self._tokens[self._at][0] != "]":
            self._value()
            self._comma()
        self._at += 1

    def _comma(self) -> int:
        if self._tokens[self._at][0] != ",":
            return -1
        return self._next()[1]

    def _next(self) -> tuple[str, int, int]:
        self._at += 1
        return self._tokens[self._at - 1]


_BLANKS = re.compile(r"[ \t\n\r]*")
_read = json.JSONDecoder().raw_decode


@value
class Edit:
    """A member, by its path from the top, and the value it shall have."""

    path: tuple[str, ...]
    value: str | int


class _Place(NamedTuple):
    start: int
    end: int


def splice(text: str, edits: Iterable[Edit]) -> str:
    """The text with the edits made. Members that are missing come last, laid out like the first one."""
    try:
        for edit in edits:
            text = _put(text, edit)
    except (ValueError, KeyError, IndexError, RecursionError):
        raise ConfigError("the file is not the JSON object it was a moment ago; try again") from None
    return text


def _put(text: str, edit: Edit) -> str:
    *parents, name = edit.path
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    for parent in parents:
        at = _members(text, at)[parent].start
    members = _members(text, at)
    written = json.dumps(edit.value, ensure_ascii=False)
    if name in members:
        return text[: members[name].start] + written + text[members[name].end :]
    if not members:
        return f"{text[: at + 1]}{json.dumps(name)}: {written}{text[at + 1 :]}"
    first = _skip(text, at + 1)
    lead = text[at + 1 : first]
    _, name_end = _read(text, first)
    colon = text[name_end : _skip(text, _skip(text, name_end) + 1)]
    end = max(place.end for place in members.values())
    return f"{text[:end]},{lead}{json.dumps(name)}{colon}{written}{text[end:]}"


def _members(text: str, at: int) -> dict[str, _Place]:
    """Where the members of the object at a position are; of several with one name, the last."""
    if text[at] != "{":
        raise ValueError("not an object")
    found: dict[str, _Place] = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        name, end = _read(text, at)
        start = _skip(text, _skip(text, end) + 1)
        _, end = _read(text, start)
        found[str(name)] = _Place(start, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return found


def _skip(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at
