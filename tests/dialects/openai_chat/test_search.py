"""The search declaration in every form."""

from __future__ import annotations

from typing import cast

import pytest

from groundwire.dialects.openai_chat import DIALECT
from groundwire.model import JsonObject, Location, Message, Request, SearchOptions, Text
from groundwire.model.value import replace

BERLIN = Location("DE", "Berlin", "Berlin", "Europe/Berlin")
LOCATION = {"country": "DE", "region": "Berlin", "city": "Berlin", "timezone": "Europe/Berlin"}


def _body(**fields: object) -> JsonObject:
    return cast("JsonObject", {"model": "m", "messages": [{"role": "user", "content": "q"}], **fields})


def _search(body: JsonObject) -> SearchOptions:
    search = DIALECT.decode_request(body).search
    assert search is not None
    return search


def _plain(options: SearchOptions) -> tuple[object, ...]:
    return (
        options.allowed_domains,
        options.blocked_domains,
        options.location,
        options.since,
        options.until,
        options.max_uses,
        options.max_sources,
        options.context_size,
    )


DECLARATIONS: list[tuple[JsonObject, SearchOptions]] = [
    (_body(web_search_options={}), SearchOptions()),
    (
        _body(
            web_search_options={
                "search_context_size": "low",
                "user_location": {"type": "approximate", "approximate": LOCATION},
                "something": 1,
            }
        ),
        SearchOptions(location=BERLIN, context_size="low"),
    ),
    (_body(tools=[{"type": "openrouter:web_search"}]), SearchOptions()),
    (
        _body(
            tools=[
                {
                    "type": "openrouter:web_search",
                    "parameters": {
                        "engine": "exa",
                        "mode": "deep",
                        "max_results": 7,
                        "max_total_results": 20,
                        "max_uses": 2,
                        "max_characters": 900,
                        "search_context_size": "high",
                        "allowed_domains": ["a.example"],
                        "user_location": {"type": "approximate", **LOCATION},
                    },
                }
            ]
        ),
        SearchOptions(("a.example",), (), BERLIN, max_uses=2, max_sources=7, context_size="high"),
    ),
    (
        _body(tools=[{"type": "openrouter:web_search", "parameters": {"excluded_domains": ["b.example"]}}]),
        SearchOptions((), ("b.example",)),
    ),
    (_body(tools=[{"type": "web_search"}]), SearchOptions()),
    (
        _body(
            tools=[
                {
                    "type": "web_search_2025_08_26",
                    "filters": {"allowed_domains": ["a.example"], "blocked_domains": ["b.example"]},
                    "search_context_size": "medium",
                    "user_location": {"type": "approximate", **LOCATION},
                    "external_web_access": True,
                }
            ]
        ),
        SearchOptions(("a.example",), ("b.example",), BERLIN, context_size="medium"),
    ),
    (_body(plugins=[{"id": "web"}]), SearchOptions()),
    (
        _body(
            plugins=[
                {
                    "id": "web",
                    "engine": "native",
                    "max_results": 3,
                    "search_prompt": "Use these:",
                    "include_domains": ["a.example/blog"],
                    "exclude_domains": ["*.b.example"],
                }
            ],
            web_search_options={"search_context_size": "high"},
        ),
        SearchOptions(("a.example/blog",), ("*.b.example",), max_sources=3, context_size="high"),
    ),
    (
        _body(
            search_domain_filter=["a.example", "c.example"],
            search_recency_filter="week",
            search_after_date_filter="03/01/2026",
            search_before_date_filter="12/31/2026",
            search_language_filter=["de"],
            web_search_options={
                "search_context_size": "low",
                "user_location": {"country": "DE", "latitude": 52.5, "longitude": 13.4},
            },
        ),
        SearchOptions(
            ("a.example", "c.example"),
            (),
            Location("DE", latitude=52.5, longitude=13.4),
            "de",
            "2026-03-01",
            "2026-12-31",
            context_size="low",
        ),
    ),
    (_body(search_domain_filter=["-b.example"]), SearchOptions((), ("b.example",))),
    (_body(model="openai/gpt-5.2:online"), SearchOptions()),
    (_body(model="sonar-pro"), SearchOptions()),
    (_body(model="gpt-4o-search-preview-2025-03-11"), SearchOptions()),
]


@pytest.mark.parametrize(("body", "expected"), DECLARATIONS)
def test_every_form_gives_the_same_options_and_comes_back(body: JsonObject, expected: SearchOptions) -> None:
    request = DIALECT.decode_request(body)
    assert request.search is not None
    assert _plain(request.search) == _plain(expected)
    assert request.search.language == expected.language
    encoded = DIALECT.encode_request(request)
    assert encoded.body == body
    assert encoded.unsupported == ()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"plugins": [{"id": "web", "enabled": False}]},
        {"plugins": [{"id": "moderation"}]},
        {"model": "sonar", "disable_search": True},
        {"web_search_options": None},
        {"tools": [{"type": "function", "function": {"name": "web_search"}}]},
    ],
)
def test_search_is_off_unless_declared(fields: JsonObject) -> None:
    body = _body(**fields)
    request = DIALECT.decode_request(body)
    assert request.search is None
    expected = {key: value for key, value in body.items() if value is not None}
    assert DIALECT.encode_request(request).body == expected


def test_empty_domain_lists_do_not_restrict() -> None:
    parameters: JsonObject = {"allowed_domains": [], "excluded_domains": None}
    options = _search(_body(tools=[{"type": "openrouter:web_search", "parameters": parameters}]))
    assert (options.allowed_domains, options.blocked_domains) == ((), ())


def test_dates_without_leading_zeros_are_read() -> None:
    assert _search(_body(search_after_date_filter="3/1/2026")).since == "2026-03-01"


def test_the_recency_filter_is_kept_in_the_extras() -> None:
    assert _search(_body(search_recency_filter="day")).extras["openai_chat"]["search_recency_filter"] == "day"


EVERYTHING = SearchOptions(
    ("a.example",),
    ("b.example",),
    BERLIN,
    "de",
    "2026-03-01T00:00:00Z",
    "2026-12-31",
    max_uses=2,
    max_sources=7,
    context_size="high",
    live=False,
)
UNSUPPORTED = {
    "web_search_options": {
        "allowed_domains",
        "blocked_domains",
        "language",
        "since",
        "until",
        "max_uses",
        "max_sources",
        "live",
    },
    "openrouter": {"language", "since", "until", "live"},
    "plugin": {"language", "since", "until", "live"},
    "perplexity": {"blocked_domains", "max_uses", "max_sources", "live"},
}


@pytest.mark.parametrize("form", UNSUPPORTED)
def test_each_form_encodes_what_it_supports_and_names_the_rest(form: str) -> None:
    options = replace(EVERYTHING, extras={"openai_chat": {"form": form}})
    request = Request((Message("user", (Text("q"),)),), "m", search=options)
    body, unsupported = DIALECT.encode_request(request)
    assert set(unsupported) == UNSUPPORTED[form]
    read = _search(body)
    for name in ("allowed_domains", "blocked_domains", "language", "max_uses", "max_sources"):
        if name not in UNSUPPORTED[form]:
            assert getattr(read, name) == getattr(EVERYTHING, name), name
    assert read.context_size == "high"
    assert read.location == BERLIN
    assert read.extras["openai_chat"]["form"] == form
    if form == "perplexity":
        assert (read.since, read.until) == ("2026-03-01", "2026-12-31")


def test_options_of_another_dialect_are_written_as_web_search_options() -> None:
    request = Request(
        (Message("user", (Text("q"),)),), "m", search=SearchOptions(extras={"anthropic_messages": {"x": 1}})
    )
    body, unsupported = DIALECT.encode_request(request)
    assert body["web_search_options"] == {}
    assert unsupported == ()


def test_coordinates_alone_are_named_if_unsupported() -> None:
    search = SearchOptions(location=Location(latitude=1.0, longitude=2.0))
    _, unsupported = DIALECT.encode_request(Request((Message("user", (Text("q"),)),), "m", search=search))
    assert unsupported == ("location",)


def test_several_languages_are_kept_in_the_extras() -> None:
    body = _body(search_language_filter=["de", "en"])
    assert _search(body).language == ""
    assert DIALECT.encode_request(DIALECT.decode_request(body)).body == body


def test_an_invalid_date_is_named() -> None:
    search = SearchOptions(since="yesterday", extras={"openai_chat": {"form": "perplexity"}})
    body, unsupported = DIALECT.encode_request(Request((Message("user", (Text("q"),)),), "m", search=search))
    assert "search_after_date_filter" not in body
    assert unsupported == ("since",)


def test_a_search_tool_is_added_to_functions() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}, {"type": "openrouter:web_search"}]
    request = DIALECT.decode_request(_body(tools=tools))
    assert len(request.tools) == 1
    assert DIALECT.encode_request(request).body["tools"] == tools


def test_several_declarations_are_merged() -> None:
    options = _search(
        _body(
            tools=[{"type": "openrouter:web_search", "parameters": {"excluded_domains": ["a.example"]}}],
            plugins=[{"id": "web", "exclude_domains": ["b.example"], "max_results": 4}],
            model="x:online",
        )
    )
    assert options.blocked_domains == ("a.example", "b.example")
    assert options.max_sources == 4
