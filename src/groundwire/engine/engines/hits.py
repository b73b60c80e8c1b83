"""What search services answer with: addresses, and a few words of the page each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from html import unescape
from typing import TypeAlias

from groundwire.model import SearchOptions, Source, Warned
from groundwire.model.value import value
from groundwire.text.urls import domain_of, safe_url

Admits: TypeAlias = Callable[[SearchOptions, Source], bool]
"""Do the domain lists allow this source?"""

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


@value
class Hit:
    """One result, as the service tells it."""

    url: str
    title: str
    snippet: str = ""
    text: str = ""
    """The page itself, where the service sends it along."""
    published: str = ""
    language: str = ""


def hit_of(url: str, title: str, **told: str) -> Hit | None:
    """A result whose address can be shown; None otherwise."""
    address = safe_url(url)
    if not address:
        return None
    told["published"] = day_of(told.get("published", ""))
    return Hit(address, title.strip() or domain_of(address), **told)


def plain(text: str) -> str:
    """Words without the marks that services put around what was searched for."""
    return unescape(_TAG.sub("", text)).strip()


def day_of(text: str) -> str:
    """The day that a date begins with, or names in the form of mail; empty if it names none."""
    found = _DAY.match(text.strip())
    if found:
        return found[0]
    from email.utils import parsedate  # noqa: PLC0415  few services write dates so

    parts = parsedate(text) if text else None
    return f"{parts[0]:04}-{parts[1]:02}-{parts[2]:02}" if parts else ""


def is_timely(options: SearchOptions, published: str) -> bool:
    """Does a date lie in the time asked for? One that is not known may."""
    day = published[:10]
    if not day:
        return True
    return day >= options.since[:10] and (not options.until or day <= options.until[:10])


def chosen(
    hits: Iterable[Hit], options: SearchOptions, admits: Admits
) -> tuple[tuple[Hit, ...], tuple[Warned, ...]]:
    """The results that the options allow, each address once, and what is to be said about the others."""
    kept: dict[str, Hit] = {}
    outside: dict[str, None] = {}
    for hit in hits:
        if not admits(options, Source(hit.url)):
            outside[domain_of(hit.url)] = None
        elif is_timely(options, hit.published):
            kept.setdefault(hit.url, hit)
    warnings = (Warned("source_removed", f"a source on {domain} was not allowed") for domain in outside)
    return tuple(kept.values())[: options.max_sources], tuple(warnings)
