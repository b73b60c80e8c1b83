"""One call of a tool, from arguments to what the client is told. Whatever goes wrong is told as the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groundwire.dialects.jsontext import dump_json
from groundwire.dialects.websearch.errors import encode_error_result
from groundwire.errors import FetchRefused, GroundwireError, InvalidArguments, NotFound
from groundwire.faces.mcp.addresses import Addresses
from groundwire.faces.mcp.offering import FETCH, SEARCH, Asker
from groundwire.faces.mcp.progress import Watched
from groundwire.model import Answer, Event, JsonObject, Source
from groundwire.model.value import value
from groundwire.text.addresses import safe_address
from groundwire.text.sources import label_of, number_answer, number_sources
from groundwire.tools import call_tool
from groundwire.tools.registry import WEBSEARCH

_LONGEST = 60_000
"""Code points of a page that are given; more would crowd out what the model has to think about."""
_PASSAGE = 500


@value
class Link:
    """A source, as something the client can show."""

    url: str
    title: str
    passage: str = ""


@value
class Told:
    """What a call comes to: for models to read, for programs, and the sources it leans on."""

    text: str
    structured: JsonObject
    links: tuple[Link, ...] = ()
    failed: bool = False


async def call(
    asker: Asker, addresses: Addresses, name: str, arguments: JsonObject, see: Callable[[Event], None]
) -> Told:
    """Run a tool."""
    if name == FETCH:
        return await _fetch(asker, addresses, arguments)
    watched = Watched(asker, see)
    if name == SEARCH:
        outcome = await call_tool(watched, WEBSEARCH.name, _only(arguments, "query"))
        return _results(outcome.answer, outcome.result, addresses)
    outcome = await call_tool(watched, name, arguments)
    links = tuple(_links(number_answer(outcome.answer).sources))
    for link in _links(outcome.answer.sources):
        addresses.found(link.url)
    failed = outcome.answer.error is not None
    return Told(str(outcome.result["llmContent"]), outcome.result, () if failed else links, failed)


def _only(arguments: JsonObject, name: str) -> JsonObject:
    """`websearch` takes more than `search` does; what it would take is not taken here."""
    unknown = [given for given in arguments if given != name]
    return {**arguments, "unknown argument": unknown[0]} if unknown else arguments


def _results(answer: Answer, result: JsonObject, addresses: Addresses) -> Told:
    """Pages, what the answer cites first."""
    if answer.error is not None:
        return Told(str(result["llmContent"]), {"results": [], **result}, failed=True)
    pages = number_sources((*number_answer(answer).sources, *answer.sources)).sources
    links = tuple(_links(pages))
    results: list[JsonObject] = []
    for link in links:
        entry: JsonObject = {"id": addresses.found(link.url), "title": link.title, "url": link.url}
        if link.passage:
            entry["text"] = link.passage
        results.append(entry)
    structured: JsonObject = {"results": list(results)}
    return Told(dump_json(structured), structured, links)


def _links(sources: tuple[Source, ...]) -> Iterator[Link]:
    for source in sources:
        if url := safe_address(source.url):
            passage = " ".join(source.excerpts[0].split()) if source.excerpts else ""
            yield Link(url, label_of(source), passage[:_PASSAGE])


async def _fetch(asker: Asker, addresses: Addresses, arguments: JsonObject) -> Told:
    name = arguments.get("id")
    try:
        if not isinstance(name, str) or not name.strip() or len(arguments) > 1:
            raise InvalidArguments("fetch takes `id`, a text, and nothing else.")
        return await _read(asker, addresses, name.strip())
    except GroundwireError as error:
        result = encode_error_result(error)
        empty: JsonObject = {"id": str(name or ""), "title": "", "text": "", "url": ""}
        return Told(str(result["llmContent"]), {**empty, **result}, failed=True)


async def _read(asker: Asker, addresses: Addresses, name: str) -> Told:
    url = addresses.address(name)
    try:
        page = await asker.page(url or name, live=bool(url))
    except NotFound:
        if url:
            raise
        raise FetchRefused(
            "Only pages that a search here has found, or that are indexed, can be read: search first."
        ) from None
    metadata: JsonObject = {}
    if page.published:
        metadata["published"] = page.published
    if len(page.text) > _LONGEST:
        metadata["truncated"] = f"the first {_LONGEST} of {len(page.text)} characters"
    document: JsonObject = {
        "id": name,
        "title": page.title,
        "text": page.text[:_LONGEST],
        "url": page.url,
    }
    if metadata:
        document["metadata"] = metadata
    return Told(dump_json(document), document, (Link(page.url, page.title or page.url),))
