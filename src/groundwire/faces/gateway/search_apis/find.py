"""`/v1/find`: links in our own form. The parameters are the arguments of the tool `websearch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from groundwire.dialects.base import ErrorBody
from groundwire.dialects.fields import Fields
from groundwire.errors import GroundwireError
from groundwire.faces.gateway.search_apis.api import (
    FoundPages,
    LinkQuery,
    SearchApi,
    error_encoder,
    integer_of,
    search_endpoint,
)
from groundwire.model import Json, JsonObject
from groundwire.server.routes import Route
from groundwire.tools.find import encode_find_error, encode_links

_COUNTS = ("count", "max_sources", "max_uses")
_LISTS = ("allowed_domains", "blocked_domains")
_FLAGS: Mapping[str, bool] = {"true": True, "1": True, "false": False, "0": False}


def _flag(text: str) -> bool | str:
    return _FLAGS.get(text.lower(), text)


def _list(text: str) -> list[Json]:
    return [entry.strip() for entry in text.split(",")]


_OF_TEXT: Mapping[str, Callable[[str], Json]] = {**dict.fromkeys(_LISTS, _list), "live": _flag}
"""Parameters of a URL are texts: how those that are not are read."""


def decode(fields: Fields) -> LinkQuery:
    """Decode the arguments."""
    arguments: JsonObject = {}
    for name, given in fields.raw.items():
        if name in _COUNTS:
            arguments[name] = integer_of(fields, name)
        elif isinstance(given, str) and name in _OF_TEXT:
            arguments[name] = _OF_TEXT[name](given)
        else:
            arguments["query" if name == "q" else name] = given
    return LinkQuery(arguments)


def encode(_: LinkQuery, pages: FoundPages) -> Json:
    """Encode the links."""
    return encode_links(pages.found)


def encode_error(error: GroundwireError) -> ErrorBody:
    """Encode an error."""
    return ErrorBody(error.status_hint, encode_find_error(error))


FIND = SearchApi(decode, encode, encode_error)
FIND_ROUTES: tuple[Route, ...] = tuple(
    Route(
        method,
        "/v1/find",
        search_endpoint(FIND),
        about="Links of a search: title, URL, snippet, score, date, engine; no composed answer.",
        group="search",
        encode_error=error_encoder(FIND),
    )
    for method in ("GET", "POST")
)
