"""Tool calls: run a tool, convert its result, report progress, and the allow-list of `fetch`."""

from __future__ import annotations

import asyncio
import hmac
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from hashlib import sha256
from typing import TypeAlias

from groundwire.client_protocol import SearchClient
from groundwire.dialects.extras import FIELD
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json
from groundwire.dialects.websearch.errors import encode_error_result
from groundwire.dialects.websearch.request import decode_provider_request
from groundwire.errors import FetchRefused, GroundwireError, InvalidArguments, NotFound
from groundwire.faces.mcp.tool_list import FETCH, SEARCH, VERIFY
from groundwire.model import (
    Answer,
    Event,
    Json,
    JsonObject,
    Request,
    SearchCalled,
    SearchReturned,
    Source,
    TextDelta,
)
from groundwire.model.value import value
from groundwire.text.sanitise import sanitise, sanitise_json, sanitise_with_offsets
from groundwire.text.sources import label_of, number_listed, number_sources
from groundwire.text.urls import shown_address
from groundwire.tools import call_tool
from groundwire.tools.registry import WEBSEARCH
from groundwire.tools.run import OpenStream

CLIENT_KEY = "groundwire.client"
"""In the ASGI scope: the client as the API key of the request may use it."""
PRINCIPAL_KEY = "groundwire.principal"
"""In the ASGI scope: the fingerprint of that key."""

_SIGNATURE_LENGTH = 16
_MAX_REMEMBERED = 10_000


class FetchAllowList:
    """URLs that `fetch` may read: those that a search here has found.

    The id of a result is its URL with a signature, so that every process with the same secret accepts it. A
    URL without a signature is accepted while this process remembers it.
    """

    def __init__(self, secret: bytes, limit: int = _MAX_REMEMBERED) -> None:
        self._secret = secret
        self._limit = limit
        self._known: dict[str, None] = {}

    def add(self, url: str) -> str:
        """Add a URL; returns its id."""
        self._known.pop(url, None)
        self._known[url] = None
        if len(self._known) > self._limit:
            del self._known[next(iter(self._known))]
        return f"{self._signature(url)}.{url}"

    def resolve(self, name: str) -> str:
        """The URL of an id or of a remembered URL; empty if it is neither."""
        signature, _, url = name.partition(".")
        if url and hmac.compare_digest(signature.encode(), self._signature(url).encode()):
            return url
        return name if name in self._known else ""

    def _signature(self, url: str) -> str:
        digest = hmac.new(self._secret, b"mcp-fetch:" + url.encode("utf-8", "replace"), sha256).digest()
        return urlsafe_b64encode(digest)[:_SIGNATURE_LENGTH].decode()


Send: TypeAlias = "Callable[[float, float | None, str], Awaitable[None]]"
"""Takes the progress, the total (unknown) and a status text."""

HEARTBEAT_SECONDS = 5.0
_PAUSE = 0.2
_MAX_STATUS = 200


class ProgressReporter:
    """Sends progress notifications: a status text when it changes, and a heartbeat.

    Several clients cancel a call after some time without a notification, and restart that time with each one.
    Observing an event never waits for a notification; a status that is replaced before it is sent is skipped.
    """

    def __init__(self, send: Send, heartbeat: float = HEARTBEAT_SECONDS) -> None:
        self._send = send
        self._heartbeat = heartbeat
        self._status = "Asking"
        self._changed = asyncio.Event()
        self._changed.set()
        self._sources = 0

    def observe(self, event: Event) -> None:
        """Update the status from an event."""
        match event:
            case SearchCalled(call=call) if call.queries or call.url:
                self._set_status(f"Searching: {call.queries[0]}" if call.queries else f"Reading: {call.url}")
            case SearchReturned(result=result) if result.sources:
                self._sources += len(result.sources)
                self._set_status(f"Found {self._sources} source{'s' if self._sources > 1 else ''}")
            case TextDelta():
                self._set_status("Writing the answer")

    def _set_status(self, status: str) -> None:
        if status != self._status:
            self._status = " ".join(status.split())[:_MAX_STATUS]
            self._changed.set()

    async def run(self) -> None:
        """Send notifications until cancelled."""
        sent = 0
        while True:
            try:
                async with asyncio.timeout(self._heartbeat):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            sent += 1
            await self._send(sent, None, self._status)
            await asyncio.sleep(_PAUSE)


def observed_stream(client: SearchClient, on_event: Callable[[Event], None]) -> OpenStream:
    """Opens streams of a client, and calls a function for each event."""

    async def open_stream(request: Request, provider: str, model: str) -> AsyncGenerator[Event, None]:
        async with aclosing(client.stream(request, provider=provider, model=model)) as events:
            async for event in events:
                on_event(event)
                yield event

    return open_stream


_MAX_PAGE_TEXT = 60_000
"""Code points of a page that are returned; more would fill the context of the model."""
_MAX_PASSAGE = 500
_READ_FAILED = "The page cannot be read."
_VERIFY_FAILED = "The citations cannot be verified."


@value
class SourceLink:
    """A source as a link that clients can show."""

    url: str
    title: str
    passage: str = ""


@value
class ToolOutput:
    """Result of a tool call: text for models, structured content for programs, links to sources."""

    text: str
    structured: JsonObject
    links: tuple[SourceLink, ...] = ()
    failed: bool = False


async def run_tool(
    client: SearchClient,
    allow_list: FetchAllowList,
    name: str,
    arguments: JsonObject,
    on_event: Callable[[Event], None],
) -> ToolOutput:
    """Run a tool. Invisible characters from pages are removed before the model gets them."""
    return _without_invisible(await _run(client, allow_list, name, arguments, on_event))


async def _run(
    client: SearchClient,
    allow_list: FetchAllowList,
    name: str,
    arguments: JsonObject,
    on_event: Callable[[Event], None],
) -> ToolOutput:
    if name == FETCH:
        return await _fetch(client, allow_list, arguments)
    if name == VERIFY:
        return await _verify(client, allow_list, arguments)
    open_stream = observed_stream(client, on_event)
    if name == SEARCH:
        return await _search(client, allow_list, arguments, open_stream)
    outcome = await call_tool(client, name, arguments, open_stream=open_stream)
    for link in _links(outcome.answer, outcome.answer.sources):
        allow_list.add(link.url)
    links = tuple(_links(outcome.answer, number_listed(outcome.answer).sources))
    failed = outcome.answer.error is not None
    result = outcome.flagged_result
    return ToolOutput(str(result["llmContent"]), result, () if failed else links, failed)


def _without_invisible(output: ToolOutput) -> ToolOutput:
    """The output without invisible characters; the offsets in the extension are adjusted."""
    text, adjust = sanitise_with_offsets(output.text)
    structured = as_object(sanitise_json(output.structured))
    extension = as_object(structured.get(FIELD))
    if structured.get("llmContent") == text and isinstance(inserted := extension.get("inserted"), list):
        moved: list[Json] = [
            [adjust(offset) for offset in pair if isinstance(offset, int)]
            for pair in inserted
            if isinstance(pair, list)
        ]
        structured[FIELD] = {**extension, "inserted": moved}
    links = tuple(SourceLink(link.url, sanitise(link.title), sanitise(link.passage)) for link in output.links)
    return ToolOutput(text, structured, links, output.failed)


async def _search(
    client: SearchClient, allow_list: FetchAllowList, arguments: JsonObject, open_stream: OpenStream
) -> ToolOutput:
    try:
        decode_provider_request(arguments, SEARCH)
    except GroundwireError as error:
        return _failed(encode_error_result(error), {"results": []})
    outcome = await call_tool(client, WEBSEARCH.name, arguments, open_stream=open_stream)
    if outcome.answer.error is not None:
        return _failed(outcome.result, {"results": []})
    return _results(outcome.answer, allow_list)


def _failed(result: JsonObject, empty: JsonObject) -> ToolOutput:
    """The output of a failed call: the error of the contract in an empty result of the tool."""
    return ToolOutput(str(result["llmContent"]), {**empty, **result}, failed=True)


def _results(answer: Answer, allow_list: FetchAllowList) -> ToolOutput:
    """The output of `search`: pages, cited ones first."""
    pages = number_sources((*number_listed(answer).sources, *answer.sources)).sources
    links = tuple(_links(answer, pages))
    results: list[JsonObject] = []
    for link in links:
        entry: JsonObject = {"id": allow_list.add(link.url), "title": link.title, "url": link.url}
        if link.passage:
            entry["text"] = link.passage
        results.append(entry)
    structured: JsonObject = {"results": list(results)}
    return ToolOutput(dump_json(structured), structured, links)


def _links(answer: Answer, sources: tuple[Source, ...]) -> Iterator[SourceLink]:
    """Sources that can be read, each with a passage of the page if one is known."""
    quotes = {
        item.source.url: item.quote for cited in answer.citations for item in cited.evidence if item.quote
    }
    for source in sources:
        if url := shown_address(source.url):
            passage = quotes.get(source.url) or (source.excerpts[0] if source.excerpts else "")
            yield SourceLink(url, label_of(source), " ".join(passage.split())[:_MAX_PASSAGE])


async def _verify(client: SearchClient, allow_list: FetchAllowList, arguments: JsonObject) -> ToolOutput:
    from groundwire.faces.mcp.verification import verify_citations  # noqa: PLC0415  few calls need it

    try:
        report = await verify_citations(client, arguments, allow_list.resolve)
    except GroundwireError as error:
        result: JsonObject = {
            "llmContent": f"Error: {_VERIFY_FAILED}\n\nDetails: {error.message}",
            "returnDisplay": _VERIFY_FAILED,
            "error": {"message": error.message, "type": error.code},
        }
        return _failed(result, {"ok": False, "citations": []})
    return ToolOutput(dump_json(report), report)


async def _fetch(client: SearchClient, allow_list: FetchAllowList, arguments: JsonObject) -> ToolOutput:
    name = arguments.get("id")
    try:
        if not isinstance(name, str) or not name.strip() or len(arguments) > 1:
            raise InvalidArguments("fetch takes `id`, a string, and nothing else.")
        return await _read(client, allow_list, name.strip())
    except GroundwireError as error:
        empty: JsonObject = {"id": str(name or ""), "title": "", "text": "", "url": ""}
        result: JsonObject = {
            "llmContent": f"Error: {_READ_FAILED}\n\nDetails: {error.message}",
            "returnDisplay": _READ_FAILED,
            "error": {"message": error.message, "type": error.code},
        }
        return _failed(result, empty)


async def _read(client: SearchClient, allow_list: FetchAllowList, name: str) -> ToolOutput:
    url = allow_list.resolve(name)
    try:
        page = await client.page(url or name, live=bool(url))
    except NotFound:
        if url:
            raise
        raise FetchRefused(
            "Only pages that a search here has found, or that are indexed, can be read: search first."
        ) from None
    metadata: JsonObject = {}
    if page.published:
        metadata["published"] = page.published
    if len(page.text) > _MAX_PAGE_TEXT:
        metadata["truncated"] = f"the first {_MAX_PAGE_TEXT} of {len(page.text)} characters"
    document: JsonObject = {
        "id": name,
        "title": page.title,
        "text": page.text[:_MAX_PAGE_TEXT],
        "url": page.url,
    }
    if metadata:
        document["metadata"] = metadata
    return ToolOutput(dump_json(document), document, (SourceLink(page.url, page.title or page.url),))
