"""Single search options in wire words: where the asker is, from when to when, how much.

Locations come nested (`approximate`, OpenAI's chat) and flat (OpenRouter, Perplexity); both are read
everywhere. Perplexity writes dates as month/day/year.
"""

from __future__ import annotations

import re

from groundwire.dialects.fields import Fields
from groundwire.model import JsonObject, Location
from groundwire.model.request import ContextSize

_US_DATE = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})", re.ASCII)
_ISO_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ].*)?", re.ASCII)
_SIZES: dict[str, ContextSize] = {"low": "low", "medium": "medium", "high": "high"}


def decode_location(holder: Fields) -> Location | None:
    """The field `user_location`."""
    if not holder.has("user_location"):
        return None
    place = holder.obj("user_location")
    place = place.obj("approximate") if place.has("approximate") else place
    return Location(
        place.text("country"),
        place.text("region"),
        place.text("city"),
        place.text("timezone"),
        place.number("latitude"),
        place.number("longitude"),
    )


def encode_place(location: Location) -> JsonObject:
    """The names in a location."""
    named = {
        "country": location.country,
        "region": location.region,
        "city": location.city,
        "timezone": location.timezone,
    }
    return {key: value for key, value in named.items() if value}


def encode_point(location: Location) -> JsonObject:
    """Names and coordinates."""
    body = encode_place(location)
    if location.latitude is not None and location.longitude is not None:
        body |= {"latitude": location.latitude, "longitude": location.longitude}
    return body


def decode_size(holder: Fields) -> ContextSize | None:
    """The field `search_context_size`; a size nobody knows is none."""
    return _SIZES.get(holder.text("search_context_size"))


def decode_date(holder: Fields, key: str) -> str:
    """`3/1/2026` as `2026-03-01`; a date that is already so stays."""
    value = holder.text(key)
    match = _US_DATE.fullmatch(value)
    if match:
        return f"{match[3]}-{int(match[1]):02}-{int(match[2]):02}"
    if value and not _ISO_DATE.fullmatch(value):
        raise holder.fault("expected a date as month/day/year", key)
    return value


def encode_date(value: str) -> str:
    """`2026-03-01…` as `03/01/2026`; empty if it is no such date."""
    match = _ISO_DATE.fullmatch(value)
    return f"{match[2]}/{match[3]}/{match[1]}" if match else ""
