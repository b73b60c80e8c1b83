"""Web search: its declaration in requests, and the source lists and pages in responses.

Chat clients declare a search in five forms:

* `web_search_options`: OpenAI, and the default here. It has the context size and the location only.
* `openrouter`: a server tool `{"type": "openrouter:web_search", "parameters": {…}}`, or OpenAI's shorthand
  `{"type": "web_search", …}`, which OpenRouter accepts too.
* `plugin`: OpenRouter's older `plugins: [{"id": "web", …}]`, also requested by the model suffix `:online`.
* `perplexity`: top-level fields of the request, together with `web_search_options`.
* implied: some models (`…-search-preview`, `sonar`) search without any declaration.

`SearchOptions.extras["openai_chat"]["form"]` records the form of a request, next to the fields that have no
canonical option. The same key selects the form to encode.

`user_location` is nested under `approximate` (OpenAI) or flat (OpenRouter, Perplexity); both are accepted.
Perplexity writes dates as month/day/year.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from groundwire.dialects.fields import Fields, as_object
from groundwire.model import NO_EXTRAS, Extras, Json, JsonObject, Location, SearchOptions, Source, SourceState
from groundwire.model.request import ContextSize
from groundwire.model.value import replace
from groundwire.text.urls import safe_url

NAME = "openai_chat"


def own_extras(extras: Extras) -> JsonObject:
    """Fields that this dialect stored in `extras`."""
    return extras.get(NAME, {})


def as_extras(verbatim: JsonObject) -> Extras:
    """Wrap verbatim fields as extras of this dialect; no fields give no extras."""
    return {NAME: verbatim} if verbatim else NO_EXTRAS


_US_DATE = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})", re.ASCII)
_ISO_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ].*)?", re.ASCII)
_SIZES: dict[str, ContextSize] = {"low": "low", "medium": "medium", "high": "high"}


def decode_location(fields: Fields) -> Location | None:
    """Decode the field `user_location`."""
    if not fields.has("user_location"):
        return None
    location = fields.obj("user_location")
    location = location.obj("approximate") if location.has("approximate") else location
    return Location(
        location.text("country"),
        location.text("region"),
        location.text("city"),
        location.text("timezone"),
        location.number("latitude"),
        location.number("longitude"),
    )


def encode_location(location: Location) -> JsonObject:
    """Encode the names in a location, without coordinates."""
    names = {
        "country": location.country,
        "region": location.region,
        "city": location.city,
        "timezone": location.timezone,
    }
    return {key: value for key, value in names.items() if value}


def encode_precise_location(location: Location) -> JsonObject:
    """Encode the names and the coordinates of a location."""
    body = encode_location(location)
    if location.latitude is not None and location.longitude is not None:
        body |= {"latitude": location.latitude, "longitude": location.longitude}
    return body


def decode_context_size(fields: Fields) -> ContextSize | None:
    """Decode the field `search_context_size`; an unknown size is ignored."""
    return _SIZES.get(fields.text("search_context_size"))


def decode_date(fields: Fields, key: str) -> str:
    """Convert `3/1/2026` to `2026-03-01`; an ISO date is returned unchanged."""
    value = fields.text(key)
    match = _US_DATE.fullmatch(value)
    if match:
        return f"{match[3]}-{int(match[1]):02}-{int(match[2]):02}"
    if value and not _ISO_DATE.fullmatch(value):
        raise fields.fault("expected a date as month/day/year", key)
    return value


def encode_date(value: str) -> str:
    """Convert `2026-03-01…` to `03/01/2026`; empty if it is not an ISO date."""
    match = _ISO_DATE.fullmatch(value)
    return f"{match[2]}/{match[3]}/{match[1]}" if match else ""


SERVER_TOOL = "openrouter:web_search"
DEFAULT_FORM = "web_search_options"
_SHORTHAND = re.compile(r"web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?")
_SEARCHING_MODEL = re.compile(r"(?:.*/)?(?:sonar(?:-.*)?|.+-search-(?:preview|api)(?:-.*)?)(?::.*)?")
_OPTIONS = (
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
_QWEN_FIELDS = ("enable_search", "search_options")
_GROQ_FIELD = "search_settings"
SEARCH_FIELDS = ("web_search_options", *PERPLEXITY_FIELDS, *_QWEN_FIELDS, _GROQ_FIELD)
_DECLARATIONS = frozenset({"tools", "plugins", *SEARCH_FIELDS})
_FORM_FIELDS = ("form", "type", "implied", "web_search_options")
_SUPPORTED_BY_OPENROUTER = ("allowed_domains", "blocked_domains", "max_uses", "max_sources", "context_size")
_SUPPORTED: dict[str, tuple[str, ...]] = {
    "web_search_options": ("context_size",),
    "openrouter": _SUPPORTED_BY_OPENROUTER,
    "plugin": _SUPPORTED_BY_OPENROUTER,
    "perplexity": ("allowed_domains", "blocked_domains", "language", "since", "until", "context_size"),
    "groq": ("allowed_domains", "blocked_domains"),
    "qwen": (),
    "zai": ("max_sources",),
}


class EncodedSearch(NamedTuple):
    """A search declaration on the wire: body fields, a tool or a plugin, and the options that do not fit."""

    fields: JsonObject
    tool: JsonObject | None = None
    plugin: JsonObject | None = None
    unsupported: tuple[str, ...] = ()


def is_search_type(kind: str) -> bool:
    """Whether a tool or tool choice of this type is the provider's web search."""
    return kind == SERVER_TOOL or _SHORTHAND.fullmatch(kind) is not None


def is_web_plugin(plugin: Fields) -> bool:
    """Whether this entry of `plugins` is the web search and is enabled."""
    return plugin.text("id") == "web" and plugin.flag("enabled") is not False


def decode_search(body: Fields) -> SearchOptions | None:
    """Merge all search declarations of a request; None if there is none, or if search is disabled."""
    if body.flag("disable_search"):
        return None
    if _DECLARATIONS.isdisjoint(body.raw):
        return _from_model(body)
    declared: SearchOptions | None = None
    for fields, decode in _DECODERS:
        if fields.isdisjoint(body.raw):
            continue
        for options in decode(body):
            declared = options if declared is None else _merge_options(declared, options)
    return declared or _from_model(body)


def encode_search(options: SearchOptions) -> EncodedSearch:
    """Encode the declaration in the form that its extras name."""
    verbatim = own_extras(options.extras)
    form = verbatim.get("form")
    form = form if isinstance(form, str) and form in _SUPPORTED else DEFAULT_FORM
    encoded = _ENCODERS[form](options, verbatim)
    if verbatim.get("implied") is True and encoded[:3] in _EMPTY_DECLARATIONS:
        encoded = EncodedSearch({})
    return encoded._replace(unsupported=(*_unsupported(options, form), *encoded.unsupported))


def _from_tools(body: Fields) -> Iterator[SearchOptions]:
    for tool in body.objs("tools"):
        kind = tool.text("type")
        if kind == SERVER_TOOL:
            yield _decode_parameters(tool.obj("parameters"), {"form": "openrouter"})
        elif kind == "web_search" and tool.has("web_search"):
            yield from _from_zai_tool(tool.obj("web_search"))
        elif is_search_type(kind):
            yield _decode_parameters(tool, {"form": "openrouter", "type": kind})


def _decode_parameters(fields: Fields, verbatim: JsonObject) -> SearchOptions:
    """Decode OpenRouter's parameters; the shorthand has its domains under `filters`."""
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
        context_size=decode_context_size(fields),
        extras={NAME: {**fields.rest(*known), **verbatim}},
    )


def _encode_tool(options: SearchOptions, verbatim: JsonObject) -> EncodedSearch:
    body = _verbatim_fields(verbatim) | _encode_common(options)
    kind = verbatim.get("type")
    if isinstance(kind, str):
        filters = _encode_domains(options, "allowed_domains", "blocked_domains")
        return EncodedSearch({}, {"type": kind, **body, **({"filters": filters} if filters else {})})
    body |= _encode_domains(options, "allowed_domains", "excluded_domains")
    return EncodedSearch({}, {"type": SERVER_TOOL, **({"parameters": body} if body else {})})


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


def _encode_plugin(options: SearchOptions, verbatim: JsonObject) -> EncodedSearch:
    body = _verbatim_fields(verbatim) | _encode_common(replace(options, context_size=None))
    body |= _encode_domains(options, "include_domains", "exclude_domains")
    # OpenRouter passes this one field on to native search.
    native_options = _encode_options(SearchOptions(context_size=options.context_size), verbatim).fields
    return EncodedSearch(
        native_options if native_options["web_search_options"] else {}, plugin={"id": "web", **body}
    )


def _from_options(body: Fields) -> Iterator[SearchOptions]:
    if body.has("web_search_options"):
        fields = body.obj("web_search_options")
        verbatim: JsonObject = {"form": DEFAULT_FORM}
        rest = fields.rest("search_context_size", "user_location")
        if rest:
            verbatim["web_search_options"] = rest
        yield SearchOptions(
            location=decode_location(fields),
            context_size=decode_context_size(fields),
            extras={NAME: verbatim},
        )


def _encode_options(options: SearchOptions, verbatim: JsonObject) -> EncodedSearch:
    body = dict(as_object(verbatim.get("web_search_options")))
    if options.context_size:
        body["search_context_size"] = options.context_size
    if options.location:
        body["user_location"] = {"type": "approximate", "approximate": encode_location(options.location)}
    return EncodedSearch({"web_search_options": body})


def _from_fields(body: Fields) -> Iterator[SearchOptions]:
    """Decode Perplexity's top-level fields."""
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


def _encode_fields(options: SearchOptions, verbatim: JsonObject) -> EncodedSearch:
    """Encode Perplexity's fields.

    Perplexity accepts an allow list or a block list, not both. Its locations are flat and have coordinates.
    """
    body = _verbatim_fields(verbatim)
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
    options_field = _encode_options(replace(options, location=None), verbatim).fields["web_search_options"]
    if options.location:
        options_field = {
            **as_object(options_field),
            "user_location": encode_precise_location(options.location),
        }
    if options_field:
        body["web_search_options"] = options_field
    return EncodedSearch(body, unsupported=tuple(unsupported))


def _from_zai_tool(search: Fields) -> Iterator[SearchOptions]:
    """Decode the tool of Z.ai, which has its options in an object of the same name."""
    if search.flag("enable") is False:
        return
    rest = search.rest("enable", "count")
    yield SearchOptions(max_sources=search.integer("count"), extras={NAME: {**rest, "form": "zai"}})


def _encode_zai_tool(options: SearchOptions, verbatim: JsonObject) -> EncodedSearch:
    search: JsonObject = {
        "search_engine": "search-prime",
        "search_result": True,
        **_verbatim_fields(verbatim),
        "enable": True,
    }
    if options.max_sources is not None:
        search["count"] = options.max_sources
    return EncodedSearch({}, {"type": "web_search", "web_search": search})


def _from_vendor_fields(body: Fields) -> Iterator[SearchOptions]:
    """Decode the top-level fields of Qwen and Groq."""
    if body.flag("enable_search"):
        yield SearchOptions(extras={NAME: {**body.obj("search_options").raw, "form": "qwen"}})
    if body.has(_GROQ_FIELD):
        settings = body.obj(_GROQ_FIELD)
        rest = settings.rest("include_domains", "exclude_domains")
        yield SearchOptions(
            settings.texts("include_domains"),
            settings.texts("exclude_domains"),
            extras={NAME: {**rest, "form": "groq"}},
        )


def _encode_qwen(_: SearchOptions, verbatim: JsonObject) -> EncodedSearch:
    """Without these options Qwen returns neither the pages nor numbers in the text."""
    given: JsonObject = {"enable_source": True, "enable_citation": True, "citation_format": "[ref_<number>]"}
    return EncodedSearch({"enable_search": True, "search_options": given | _verbatim_fields(verbatim)})


def _encode_groq(options: SearchOptions, verbatim: JsonObject) -> EncodedSearch:
    settings = _verbatim_fields(verbatim) | _encode_domains(options, "include_domains", "exclude_domains")
    return EncodedSearch({_GROQ_FIELD: settings} if settings else {})


def _from_model(body: Fields) -> SearchOptions | None:
    """Detect a model that searches by default. It needs no declaration, and none is encoded for it."""
    model = body.text("model")
    if model.endswith(":online"):
        return SearchOptions(extras={NAME: {"form": "plugin", "implied": True}})
    if _SEARCHING_MODEL.fullmatch(model):
        return SearchOptions(extras={NAME: {"form": DEFAULT_FORM, "implied": True}})
    return None


_DECODERS: tuple[tuple[frozenset[str], Callable[[Fields], Iterator[SearchOptions]]], ...] = (
    (frozenset({"tools"}), _from_tools),
    (frozenset({"plugins"}), _from_plugins),
    (frozenset(PERPLEXITY_FIELDS), _from_fields),
    (frozenset({*_QWEN_FIELDS, _GROQ_FIELD}), _from_vendor_fields),
    (frozenset({"web_search_options"}), _from_options),
)
"""Decoders of search declarations, with the fields that they read."""
_ENCODERS: dict[str, Callable[[SearchOptions, JsonObject], EncodedSearch]] = {
    "web_search_options": _encode_options,
    "openrouter": _encode_tool,
    "plugin": _encode_plugin,
    "perplexity": _encode_fields,
    "groq": _encode_groq,
    "qwen": _encode_qwen,
    "zai": _encode_zai_tool,
}
_EMPTY_DECLARATIONS: tuple[tuple[object, ...], ...] = (
    ({DEFAULT_FORM: {}}, None, None),
    ({}, None, {"id": "web"}),
)


def _merge_options(first: SearchOptions, second: SearchOptions) -> SearchOptions:
    """Merge two declarations: the first wins, and blocked domains are added up."""
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
        extras={NAME: {**own_extras(second.extras), **own_extras(first.extras)}},
    )


def _unsupported(options: SearchOptions, form: str) -> Iterator[str]:
    for name in _OPTIONS:
        if getattr(options, name) and name not in _SUPPORTED[form]:
            yield name
    if options.live is False:
        yield "live"
    location = options.location
    if location and form != "perplexity" and location.latitude is not None and not encode_location(location):
        yield "location"


def _encode_common(options: SearchOptions) -> JsonObject:
    body: JsonObject = {}
    if options.location:
        body["user_location"] = {"type": "approximate", **encode_location(options.location)}
    if options.max_uses is not None:
        body["max_uses"] = options.max_uses
    if options.max_sources is not None:
        body["max_results"] = options.max_sources
    if options.context_size:
        body["search_context_size"] = options.context_size
    return body


def _encode_domains(options: SearchOptions, allowed: str, blocked: str) -> JsonObject:
    """Encode the domain lists under the field names of a form."""
    named = ((allowed, options.allowed_domains), (blocked, options.blocked_domains))
    return {name: list(domains) for name, domains in named if domains}


def _verbatim_fields(verbatim: JsonObject) -> JsonObject:
    return {key: value for key, value in verbatim.items() if key not in _FORM_FIELDS}


# Field names of a page: Perplexity, Groq, Qwen, Hunyuan, Baidu, GLM, Azure, Copilot.
_URL = ("url", "link", "uri")
_TITLE = ("title", "name")
_DATE = ("date", "publish_date", "publish_time", "published_date")
_SNIPPET = ("snippet", "content", "text", "description", "summary", "excerpt")


def decode_page(page: JsonObject, state: SourceState = "retrieved") -> Source:
    """Decode a page that was found; a field of an unexpected type goes to the extras only."""
    names, (url, title, date, snippet) = zip(
        *(_first_text(page, *keys) for keys in (_URL, _TITLE, _DATE, _SNIPPET)), strict=True
    )
    rest: JsonObject = {key: value for key, value in page.items() if key not in names and value is not None}
    return Source(safe_url(url), title, state, (snippet,) if snippet else (), date, extras=as_extras(rest))


def _first_text(page: JsonObject, *names: str) -> tuple[str, str]:
    """Name and value of the first of these fields that has text."""
    for name in names:
        value = page.get(name)
        if isinstance(value, str) and value:
            return name, value
    return names[0], ""


def encode_page(source: Source) -> JsonObject:
    """Encode an entry of `search_results`."""
    date: Json = source.date or None
    return {
        **own_extras(source.extras),
        "title": source.title,
        "url": source.url,
        "date": date,
        "snippet": "\n\n".join(source.excerpts),
    }


_CITATIONS = "citations"
REFERENCES = "copilot_references"
_NESTED_LISTS = {"search_info": "search_results", "context": "citations"}
LIST_FIELDS = (_CITATIONS, "search_results", "search_info", "web_search", "context", "references", REFERENCES)
_REFERENCE = re.compile(r"\D*(\d{1,3})\D*")


class SourceLists:
    """Collects the source lists that a response has next to its text.

    | field | server | entries |
    |---|---|---|
    | `citations` | Perplexity, xAI | URLs, or objects with one |
    | `search_results` | Perplexity, Baidu | pages |
    | `search_info.search_results` | Qwen (DashScope), Tencent Hunyuan | pages with an `index` |
    | `web_search` | GLM (Z.ai) | pages with a `link`, which may be empty, and `refer` (`ref_1`) |
    | `context.citations` | Azure OpenAI on your data | passages of documents |
    | `references` | Volcengine Ark (Doubao) | pages |
    | `copilot_references` | GitHub Copilot | objects whose `metadata` names a page |

    They are fields of the response or of its message. A stream has them once, in the first and last chunk, or
    in every chunk. Markers in the text refer to entries by number: the number in the entry, else its list
    position.
    """

    __slots__ = ("_entries", "pages")

    def __init__(self) -> None:
        self._entries: dict[str, list[Json]] = {}
        self.pages: tuple[Source, ...] = ()
        """All pages found, without duplicate URLs; replaced by a new tuple when more arrive."""

    @property
    def has_cited_urls(self) -> bool:
        """Whether there is a list of cited URLs, not only of pages found."""
        return bool(self._entries.get(_CITATIONS))

    def read(self, fields: JsonObject) -> None:
        """Read the lists of a response, chunk, choice, message or delta."""
        changed = [key for key in LIST_FIELDS if key in fields and self._update(key, fields[key])]
        if any(key != _CITATIONS for key in changed):
            found = (source for key in self._entries if key != _CITATIONS for _, source in self._pages(key))
            self.pages = tuple({source.url or source.title: source for source in found}.values())

    def numbered(self, used: Iterable[int]) -> Mapping[int, Source]:
        """Sources by the number that markers refer to; `used` are the numbers in the text."""
        key = next((key for key in LIST_FIELDS if self._entries.get(key)), "")
        if key == _CITATIONS:
            return dict(enumerate(map(_decode_citation_entry, self._entries[key]), 1))
        sources = dict(self._pages(key)) if key else {}
        if 0 in sources and 0 not in used:
            return {number + 1: source for number, source in sources.items()}
        return sources

    def _update(self, key: str, value: Json) -> bool:
        if key in _NESTED_LISTS:
            value = as_object(value).get(_NESTED_LISTS[key])
        elif key == REFERENCES and isinstance(value, list):
            value = list(_referenced_pages(value))
        previous = self._entries.get(key, [])
        if not isinstance(value, list) or not value or value == previous:
            return False
        # Usually each list repeats the previous one; some streams send every entry once.
        is_repeated = value[: len(previous)] == previous
        self._entries[key] = (
            value if is_repeated else previous + [entry for entry in value if entry not in previous]
        )
        return True

    def _pages(self, key: str) -> Iterable[tuple[int, Source]]:
        pages = [as_object(entry) for entry in self._entries[key]]
        numbers = [_entry_number(page) for page in pages]
        if None in numbers or len(set(numbers)) < len(numbers):
            numbers = list(range(1, len(pages) + 1))
        sources = ((number, decode_page(page)) for number, page in zip(numbers, pages, strict=True))
        return [
            (number, source)
            for number, source in sources
            if number is not None and (source.url or source.title)
        ]


def _referenced_pages(references: list[Json]) -> Iterator[JsonObject]:
    """The pages that references of GitHub Copilot show to the user; searches are read elsewhere."""
    for reference in map(as_object, references):
        metadata = as_object(reference.get("metadata"))
        if reference.get("type") != "github.web-search" and metadata.get("display_url"):
            yield {"url": metadata["display_url"], "title": metadata.get("display_name")}


def _entry_number(page: JsonObject) -> int | None:
    """Number of an entry: `"refer": "ref_3"`, `"index": 3`. (GLM's `index` is the search round.)"""
    refer, index = page.get("refer"), page.get("index")
    if isinstance(refer, str) and (match := _REFERENCE.fullmatch(refer)):
        return int(match[1])
    return index if type(index) is int and 0 <= index < 1000 else None


def _decode_citation_entry(item: Json) -> Source:
    """Decode a URL, or an object that has one; an unusable entry still takes up its number."""
    if isinstance(item, dict):
        return decode_page(item)
    return Source(safe_url(item) if isinstance(item, str) else "")
