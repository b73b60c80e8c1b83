"""What a search API is, and the endpoint that serves one: decode, find links, encode.

An API translates its request into the arguments of the tool `websearch`, so that options are read and checked
in one place, and the links into its response.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping
from contextlib import aclosing
from time import monotonic, time
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import parse_qsl

from groundwire.dialects.base import ErrorBody
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError, FetchRefused, GroundwireError, TurnedAway
from groundwire.faces.gateway.clients.claude_code import SEARCH_OFF
from groundwire.model import Event, Json, JsonObject, Request
from groundwire.model.value import replace, value
from groundwire.server.asgi import JSON, HttpExchange, cancel_on_disconnect
from groundwire.server.limits import check_query
from groundwire.server.response_writer import ResponseInfo
from groundwire.server.routes import EncodeError, Endpoint
from groundwire.text.urls import safe_url
from groundwire.tools.find import LinkList, find_links, read_find
from groundwire.tools.registry import AUTO

if TYPE_CHECKING:
    from groundwire.engine.pages import Page
    from groundwire.server.app import HttpApp, RequestContext

_FORM = "application/x-www-form-urlencoded"
_OTHER_SITES = frozenset({"cross-site", "same-site"})
_PAGES_AT_ONCE = 4
TIME_RANGES: Mapping[str, str] = {"hour": "1h", "day": "1d", "week": "7d", "month": "31d", "year": "366d"}
"""Names of periods, and the same as a value of `since`."""


@value
class LinkQuery:
    """A decoded request of a search API."""

    arguments: JsonObject
    """Arguments of the tool `websearch`; empty ones count as absent."""
    skip: int = 0
    """How many links come before the first one that is wanted."""
    wants_answer: bool = False
    wants_pages: bool = False
    """Is the text of each page wanted?"""
    is_available: bool = True
    """False for what no engine here finds, such as images: the result is empty."""


@value
class FoundPages:
    """The links that a request asked for, and the texts of their pages by URL."""

    found: LinkList
    texts: Mapping[str, str] = {}
    request_id: str = ""
    seconds: float = 0.0


@value
class SearchApi:
    """One search API."""

    decode: Callable[[Fields], LinkQuery]
    """Raises `ClientWireError` or `RequestError`."""
    encode: Callable[[LinkQuery, FoundPages], Json]
    encode_error: Callable[[GroundwireError], ErrorBody]


ChooseApi: TypeAlias = "Callable[[HttpExchange, Fields], SearchApi]"


def error_encoder(api: SearchApi) -> EncodeError:
    """Writes errors of a route that has one API."""
    return lambda error, _: api.encode_error(error)


def search_endpoint(choose: SearchApi | ChooseApi) -> Endpoint:
    """The endpoint of an API, or of several APIs that share a path."""

    async def endpoint(app: HttpApp, context: RequestContext, _: Mapping[str, str]) -> None:
        fields = await read_fields(context.exchange, app.max_body_bytes)
        api = choose if isinstance(choose, SearchApi) else choose(context.exchange, fields)
        context.encode_error = error_encoder(api)
        query = api.decode(fields)
        info = ResponseInfo(context.request_id)

        async def respond() -> None:
            began = monotonic()
            pages = await _find_pages(app, query, info) if query.is_available else FoundPages(_nothing(query))
            pages = replace(pages, request_id=context.request_id, seconds=round(monotonic() - began, 3))
            body = dump_json(api.encode(query, pages)).encode()
            await context.exchange.respond(200, info.headers(JSON), body)

        await respond_unless_left(context, info, respond())

    return endpoint


def _nothing(query: LinkQuery) -> LinkList:
    return LinkList(str(query.arguments.get("query", "")))


async def respond_unless_left(
    context: RequestContext, info: ResponseInfo, work: Coroutine[object, object, None]
) -> None:
    """Await `work`, cancel it if the client disconnects, and record the response."""
    try:
        if not await cancel_on_disconnect(context.exchange, work):
            context.outcome = "left"
    finally:
        context.record_response(info)


async def read_fields(exchange: HttpExchange, limit: int) -> Fields:
    """The parameters of a request: of the URL, and of a form or a JSON object in the body.

    A page of another site can make a browser send a GET or a form, but not hide that it does.
    """
    exchange.check_loop()
    if exchange.headers.get("sec-fetch-site", "") in _OTHER_SITES and "origin" not in exchange.headers:
        raise TurnedAway(status=403, message="searches from pages of other sites are refused")
    given: JsonObject = dict(parse_qsl(exchange.query, keep_blank_values=True))
    if exchange.method == "POST":
        given |= await _read_body(exchange, limit)
    return Fields(given, ClientWireError)


async def _read_body(exchange: HttpExchange, limit: int) -> JsonObject:
    kind = exchange.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == _FORM:
        data = await exchange.read_body(limit)
        return dict(parse_qsl(data.decode("utf-8", "replace"), keep_blank_values=True))
    exchange.check_json_headers()
    data = await exchange.read_json(limit)
    if not data.strip():
        return {}
    body = load_json(data, ClientWireError)
    if not isinstance(body, dict):
        raise ClientWireError("expected a JSON object")
    return body


async def _find_pages(app: HttpApp, query: LinkQuery, info: ResponseInfo) -> FoundPages:
    arguments: JsonObject = {
        name: item for name, item in query.arguments.items() if item not in (None, "", [])
    }
    if isinstance(text := arguments.get("query"), str):
        check_query(text)
    request, provider = read_find(app.groundwire, arguments, time())
    request = replace(request, links_only=not query.wants_answer)
    found = await find_links(request, provider, _opener(app, info))
    found = replace(found, links=found.links[query.skip :])
    texts: Mapping[str, str] = {}
    if query.wants_pages:
        pages = await read_pages(app, [link.url for link in found.links])
        texts = {url: page.text for url, page in pages.items() if not isinstance(page, GroundwireError)}
    return FoundPages(found, texts)


def _opener(app: HttpApp, info: ResponseInfo) -> Callable[[Request, str, str], AsyncGenerator[Event, None]]:
    async def open_stream(request: Request, provider: str, model: str) -> AsyncGenerator[Event, None]:
        """The events with the limits, the cache and the access record of the application."""
        if provider == AUTO and not model and app.settings.search not in ("", SEARCH_OFF):
            target = app.groundwire.resolve(app.settings.search)
        else:
            target = app.groundwire.resolve(model, provider=provider)
        async with aclosing(app.batches(request, target, info=info)) as batches:
            async for batch in batches:
                info.observe_events(batch)
                for event in batch:
                    yield event

    return open_stream


async def read_pages(app: HttpApp, urls: Iterable[str]) -> Mapping[str, Page | GroundwireError]:
    """Pages by URL, from the index or through the SSRF guard; the error for one that cannot be read."""
    slots = asyncio.Semaphore(_PAGES_AT_ONCE)

    async def read(url: str) -> Page | GroundwireError:
        async with slots:
            try:
                return await read_page(app, url)
            except GroundwireError as error:
                return error

    wanted = list(dict.fromkeys(urls))
    return dict(zip(wanted, await asyncio.gather(*map(read, wanted)), strict=True))


async def read_page(app: HttpApp, url: str) -> Page:
    """One page. Raises the error that prevents reading it."""
    if not safe_url(url):
        raise FetchRefused("only addresses of public web pages can be read")
    return await app.groundwire.page(url)


def integer_of(fields: Fields, name: str) -> int | None:
    """A whole number, also as text, as parameters of a URL are; None if it is absent."""
    given = fields.get(name)
    if isinstance(given, str):
        if not given.strip():
            return None
        if not given.strip().isdecimal() or len(given) > 9:
            raise fields.fault("expected a whole number", name)
        return int(given)
    return fields.integer(name)


def domain_of_entry(entry: str) -> str:
    """A domain as the options take it, from an entry that may be an address."""
    return entry.strip().partition("://")[2] or entry.strip()


def language_code(text: str) -> str:
    """The language of a locale such as `de-AT`; empty for `all` and `auto`."""
    code = text.strip().replace("_", "-").partition("-")[0].lower()
    return code if len(code) == 2 and code.isalpha() else ""
