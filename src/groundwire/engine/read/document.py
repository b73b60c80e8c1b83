"""What reading begins and ends with: bytes from somewhere, and a page or the reason for none."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.engine.pages import Page
from groundwire.model.value import value

LONGEST_TEXT = 4_000_000
"""Code points of a page that are kept."""


@value
class Document:
    """Bytes, and what is known about them."""

    data: bytes
    media_type: str
    url: str = ""
    charset: str = ""
    title: str = ""
    """What it is called where it does not say so itself: a file's name."""
    headers: Mapping[str, str] = {}
    """Of the response it came in; lower-case names."""


@value
class Content:
    """What stands in a document."""

    text: str
    title: str = ""
    published: str = ""
    language: str = ""
    address: str = ""
    """Where it says it belongs, if that is the same host."""
    links: tuple[str, ...] = ()
    """Web addresses it leads to, without those it asks not to follow."""
    refusal: str = ""
    """Why it must not be kept."""


@value
class Reading:
    """A page, or why there is none; and where its links lead."""

    page: Page | None = None
    why: str = ""
    links: tuple[str, ...] = ()
