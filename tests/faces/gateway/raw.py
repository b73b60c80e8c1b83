"""Requests of the five dialects as bytes on a socket, and raw responses."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from dataclasses import dataclass
from typing import Literal, TypeAlias

from groundwire.model import JsonObject
from tests.contracts.strict_parser import strict_json
from tests.contracts.strict_parser import text as string

Disconnect: TypeAlias = Literal["fin", "rst"]

INBOUND = ("anthropic_messages", "openai_responses", "openai_chat", "gemini", "gemini_interactions")
_PATHS = {
    "anthropic_messages": "/v1/messages",
    "openai_responses": "/v1/responses",
    "openai_chat": "/v1/chat/completions",
    "gemini_interactions": "/v1beta/interactions",
}
_RESET = struct.pack("ii", 1, 0)  # linger for zero seconds: closing then sends RST


def body_of(dialect: str, model: str, *, stream: bool, question: str = "?") -> JsonObject:
    """The JSON body of a request with web search in a dialect."""
    user: JsonObject = {"role": "user", "content": question}
    bodies: dict[str, JsonObject] = {
        "anthropic_messages": {
            "max_tokens": 99,
            "messages": [user],
            "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        },
        "openai_responses": {"input": question, "tools": [{"type": "web_search"}]},
        "openai_chat": {"messages": [user], "web_search_options": {}},
        "gemini_interactions": {"input": question, "tools": [{"type": "google_search"}]},
    }
    if dialect == "gemini":
        turn: JsonObject = {"role": "user", "parts": [{"text": question}]}
        return {"contents": [turn], "tools": [{"googleSearch": {}}]}
    return {"model": model, "stream": stream, **bodies[dialect]}


def request_of(dialect: str, model: str, *, stream: bool, question: str = "?") -> bytes:
    """The bytes of an HTTP request with `connection: close`."""
    path = _PATHS.get(dialect) or (
        f"/v1beta/models/{model}:streamGenerateContent?alt=sse"
        if stream
        else f"/v1beta/models/{model}:generateContent"
    )
    body = json.dumps(body_of(dialect, model, stream=stream, question=question)).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


@dataclass
class RawResponse:
    """An HTTP response, and whether its body is complete."""

    status: int
    headers: dict[str, str]
    body: bytes
    complete: bool


async def send(url: str, data: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection and send a request."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=2**24)
    writer.write(data)
    await writer.drain()
    return reader, writer


async def fetch(url: str, data: bytes, *, seconds: float = 20.0) -> RawResponse:
    """Send a request and read the response until the connection closes; raises `TimeoutError`."""
    reader, writer = await send(url, data)
    try:
        async with asyncio.timeout(seconds):
            return parsed(await reader.read())
    finally:
        writer.close()


def parsed(data: bytes) -> RawResponse:
    """Parse a response."""
    head, _, rest = data.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): text.strip() for name, _, text in (line.partition(":") for line in lines)}
    status = int(line.split()[1])
    if headers.get("transfer-encoding") != "chunked":
        return RawResponse(status, headers, rest, str(len(rest)) == headers.get("content-length"))
    body = b""
    while True:
        size, found, rest = rest.partition(b"\r\n")
        if not found:
            return RawResponse(status, headers, body, complete=False)
        length = int(size, 16)
        if not length:
            return RawResponse(status, headers, body, rest == b"\r\n")
        body, rest = body + rest[:length], rest[length + 2 :]


def disconnect(writer: asyncio.StreamWriter, how: Disconnect) -> None:
    """Close the connection immediately, with FIN or RST."""
    if how == "rst":
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


def check_error(dialect: str, status: int, body: bytes) -> None:
    """Check that an error response has the format that the clients of a dialect read."""
    assert 400 <= status < 600, status
    document = strict_json(body.decode())
    error = document["error"]
    assert isinstance(error, dict)
    assert string(error, "message")
    if dialect == "anthropic_messages":
        assert document["type"] == "error"
        assert string(error, "type").endswith("_error")
    elif dialect == "gemini":
        assert error["code"] == status
        assert string(error, "status").isupper()
    elif dialect == "gemini_interactions":
        assert error.get("code") is not None
    else:
        assert {"type", "code", "param"} <= error.keys()
