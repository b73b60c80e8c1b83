"""Reads plain text, CSV, Markdown (CommonMark with tables) and reStructuredText, Sphinx's included.

Plain text is kept as it is; its structure is found by its typography. Markdown and reStructuredText are
rendered to HTML and read as HTML. No reST directive may read a file, fetch a URL or write HTML; roles and
directives that only Sphinx knows keep their text and arguments.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Container, Iterator, Mapping

from groundwire.engine.read.document import Document, DocumentContent
from groundwire.engine.read.html import HtmlBlock, joined, read_fragment, two_letters
from groundwire.engine.read.normalise import clean, decode, normal_date
from groundwire.engine.read.plain import plain_blocks
from groundwire.model.value import replace

_LONGEST_TITLE = 120
_UNDERLINE = re.compile(r"[=\-~*#\s]+")


def read_plain(document: Document) -> DocumentContent:
    """Reads a plain text document. Its first line is the title if it looks like one."""
    return read_text(decode(document.data, document.charset))


def read_text(text: str) -> DocumentContent:
    """Same as `read_plain`, for text that is already decoded."""
    text = clean(text).strip("\n").rstrip()
    first, _, rest = text.partition("\n")
    first = first.strip()
    following = rest.partition("\n")[0].strip()
    is_separate = not following or _UNDERLINE.fullmatch(following) is not None
    titled = is_separate and 0 < len(first) <= _LONGEST_TITLE and not first.endswith((".", ",", ";"))
    return DocumentContent(text, first if titled and rest else "", outline=tuple(plain_blocks(text)))


def read_csv(document: Document) -> DocumentContent:
    """Reads a table of comma-, semicolon- or tab-separated values; the first row has the names of columns."""
    text = clean(decode(document.data, document.charset))
    head = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=head.count)
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        blocks = [
            HtmlBlock("row", "\t".join(" ".join(cell.split()) for cell in row), level=int(number == 0))
            for number, row in enumerate(rows)
        ]
    except csv.Error:
        return read_text(text)
    body, outline = joined(blocks)
    return DocumentContent(body, outline=outline)


_DELIMITERS = ",;\t"
_LONGEST_MARKDOWN = 1_000_000
_FRONT = re.compile(r"\A---[ \t]*\n(.{0,10000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(\w+)[ \t]*:[ \t]*(.+)$", re.MULTILINE)


def read_markdown(document: Document) -> DocumentContent:
    """Reads a Markdown document. Beyond a million characters it is kept as plain text."""
    from markdown_it import MarkdownIt  # noqa: PLC0415  comes with an extra

    text = clean(decode(document.data, document.charset))
    if len(text) > _LONGEST_MARKDOWN:
        return read_text(text)
    fields: dict[str, str] = {}
    if front := _FRONT.match(text):
        fields = {name.lower(): value.strip().strip("\"'") for name, value in _FIELD.findall(front[1])}
        text = text[front.end() :]
    markup = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    content = read_fragment(markup)
    return replace(
        content,
        title=fields.get("title", "") or content.title,
        published=normal_date(fields.get("date", "")),
        language=two_letters(fields.get("lang", "") or fields.get("language", "")),
    )


_LONGEST_REST = 500_000
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
_DROPPED_DIRECTIVES = frozenset(
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


def read_rest(document: Document) -> DocumentContent:
    """Reads a reStructuredText document. Beyond half a million characters it is kept as plain text."""
    from docutils.core import publish_parts  # noqa: PLC0415  comes with an extra
    from docutils.parsers.rst.languages.en import directives  # noqa: PLC0415

    text = clean(decode(document.data, document.charset))
    if len(text) > _LONGEST_REST:
        return read_text(text)
    source = _plain_roles("\n".join(_known_directives(text.split("\n"), directives)))
    settings = {**_SETTINGS, "warning_stream": io.StringIO()}
    try:
        parts = publish_parts(source, writer="html5", settings_overrides=settings)
    except (RecursionError, ValueError, LookupError, AttributeError, TypeError, AssertionError):
        return read_text(text)  # docutils fails on some generated input
    return read_fragment(parts["body"])


def _plain_roles(text: str) -> str:
    """Turns roles that docutils does not know into literals of their text."""

    def plain(match: re.Match[str]) -> str:
        return match[0] if match[1].lower() in _KNOWN_ROLES else f"``{match[2].strip()}``"

    return _ROLE.sub(plain, text)


def _known_directives(lines: list[str], known: Container[str]) -> Iterator[str]:
    """Replaces directives that docutils does not know by their argument and content."""
    dropped_indent: int | None = None
    optional = False
    for line in lines:
        if dropped_indent is not None:
            if not line.strip() or _indent(line) > dropped_indent:
                continue
            dropped_indent = None
        match = _DIRECTIVE.match(line)
        if match and (match[2] in _DROPPED_DIRECTIVES or match[2] not in known):
            if match[2] in _DROPPED_DIRECTIVES:
                dropped_indent = len(match[1])
            else:
                yield from _directive_text(*match.groups())
                optional = True
        elif not (optional and _OPTION.match(line)):
            optional = False
            yield line


def _directive_text(indent: str, name: str, argument: str) -> Iterator[str]:
    label = _LABELS.get(name, "")
    argument = argument.strip()
    if label:
        yield f"{indent}{label} {argument}".rstrip()
    elif argument:
        yield f"{indent}``{argument.replace('`', '')}``"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
