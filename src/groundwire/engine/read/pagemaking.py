"""Runs the reader of a format, and makes a page of what it found."""

from __future__ import annotations

from importlib import import_module
from urllib.parse import unquote

from groundwire.engine.pages import Page
from groundwire.engine.read.decoding import clean
from groundwire.engine.read.document import LONGEST_TEXT, Content, Document, Reading

_ADVICE = "reading it needs more: pip install 'groundwire[documents]'"
_EXTRAS = frozenset(("docutils", "markdown_it", "pypdf", "warcio"))
_LONGEST_TITLE = 300


def make_page(document: Document, kind: str) -> Reading:
    """The page that the reader of this kind makes of a document."""
    try:
        content: Content = import_module(f"groundwire.engine.read.{kind}").read(document)
    except ModuleNotFoundError as error:
        if why := missing_extra(error):
            return Reading(why=why)
        raise
    if content.refusal:
        return Reading(why=content.refusal, links=content.links)
    # References such as &#27; bring signs back that were taken out of the bytes.
    text = clean(content.text[:LONGEST_TEXT]).strip("\n").rstrip()
    if not text.strip():
        return Reading(why="there is no text in it", links=content.links)
    title = " ".join(clean(content.title or document.title).split())[:_LONGEST_TITLE]
    page = Page(
        url=content.address or document.url,
        title=title or _last_name(document.url),
        text=text,
        published=content.published,
        language=content.language,
    )
    return Reading(page, links=content.links)


def missing_extra(error: ModuleNotFoundError) -> str:
    """What to do about a library that is not there; empty if it is none of ours."""
    return _ADVICE if (error.name or "").partition(".")[0] in _EXTRAS else ""


def _last_name(url: str) -> str:
    return unquote(url.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2])
