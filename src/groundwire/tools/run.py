"""Running a tool. Whatever happens, the result is the contract's object: failures have `error`."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Protocol

from groundwire.config.kinds import format_time, parse_time
from groundwire.config.schema import Config
from groundwire.credentials.secret import Secret
from groundwire.dialects.base import Reply
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
from groundwire.providers.spec import ProviderSpec
from groundwire.tools import geminisearch
from groundwire.tools.registry import AUTO, TOOLS, WEBSEARCH, ToolSpec, failure_code

_ADVICE = "Try again later, or check the configuration: groundwire doctor"


class Searcher(Protocol):
    """What tools need of a `Groundwire`."""

    @property
    def config(self) -> Config: ...
    @property
    def names(self) -> tuple[str, ...]: ...

    def stream(
        self,
        query: str | Request,
        *,
        provider: str = ...,
        model: str = ...,
        options: SearchOptions | None = ...,
    ) -> AsyncGenerator[Event, None]: ...

    def add(self, row: ProviderSpec, key: Secret | None = None) -> None: ...


class _Blocked(Refused):
    """A filter of the provider's withheld the answer."""

    advice = "Ask in other words, or ask another provider."


@value
class Outcome:
    """The result for the caller, and for programs of ours what it is made of."""

    result: JsonObject
    answer: Answer


async def run_tool(
    searcher: Searcher, name: str, arguments: object, clock: Callable[[], float] = time.time
) -> JsonObject:
    """Call a tool: `llmContent`, `returnDisplay`, perhaps `sources`, and `error` if it failed."""
    return (await call_tool(searcher, name, arguments, clock)).result


async def call_tool(
    searcher: Searcher, name: str, arguments: object, clock: Callable[[], float] = time.time
) -> Outcome:
    """The same, with the answer behind the result."""
    request = Request(())
    assembler = Assembler()
    code = failure_code(AUTO)
    try:
        tool = _tool(name)
        code = tool.failed
        request, provider = _read(searcher, tool, arguments, clock())
        code = failure_code(provider) if tool is WEBSEARCH else tool.failed
        async with aclosing(searcher.stream(request, provider=provider, model=request.model)) as events:
            async for event in events:
                assembler.feed(event)
    except GroundwireError as error:
        assembler.feed(Failed(error))
    answer = _with_blocked(assembler.answer())
    if answer.error is not None:
        answer = replace(answer, error=_coded(answer.error, code))
    result = encode_response(answer, Reply(request=request))
    if name == geminisearch.NAME:
        result |= geminisearch.raw_metadata(searcher.config, answer)
    return Outcome(result, answer)


def _with_blocked(answer: Answer) -> Answer:
    """An answer that a filter withheld is a failure; "nothing found" would be untrue."""
    if answer.error is not None or answer.text.strip() or answer.finish not in ("filtered", "refused"):
        return answer
    reason = f" ({answer.detail})" if answer.detail else ""
    return replace(answer, error=_Blocked(f"The provider blocked the query or its answer{reason}."))


def _tool(name: str) -> ToolSpec:
    if name not in TOOLS:
        raise InvalidArguments(f"There is no tool {name!r}; there are {', '.join(TOOLS)}.")
    return TOOLS[name]


def _read(searcher: Searcher, tool: ToolSpec, arguments: object, now: float) -> tuple[Request, str]:
    """What is asked, and whom."""
    if not isinstance(arguments, dict):
        raise WrongArguments("The arguments must be a JSON object.", f"{tool.name} takes an object.")
    if tool is not WEBSEARCH:
        request = decode_provider_request(arguments, tool.name)
        if tool.provider == geminisearch.NAME:
            searcher.add(geminisearch.row_of(searcher.config), geminisearch.key_of(searcher.config))
        return replace(request, search=searcher.config.search), tool.provider
    request = decode_request(arguments)
    provider = str(request.extras.get(DIALECT, {}).get("provider", AUTO))
    if provider not in (AUTO, *searcher.names):
        known = ", ".join(searcher.names)
        raise InvalidArguments(f"There is no provider {provider!r}; there are {known}.")
    asked = _at(request.search or SearchOptions(), now)
    return replace(request, search=_filled(asked, searcher.config.search)), provider


def _at(options: SearchOptions, now: float) -> SearchOptions:
    """Times as models write them, as times. Some providers take a period with both its ends, or none."""
    try:
        since = parse_time(options.since, now) if options.since else ""
        until = parse_time(options.until, now, "end") if options.until else ""
    except ConfigError as error:
        raise InvalidArguments(f"since, until: {error.message}") from None
    return replace(options, since=since, until=until or (format_time(now) if since else ""))


def _filled(options: SearchOptions, defaults: SearchOptions) -> SearchOptions:
    """The options, and for those left open what is configured."""
    empty = SearchOptions()
    said = {
        name: getattr(options, name)
        for name in field_names(SearchOptions)
        if getattr(options, name) != getattr(empty, name)
    }
    return replace(defaults, **said)


def _coded(error: GroundwireError, code: str) -> GroundwireError:
    """The error under the code of its tool, unless it is the caller's fault or a key is missing."""
    if not isinstance(error, RequestError | MissingCredential):
        error.code = code
        said = error.message.rstrip(". ")
        advice = error.advice if isinstance(error, _Blocked) else _ADVICE
        error.message = f"{said}{'' if said.endswith('?') else '.'} {advice}"
    return error
