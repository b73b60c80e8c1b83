"""Search options of the unified tool; they have the names of the canonical ones."""

from __future__ import annotations

from typing import get_args

from groundwire.dialects.fields import Fields
from groundwire.model import JsonObject, Location, SearchOptions
from groundwire.model.request import ContextSize

_LOCATION_FIELDS = ("country", "region", "city", "timezone")

OPTIONS = (
    *("allowed_domains", "blocked_domains", *_LOCATION_FIELDS, "language"),
    *("since", "until", "max_uses", "max_sources", "context_size", "live"),
)


def encode_search(search: SearchOptions) -> JsonObject:
    """Encode all options as arguments; those not set are empty."""
    location = search.location or Location()
    return {
        "allowed_domains": list(search.allowed_domains),
        "blocked_domains": list(search.blocked_domains),
        **{name: getattr(location, name) for name in _LOCATION_FIELDS},
        "language": search.language,
        "since": search.since,
        "until": search.until,
        "max_uses": search.max_uses,
        "max_sources": search.max_sources,
        "context_size": search.context_size,
        "live": search.live,
    }


def decode_search(fields: Fields) -> SearchOptions:
    """Decode the arguments to options."""
    country, region, city, timezone = (fields.text(name).strip() for name in _LOCATION_FIELDS)
    location = Location(country, region, city, timezone)
    return SearchOptions(
        allowed_domains=_decode_domains(fields, "allowed_domains"),
        blocked_domains=_decode_domains(fields, "blocked_domains"),
        location=location if location != Location() else None,
        language=fields.text("language").strip(),
        since=fields.text("since").strip(),
        until=fields.text("until").strip(),
        max_uses=_decode_count(fields, "max_uses"),
        max_sources=_decode_count(fields, "max_sources"),
        context_size=_decode_size(fields),
        live=fields.flag("live"),
    )


def _decode_domains(fields: Fields, name: str) -> tuple[str, ...]:
    return tuple(domain for text in fields.texts(name) if (domain := text.strip()))


def _decode_count(fields: Fields, name: str) -> int | None:
    count = fields.integer(name)
    if count is not None and count < 1:
        raise fields.fault("expected a number above zero", name)
    return count


def _decode_size(fields: Fields) -> ContextSize | None:
    value = fields.text("context_size").strip()
    sizes: dict[str, ContextSize] = {size: size for size in get_args(ContextSize)}
    if value and value not in sizes:
        raise fields.fault(f"expected one of {', '.join(sizes)}", "context_size")
    return sizes.get(value)


NAME = "websearch"
