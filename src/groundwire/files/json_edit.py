"""Edit a JSON or JSONC text in place and leave every other byte alone.

The files belong to other programs: order, layout, comments and unknown fields stay. A text that is not valid
is refused before anything is changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from groundwire.errors import ConfigError
from groundwire.files.jsonc import Malformed, Member, Node, parse_jsonc, read_jsonc
from groundwire.files.text_file import position
from groundwire.model import Json

_BLANK = re.compile(r"(?:\s|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_WHITESPACE = re.compile(r"[ \t\r\n]*")
_SAME_LINE_COMMENT = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_INDENT = re.compile(r"[ \t]*")
_BOM = "\ufeff"


def set_values(text: str, values: Mapping[tuple[str, ...], str | int]) -> str:
    """Set members, by their paths, of objects that exist. New members come last, spaced like the first
    one."""
    bom, text = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    try:
        for path, value in values.items():
            text = _set_value(text, path, value)
    except (Malformed, LookupError):
        raise ConfigError("the file is not the JSON object it was a moment ago; try again") from None
    return bom + text


def value_at(text: str, path: Sequence[str]) -> Json:
    """The value at a path; None if there is none."""
    found = parse_jsonc(text) if not _BLANK.fullmatch(text) else None
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def put(text: str, path: Sequence[str], value: Json) -> str:
    """Set the value at a path, indented like the file. Missing objects are added at the end of their
    parent."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if _BLANK.fullmatch(text):
        gap = "" if not text or text.endswith("\n") else newline
        return f"{text}{gap}{_format_lines(_nested(path, value), '  ', '', newline)}{newline}"
    root = node = read_jsonc(text)
    unit = _indent_unit(text, root)
    for depth, name in enumerate(path):
        member = _member(text, node, name)
        if member is None:
            return _insert(text, node, name, _nested(path[depth + 1 :], value), unit)
        node, start = member.node, member.start
    formatted = _format(value, _own_line_indent(text, start), unit, newline)
    return text[: node.start] + formatted + text[node.end :]


def remove(text: str, path: Sequence[str], kept: int) -> str:
    """Remove the member at a path, and the objects around it that would become empty.

    The first `kept` names of the path stay in any case.
    """
    chain: list[tuple[Node, Member]] = []
    node = read_jsonc(text)
    for name in path:
        member = _member(text, node, name)
        if member is None:
            return text
        chain.append((node, member))
        node = member.node
    depth = len(path) - 1
    while depth > kept and len(chain[depth][0].members or ()) == 1:
        depth -= 1
    return _cut(text, *chain[depth])


def _set_value(text: str, path: tuple[str, ...], value: str | int) -> str:
    *parents, name = path
    node = read_jsonc(text)
    for parent in parents:
        node = _members_by_name(node)[parent].node
    members = _members_by_name(node)
    written = json.dumps(value, ensure_ascii=False)
    if name in members:
        old = members[name].node
        return text[: old.start] + written + text[old.end :]
    if not node.members:
        at = node.start + 1
        return f"{text[:at]}{json.dumps(name)}: {written}{text[at:]}"
    first, last = node.members[0], node.members[-1]
    lead = _WHITESPACE.match(text, node.start + 1)
    colon = text[first.name_end : first.node.start]
    end = last.node.end
    return f"{text[:end]},{lead[0] if lead else ''}{json.dumps(name)}{colon}{written}{text[end:]}"


def _members_by_name(node: Node) -> dict[str, Member]:
    """The members of an object; of several with one name the last, as for every reader."""
    if node.members is None:
        raise LookupError("not an object")
    return {member.name: member for member in node.members}


def _nested(path: Sequence[str], value: Json) -> Json:
    for name in reversed(path):
        value = {name: value}
    return value


def _member(text: str, node: Node, name: str) -> Member | None:
    """The member of that name; of several the last, which is the one readers use."""
    if node.members is None:
        line, column = position(text, node.start)
        raise ConfigError(f"line {line}, column {column}: an object is expected here, to put {name!r} into")
    return next((member for member in reversed(node.members) if member.name == name), None)


def _insert(text: str, node: Node, name: str, value: Json, unit: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    if not node.members:
        outer = _indent_at(text, node.start)
        inner = f"{newline}{outer}{unit}{_format_member(name, value, outer + unit, unit, newline)}"
        at = node.start + 1
        closing = "" if "\n" in text[at : node.end] else newline + outer
        return text[:at] + inner + closing + text[at:]
    last = node.members[-1]
    indent = _own_line_indent(text, node.members[0].start)
    written = f"{json.dumps(name)}: {_format(value, indent, unit, newline)}"
    if indent is None:
        return f"{text[: last.node.end]}, {written}{text[last.node.end :]}"
    at = last.node.end if last.comma < 0 else last.comma + 1
    comment = _SAME_LINE_COMMENT.match(text, at)
    after = comment.end() if comment else at
    leading, trailing = (",", "") if last.comma < 0 else ("", ",")
    return f"{text[:at]}{leading}{text[at:after]}{newline}{indent}{written}{trailing}{text[after:]}"


def _format_member(name: str, value: Json, base: str, unit: str, newline: str) -> str:
    return f"{json.dumps(name)}: {_format_lines(value, unit, base, newline)}"


def _format(value: Json, indent: str | None, unit: str, newline: str) -> str:
    """A value on lines of its own if its member has one (`indent` is not None), else on one line."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    return _format_lines(value, unit, indent, newline)


def _format_lines(value: Json, unit: str, base: str, newline: str) -> str:
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = base + unit
    members = (f"{inner}{_format_member(name, item, inner, unit, newline)}" for name, item in value.items())
    return "{" + newline + f",{newline}".join(members) + newline + base + "}"


def _cut(text: str, node: Node, member: Member) -> str:
    members = node.members or ()
    at = members.index(member)
    end = member.node.end if member.comma < 0 else member.comma + 1
    if _own_line_indent(text, member.start) is None:
        return _cut_inline(text, members, at)
    comment = _SAME_LINE_COMMENT.match(text, end)
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
        return text[: members[at - 1].node.end] + text[members[at].node.end :]
    end = members[1].start if len(members) > 1 else members[0].node.end
    return text[: members[0].start] + text[end:]


def _own_line_indent(text: str, at: int) -> str | None:
    """The indentation of something that begins its line; None if it does not."""
    start = text.rfind("\n", 0, at) + 1
    before = text[start:at]
    return None if before.strip() or start == 0 else before


def _indent_at(text: str, at: int) -> str:
    match = _INDENT.match(text, text.rfind("\n", 0, at) + 1)
    return match[0] if match else ""


def _indent_unit(text: str, root: Node) -> str:
    """One level of the file's indentation."""
    indents = (_own_line_indent(text, member.start) for member in root.members or ())
    return next((indent for indent in indents if indent), "  ")
