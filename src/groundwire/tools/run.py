"""Runs a tool. The result is always the object of the tool contract; a failure has `error`."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeAlias

from groundwire.config.kinds import format_time, parse_time
from groundwire.dialects.base import Reply
from groundwire.dialects.extras import FIELD, VERSION, is_ungrounded
from groundwire.dialects.fields import as_object
from groundwire.dialects.websearch.errors import WrongArguments
from groundwire.dialects.websearch.request import decode_provider_request, decode_request
from groundwire.dialects.websearch.response import encode_response
from groundwire.dialects.websearch.search import NAME as DIALECT
from groundwire.errors import (
    ConfigError,
    GroundwireError,
    InvalidArguments,
    MissingCredential,
    Refused,
    RequestError,
)
from groundwire.model import Answer, Assembler, Event, Failed, JsonObject, Request, SearchOptions
from groundwire.model.value import field_names, replace, value
from groundwire.tools import geminisearch
from groundwire.tools.registry import AUTO, TOOLS, WEBSEARCH, ToolSpec, failure_code

if TYPE_CHECKING:
    from groundwire.client_protocol import SearchClient

_ADVICE = "Try again later, or check the configuration: groundwire doctor"


OpenStream: TypeAlias = "Callable[[Request, str, str], AsyncGenerator[Event, None]]"
"""Opens the events of a request for a provider and a model."""


class _Blocked(Refused):
    """A filter of the provider blocked the answer."""

    advice = "Rephrase the question, or choose another provider."


@value
class Outcome:
    """The result of a tool, and the answer it is made of."""

    result: JsonObject
    answer: Answer

    @property
    def flagged_result(self) -> JsonObject:
        """The result, with `groundwire.grounded` false if no source supports the text."""
        if self.answer.error is not None or not is_ungrounded(self.answer):
            return self.result
        extension = as_object(self.result.get(FIELD))
        return {**self.result, FIELD: {"version": VERSION, **extension, "grounded": False}}


async def run_tool(
    client: SearchClient, name: str, arguments: object, clock: Callable[[], float] = time.time
) -> JsonObject:
    """Call a tool: `llmContent`, `returnDisplay`, perhaps `sources`, and `error` if it failed."""
    return (await call_tool(client, name, arguments, clock)).result


async def call_tool(
    client: SearchClient,
    name: str,
    arguments: object,
    clock: Callable[[], float] = time.time,
    *,
    open_stream: OpenStream | None = None,
) -> Outcome:
    """Call a tool; returns its result and its answer. `open_stream` replaces `client.stream`."""
    request = Request(())
    assembler = Assembler()
    code = failure_code(AUTO)
    try:
        tool = _tool(name)
        code = tool.failed
        request, provider = _read(client, tool, arguments, clock())
        code = failure_code(provider) if tool is WEBSEARCH else tool.failed
        stream = (
            client.stream(request, provider=provider, model=request.model)
            if open_stream is None
            else open_stream(request, provider, request.model)
        )
        async with aclosing(stream) as events:
            async for event in events:
                assembler.feed(event)
    except GroundwireError as error:
        assembler.feed(Failed(error))
    answer = _with_blocked(assembler.answer())
    if answer.error is not None:
        answer = replace(answer, error=_coded(answer.error, code))
    result = encode_response(answer, Reply(request=request))
    if name == geminisearch.NAME:
        result |= geminisearch.raw_metadata(client.config, answer)
    return Outcome(result, answer)


def _with_blocked(answer: Answer) -> Answer:
    """Turn an answer that a filter blocked into a failure; "nothing found" would be wrong."""
    if answer.error is not None or answer.text.strip() or answer.finish not in ("filtered", "refused"):
        return answer
    reason = f" ({answer.detail})" if answer.detail else ""
    return replace(answer, error=_Blocked(f"The provider blocked the query or its answer{reason}."))


def _tool(name: str) -> ToolSpec:
    if name not in TOOLS:
        raise InvalidArguments(f"There is no tool {name!r}; there are {', '.join(TOOLS)}.")
    return TOOLS[name]


def _read(client: SearchClient, tool: ToolSpec, arguments: object, now: float) -> tuple[Request, str]:
    """Decode the arguments: the request, and the provider."""
    if not isinstance(arguments, dict):
        raise WrongArguments("The arguments must be a JSON object.", f"{tool.name} takes an object.")
    if tool is not WEBSEARCH:
        request = decode_provider_request(arguments, tool.name)
        if tool.provider == geminisearch.NAME:
            client.add(geminisearch.row_of(client.config), geminisearch.key_of(client.config))
        return replace(request, search=client.config.search), tool.provider
    return read_search(client, arguments, now)


def read_search(client: SearchClient, arguments: JsonObject, now: float) -> tuple[Request, str]:
    """Decode a call of the unified tool: the request with the configured options, and the provider."""
    request = decode_request(arguments)
    provider = str(request.extras.get(DIALECT, {}).get("provider", AUTO))
    if provider not in (AUTO, *client.names):
        known = ", ".join(client.names)
        raise InvalidArguments(f"There is no provider {provider!r}; there are {known}.")
    options = _with_times(request.search or SearchOptions(), now)
    return replace(request, search=_with_defaults(options, client.config.search)), provider


def _with_times(options: SearchOptions, now: float) -> SearchOptions:
    """Parse `since` and `until`. Some providers need both ends of a period."""
    try:
        since = parse_time(options.since, now) if options.since else ""
        until = parse_time(options.until, now, "end") if options.until else ""
    except ConfigError as error:
        raise InvalidArguments(f"since, until: {error.message}") from None
    return replace(options, since=since, until=until or (format_time(now) if since else ""))


def _with_defaults(options: SearchOptions, defaults: SearchOptions) -> SearchOptions:
    """The options, with the configured ones where they are empty."""
    empty = SearchOptions()
    given = {
        name: getattr(options, name)
        for name in field_names(SearchOptions)
        if getattr(options, name) != getattr(empty, name)
    }
    return replace(defaults, **given)


def _coded(error: GroundwireError, code: str) -> GroundwireError:
    """The error with the code of its tool, unless it is an error of the caller or a key is missing."""
    if not isinstance(error, RequestError | MissingCredential):
        error.code = code
        message = error.message.rstrip(". ")
        advice = error.advice if isinstance(error, _Blocked) else _ADVICE
        error.message = f"{message}{'' if message.endswith('?') else '.'} {advice}"
    return error
