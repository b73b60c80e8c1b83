"""Requests that a search engine answers: which it may, and what it leaves out of account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import aclosing

from groundwire.errors import UnsupportedFeature
from groundwire.faces.gateway.handler import Batches
from groundwire.model import Event, FunctionTool, Limits, Request, Started, Warned
from groundwire.model.value import field_names
from groundwire.routing.resolve import AUTO, ENGINES, no_model_message


def finds(provider: str, usable: Mapping[str, bool]) -> bool:
    """Is this an engine, which searches whether the client has asked for it or not?"""
    if provider != AUTO:
        return provider in ENGINES
    return not any(ok and name not in ENGINES for name, ok in usable.items())


def check_searches(request: Request, provider: str, usable: Mapping[str, bool]) -> None:
    """Refuse what only a model could answer where there is none.

    A request that names an engine as its model wants it to search.
    """
    if provider == AUTO and request.search is None and any(usable.values()) and finds(provider, usable):
        raise UnsupportedFeature(no_model_message("declare the web search tool of your API in the request"))


def ignored_by_engines(request: Request) -> tuple[str, ...]:
    """What a request holds besides its question that an engine does not use."""
    return tuple(_ignored(request))


def _ignored(request: Request) -> Iterator[str]:
    if any(isinstance(tool, FunctionTool) for tool in request.tools):
        yield "functions"
    if any(not isinstance(tool, FunctionTool) for tool in request.tools):
        yield "other tools"
    if request.system or any(message.role in ("system", "developer") for message in request.messages):
        yield "system text"
    if any(message.role == "assistant" for message in request.messages):
        yield "earlier messages"
    if request.output is not None:
        yield "the output format"
    unset = Limits()
    for name in field_names(Limits):
        if getattr(request.limits, name) != getattr(unset, name):
            yield name
    if request.reasoning is not None:
        yield "reasoning options"


async def with_engine_warning(batches: Batches, request: Request) -> Batches:
    """The answer, with a warning of what was left out if it is an engine's."""
    ignored = ignored_by_engines(request)
    async with aclosing(batches):
        async for batch in batches:
            if ignored and any(isinstance(event, Started) for event in batch):
                yield [event for known in batch for event in _warned(known, ignored)]
                ignored = ()
            else:
                yield batch


def _warned(event: Event, ignored: tuple[str, ...]) -> Iterator[Event]:
    yield event
    if isinstance(event, Started) and event.provider in ENGINES:
        yield Warned(
            "ignored_by_engine",
            f"{event.provider} is a search engine and answers the last question alone; "
            f"it does not use: {', '.join(ignored)}",
        )
