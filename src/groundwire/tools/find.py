"""Finds links: the pages of a search with snippets, and no composed answer.

A search engine lists the pages it found. If a model searches, its sources are the links.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from groundwire.engine.pages import LINK_EXTRAS
from groundwire.errors import GroundwireError, InvalidArguments
from groundwire.model import Answer, Assembler, Failed, JsonObject, Request, Source, Warned
from groundwire.model.value import replace, value
from groundwire.tools.run import OpenStream, read_search

if TYPE_CHECKING:
    from groundwire.client_protocol import SearchClient

VERSION = 1
MAX_LINKS = 100


@value
class Link:
    """One page that a search found."""

    url: str
    title: str
    snippet: str = ""
    """Text of the page; empty if the provider returns none."""
    score: float = 0.0
    """Relative to the first link, which has 1."""
    date: str = ""
    """As the engine or provider wrote it."""
    engine: str = ""
    """The engine, service or provider that found it."""


@value
class LinkList:
    """The result of a search for links."""

    query: str
    links: tuple[Link, ...] = ()
    engine: str = ""
    """The engine or provider that answered."""
    warnings: tuple[Warned, ...] = ()
    answer: str = ""
    """The text of the answer, if the request asked for one."""


def read_find(client: SearchClient, arguments: JsonObject, now: float) -> tuple[Request, str]:
    """Decode the arguments of a search for links: those of the tool `websearch`, where `count` is the same as
    `max_sources`."""
    named = dict(arguments)
    if "count" in named:
        named["max_sources"] = named.pop("count")
    request, provider = read_search(client, named, now)
    wanted = request.search.max_sources if request.search else None
    if wanted is not None and wanted > MAX_LINKS:
        raise InvalidArguments(f"count: at most {MAX_LINKS} links can be requested")
    return replace(request, links_only=True), provider


async def find_links(request: Request, provider: str, open_stream: OpenStream) -> LinkList:
    """Search, and return the links. Raises the error of the search."""
    assembler = Assembler()
    async with aclosing(open_stream(request, provider, request.model)) as events:
        async for event in events:
            if isinstance(event, Failed):
                raise event.error
            assembler.feed(event)
    answer = assembler.answer()
    engine = str(answer.extras.get("groundwire", {}).get("provider") or provider)
    limit = request.search.max_sources if request.search else None
    links = tuple(links_of(answer, engine))[:limit]
    return LinkList(request.query, links, engine, answer.warnings, answer.text)


def links_of(answer: Answer, engine: str) -> Iterator[Link]:
    """The sources of an answer as links, in order of first mention."""
    quotes: dict[str, list[str]] = {}
    for citation in answer.citations:
        for item in citation.evidence:
            quotes.setdefault(item.source.url, []).append(item.quote)
    sources = (source for source in answer.sources if source.url)
    for rank, source in enumerate(sources):
        yield _link(source, quotes.get(source.url, []), rank, engine)


def _link(source: Source, quotes: list[str], rank: int, engine: str) -> Link:
    details = source.extras.get(LINK_EXTRAS, {})
    score = details.get("score")
    passages = dict.fromkeys(text for text in (*source.excerpts, *quotes) if text)
    return Link(
        source.url,
        source.title or source.url,
        "\n\n".join(passages),
        score if isinstance(score, float) else round(1 / (1 + rank), 4),
        source.date,
        str(details.get("service") or engine),
    )


def encode_links(found: LinkList) -> JsonObject:
    """The links as a JSON object."""
    return {
        "version": VERSION,
        "query": found.query,
        "engine": found.engine,
        "links": [encode_link(link) for link in found.links],
        "warnings": [{"code": warning.code, "message": warning.message} for warning in found.warnings],
        "error": None,
    }


def encode_link(link: Link) -> JsonObject:
    """A link as a JSON object."""
    return {
        "title": link.title,
        "url": link.url,
        "snippet": link.snippet,
        "score": link.score,
        "date": link.date or None,
        "engine": link.engine,
    }


def encode_find_error(error: GroundwireError) -> JsonObject:
    """An error in the form of `encode_links`."""
    failure: JsonObject = {"code": error.code, "message": error.message, "retryable": error.retryable}
    return {"version": VERSION, "links": [], "error": failure}
