"""Endpoints of the dialects, at the paths of their vendors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from groundwire.client_protocol import no_model_message
from groundwire.errors import TurnedAway, UnsupportedFeature
from groundwire.faces.gateway.background.endpoints import BACKGROUND_ROUTES, respond_in_background
from groundwire.faces.gateway.background.run import foreground_request, is_background
from groundwire.faces.gateway.clients.claude_code import (
    SEARCH_OFF,
    as_search,
    search_target,
    side_query,
    web_search_events,
)
from groundwire.faces.gateway.clients.codex import CODEX_ROUTES
from groundwire.faces.gateway.clients.quirks import (
    ZeroUsage,
    accepts_vendor_text,
    chosen_rendering,
    rendering_for,
    without_agent_context,
)
from groundwire.faces.gateway.handler import (
    CITATIONS_HEADER,
    Batches,
    EndpointSpec,
    ParsedRequest,
    Transform,
    read_request,
    send_response,
    send_stream,
)
from groundwire.faces.gateway.rendering import Renderer, UnlessVerbatim
from groundwire.faces.gateway.search import SEARCH_ROUTES
from groundwire.faces.gateway.verification import is_verified, verified
from groundwire.model import Event, FunctionTool, Limits, Request, SearchOptions, Started, Warned
from groundwire.model.value import field_names, replace
from groundwire.server.asgi import cancel_on_disconnect
from groundwire.server.response_writer import ResponseInfo
from groundwire.server.routes import Endpoint, Route
from groundwire.tools.registry import AUTO

if TYPE_CHECKING:
    from groundwire.client_protocol import SearchClient
    from groundwire.server.app import HttpApp, RequestContext

DEFAULT_SEARCH = SearchOptions()


def dialect_endpoint(dialect: str) -> Endpoint:
    """The endpoint of a dialect whose body holds the model and whether to stream."""

    spec = EndpointSpec(dialect)

    async def endpoint(app: HttpApp, context: RequestContext, _: Mapping[str, str]) -> None:
        await handle_request(app, context, spec)

    return endpoint


async def generate(app: HttpApp, context: RequestContext, params: Mapping[str, str]) -> None:
    """Gemini `generateContent`: the path holds the model."""
    await handle_request(app, context, EndpointSpec("gemini", params["model"], stream=False))


async def generate_streaming(app: HttpApp, context: RequestContext, params: Mapping[str, str]) -> None:
    """Gemini `streamGenerateContent`: server-sent events with `alt=sse`, otherwise one JSON array."""
    array = context.exchange.query_param("alt") != "sse"
    await handle_request(app, context, EndpointSpec("gemini", params["model"], stream=True, array=array))


async def converse(app: HttpApp, context: RequestContext, params: Mapping[str, str]) -> None:
    """Bedrock `Converse`: the path holds the model."""
    await handle_request(app, context, EndpointSpec("bedrock_converse", params["model"], stream=False))


async def converse_streaming(app: HttpApp, context: RequestContext, params: Mapping[str, str]) -> None:
    """Bedrock `ConverseStream`."""
    await handle_request(app, context, EndpointSpec("bedrock_converse", params["model"], stream=True))


async def refuse_websocket(_: HttpApp, __: RequestContext, ___: Mapping[str, str]) -> None:
    """Codex tries a WebSocket first; with this status it continues over HTTP at once."""
    raise TurnedAway(status=426, message="WebSockets are not supported: POST to the same path")


async def refuse_append(_: HttpApp, __: RequestContext, ___: Mapping[str, str]) -> None:
    """Mistral's clients continue a conversation by its id."""
    raise TurnedAway(
        status=404, message="Conversations are not stored. Start one with all earlier entries in `inputs`."
    )


async def handle_request(app: HttpApp, context: RequestContext, endpoint: EndpointSpec) -> None:
    """Handle a request, from its body to the last byte of its response."""
    exchange = context.exchange
    parsed = await read_request(
        exchange, endpoint, app.max_body_bytes, policy=app.settings.citations, key=app.secret
    )
    await respond(app, context, parsed)


async def respond(app: HttpApp, context: RequestContext, parsed: ParsedRequest) -> None:
    """Answer a parsed request, and cancel the answer if the client disconnects."""
    context.requested_model = parsed.request.model
    info = ResponseInfo(context.request_id)
    try:
        if not await cancel_on_disconnect(context.exchange, _respond(app, parsed, context, info)):
            context.outcome = "left"
    finally:
        context.record_response(info)


async def _respond(app: HttpApp, parsed: ParsedRequest, context: RequestContext, info: ResponseInfo) -> None:
    if parsed.endpoint.dialect == "openai_responses" and is_background(parsed.request):
        parsed, batches = start_answer(app, foreground_request(parsed), context.exchange.headers, info)
        await respond_in_background(app, context, parsed, batches, info)
        return
    parsed, batches = start_answer(app, parsed, context.exchange.headers, info)
    send = send_stream if parsed.request.stream else send_response
    await send(context.exchange, parsed, batches, info, app.timeouts)


def start_answer(
    app: HttpApp, parsed: ParsedRequest, headers: Mapping[str, str], info: ResponseInfo
) -> tuple[ParsedRequest, Batches]:
    """The events of the answer, with citations rendered for the client.

    Web searches of Claude Code's own tool go to the search target, all other requests to the target that
    their model name resolves to.
    """
    if parsed.endpoint.dialect == "anthropic_messages" and app.settings.search != SEARCH_OFF:
        query = side_query(parsed.request)
        if query:
            return _search_answer(app, parsed, headers, query, info)
    return _model_answer(app, parsed, headers, info)


def _search_answer(
    app: HttpApp, parsed: ParsedRequest, headers: Mapping[str, str], query: str, info: ResponseInfo
) -> tuple[ParsedRequest, Batches]:
    target = search_target(app, parsed.request.model)
    chosen = chosen_rendering(headers, app.settings.render)
    request = as_search(parsed.request, query)
    if chosen not in (None, "structured"):
        request = replace(request, wire=None)  # rendering rules out passthrough
    parsed = replace(parsed, reply=replace(parsed.reply, citations="exact"))
    return parsed, web_search_events(
        lambda: app.batches(request, target, info=info),
        query,
        chosen or "both",
    )


def _model_answer(
    app: HttpApp, parsed: ParsedRequest, headers: Mapping[str, str], info: ResponseInfo
) -> tuple[ParsedRequest, Batches]:
    request, dialect = parsed.request, parsed.endpoint.dialect
    client, configured = app.groundwire, app.settings.render
    target = client.resolve(request.model)
    check_engine_request(request, target.provider, client)
    if is_engine_target(target.provider, client):
        request = without_agent_context(request)
    searches = request.search or not is_engine_target(target.provider, client)
    searching = request if searches else replace(request, search=DEFAULT_SEARCH)
    if searching.search is None and CITATIONS_HEADER not in headers:
        # There will be no citations, so no text needs to be held back for them.
        parsed = replace(parsed, reply=replace(parsed.reply, citations="live"))
    rendering = rendering_for(headers, dialect, searching, configured)
    passes = rendering == "structured" or accepts_vendor_text(headers, dialect, configured)
    if not passes or parsed.endpoint.array:
        request = replace(request, wire=None)  # rendering rules out passthrough
    verify = searching.search is not None and is_verified(headers, app.settings)
    if verify:
        request = replace(request, wire=None)  # bytes that pass through cannot carry the report
    transforms: list[Transform] = []
    engine = searching.search is not None and may_be_engine(target.provider, client)
    if engine and (ignored := ignored_by_engines(request)):
        transforms.append(_EngineWarning(ignored, client.engines).feed)
    if rendering != "structured":
        renderer = Renderer(keep_citations=rendering == "both")
        transforms.append(UnlessVerbatim(renderer).feed if passes else renderer.feed)
    if dialect == "openai_responses":
        transforms.append(ZeroUsage().feed)
    if transforms:
        parsed = replace(parsed, transforms=tuple(transforms))
    batches = app.batches(request, target, info=info)
    return parsed, verified(batches, client, request.search) if verify else batches


# Search engines as targets


def is_engine_target(provider: str, client: SearchClient) -> bool:
    """Does the target lead to a search engine, which searches even if the request does not declare a
    search?"""
    if provider != AUTO:
        return provider in client.engines
    return not any(ok and name not in client.engines for name, ok in client.usable().items())


def may_be_engine(provider: str, client: SearchClient) -> bool:
    """Can the target be answered by a search engine?"""
    return provider == AUTO or provider in client.engines


def check_engine_request(request: Request, provider: str, client: SearchClient) -> None:
    """Refuse a request without web search where only search engines can be used.

    A request that names an engine as its model is a search.
    """
    if provider != AUTO or request.search is not None:
        return
    if any(client.usable().values()) and is_engine_target(provider, client):
        raise UnsupportedFeature(no_model_message("declare the web search tool of your API in the request"))


def ignored_by_engines(request: Request) -> tuple[str, ...]:
    """The parts of a request, besides its question, that an engine does not use."""
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


class _EngineWarning:
    """Adds a warning after `Started` if an engine answers: the parts of the request that it ignores."""

    def __init__(self, ignored: tuple[str, ...], engines: frozenset[str]) -> None:
        self._ignored = ignored
        self._engines = engines
        self._done = False

    def feed(self, batch: Sequence[Event]) -> Sequence[Event]:
        """The batch, with the warning."""
        if self._done or not any(isinstance(event, Started) for event in batch):
            return batch
        self._done = True
        return [event for known in batch for event in self._with_warning(known)]

    def _with_warning(self, event: Event) -> Iterator[Event]:
        yield event
        if isinstance(event, Started) and event.provider in self._engines:
            yield Warned(
                "ignored_by_engine",
                f"{event.provider} is a search engine and answers only the last question; "
                f"it does not use: {', '.join(self._ignored)}",
            )


# Routes


def _gemini(version: str) -> Sequence[Route]:
    models = f"/{version}/models/{{model}}"
    return (
        Route(
            "POST",
            f"{models}:generateContent",
            generate,
            "gemini",
            about="Gemini: a complete response.",
            group="gemini",
        ),
        Route(
            "POST",
            f"{models}:streamGenerateContent",
            generate_streaming,
            "gemini",
            about="Gemini: a stream, as server-sent events with alt=sse, otherwise as a JSON array.",
            group="gemini",
        ),
        Route(
            "POST",
            f"/{version}/interactions",
            dialect_endpoint("gemini_interactions"),
            "gemini_interactions",
            about="Gemini Interactions.",
            group="interactions",
        ),
    )


DIALECT_ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/messages",
        dialect_endpoint("anthropic_messages"),
        "anthropic_messages",
        about="Anthropic Messages.",
        group="messages",
    ),
    Route(
        "POST",
        "/v1/responses",
        dialect_endpoint("openai_responses"),
        "openai_responses",
        about="OpenAI Responses.",
        group="responses",
    ),
    Route(
        "GET",
        "/v1/responses",
        refuse_websocket,
        "openai_responses",
        about="Refuses WebSockets with 426.",
        group="responses",
    ),
    Route(
        "POST",
        "/v1/chat/completions",
        dialect_endpoint("openai_chat"),
        "openai_chat",
        about="OpenAI Chat.",
        group="chat",
    ),
    Route(
        "POST",
        "/model/{model}/converse",
        converse,
        "bedrock_converse",
        about="Bedrock Converse: a complete response.",
        group="converse",
    ),
    Route(
        "POST",
        "/model/{model}/converse-stream",
        converse_streaming,
        "bedrock_converse",
        about="Bedrock ConverseStream: a stream, in Amazon's binary event stream format.",
        group="converse",
    ),
    Route(
        "POST",
        "/v2/chat",
        dialect_endpoint("cohere_chat"),
        "cohere_chat",
        about="Cohere Chat, version 2.",
        group="cohere",
    ),
    Route(
        "POST",
        "/v1/conversations",
        dialect_endpoint("mistral_conversations"),
        "mistral_conversations",
        about="Mistral Conversations: starts a conversation, which is not stored.",
        group="conversations",
    ),
    Route(
        "POST",
        "/v1/conversations/{id}",
        refuse_append,
        "mistral_conversations",
        about="Refuses to continue a conversation, because none is stored.",
        group="conversations",
    ),
    *_gemini("v1beta"),
    *_gemini("v1"),
    *BACKGROUND_ROUTES,
    *CODEX_ROUTES,
    *SEARCH_ROUTES,
)
