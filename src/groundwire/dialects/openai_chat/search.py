"""The search declaration, in the five ways chat clients spell it.

* `web_search_options`: OpenAI, and the default here. It says how much and where, nothing else.
* `openrouter`: a server tool `{"type": "openrouter:web_search", "parameters": {…}}`, or OpenAI's shorthand
  `{"type": "web_search", …}`, which OpenRouter takes too.
* `plugin`: OpenRouter's older `plugins: [{"id": "web", …}]`, also said by the model suffix `:online`.
* `perplexity`: fields of the request itself, with `web_search_options` beside them.
* some models (`…-search-preview`, `sonar`) search without being told.

Which form a request used stands in `SearchOptions.extras["openai_chat"]["form"]`, with what the form says
beyond the canonical options; the same key chooses the form that is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.openai_chat.options import (
    decode_date,
    decode_location,
    decode_size,
    encode_date,
    encode_place,
    encode_point,
)
from groundwire.dialects.openai_chat.parts import NAME, own
from groundwire.model import Json, JsonObject, SearchOptions
from groundwire.model.value import replace

SERVER_TOOL = "openrouter:web_search"
DEFAULT_FORM = "web_search_options"

_SHORTHAND = re.compile(r"web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?")
_SEARCHING_MODEL = re.compile(r"(?:.*/)?(?:sonar(?:-.*)?|.+-search-(?:preview|api)(?:-.*)?)(?::.*)?")
_HINTS = (
    "allowed_domains",
    "blocked_domains",
    "language",
    "since",
    "until",
    "max_uses",
    "max_sources",
    "context_size",
)

PERPLEXITY_FIELDS = (
    "search_domain_filter",
    "search_after_date_filter",
    "search_before_date_filter",
    "search_language_filter",
    "search_recency_filter",
    "search_mode",
    "last_updated_after_filter",
    "last_updated_before_filter",
    "enable_search_classifier",
)
SEARCH_FIELDS = ("web_search_options", *PERPLEXITY_FIELDS)

_BOOKKEEPING = ("form", "type", "implied", "web_search_options")
_BY_OPENROUTER = ("allowed_domains", "blocked_domains", "max_uses", "max_sources", "context_size")
_SAYABLE: dict[str, tuple[str, ...]] = {
    "web_search_options": ("context_size",),
    "openrouter": _BY_OPENROUTER,
    "plugin": _BY_OPENROUTER,
    "perplexity": ("allowed_domains", "blocked_domains", "language", "since", "until", "context_size"),
}


class SearchSaid(NamedTuple):
    """A declaration in wire words: fields of the body, a tool, a plugin, and what has no words."""

    fields: JsonObject
    tool: JsonObject | None = None
    plugin: JsonObject | None = None
    unsupported: tuple[str, ...] = ()


def is_search_type(kind: str) -> bool:
    """Does a tool or tool choice of this type mean the provider's web search?"""
    return kind == SERVER_TOOL or _SHORTHAND.fullmatch(kind) is not None


def is_web_plugin(plugin: Fields) -> bool:
    """Is this entry of `plugins` the web search, switched on?"""
    return plugin.text("id") == "web" and plugin.flag("enabled") is not False


def decode_search(body: Fields) -> SearchOptions | None:
    """Every declaration in the request as one; None if there is none, or search is switched off."""
    if body.flag("disable_search"):
        return None
    declared: SearchOptions | None = None
    for decode in (_from_tools, _from_plugins, _from_fields, _from_options):
        for options in decode(body):
            declared = options if declared is None else _join(declared, options)
    return declared or _from_model(body)


def encode_search(options: SearchOptions) -> SearchSaid:
    """The declaration in the form its extras name."""
    verbatim = own(options.extras)
    form = verbatim.get("form")
    form = form if isinstance(form, str) and form in _SAYABLE else DEFAULT_FORM
    said = _ENCODERS[form](options, verbatim)
    if verbatim.get("implied") is True and said[:3] in _NOTHING_MORE:
        said = SearchSaid({})
    return said._replace(unsupported=(*_unsaid(options, form), *said.unsupported))


def _from_tools(body: Fields) -> Iterator[SearchOptions]:
    for tool in body.objs("tools"):
        kind = tool.text("type")
        if kind == SERVER_TOOL:
            yield _decode_parameters(tool.obj("parameters"), {"form": "openrouter"})
        elif is_search_type(kind):
            yield _decode_parameters(tool, {"form": "openrouter", "type": kind})


def _decode_parameters(fields: Fields, verbatim: JsonObject) -> SearchOptions:
    """OpenRouter's parameters; the shorthand has its domains under `filters`."""
    filters = fields.obj("filters")
    allowed = (*fields.texts("allowed_domains"), *filters.texts("allowed_domains"))
    blocked = (
        *fields.texts("excluded_domains"),
        *filters.texts("excluded_domains"),
        *filters.texts("blocked_domains"),
    )
    known = (
        "type",
        "filters",
        "allowed_domains",
        "excluded_domains",
        "user_location",
        "max_uses",
        "max_results",
        "search_context_size",
    )
    return SearchOptions(
        allowed,
        blocked,
        decode_location(fields),
        max_uses=fields.integer("max_uses"),
        max_sources=fields.integer("max_results"),
        context_size=decode_size(fields),
        extras={NAME: {**fields.rest(*known), **verbatim}},
    )


def _encode_tool(options: SearchOptions, verbatim: JsonObject) -> SearchSaid:
    body = _rest(verbatim) | _encode_common(options)
    kind = verbatim.get("type")
    if isinstance(kind, str):
        filters = _domains(options, "allowed_domains", "blocked_domains")
        return SearchSaid({}, {"type": kind, **body, **({"filters": filters} if filters else {})})
    body |= _domains(options, "allowed_domains", "excluded_domains")
    return SearchSaid({}, {"type": SERVER_TOOL, **({"parameters": body} if body else {})})


def _from_plugins(body: Fields) -> Iterator[SearchOptions]:
    known = (
        "id",
        "enabled",
        "include_domains",
        "exclude_domains",
        "user_location",
        "max_uses",
        "max_results",
    )
    for plugin in body.objs("plugins"):
        if is_web_plugin(plugin):
            yield SearchOptions(
                plugin.texts("include_domains"),
                plugin.texts("exclude_domains"),
                decode_location(plugin),
                max_uses=plugin.integer("max_uses"),
                max_sources=plugin.integer("max_results"),
                extras={NAME: {**plugin.rest(*known), "form": "plugin"}},
            )


def _encode_plugin(options: SearchOptions, verbatim: JsonObject) -> SearchSaid:
    body = _rest(verbatim) | _encode_common(replace(options, context_size=None))
    body |= _domains(options, "include_domains", "exclude_domains")
    # OpenRouter hands this one field on to native search.
    beside = _encode_options(SearchOptions(context_size=options.context_size), verbatim).fields
    return SearchSaid(beside if beside["web_search_options"] else {}, plugin={"id": "web", **body})


def _from_options(body: Fields) -> Iterator[SearchOptions]:
    if body.has("web_search_options"):
        fields = body.obj("web_search_options")
        verbatim: JsonObject = {"form": DEFAULT_FORM}
        rest = fields.rest("search_context_size", "user_location")
        if rest:
            verbatim["web_search_options"] = rest
        yield SearchOptions(
            location=decode_location(fields), context_size=decode_size(fields), extras={NAME: verbatim}
        )


def _encode_options(options: SearchOptions, verbatim: JsonObject) -> SearchSaid:
    body = dict(as_object(verbatim.get("web_search_options")))
    if options.context_size:
        body["search_context_size"] = options.context_size
    if options.location:
        body["user_location"] = {"type": "approximate", "approximate": encode_place(options.location)}
    return SearchSaid({"web_search_options": body})


def _from_fields(body: Fields) -> Iterator[SearchOptions]:
    """Perplexity's own fields."""
    if not any(body.has(name) for name in PERPLEXITY_FIELDS):
        return
    domains = body.texts("search_domain_filter")
    languages = body.texts("search_language_filter")
    verbatim: JsonObject = {name: body.get(name) for name in PERPLEXITY_FIELDS[4:] if body.has(name)}
    if len(languages) > 1:
        verbatim["search_language_filter"] = list(languages)
    yield SearchOptions(
        tuple(domain for domain in domains if not domain.startswith("-")),
        tuple(domain[1:] for domain in domains if domain.startswith("-")),
        language=languages[0] if len(languages) == 1 else "",
        since=decode_date(body, "search_after_date_filter"),
        until=decode_date(body, "search_before_date_filter"),
        extras={NAME: {**verbatim, "form": "perplexity"}},
    )


def _encode_fields(options: SearchOptions, verbatim: JsonObject) -> SearchSaid:
    """Perplexity takes either an allow list or a block list; its locations are flat, with coordinates."""
    body = _rest(verbatim)
    unsupported: list[str] = []
    domains: list[Json] = list(options.allowed_domains)
    if not domains:
        domains = [f"-{domain}" for domain in options.blocked_domains]
    elif options.blocked_domains:
        unsupported.append("blocked_domains")
    if domains:
        body["search_domain_filter"] = domains
    if options.language:
        body["search_language_filter"] = [options.language]
    for name, field, value in (
        ("since", "search_after_date_filter", options.since),
        ("until", "search_before_date_filter", options.until),
    ):
        if date := encode_date(value):
            body[field] = date
        elif value:
            unsupported.append(name)
    beside = _encode_options(replace(options, location=None), verbatim).fields["web_search_options"]
    if options.location:
        beside = {**as_object(beside), "user_location": encode_point(options.location)}
    if beside:
        body["web_search_options"] = beside
    return SearchSaid(body, unsupported=tuple(unsupported))


def _from_model(body: Fields) -> SearchOptions | None:
    """A model that searches by itself needs no declaration, and gets none back."""
    model = body.text("model")
    if model.endswith(":online"):
        return SearchOptions(extras={NAME: {"form": "plugin", "implied": True}})
    if _SEARCHING_MODEL.fullmatch(model):
        return SearchOptions(extras={NAME: {"form": DEFAULT_FORM, "implied": True}})
    return None


_ENCODERS: dict[str, Callable[[SearchOptions, JsonObject], SearchSaid]] = {
    "web_search_options": _encode_options,
    "openrouter": _encode_tool,
    "plugin": _encode_plugin,
    "perplexity": _encode_fields,
}

_NOTHING_MORE: tuple[tuple[object, ...], ...] = (
    ({DEFAULT_FORM: {}}, None, None),
    ({}, None, {"id": "web"}),
)


def _join(first: SearchOptions, second: SearchOptions) -> SearchOptions:
    """Both declarations; where both speak the first wins, and what either blocks is blocked."""
    blocked = tuple(domain for domain in second.blocked_domains if domain not in first.blocked_domains)
    return SearchOptions(
        first.allowed_domains or second.allowed_domains,
        first.blocked_domains + blocked,
        first.location or second.location,
        first.language or second.language,
        first.since or second.since,
        first.until or second.until,
        second.max_uses if first.max_uses is None else first.max_uses,
        second.max_sources if first.max_sources is None else first.max_sources,
        first.context_size or second.context_size,
        extras={NAME: {**own(second.extras), **own(first.extras)}},
    )


def _unsaid(options: SearchOptions, form: str) -> Iterator[str]:
    for name in _HINTS:
        if getattr(options, name) and name not in _SAYABLE[form]:
            yield name
    if options.live is False:
        yield "live"
    place = options.location
    if place and form != "perplexity" and place.latitude is not None and not encode_place(place):
        yield "location"


def _encode_common(options: SearchOptions) -> JsonObject:
    body: JsonObject = {}
    if options.location:
        body["user_location"] = {"type": "approximate", **encode_place(options.location)}
    if options.max_uses is not None:
        body["max_uses"] = options.max_uses
    if options.max_sources is not None:
        body["max_results"] = options.max_sources
    if options.context_size:
        body["search_context_size"] = options.context_size
    return body


def _domains(options: SearchOptions, allowed: str, blocked: str) -> JsonObject:
    """The domain lists under the names a form has for them."""
    named = ((allowed, options.allowed_domains), (blocked, options.blocked_domains))
    return {name: list(domains) for name, domains in named if domains}


def _rest(verbatim: JsonObject) -> JsonObject:
    return {key: value for key, value in verbatim.items() if key not in _BOOKKEEPING}
