"""`POST /v1/alpha/search`: the search that Codex makes itself, without its model's provider.

A call brings several queries at once and wants one text for the model, with results to refer to. Pages are
not opened here: commands other than a search are answered by saying so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from time import time
from typing import TYPE_CHECKING, NamedTuple

from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError, GroundwireError, InvalidQuery
from groundwire.faces.gateway.asgi import JSON, cancel_on_disconnect
from groundwire.faces.gateway.handler import ResponseInfo, check_head
from groundwire.faces.gateway.routes import Route
from groundwire.faces.gateway.side_request import search_target
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
from groundwire.text.domains import covers_entry
from groundwire.text.markdown import render_body
from groundwire.text.sources import label_of, number_answer

if TYPE_CHECKING:
    from groundwire.faces.gateway.app import Call, Gateway

MOST_QUERIES = 8
LONGEST_QUERY = 2000
_SNIPPET = 300
_SERVED = ("search_query", "response_length")
_SIZES: Mapping[str, ContextSize] = {"short": "low", "medium": "medium", "long": "high"}
_SIGNS_PER_TOKEN = 4


class Query(NamedTuple):
    """One thing to look for, and how."""

    text: str
    options: SearchOptions


@value
class Asked:
    """A call, as it was understood."""

    model: str
    queries: tuple[Query, ...]
    others: tuple[str, ...]
    """Commands that are not served."""
    longest: int | None


def decode(body: JsonObject, now: float) -> Asked:
    """What a call asks for. Raises what is wrong with it."""
    fields = Fields.of(body, ClientWireError)
    commands, settings = fields.obj("commands"), fields.obj("settings")
    general = _options(settings, commands.text("response_length"))
    asked = list(commands.objs("search_query"))[:MOST_QUERIES]
    queries = tuple(
        Query(text[:LONGEST_QUERY], _narrowed(general, item, now))
        for item in asked
        if (text := item.text("q").strip())
    )
    others = tuple(name for name, said in commands.raw.items() if said and name not in _SERVED)
    if not queries and not others:
        raise InvalidQuery("commands.search_query holds no query")
    return Asked(fields.text("model"), queries, others, fields.integer("max_output_tokens"))


def encode(asked: Asked, answers: Sequence[Answer | GroundwireError]) -> JsonObject:
    """The text for the model, and the results."""
    results: list[JsonObject] = []
    blocks = [
        "\n".join(_block(query.text, answer, results))
        for query, answer in zip(asked.queries, answers, strict=True)
    ]
    if asked.others:
        blocks.append(f"Not available here: {', '.join(asked.others)}. Use search_query.")
    output = "\n\n".join(blocks)
    if asked.longest is not None:
        output = output[: max(asked.longest, 1) * _SIGNS_PER_TOKEN]
    return {"encrypted_output": None, "output": output, "results": list(results)}


def _block(query: str, answer: Answer | GroundwireError, results: list[JsonObject]) -> Iterator[str]:
    yield f'Search results for "{query}":'
    if isinstance(answer, GroundwireError):
        yield f"The search failed: {answer.message}"
        return
    numbering = number_answer(answer)
    first = len(results)
    yield render_body(answer, numbering) or "Nothing was found."
    for place, source in enumerate(numbering.sources):
        reference = f"turn0search{first + place}"
        results.append(_result(reference, source, answer))
        yield f"[{place + 1}] {reference}: {label_of(source)} ({source.url})"


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
        "snippet": " ".join(snippet.split())[:_SNIPPET],
    }


def _options(settings: Fields, length: str) -> SearchOptions:
    filters, place = settings.obj("filters"), settings.obj("user_location")
    size = settings.text("search_context_size")
    live = settings.flag("external_web_access")
    return SearchOptions(
        allowed_domains=filters.texts("allowed_domains"),
        blocked_domains=filters.texts("blocked_domains"),
        location=Location(
            place.text("country"), place.text("region"), place.text("city"), place.text("timezone")
        )
        if place.raw
        else None,
        context_size=next((known for known in _SIZES.values() if known == size), _SIZES.get(length)),
        live=False if live is False else None,
    )


def _narrowed(options: SearchOptions, query: Fields, now: float) -> SearchOptions:
    """What one query adds: it may narrow the user's own list of sites, never widen it."""
    days = query.integer("recency")
    wanted = query.texts("domains")
    if options.allowed_domains:
        within = tuple(
            name for name in wanted if any(covers_entry(outer, name) for outer in options.allowed_domains)
        )
        wanted = within or options.allowed_domains
    since = until = ""
    if days is not None and 0 < days < 36500:
        moment = datetime.fromtimestamp(now, UTC)
        since, until = _written(moment - timedelta(days=days)), _written(moment)
    return replace(options, allowed_domains=wanted, since=since, until=until)


def _written(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


async def search(gateway: Gateway, call: Call, _: Mapping[str, str]) -> None:
    """Several searches at once, one answer."""
    check_head(call.inbound)
    body = load_json(await call.inbound.body(gateway.settings.max_body_mb * 2**20), ClientWireError)
    if not isinstance(body, dict):
        raise ClientWireError("expected a JSON object")
    asked = decode(body, time())
    told = ResponseInfo(call.request_id)
    try:
        if not await cancel_on_disconnect(call.inbound, _answer(gateway, call, told, asked)):
            call.outcome = "left"
    finally:
        call.learn(told)


async def _answer(gateway: Gateway, call: Call, told: ResponseInfo, asked: Asked) -> None:
    target = search_target(gateway, asked.model)
    answers = await asyncio.gather(*(_found(gateway, told, query, target) for query in asked.queries))
    failures = [answer for answer in answers if isinstance(answer, GroundwireError)]
    if failures and len(failures) == len(answers) and failures[0].retryable:
        raise failures[0]
    body = dump_json(encode(asked, answers)).encode()
    await call.inbound.respond(200, told.headers(JSON), body)


async def _found(
    gateway: Gateway, told: ResponseInfo, query: Query, target: tuple[str, str]
) -> Answer | GroundwireError:
    request = Request((Message("user", (Text(query.text),)),), search=query.options)
    assembler = Assembler()
    mine = ResponseInfo(told.request_id)
    try:
        async with aclosing(gateway.batches(request, provider=target[0], model=target[1])) as batches:
            async for batch in batches:
                mine.notice(batch)
                for event in batch:
                    if isinstance(event, Failed):
                        return event.error
                    assembler.feed(event)
    except GroundwireError as error:
        return error
    finally:
        told.join(mine)
    return assembler.answer()


CODEX: tuple[Route, ...] = (
    Route(
        "POST", "/v1/alpha/search", search, "openai_responses", about="The search that Codex makes by itself."
    ),
)
