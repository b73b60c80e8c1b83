"""`POST /api/chat`: the path and the protocol of `useChat` in the AI SDK."""

from __future__ import annotations

import os
from collections.abc import Mapping
from time import time
from typing import TYPE_CHECKING

from groundwire.dialects.base import ErrorBody, Reply
from groundwire.dialects.registry import dialect
from groundwire.errors import GroundwireError
from groundwire.faces.gateway.endpoints import respond
from groundwire.faces.gateway.handler import EndpointSpec, ParsedRequest, read_json_object
from groundwire.faces.gateway.ui_messages.encoder import UiMessageEncoder
from groundwire.faces.gateway.ui_messages.request import decode_request
from groundwire.model.value import replace
from groundwire.server.asgi import HttpExchange
from groundwire.server.routes import Route

if TYPE_CHECKING:
    from groundwire.server.app import HttpApp, RequestContext

NAME = "ui_messages"


async def chat(app: HttpApp, context: RequestContext, _: Mapping[str, str]) -> None:
    """Answer the messages of a page with a UI message stream."""
    body = await read_json_object(context.exchange, app.max_body_bytes)
    request = decode_request(body[1])
    reply = Reply(
        id=os.urandom(16).hex(),
        model=request.model,
        created=int(time()),
        request=request,
        # The text is shown as it arrives: citations are parts of their own.
        citations="live",
        key=app.secret,
    )
    # Nothing is passed through, so that only the encoder of the dialect is used.
    stream = replace(dialect("websearch"), name=NAME, encoder=UiMessageEncoder)
    await respond(app, context, ParsedRequest(EndpointSpec(NAME), stream, request, reply))


def encode_error(error: GroundwireError, _: HttpExchange) -> ErrorBody:
    """An error before the stream: pages show its text."""
    status = dialect("openai_chat").encode_error(error, Reply()).status
    return ErrorBody(status, {"error": error.message})


UI_MESSAGE_ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/api/chat",
        chat,
        about="AI SDK: the messages of useChat, answered with a UI message stream.",
        group="chat",
        encode_error=encode_error,
    ),
)
