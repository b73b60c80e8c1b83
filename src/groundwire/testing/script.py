"""Scripts of a test upstream, as data: responses, and every fault that a response can have.

A script can be written in Python or in a JSON file:

    {"paths": {"/v1/messages": [
        {"status": 529, "headers": {"retry-after": "1"}, "json": {"type": "error"}},
        {"answer": {"dialect": "anthropic_messages", "text": "Yes.", "sources": ["https://a.example"]}}
    ]}}

The responses of a path are sent one after the other, the last one for ever. Offsets in a body count bytes of
the body, without its framing.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, cast

from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ConfigError, GroundwireError, WireError
from groundwire.model import Event, Json, JsonObject, Source
from groundwire.model.json import VERSION, decode
from groundwire.model.value import field_names, replace, value
from groundwire.testing.answers import answer_events, encode_answer

Framing: TypeAlias = Literal["", "length", "chunked", "close"]
Cut: TypeAlias = Literal["fin", "rst"]
PortState: TypeAlias = Literal["open", "closed", "unresponsive"]

EVENTS = "text/event-stream"
DOCUMENT = "application/json"
_TYPES = {".sse": EVENTS, ".json": DOCUMENT, ".html": "text/html; charset=utf-8", ".txt": "text/plain"}


class Dribble(NamedTuple):
    """Number of bytes to send at a time, and seconds between."""

    size: int
    seconds: float


@value
class ScriptedResponse:
    """The response to one request, and its faults."""

    status: int = 200
    headers: Mapping[str, str] = {}
    """Names in lower case; they override those of the upstream."""
    body: bytes = b""
    stream: bytes | None = None
    """Sent instead of `body` to a client that requests a stream."""
    stream_type: str = EVENTS
    framing: Framing = ""
    """Framing of the body; by default its length, or chunks for a stream."""
    delay: float = 0.0
    """Seconds before the status line; infinite for an upstream that never responds."""
    dribble: Dribble | None = None
    stall_at: int | None = None
    """After this number of bytes nothing more is sent until the client disconnects."""
    cut_at: int | None = None
    """After this number of bytes the connection is closed."""
    cut: Cut = "fin"
    repeat: bytes = b""
    """Sent repeatedly after the body: an endless response."""
    every: float = 0.0
    """Seconds between two repetitions."""
    raw: bytes | None = None
    """Bytes sent instead of an HTTP response, before the connection is closed."""


Response = ScriptedResponse
"""Alias of `ScriptedResponse`, its former name."""


@value
class Script:
    """Responses by path."""

    responses: tuple[ScriptedResponse, ...] = ()
    """For every path that is not in `paths`."""
    paths: Mapping[str, tuple[ScriptedResponse, ...]] = {}
    """By path without its query; `*` matches anything."""
    port_state: PortState = "open"
    """`closed` refuses connections; `unresponsive` never accepts them."""

    def key_for(self, path: str) -> str:
        """The entry of `paths` that a path belongs to, itself first; empty if there is none."""
        if path in self.paths:
            return path
        return next((pattern for pattern in self.paths if fnmatchcase(path, pattern)), "")

    def response(self, key: str, attempt: int) -> ScriptedResponse:
        """The response to an attempt, the first of which has number 1."""
        played = self.paths.get(key, self.responses)
        if not played:
            return json_response({"error": {"message": "the script has no response for this path"}}, 404)
        return played[min(attempt, len(played)) - 1]


def json_response(
    body: Json, status: int = 200, headers: Mapping[str, str] | None = None
) -> ScriptedResponse:
    """A JSON document."""
    return ScriptedResponse(status, {"content-type": DOCUMENT, **(headers or {})}, dump_json(body).encode())


def text_response(text: str, content_type: str = EVENTS, status: int = 200) -> ScriptedResponse:
    """A text, by default server-sent events."""
    framing: Framing = "chunked" if content_type == EVENTS else ""
    return ScriptedResponse(status, {"content-type": content_type}, text.encode(), framing=framing)


def file_response(path: Path, status: int = 200) -> ScriptedResponse:
    """The content of a file; its suffix tells the type."""
    content_type = _TYPES.get(path.suffix, "application/octet-stream")
    framing: Framing = "chunked" if content_type == EVENTS else ""
    return ScriptedResponse(status, {"content-type": content_type}, path.read_bytes(), framing=framing)


def answer(dialect: str, events: list[Event]) -> ScriptedResponse:
    """An answer in a dialect: a stream for a client that requests one, else a document."""
    form = encode_answer(dialect, events)
    return ScriptedResponse(body=form.whole, stream=form.stream, stream_type=form.content_type)


def load_script(text: str, folder: Path) -> Script:
    """The script in a JSON text; files it names are looked for in the folder."""
    try:
        return _ScriptReader(folder).script(load_json(text, WireError))
    except (WireError, OSError, Base64Error, KeyError) as error:
        told_why = error.message if isinstance(error, GroundwireError) else str(error)
        raise ConfigError(f"the script cannot be used: {told_why}") from None


_PLAIN: Mapping[str, tuple[type, ...]] = {
    "status": (int,),
    "delay": (int, float),
    "stall_at": (int,),
    "cut_at": (int,),
    "every": (int, float),
    "framing": (str,),
    "cut": (str,),
}


class _ScriptReader:
    """A script out of JSON, with the path to whatever is wrong in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bodies: Mapping[str, Callable[[Json, str], ScriptedResponse]] = {
            "json": lambda item, _: json_response(item),
            "text": lambda item, path: text_response(_text(item, path), "text/plain; charset=utf-8"),
            "sse": lambda item, path: text_response(_text(item, path)),
            "base64": lambda item, path: ScriptedResponse(body=b64decode(_text(item, path), validate=True)),
            "file": lambda item, path: file_response(self._folder / _text(item, path)),
            "raw": lambda item, path: ScriptedResponse(raw=_text(item, path).encode("latin-1", "replace")),
            "answer": _answer,
        }

    def script(self, item: Json) -> Script:
        fields = _object(item, "$")
        _known(fields, field_names(Script), "$")
        port_state = fields.get("port_state", "open")
        if port_state not in ("open", "closed", "unresponsive"):
            raise WireError("expected open, closed or unresponsive", "$.port_state")
        paths = _object(fields.get("paths", {}), "$.paths")
        return Script(
            self._responses(fields.get("responses", []), "$.responses"),
            {path: self._responses(item, f"$.paths.{path}") for path, item in paths.items()},
            cast("PortState", port_state),
        )

    def _responses(self, item: Json, path: str) -> tuple[ScriptedResponse, ...]:
        if not isinstance(item, list):
            raise WireError("expected a list of responses", path)
        return tuple(self._response(entry, f"{path}[{index}]") for index, entry in enumerate(item))

    def _response(self, item: Json, path: str) -> ScriptedResponse:
        fields = _object(item, path)
        _known(fields, (*_PLAIN, *self._bodies, "headers", "dribble", "repeat"), path)
        bodies = [name for name in self._bodies if name in fields]
        if len(bodies) > 1:
            raise WireError(f"{' and '.join(bodies)}: one body is enough", path)
        response = ScriptedResponse()
        for name in bodies:
            response = self._bodies[name](fields[name], f"{path}.{name}")
        changes: dict[str, object] = {}
        for name, kinds in _PLAIN.items():
            if name in fields:
                if type(fields[name]) not in kinds:
                    raise WireError(
                        f"expected {' or '.join(kind.__name__ for kind in kinds)}", f"{path}.{name}"
                    )
                changes[name] = fields[name]
        headers = _object(fields.get("headers", {}), f"{path}.headers")
        changes["headers"] = {
            **response.headers,
            **{name.lower(): _text(text, f"{path}.headers.{name}") for name, text in headers.items()},
        }
        changes["repeat"] = _text(fields.get("repeat", ""), f"{path}.repeat").encode()
        if "dribble" in fields:
            changes["dribble"] = _dribble(fields["dribble"], f"{path}.dribble")
        return replace(response, **changes)


def _answer(item: Json, path: str) -> ScriptedResponse:
    fields = _object(item, path)
    _known(fields, ("dialect", "events", "text", "sources", "query"), path)
    dialect = _text(fields.get("dialect"), f"{path}.dialect")
    events = fields.get("events")
    if isinstance(events, list):
        read = [decode({"version": VERSION, **_object(event, path)}) for event in events]
        return answer(dialect, cast("list[Event]", read))
    sources = fields.get("sources", [])
    addresses = [
        _text(url, f"{path}.sources") for url in (sources if isinstance(sources, list) else [sources])
    ]
    text = _text(fields.get("text", ""), f"{path}.text")
    query = _text(fields.get("query", ""), f"{path}.query")
    return answer(dialect, answer_events(text, *map(Source, addresses), query=query))


def _dribble(item: Json, path: str) -> Dribble:
    match item:
        case [int(size), int() | float() as seconds] if size > 0:
            return Dribble(size, float(seconds))
    raise WireError("expected a number of bytes and a number of seconds", path)


def _object(item: Json, path: str) -> JsonObject:
    if not isinstance(item, dict):
        raise WireError("expected an object", path)
    return item


def _text(item: Json, path: str) -> str:
    if not isinstance(item, str):
        raise WireError("expected a string", path)
    return item


def _known(fields: JsonObject, names: tuple[str, ...], path: str) -> None:
    unknown = sorted(set(fields) - set(names))
    if unknown:
        raise WireError(f"unknown: {', '.join(unknown)}; known are {', '.join(names)}", path)
