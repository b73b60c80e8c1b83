"""Parts of a content: one kind of data each, beside `thought` and `thoughtSignature`.

A part that can be read is given back from its canonical form and what it carried besides (its extras). Server
tool parts are signed and must come back unchanged, so they are kept whole, told again as they were, and never
made up: a search that has none is told by the grounding metadata alone. Whatever has no canonical meaning is
opaque.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from groundwire.dialects.fields import Fields
from groundwire.dialects.gemini.proto import NAME, extras_of
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import UpstreamWireError
from groundwire.model import (
    Image,
    JsonObject,
    Opaque,
    Part,
    Reasoning,
    SearchCall,
    SearchResult,
    Text,
    ToolCall,
)
from groundwire.text.urls import domain_of, safe_url

VERBATIM = "part"
"""Under this name the extras of a search hold the server tool part it was read from."""
NO_ID = "no_id"
"""Set in the extras of a call or a result that came without an id."""

PAYLOADS = frozenset(
    {
        "text",
        "inlineData",
        "fileData",
        "functionCall",
        "functionResponse",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
    }
)
_SHOWN = PAYLOADS | {"thought", "thoughtSignature"}
SEARCH_TOOLS = frozenset({"GOOGLE_SEARCH_WEB", "GOOGLE_SEARCH_IMAGE"})
OPEN_TOOLS = frozenset({"URL_CONTEXT"})

# Addresses that only Google's own models can read.
_PRIVATE_HOSTS = frozenset({"generativelanguage.googleapis.com"})
_MEDIA_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "heic": "image/heic",
    "heif": "image/heif",
}
_SUFFIX = re.compile(r"\.(\w{3,4})(?:[?#].*)?$")


def decode_blob(part: Fields) -> Image | Opaque:
    """Inline data: a picture, or something that has no canonical form."""
    blob = part.obj("inlineData")
    media_type = blob.text("mimeType")
    if media_type and not media_type.startswith("image/"):
        return Opaque(NAME, part.raw)
    return Image(media_type, blob.text("data"), extras=_extras_beside(part, "inlineData", "mimeType", "data"))


def decode_file(part: Fields) -> Image | Opaque:
    """Data by address: a picture that anybody can fetch, or something opaque."""
    file = part.obj("fileData")
    media_type = file.text("mimeType")
    url = safe_url(file.text("fileUri"))
    if not url or domain_of(url) in _PRIVATE_HOSTS or not (media_type or "image/").startswith("image/"):
        return Opaque(NAME, part.raw)
    return Image(media_type, url=url, extras=_extras_beside(part, "fileData", "mimeType", "fileUri"))


def decode_search_call(part: Fields, number: int) -> SearchCall | None:
    """A `toolCall` of a search or of a page opened; None if it is another tool's."""
    call = part.obj("toolCall")
    kind = call.text("toolType")
    arguments = call.obj("args")
    call_id = call.text("id") or f"search_{number}"
    extras = extras_of({VERBATIM: part.raw})
    if kind in SEARCH_TOOLS:
        queries = tuple(query for query in arguments.texts("queries") if query)
        return SearchCall(call_id, queries, extras=extras)
    if kind in OPEN_TOOLS:
        urls = arguments.texts("urls") or (arguments.text("url"),)
        return SearchCall(call_id, kind="open", url=safe_url(urls[0]), extras=extras)
    return None


def decode_search_result(part: Fields, call_id: str) -> SearchResult | None:
    """A `toolResponse` of a search: suggestions, but no pages; None if it is another tool's."""
    response = part.obj("toolResponse")
    if response.text("toolType") not in SEARCH_TOOLS | OPEN_TOOLS:
        return None
    return SearchResult(
        response.text("id") or call_id,
        suggestions=response.obj("response").text("searchSuggestions"),
        extras={NAME: {VERBATIM: part.raw}},
    )


def encode_part(part: Part) -> JsonObject | None:
    """A part in the dialect's words; None if it has none for it."""
    match part:
        case Text(text):
            return {"text": text, **part.extras.get(NAME, {})} if text or NAME in part.extras else None
        case Reasoning(text):
            return {"text": text, "thought": True, **part.extras.get(NAME, {})}
        case Image():
            return encode_image(part)
        case ToolCall():
            return encode_call(part)
        case SearchCall() | SearchResult():
            whole = part.extras.get(NAME, {}).get(VERBATIM)
            return whole if isinstance(whole, dict) else None
        case Opaque(dialect, data) if dialect == NAME:
            return data
    return None


def encode_parts(parts: Iterable[Part]) -> list[JsonObject]:
    """The parts that the dialect has words for."""
    return [encoded for part in parts if (encoded := encode_part(part)) is not None]


def show_part(part: JsonObject) -> JsonObject | None:
    """The part as clients know it, without fields that only a server understands; None if nothing is left."""
    known: JsonObject = {key: value for key, value in part.items() if key in _SHOWN and value is not None}
    return None if known.keys().isdisjoint(PAYLOADS) else known


def encode_image(image: Image) -> JsonObject:
    """A picture, inline or by address; a file must have a media type."""
    extras = image.extras.get(NAME, {})
    if image.data:
        blob: JsonObject = {"mimeType": image.media_type, "data": image.data, **_inner(extras)}
        return {"inlineData": blob, **_outer(extras)}
    media_type = image.media_type or _guess_media_type(image.url)
    return {"fileData": {"mimeType": media_type, "fileUri": image.url, **_inner(extras)}, **_outer(extras)}


def encode_call(call: ToolCall) -> JsonObject:
    """A call for the client."""
    extras = call.extras.get(NAME, {})
    named: JsonObject = {"id": call.id} if call.id and NO_ID not in extras else {}
    rest = {key: value for key, value in extras.items() if key != NO_ID}
    return {
        "functionCall": {**named, "name": call.name, "args": decode_arguments(call.arguments)},
        **rest,
    }


def decode_arguments(arguments: str) -> JsonObject:
    """Arguments as the object the wire wants; text that is no object is handed on as it is."""
    found = parse_object(arguments)
    if found is not None:
        return found
    return {"arguments": arguments} if arguments.strip() else {}


def encode_arguments(arguments: JsonObject) -> str:
    """Arguments as JSON text."""
    return dump_json(arguments) if arguments else "{}"


def parse_object(text: str) -> JsonObject | None:
    """The JSON object that a text is, if it is one."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = load_json(text, UpstreamWireError)
    except UpstreamWireError:
        return None
    return value if isinstance(value, dict) else None


# Extras of a picture: fields beside the data stand as they are, fields inside it under the name `data`.
def _extras_beside(part: Fields, key: str, *known: str) -> dict[str, JsonObject]:
    inside = part.obj(key).rest(*known)
    return extras_of({**part.rest(key), **({"data": inside} if inside else {})})


def _inner(extras: JsonObject) -> JsonObject:
    inside = extras.get("data")
    return inside if isinstance(inside, dict) else {}


def _outer(extras: JsonObject) -> JsonObject:
    return {key: value for key, value in extras.items() if key != "data"}


def _guess_media_type(url: str) -> str:
    match = _SUFFIX.search(url)
    return _MEDIA_TYPES.get(match[1].lower() if match else "", "image/jpeg")
