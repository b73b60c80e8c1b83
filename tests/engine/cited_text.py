"""The text at a cited address, read from where the address leads and never from our index.

Pages of docs.python.org are read from Debian's copy of the documentation, tagged sources from the installed
standard library, documentation strings from the running interpreter, files of a handbook from its folder.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import platform
import re
import sysconfig
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from lxml import html

from tests.engine.question_sets import HANDBOOKS

VERSION = platform.python_version()
DOCUMENTATION = Path("/usr/share/doc/python3.11/html")
"""Debian's package python3.11-doc."""
_LIBRARY = Path(sysconfig.get_path("stdlib"))
_WEB = re.compile(r"https://docs\.python\.org/(?:3|3\.11)/(?P<path>[^#?]*)(?:#(?P<anchor>.*))?")
_SOURCE = re.compile(
    rf"https://github\.com/python/cpython/blob/v{re.escape(VERSION)}/Lib/(?P<path>[^#]+)#L(?P<line>\d+)"
)
_OBJECT = re.compile(rf"local:python/{re.escape(VERSION)}/(?P<name>[\w.]+)")
_UNDERLINE = re.compile(r"[=~-]{3,}")
_HEADING = re.compile(r"^(?:#+ +|\d+\. )?(?P<heading>\S.*?)$")
_MARKUP = re.compile(r"^\s*```.*$|\]\([^)]*\)|[*`\[\]|\\]|^[#>\s-]+|^\s*\d+\.\s|:?-{3,}:?|--:", re.MULTILINE)


class CitedText(NamedTuple):
    """What an address leads to."""

    exists: bool
    """The page, and the anchor or line if the address has one."""
    text: str = ""
    """The text of the element, of the documented object or of the file; of the page if the address has no
    anchor or one that does not exist."""
    page: str = ""
    """The text of the whole page or file, if that is more."""
    is_markdown: bool = False

    def has(self, quote: str) -> bool:
        """Is it word for word in the text? White space is left out, and in Markdown the markup."""
        return self._is_in(self.text, quote)

    def has_anywhere(self, quote: str) -> bool:
        """Is it anywhere on the page?"""
        return self.has(quote) or self._is_in(self.page, quote)

    def _is_in(self, text: str, quote: str) -> bool:
        text, quote = (plain(text), plain(quote)) if self.is_markdown else (text, quote)
        return "".join(quote.split()) in "".join(text.split())


def cited_text(url: str) -> CitedText | None:
    """The text at an address; None if it cannot be read on this machine."""
    if (web := _WEB.fullmatch(url)) and DOCUMENTATION.is_dir():
        return _documentation(unquote(web["path"]), unquote(web["anchor"] or ""))
    if source := _SOURCE.fullmatch(url):
        return _source(source["path"], int(source["line"]))
    if named := _OBJECT.fullmatch(url):
        return _documentation_string(named["name"])
    name = unquote(url.partition("#")[0].rpartition("/")[2])
    if file := _handbook_file(name):
        return CitedText(exists=True, text=handbook_text(file), is_markdown=name.endswith(".md"))
    return None


@cache
def page_anchors(path: str) -> frozenset[str] | None:
    """The anchors of a page of the documentation; None if there is no such page."""
    root = _page(path)
    return None if root is None else frozenset(root.xpath("//@id"))


@cache
def _page(path: str) -> html.HtmlElement | None:
    file = DOCUMENTATION / (path + "index.html" if path == "" or path.endswith("/") else path)
    if not file.is_file():
        return None
    root = html.parse(str(file), html.HTMLParser(encoding="utf-8")).getroot()
    for link in root.xpath("//a[@class='headerlink'] | //script | //style"):
        link.drop_tree()
    return root


def _documentation(path: str, anchor: str) -> CitedText:
    root = _page(path)
    if root is None:
        return CitedText(exists=False)
    body = root.xpath("//div[@role='main']") or [root]
    named = root.xpath("//*[@id=$id]", id=anchor) if anchor else body
    page = str(body[0].text_content())
    return CitedText(exists=bool(named), text=_text(named[0]) if anchor and named else page, page=page)


def _text(element: html.HtmlElement) -> str:
    """The text that an anchor stands for: a term has its definition, an empty mark has what it is in."""
    if element.tag == "dt":
        return _definition(element)
    if not element.text_content().strip() and element.getparent() is not None:
        return _text(element.getparent())
    return str(element.text_content())


def _definition(term: html.HtmlElement) -> str:
    parts = [term.text_content()]
    for sibling in term.itersiblings():
        if sibling.tag == "dd":
            return "\n".join([*parts, sibling.text_content()])
        parts.append(sibling.text_content())
    return "\n".join(parts)


def _source(path: str, line: int) -> CitedText:
    """The definition at a line up to the end of its documentation string, or that string."""
    file = _LIBRARY / path
    if ".." in path or not file.is_file():
        return CitedText(exists=False)
    lines = _lines(file)
    end = _documented_lines(file).get(line)
    return CitedText(end is not None, "\n".join(lines[line - 1 : end]), page="\n".join(lines))


@cache
def _lines(file: Path) -> list[str]:
    return file.read_text("utf-8").splitlines()


@cache
def _documented_lines(file: Path) -> dict[int, int]:
    """The lines that an address may name, each with the last line of its documentation. That of a class goes
    on with its constructor."""
    found: dict[int, int] = {}
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(node, _Documented) or not (end := _documentation_end(node)):
            continue
        if ast.get_docstring(node) is not None:
            string = node.body[0]
            found.setdefault(string.lineno, string.end_lineno or string.lineno)
        if not isinstance(node, ast.Module):
            found[node.lineno] = end
            found.setdefault(min([node.lineno, *(item.lineno for item in node.decorator_list)]), end)
    return found


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Documented = ast.Module | ast.ClassDef | _Function


def _documentation_end(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The last line of the documentation string, and of a constructor's head; 0 if there is none."""
    ends = [node.body[0].end_lineno or 0] if ast.get_docstring(node) is not None else []
    if isinstance(node, ast.ClassDef):
        constructors = [
            item for item in node.body if isinstance(item, _Function) and item.name in ("__init__", "__new__")
        ]
        ends += [
            _documentation_end(item) or item.body[0].lineno - 1
            for item in constructors
            if ends or ast.get_docstring(item)
        ]
    return max(ends, default=0)


def _documentation_string(name: str) -> CitedText:
    found = _object(name)
    if found is None:
        return CitedText(exists=False)
    try:
        signature = str(inspect.signature(found[0]))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        signature = ""
    return CitedText(True, f"{name.rpartition('.')[2]}{signature}\n{inspect.getdoc(found[0]) or ''}")


def _object(name: str) -> tuple[object] | None:
    """The object with a dotted name, of the longest module in it; built-in objects have no module."""
    parts = name.split(".")
    for count in range(len(parts), -1, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:count]) or "builtins")
        except ImportError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part):
                break
            found = getattr(found, part)
        else:
            return (found,)
    return None


def _handbook_file(name: str) -> Path | None:
    """The file of a handbook; None if there is no such file."""
    return next((folder / name for folder in HANDBOOKS if (folder / name).is_file()), None)


@cache
def handbook_text(file: Path) -> str:
    """The text of a file of a handbook; of HTML without the tags."""
    text = file.read_text("utf-8")
    return str(html.fromstring(text).text_content()) if file.suffix == ".html" else text


def plain(text: str) -> str:
    """Markdown without its markup: a quote need not repeat stars, pipes and targets of links."""
    return _MARKUP.sub(" ", text)


def section_text(name: str, heading: str) -> str | None:
    """The text between a heading of a handbook and the next one; None if there is no such file or heading."""
    file = _handbook_file(name)
    if file is None:
        return None
    text = file.read_text("utf-8")
    if name.endswith(".html"):
        return _html_section(text, heading)
    lines = text.splitlines()
    is_heading = _is_markdown_heading if name.endswith(".md") else _is_text_heading
    starts = [at for at in range(len(lines)) if is_heading(lines, at)]
    for start, end in pairwise([*starts, len(lines)]):
        named = _HEADING.match(lines[start])
        if named and heading in (named["heading"], lines[start].strip()):
            return "\n".join(lines[start + 1 : end])
    return None


def _is_markdown_heading(lines: list[str], at: int) -> bool:
    return lines[at].startswith("#")


def _is_text_heading(lines: list[str], at: int) -> bool:
    """A line on its own or underlined, not indented, without the end of a sentence; or a line after an empty
    one that is numbered or in capitals."""
    line, before = lines[at].strip(), (lines[at - 1 : at] or [""])[0].strip()
    after = (lines[at + 1 : at + 2] or [""])[0].strip()
    if not line or lines[at][0].isspace() or before or _UNDERLINE.fullmatch(line) or line[-1] in ".:":
        return False
    return not after or _UNDERLINE.fullmatch(after) is not None or line.isupper()


def _html_section(text: str, heading: str) -> str | None:
    for element in html.fromstring(text).iter("h1", "h2", "h3"):
        if element.text_content().strip() == heading:
            parts = []
            for sibling in element.itersiblings():
                if sibling.tag in ("h1", "h2", "h3"):
                    break
                parts.append(" ".join(sibling.itertext()))  # cells of a table need a space between them
            return "\n".join(parts)
    return None
