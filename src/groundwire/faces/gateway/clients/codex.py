"""`POST /v1/alpha/search`: the standalone search of Codex, which does not go through the model's provider.

A request has several queries; the response is one text for the model, with results to refer to. Pages are not
opened here: for commands other than a search the text says that they are not available.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from time import time
from typing import TYPE_CHECKING, NamedTuple

from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json
from groundwire.errors import ClientWireError, ForbiddenForKey, GroundwireError, InvalidQuery
from groundwire.faces.gateway.clients.claude_code import search_target
from groundwire.faces.gateway.handler import read_json_object
from groundwire.model import (
    Answer,
    Assembler,
    Failed,
    JsonObject,
    Location,
    Message,
    Request,
    SearchOptions,
    Source,
    Text,
)
from groundwire.model.request import ContextSize
from groundwire.model.value import replace, value
from groundwire.server.asgi import JSON, cancel_on_disconnect
from groundwire.server.response_writer import ResponseInfo
from groundwire.server.routes import Route
from groundwire.text.domains import covers_entry
from groundwire.text.markdown import render_body
from groundwire.text.sources import label_of, number_answer

if TYPE_CHECKING:
    from groundwire.client_protocol import ResolvedTarget
    from groundwire.server.app import HttpApp, RequestContext

MAX_QUERIES = 8
MAX_QUERY_LENGTH = 2000
_MAX_SNIPPET = 300
_SUPPORTED_COMMANDS = ("search_query", "response_length")
_SIZES: Mapping[str, ContextSize] = {"short": "low", "medium": "medium", "long": "high"}
_CHARACTERS_PER_TOKEN = 4


class CodexQuery(NamedTuple):
    """One query with its search options."""

    text: str
    options: SearchOptions


@value
class CodexSearchRequest:
    """A decoded request."""

    model: str
    queries: tuple[CodexQuery, ...]
    unsupported: tuple[str, ...]
    """Commands that are not available here."""
    max_tokens: int | None


def decode(body: JsonObject, now: float) -> CodexSearchRequest:
    """Decode a request. Raises `ClientWireError` or `InvalidQuery`."""
    fields = Fields.of(body, ClientWireError)
    commands, settings = fields.obj("commands"), fields.obj("settings")
    general = _options(settings, commands.text("response_length"))
    items = list(commands.objs("search_query"))[:MAX_QUERIES]
    queries = tuple(
        CodexQuery(text[:MAX_QUERY_LENGTH], _narrowed(general, item, now))
        for item in items
        if (text := item.text("q").strip())
    )
    unsupported = tuple(
        name for name, content in commands.raw.items() if content and name not in _SUPPORTED_COMMANDS
    )
    if not queries and not unsupported:
        raise InvalidQuery("commands.search_query has no query")
    return CodexSearchRequest(fields.text("model"), queries, unsupported, fields.integer("max_output_tokens"))


def encode(search: CodexSearchRequest, answers: Sequence[Answer | GroundwireError]) -> JsonObject:
    """The response: a text for the model, and the results."""
    results: list[JsonObject] = []
    blocks = [
        "\n".join(_block(query.text, answer, results))
        for query, answer in zip(search.queries, answers, strict=True)
    ]
    if search.unsupported:
        blocks.append(f"Not available here: {', '.join(search.unsupported)}. Use search_query.")
    output = "\n\n".join(blocks)
    if search.max_tokens is not None:
        output = output[: max(search.max_tokens, 1) * _CHARACTERS_PER_TOKEN]
    return {"encrypted_output": None, "output": output, "results": list(results)}


def _block(query: str, answer: Answer | GroundwireError, results: list[JsonObject]) -> Iterator[str]:
    yield f'Search results for "{query}":'
    if isinstance(answer, GroundwireError):
        yield f"The search failed: {answer.message}"
        return
    numbering = number_answer(answer)
    first = len(results)
    yield render_body(answer, numbering) or "Nothing was found."
    for position, source in enumerate(numbering.sources):
        reference = f"turn0search{first + position}"
        results.append(_result(reference, source, answer))
        yield f"[{position + 1}] {reference}: {label_of(source)} ({source.url})"


def _result(reference: str, source: Source, answer: Answer) -> JsonObject:
    quotes = (
        item.quote
        for citation in answer.citations
        for item in citation.evidence
        if item.source.url == source.url and item.quote
    )
    snippet = next(quotes, next(iter(source.excerpts), ""))
    return {
        "type": "text_result",
        "ref_id": reference,
        "url": source.url,
        "title": source.title,
        "snippet": " ".join(snippet.split())[:_MAX_SNIPPET],
    }


def _options(settings: Fields, length: str) -> SearchOptions:
    filters, location = settings.obj("filters"), settings.obj("user_location")
    size = settings.text("search_context_size")
    live = settings.flag("external_web_access")
    return SearchOptions(
        allowed_domains=filters.texts("allowed_domains"),
        blocked_domains=filters.texts("blocked_domains"),
        location=Location(
            location.text("country"),
            location.text("region"),
            location.text("city"),
            location.text("timezone"),
        )
        if location.raw
        else None,
        context_size=next((known for known in _SIZES.values() if known == size), _SIZES.get(length)),
        live=False if live is False else None,
    )


def _narrowed(options: SearchOptions, query: Fields, now: float) -> SearchOptions:
    """The options of one query: it may narrow the user's list of domains, never widen it."""
    days = query.integer("recency")
    domains = query.texts("domains")
    if options.allowed_domains:
        within = tuple(
            name for name in domains if any(covers_entry(outer, name) for outer in options.allowed_domains)
        )
        domains = within or options.allowed_domains
    since = until = ""
    if days is not None and 0 < days < 36500:
        today = datetime.fromtimestamp(now, UTC)
        since, until = _timestamp(today - timedelta(days=days)), _timestamp(today)
    return replace(options, allowed_domains=domains, since=since, until=until)


def _timestamp(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


async def search(app: HttpApp, context: RequestContext, _: Mapping[str, str]) -> None:
    """Run the queries of a request concurrently, and send one response."""
    document = (await read_json_object(context.exchange, app.max_body_bytes))[1]
    request = decode(document, time())
    info = ResponseInfo(context.request_id)
    try:
        if not await cancel_on_disconnect(context.exchange, _respond(app, context, info, request)):
            context.outcome = "left"
    finally:
        context.record_response(info)


async def _respond(
    app: HttpApp, context: RequestContext, info: ResponseInfo, search: CodexSearchRequest
) -> None:
    context.requested_model = search.model
    target = search_target(app, search.model)
    answers = await asyncio.gather(*(_run_query(app, info, query, target) for query in search.queries))
    failures = [answer for answer in answers if isinstance(answer, GroundwireError)]
    if forbidden := [failure for failure in failures if isinstance(failure, ForbiddenForKey)]:
        raise forbidden[0]
    if failures and len(failures) == len(answers) and failures[0].retryable:
        raise failures[0]
    body = dump_json(encode(search, answers)).encode()
    await context.exchange.respond(200, info.headers(JSON), body)


async def _run_query(
    app: HttpApp, info: ResponseInfo, query: CodexQuery, target: ResolvedTarget
) -> Answer | GroundwireError:
    request = Request((Message("user", (Text(query.text),)),), search=query.options)
    assembler = Assembler()
    query_info = ResponseInfo(info.request_id)
    try:
        async with aclosing(app.batches(request, target)) as batches:
            async for batch in batches:
                query_info.observe_events(batch)
                for event in batch:
                    if isinstance(event, Failed):
                        return event.error
                    assembler.feed(event)
    except GroundwireError as error:
        return error
    finally:
        info.merge(query_info)
    return assembler.answer()


CODEX_ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/alpha/search",
        search,
        "openai_responses",
        about="The standalone search of Codex.",
        group="search",
    ),
)
