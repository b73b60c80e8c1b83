"""Content: a string, or a list of typed parts.

Text and pictures are canonical; `refusal` parts are text with a phase; whatever else a part may be (audio,
files, video) is kept whole. A string is written where it says the same as the list would.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from groundwire.dialects.fields import Fields
from groundwire.model import NO_EXTRAS, Extras, Image, Json, JsonObject, Opaque, Text

NAME = "openai_chat"

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*?;base64,([A-Za-z0-9+/=_\s-]*)", re.ASCII)


def marked(verbatim: JsonObject) -> Extras:
    """Extras of this dialect, none where there is nothing verbatim."""
    return {NAME: verbatim} if verbatim else NO_EXTRAS


def own(extras: Extras) -> JsonObject:
    """What this dialect kept for itself."""
    return extras.get(NAME, {})


def decode_content(message: Fields) -> tuple[Text | Image | Opaque, ...]:
    """The field `content` of a message."""
    value = message.get("content")
    if isinstance(value, list):
        return tuple(decode_part(part) for part in message.objs("content"))
    text = message.text("content")
    return (Text(text),) if text else ()


def decode_part(part: Fields) -> Text | Image | Opaque:
    """One entry of a content list."""
    match part.text("type"):
        case "text":
            return Text(part.text("text"), "", marked(part.rest("type", "text")))
        case "refusal":
            return Text(part.text("refusal"), "refusal", marked(part.rest("type", "refusal")))
        case "image_url":
            return decode_image(part)
        case _:
            return Opaque(NAME, part.raw)


def encode_content(parts: Iterable[Text | Image | Opaque]) -> Json:
    """A string if the parts are one plain text, else the list."""
    parts = tuple(parts)
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], Text) and not own(parts[0].extras):
        return parts[0].text
    return [encode_part(part) for part in parts]


def encode_part(part: Text | Image | Opaque) -> JsonObject:
    """One entry of a content list."""
    if isinstance(part, Opaque):
        return part.data
    if isinstance(part, Image):
        return encode_image(part)
    return {**own(part.extras), "type": "text", "text": part.text}


def decode_image(part: Fields) -> Image:
    """A picture; some clients write the address where the object should be."""
    verbatim = part.rest("type", "image_url")
    if isinstance(part.get("image_url"), str):
        url = part.text("image_url")
    else:
        holder = part.obj("image_url")
        url = holder.text("url")
        verbatim |= {f"image_url.{key}": value for key, value in holder.rest("url").items()}
    inline = _DATA_URL.fullmatch(url)
    if inline:
        return Image(inline[1] or "", inline[2], "", marked(verbatim))
    return Image("", "", url, marked(verbatim))


def encode_image(image: Image) -> JsonObject:
    """A picture, inline as a `data:` address."""
    url = f"data:{image.media_type};base64,{image.data}" if image.data else image.url
    outer: JsonObject = {"type": "image_url"}
    inner: JsonObject = {"url": url}
    for key, value in own(image.extras).items():
        holder, name = (inner, key[len("image_url.") :]) if key.startswith("image_url.") else (outer, key)
        holder[name] = value
    return {**outer, "image_url": inner}
