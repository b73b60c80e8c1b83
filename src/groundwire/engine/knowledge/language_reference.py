"""Pages of Python's language reference, from the text that Python is delivered with (`pydoc_data.topics`).

That text was made from the pages of docs.python.org: literals got quotation marks, emphasised words
asterisks, tables frames. These are removed again, so that the words are those of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent

from groundwire.engine.knowledge.addresses import DOCS_URL
from groundwire.engine.knowledge.python_docs import knowledge_table, python_page, titled
from groundwire.engine.pages import Page

_UNDERLINE = re.compile(r"^([*=\-~^])\1{3,}\n", re.MULTILINE)
_ENTRY = re.compile(
    r"^(?P<head>(?:(?:str|object|class)\.\w+\([^\n]*\)\n(?:\S[^\n]*\n)*)+)\n"
    r"(?P<body>(?:[ ]{3}[^\n]*\n|\n)+)",
    re.MULTILINE,
)
_BLANK = re.compile(r"\n[ ]*\n")
_LITERAL = re.compile(r"(?<![\w\"'=])\"(?=\S)((?:[^\"\n]|\n[ ]*(?=\S))*?)\"(?![\w\"])")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,2})(?=[^\s*])([^*]*?[^\s*])\1(?!\*)")
_MARKER = re.compile(r"(?:Note|Warning):|See also:.*|-\[ Footnotes \]-", re.DOTALL)
"""Titles of boxes: the page shows them in another form."""
_CODE = re.compile(
    r"@|#|Traceback |\"[^\"]*\"[ ]+#|[\w.]+\(|[\w.\[\], ]+ [-+*]?= |try:|"
    r"(?:assert|async|await|class|def|del|for|from|if|import|match|raise|return|while|with) "
)
_UNCLEAR = re.compile(r"\"|\*\w+\*")
_OTHER = re.compile(r"[^a-z0-9]+")
_LABELLED = frozenset(("atom-identifiers", "identifiers", "lambda"))
"""Sections whose anchor is their label; that of all others is made of their heading, as the link next to the
heading shows."""
_CELL_BORDER = re.compile(r"[ ]*\|[ ]*")


def topic_pages() -> Iterator[Page]:
    """The topics of the language reference, and a page for each method that they explain."""
    from pydoc_data.topics import topics  # noqa: PLC0415  nearly a megabyte, needed once for an index

    for page, labels in knowledge_table("topic_pages").items():
        for label in labels.split():
            if label in topics:
                yield from _pages(f"{DOCS_URL}{page}.html", label, topics[label])


def _pages(page: str, label: str, text: str) -> Iterator[Page]:
    text = _UNDERLINE.sub("", text + "\n")
    title = _words(text.partition("\n")[0].strip())
    for entry in _ENTRY.finditer(text):
        first = entry["head"].partition("(")[0]
        body = page_text(dedent(entry["body"]))
        yield python_page(f"{page}#{first}", titled(first, "builtins"), f"{entry['head']}\n{body}".strip())
    rest = page_text(_ENTRY.sub("", text))
    if rest != title:
        purpose = knowledge_table("topics").get(label, "")
        anchor = label if label in _LABELLED else _OTHER.sub("-", title.lower()).strip("-")
        yield python_page(f"{page}#{anchor}", f"{title} — {purpose}" if purpose else title, rest)


def page_text(text: str) -> str:
    """A topic as its page shows it. Paragraphs in which quotation marks remain are left out."""
    paragraphs: list[str] = []
    announced: int | None = None
    """The indentation of a paragraph that ends with a colon; what is indented more may be an example."""
    for paragraph in _BLANK.split(text.strip("\n")):
        content = paragraph.strip()
        indent = len(paragraph.strip("\n")) - len(paragraph.strip("\n").lstrip())
        is_below = announced is not None and indent > announced
        if _MARKER.fullmatch(content):
            continue
        if content.startswith("+--"):
            paragraphs.append(_table(content))
        elif "::=" in content or content.startswith(">>>") or (is_below and _CODE.match(content)):
            paragraphs.append(paragraph.rstrip())
        else:
            announced = announced if is_below else indent if content.endswith(":") else None
            words = _words(paragraph).rstrip()
            paragraphs += [] if '"' in words else [words]
    return "\n\n".join(paragraphs).strip()


def _words(text: str) -> str:
    """Prose without the marks around literals and emphasised words."""
    return _EMPHASIS.sub(r"\2", _LITERAL.sub(r"\1", text))


def _table(text: str) -> str:
    """The rows of a table, one on each line."""
    rows: list[list[str]] = []
    is_new = True
    for line in map(str.strip, text.splitlines()):
        if line.startswith("+") or set(line) <= set("|="):
            is_new = True
            continue
        cells = _CELL_BORDER.split(line[1:-1].strip(" "))
        if is_new or len(cells) != len(rows[-1]):
            rows.append(cells)
        else:
            rows[-1] = [f"{one} {more}".strip() for one, more in zip(rows[-1], cells, strict=True)]
        is_new = False
    lines = [_words("  ".join(filter(None, row))) for row in rows]
    return "\n".join(line for line in lines if _UNCLEAR.search(line) is None)
