"""Content blocks: text, pictures, and the sources behind citations and results.

Everything is snake_case. A text block is `{type: "text", text, annotations?}`, a picture is
`{type: "image", data | uri, mime_type}`. Audio, video and documents have no canonical form and are opaque.
"""

from __future__ import annotations

import re

from groundwire.dialects.fields import Fields
from groundwire.model import Extras, Image, JsonObject, Source, SourceState
from groundwire.text.urls import domain_of, safe_url

NAME = "gemini_interactions"
MARK: Extras = {NAME: {}}

_REDIRECTS = "vertexaisearch.cloud.google.com"
_HOST = re.compile(r"(?:[\w-]+\.)+[\w-]{2,}")


def marked(rest: JsonObject) -> Extras:
    """Extras that carry our name and whatever of `rest` says something."""
    said: JsonObject = {key: value for key, value in rest.items() if value is not None and value != ""}
    return {NAME: said} if said else MARK


def own(extras: Extras) -> JsonObject:
    """What this dialect left with a value."""
    return extras.get(NAME, {})


def decode_image(block: Fields) -> Image:
    """A picture block."""
    rest = block.rest("type", "data", "mime_type", "uri")
    return Image(
        block.text("mime_type"),
        block.text("data"),
        block.text("uri"),
        marked(rest) if rest else {},
    )


def encode_image(image: Image) -> JsonObject:
    """The block of a picture."""
    block: JsonObject = {"type": "image"}
    if image.data:
        block["data"] = image.data
    if image.media_type:
        block["mime_type"] = image.media_type
    if image.url:
        block["uri"] = image.url
    return {**block, **own(image.extras)}


def decode_source(url: str, title: str, state: SourceState = "retrieved") -> Source:
    """A page. Behind Google's redirects the title is the page's domain, which the address does not show."""
    address = safe_url(url)
    hidden = domain_of(address) == _REDIRECTS and _HOST.fullmatch(title) is not None
    return Source(address, title, state, domain=title if hidden else "")
