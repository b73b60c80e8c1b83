"""One call of a tool, from arguments to what the client is told; failures are told as the contract says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groundwire.dialects.extras import FIELD
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json
from groundwire.dialects.websearch.errors import encode_error_result
from groundwire.dialects.websearch.request import decode_provider_request
from groundwire.errors import FetchRefused, GroundwireError, InvalidArguments, NotFound
from groundwire.faces.mcp.fetch_allow_list import Addresses
from groundwire.faces.mcp.progress import Watched
from groundwire.faces.mcp.tool_list import FETCH, SEARCH, Asker
from groundwire.model import Answer, Event, Json, JsonObject, Source
from groundwire.model.value import value
from groundwire.text.sanitise import sanitise, sanitise_json, sanitise_with_offsets
from groundwire.text.sources import label_of, number_answer, number_sources
from groundwire.text.urls import safe_url
from groundwire.tools import call_tool
from groundwire.tools.registry import WEBSEARCH

_LONGEST = 60_000
"""Code points of a page that are given; more would crowd out what the model has to think about."""
_PASSAGE = 500
_UNREAD = "The page cannot be read."


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
    """Run a tool. Nothing invisible of what strangers wrote reaches the model."""
    return _visible(await _called(asker, addresses, name, arguments, see))


async def _called(
    asker: Asker, addresses: Addresses, name: str, arguments: JsonObject, see: Callable[[Event], None]
) -> Told:
    if name == FETCH:
        return await _fetch(asker, addresses, arguments)
    watched = Watched(asker, see)
    if name == SEARCH:
        return await _search(watched, addresses, arguments)
    outcome = await call_tool(watched, name, arguments)
    for link in _links(outcome.answer, outcome.answer.sources):
        addresses.found(link.url)
    links = tuple(_links(outcome.answer, number_answer(outcome.answer).sources))
    failed = outcome.answer.error is not None
    return Told(str(outcome.result["llmContent"]), outcome.result, () if failed else links, failed)


def _visible(told: Told) -> Told:
    """The same without invisible characters; places in the text, which the extension tells, move along."""
    text, place = sanitise_with_offsets(told.text)
    structured = as_object(sanitise_json(told.structured))
    extension = as_object(structured.get(FIELD))
    if structured.get("llmContent") == text and isinstance(inserted := extension.get("inserted"), list):
        moved: list[Json] = [
            [place(offset) for offset in pair if isinstance(offset, int)]
            for pair in inserted
            if isinstance(pair, list)
        ]
        structured[FIELD] = {**extension, "inserted": moved}
    links = tuple(Link(link.url, sanitise(link.title), sanitise(link.passage)) for link in told.links)
    return Told(text, structured, links, told.failed)


async def _search(watched: Watched, addresses: Addresses, arguments: JsonObject) -> Told:
    try:
        decode_provider_request(arguments, SEARCH)
    except GroundwireError as error:
        return _failed(encode_error_result(error), {"results": []})
    outcome = await call_tool(watched, WEBSEARCH.name, arguments)
    if outcome.answer.error is not None:
        return _failed(outcome.result, {"results": []})
    return _results(outcome.answer, addresses)


def _failed(result: JsonObject, empty: JsonObject) -> Told:
    """The contract of a failure, in what the tool's own result looks like when it is empty."""
    return Told(str(result["llmContent"]), {**empty, **result}, failed=True)


def _results(answer: Answer, addresses: Addresses) -> Told:
    """Pages, what the answer cites first."""
    pages = number_sources((*number_answer(answer).sources, *answer.sources)).sources
    links = tuple(_links(answer, pages))
    results: list[JsonObject] = []
    for link in links:
        entry: JsonObject = {"id": addresses.found(link.url), "title": link.title, "url": link.url}
        if link.passage:
            entry["text"] = link.passage
        results.append(entry)
    structured: JsonObject = {"results": list(results)}
    return Told(dump_json(structured), structured, links)


def _links(answer: Answer, sources: tuple[Source, ...]) -> Iterator[Link]:
    """Sources with an address that may be shown, each with a passage of the page where one is known."""
    quotes = {
        item.source.url: item.quote for cited in answer.citations for item in cited.evidence if item.quote
    }
    for source in sources:
        if url := safe_url(source.url):
            passage = quotes.get(source.url) or (source.excerpts[0] if source.excerpts else "")
            yield Link(url, label_of(source), " ".join(passage.split())[:_PASSAGE])


async def _fetch(asker: Asker, addresses: Addresses, arguments: JsonObject) -> Told:
    name = arguments.get("id")
    try:
        if not isinstance(name, str) or not name.strip() or len(arguments) > 1:
            raise InvalidArguments("fetch takes `id`, a text, and nothing else.")
        return await _read(asker, addresses, name.strip())
    except GroundwireError as error:
        empty: JsonObject = {"id": str(name or ""), "title": "", "text": "", "url": ""}
        result: JsonObject = {
            "llmContent": f"Error: {_UNREAD}\n\nDetails: {error.message}",
            "returnDisplay": _UNREAD,
            "error": {"message": error.message, "type": error.code},
        }
        return _failed(result, empty)


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
