"""reStructuredText, Sphinx's included: rendered by docutils, then read as the HTML it stands for.

No directive may read a file, fetch an address or write HTML. What only Sphinx knows keeps its words: a role
becomes its text, a directive its argument with what stands under it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping

from docutils.core import publish_parts
from docutils.parsers.rst.languages.en import directives

from groundwire.engine.read.decoding import clean, decode
from groundwire.engine.read.document import Content, Document
from groundwire.engine.read.html import read_fragment
from groundwire.engine.read.plain import read_text

_LONGEST = 500_000
_SETTINGS: Mapping[str, object] = {
    "_disable_config": True,
    "doctitle_xform": False,
    "embed_stylesheet": False,
    "file_insertion_enabled": False,
    "halt_level": 5,
    "input_encoding": "unicode",
    "line_length_limit": 100_000,
    "math_output": "LaTeX",
    "raw_enabled": False,
    "report_level": 5,
    "stylesheet_path": "",
    "syntax_highlight": "none",
}
_ROLE = re.compile(r":([a-z][\w:+.-]{0,60}):`[~!]?([^`<]{1,500}?)(?:\s*<[^`>]{1,500}>)?`", re.IGNORECASE)
_KNOWN_ROLES = frozenset(
    (*("code", "math", "sub", "subscript", "sup", "superscript", "literal", "emphasis", "strong"),)
)
_DIRECTIVE = re.compile(r"^(\s*)\.\. ([\w:+.-]{1,60})::[ \t]*(.*)$")
_OPTION = re.compile(r"^\s+:[\w-]+:")
_SILENT = frozenset(
    (
        *("toctree", "index", "currentmodule", "module", "py:module", "py:currentmodule"),
        *("highlight", "tabularcolumns", "only", "sectionauthor", "codeauthor", "automodule"),
        *("autoclass", "autofunction", "automethod", "autosummary", "literalinclude", "include"),
        *("raw"),
    )
)
_LABELS: Mapping[str, str] = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "deprecated-removed": "Deprecated since version",
    "seealso": "See also",
}


def read(document: Document) -> Content:
    """What stands in it. Beyond half a million characters it is kept as plain text."""
    text = clean(decode(document.data, document.charset))
    if len(text) > _LONGEST:
        return read_text(text)
    source = _plain_roles("\n".join(_known_directives(text.split("\n"))))
    settings = {**_SETTINGS, "warning_stream": io.StringIO()}
    try:
        parts = publish_parts(source, writer="html5", settings_overrides=settings)
    except (RecursionError, ValueError, LookupError, AttributeError, TypeError, AssertionError):
        return read_text(text)  # docutils stumbles over input that only a machine would write
    body, heading = read_fragment(parts["body"])
    return Content(body, title=heading)


def _plain_roles(text: str) -> str:
    """Roles that docutils does not know become literals of their text."""

    def plain(match: re.Match[str]) -> str:
        return match[0] if match[1].lower() in _KNOWN_ROLES else f"``{match[2].strip()}``"

    return _ROLE.sub(plain, text)


def _known_directives(lines: list[str]) -> Iterator[str]:
    """Directives that docutils does not know become what they say."""
    silent: int | None = None
    optional = False
    for line in lines:
        if silent is not None:
            if not line.strip() or _indent(line) > silent:
                continue
            silent = None
        match = _DIRECTIVE.match(line)
        if match and (match[2] in _SILENT or match[2] not in directives):
            if match[2] in _SILENT:
                silent = len(match[1])
            else:
                yield from _said(*match.groups())
                optional = True
        elif not (optional and _OPTION.match(line)):
            optional = False
            yield line


def _said(indent: str, name: str, argument: str) -> Iterator[str]:
    label = _LABELS.get(name, "")
    argument = argument.strip()
    if label:
        yield f"{indent}{label} {argument}".rstrip()
    elif argument:
        yield f"{indent}``{argument.replace('`', '')}``"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
