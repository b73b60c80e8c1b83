"""Running a tool. Whatever happens, the result is the contract's object: failures have `error`."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Protocol

from groundwire.config.moments import moment
from groundwire.config.schema import Config
from groundwire.credentials.secret import Secret
from groundwire.dialects.base import Reply
from groundwire.dialects.websearch.errors import WrongArguments
from groundwire.dialects.websearch.request import NAME as DIALECT
from groundwire.dialects.websearch.request import decode_provider_request, decode_request
from groundwire.dialects.websearch.response import encode_response
from groundwire.errors import ConfigError, GroundwireError, InvalidArguments, MissingCredential, RequestError
from groundwire.model import Answer, Assembler, Event, Failed, JsonObject, Request, SearchOptions
from groundwire.model.value import field_names, replace, value
from groundwire.providers.base import Row
from groundwire.tools import geminisearch
from groundwire.tools.registry import AUTO, TOOLS, WEBSEARCH, ToolSpec, failure_code


class Searcher(Protocol):
    """What tools need of a `Groundwire`."""

    @property
    def config(self) -> Config: ...
    @property
    def names(self) -> tuple[str, ...]: ...

    def stream(
        self, query: str | Request, *, provider: str = ..., model: str = ..., options: SearchOptions | None = ...
    ) -> AsyncGenerator[Event, None]: ...

    def add(self, row: Row, key: Secret | None = None) -> None: ...


@value
class Outcome:
    """The result for the caller, and for programs of ours what it is made of."""

    result: JsonObject
    answer: Answer


async def run_tool(searcher: Searcher, name: str, arguments: Mapping[str, object] | object) -> JsonObject:
    """Call a tool; the result has `llmContent`, `returnDisplay`, perhaps `sources`, and `error` if it failed."""
    return (await call_tool(searcher, name, arguments)).result


async def call_tool(searcher: Searcher, name: str, arguments: object) -> Outcome:
    """The same, with the answer behind the result."""
    request = Request(())
    assembler = Assembler()
    code = failure_code(AUTO)
    try:
        tool = _tool(name)
        code = tool.failed
        request, provider = _read(searcher, tool, arguments)
        code = tool.failed if tool is not WEBSEARCH else failure_code(provider)
        async with aclosing(searcher.stream(request, provider=provider, model=request.model)) as events:
            async for event in events:
                assembler.feed(event)
    except GroundwireError as error:
        assembler.feed(Failed(error))
    answer = assembler.answer()
    if answer.error is not None:
        answer = replace(answer, error=_coded(answer.error, code))
    return Outcome(encode_response(answer, Reply(request=request)), answer)
