"""Prices of tokens and searches, against prices that are written here."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import product
from pathlib import Path

import genai_prices
import pytest
from genai_prices.data import providers as listed
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.client import Groundwire
from groundwire.config.schema import Config
from groundwire.dialects.base import Dialect
from groundwire.dialects.registry import dialect
from groundwire.model import (
    Event,
    Limits,
    Message,
    Request,
    SearchCall,
    SearchOptions,
    SearchResult,
    Started,
    Text,
    Usage,
    UsageSeen,
    assemble,
)
from groundwire.model.cost import NANO, ConfiguredPrices, from_nano, rounded_usd, to_nano
from groundwire.model.value import replace
from groundwire.providers.catalog import CATALOG, ENGINES
from groundwire.providers.policy import Capabilities
from groundwire.providers.pricing import (
    SEARCH_PRICES,
    TOKENS_PER_SEARCH,
    UNPRICED_ENGINES,
    PriceList,
    input_estimate,
    search_price,
    tokens_of_bytes,
    vendor_of,
)
from groundwire.providers.registry import find_spec
from groundwire.routing.attempt import SearchCounter

# USD per million tokens (input, cached, cache writes, output) as the vendors' pages say, and per search.
PRICES: dict[tuple[str, str], tuple[str, str, str, str, str]] = {
    ("anthropic", "claude-sonnet-4-5"): ("3", "0.3", "3.75", "15", "0.01"),
    ("anthropic", "claude-haiku-4-5"): ("1", "0.1", "1.25", "5", "0.01"),
    ("anthropic", "claude-opus-4-5"): ("5", "0.5", "6.25", "25", "0.01"),
    ("openai", "gpt-5"): ("1.25", "0.125", "1.25", "10", "0.01"),
    ("openai", "gpt-5.5"): ("5", "0.5", "5", "30", "0.01"),
    ("openai", "gpt-5-search-api"): ("1.25", "0.125", "1.25", "10", "0.01"),
    ("google", "gemini-2.5-flash"): ("0.3", "0.03", "0.3", "2.5", "0.035"),
    ("google", "gemini-2.5-flash-lite"): ("0.1", "0.01", "0.1", "0.4", "0.035"),
}
USAGES = [
    Usage(inp, out, cached, written, searches=searches)
    for inp, (cached, written), out, searches in product(
        (0, 1, 12_345, 150_000), ((None, None), (1, None), (0, 1)), (1, 4_096), (None, 3)
    )
    if inp >= (cached or 0) + (written or 0)
]


def expected(vendor: str, model: str, usage: Usage) -> Decimal:
    """Computed from the prices above, in another way than the code does it: in nano-USD by integers."""
    inp, cached, written, out, search = (int(Decimal(price) * NANO) for price in PRICES[vendor, model])
    read, stored = usage.cached_tokens or 0, usage.cache_write_tokens or 0
    tokens = (
        ((usage.input_tokens or 0) - read - stored) * inp
        + read * cached
        + stored * written
        + (usage.output_tokens or 0) * out
    )
    return Decimal(tokens) / 10**6 / NANO + Decimal((usage.searches or 0) * search) / NANO


CASES = [(vendor, model, usage) for (vendor, model), usage in product(PRICES, USAGES)]


def test_costs_of_more_than_200_answers_equal_hand_written_prices() -> None:
    assert len(CASES) >= 200
    wrong = [
        (vendor, model, usage, cost, expected(vendor, model, usage))
        for vendor, model, usage in CASES
        if (cost := PriceList().of("p", model, vendor).cost(usage).usd) != expected(vendor, model, usage)
    ]
    assert not wrong


def test_parts_add_up_and_name_the_price_list() -> None:
    cost = PriceList().of("anthropic", "claude-sonnet-4-5", "anthropic").cost(Usage(1000, 100, searches=2))
    assert (cost.tokens, cost.searches, cost.usd) == (Decimal("0.0045"), Decimal("0.02"), Decimal("0.0245"))
    assert cost.basis == "listed"
    assert "genai-prices" in cost.prices
    assert "2026" in cost.prices


VENDORS = ("anthropic", "openai", "google")


@settings(max_examples=40)
@given(st.data())
def test_our_sums_are_those_of_the_package(data: st.DataObject) -> None:
    vendor = data.draw(
        st.sampled_from([one for one in listed if one.id in ("anthropic", "openai", "google")])
    )
    model = data.draw(st.sampled_from([one.id for one in vendor.models]))
    total = data.draw(st.sampled_from([0, 1, 199_999, 200_001, 272_001, 900_000]))
    cached = data.draw(st.integers(0, total))
    written = data.draw(st.integers(0, total - cached))
    output = data.draw(st.integers(0, 100_000))
    counts = genai_prices.Usage(
        input_tokens=total, cache_read_tokens=cached, cache_write_tokens=written, output_tokens=output
    )
    theirs = genai_prices.calc_price(counts, model, provider_id=vendor.id)
    ours = PriceList().of("p", model, vendor.id).cost(Usage(total, output, cached, written))
    assert ours.usd == theirs.input_price + theirs.output_price


def test_a_long_prompt_is_priced_at_its_own_rate() -> None:
    prices = PriceList().of("openai", "gpt-5.5", "openai")
    below, above = prices.cost(Usage(272_000, 1000)).usd, prices.cost(Usage(272_001, 1000)).usd
    assert below == Decimal("1.36") + Decimal("0.03")
    assert above == Decimal("2.72001") + Decimal("0.045")


def test_an_unknown_price_is_never_zero() -> None:
    for vendor, model, usage in (
        ("openai", "no-such-model", Usage(10, 10)),
        ("", "gpt-5", Usage(10, 10)),
        ("no-such-vendor", "gpt-5", Usage(10, 10)),
        ("openai", "gpt-5", Usage()),  # it counts nothing
        ("x-ai", "grok-4", Usage(10, 10, searches=1)),  # the price of its searches is not known
    ):
        cost = PriceList().of("p", model, vendor).cost(usage)
        assert (cost.usd, cost.basis) == (None, "unknown"), (vendor, model)


@pytest.mark.parametrize("engine", sorted(ENGINES - UNPRICED_ENGINES))
def test_engines_cost_their_searches_only(engine: str) -> None:
    cost = PriceList().of(engine, "", vendor_of(engine, "")).cost(Usage(searches=2))
    price = {
        "brave": "0.01",
        "exa": "0.01",
        "tavily": "0.016",
        "google_pse": "0.01",
        "serper": "0.002",
        "linkup": "0.01174",
        "parallel": "0.01",
        "you": "0.01",
    }.get(engine, "0")
    assert cost.usd == Decimal(price)
    assert cost.basis == ("listed" if Decimal(price) else "free")


def test_what_the_provider_reports_takes_precedence() -> None:
    prices = PriceList({"openai": ConfiguredPrices(1.0, 1.0)}).of("openai", "gpt-5", "openai")
    cost = prices.cost(Usage(1000, 1000, searches=5, cost=0.25))
    assert (cost.usd, cost.basis) == (Decimal("0.25"), "reported")


def test_a_flat_rate_costs_nothing() -> None:
    vendor = vendor_of("openai_oauth", "https://chatgpt.com/backend-api/codex")
    assert PriceList().of("openai_oauth", "gpt-5.5", vendor).cost(Usage(9, 9, searches=3)).usd == 0


def test_configured_prices_apply_to_a_model_then_to_its_provider_then_to_the_unknown() -> None:
    prices = PriceList(
        {
            "mine/large": ConfiguredPrices(input=2.0, output=8.0, cached=0.5, cache_write=3.0, search=7.0),
            "mine": ConfiguredPrices(input=1.0, output=1.0),
            "*": ConfiguredPrices(input=100.0, output=100.0, search=100.0),
        }
    )
    usage = Usage(1_000_000, 1_000_000, 200_000, 100_000, searches=1000)
    large = prices.of("mine", "large", "").cost(usage)
    assert (large.tokens, large.searches) == (
        Decimal("1.4") + Decimal("0.1") + Decimal("0.3") + 8,
        Decimal(7),
    )
    assert prices.of("mine", "small", "").cost(replace(usage, searches=None)).usd == 2
    assert prices.of("other", "x", "").cost(usage).usd == 300
    assert prices.of("openai", "gpt-5", "openai").cost(Usage(1_000_000, 0)).usd == Decimal("1.25")


@pytest.mark.parametrize(
    ("url", "vendor"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://eu.api.openai.com/v1", "openai"),
        ("https://api.anthropic.com", "anthropic"),
        ("https://generativelanguage.googleapis.com", "google"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("http://127.0.0.1:11434/v1", ""),
        ("https://openai.com.evil.example/v1", ""),
        ("https://notopenai.com/v1", ""),
        ("https://llm.corp.example", ""),
    ],
)
def test_the_address_decides_whose_prices_apply(url: str, vendor: str) -> None:
    assert vendor_of("openai", url) == vendor


def test_search_prices_agree_with_the_price_list_where_it_has_them() -> None:
    """The package has the price of searches for many models; its maintainers and we read different pages."""
    vendors = {vendor.id: vendor for vendor in listed}
    checked = 0
    for name in ("anthropic", "openai", "google"):
        for model in vendors[name].models:
            prices = model.prices if not isinstance(model.prices, list) else model.prices[-1].prices
            price = getattr(prices, "web_searches_kcount", None)
            row = search_price(name, model.id)
            if isinstance(price, Decimal) and row is not None:
                assert row.usd == price, model.id
                checked += 1
    assert checked >= 40


def test_the_unit_of_each_price_is_what_searches_are_counted_by() -> None:
    specs = {"anthropic": "anthropic", "google": "gemini", "openai": "openai"}
    models = {"google": ("gemini-2.5-flash", "gemini-3.8-flash"), "openai": ("gpt-5.5",), "anthropic": ("x",)}
    for vendor, provider in specs.items():
        spec = find_spec(provider)
        assert spec is not None
        for model in models[vendor]:
            row = search_price(vendor, model)
            assert row is not None
            assert row.unit == spec.capabilities.billing_for(model)
    chat = find_spec("openai_chat")
    assert chat is not None
    row = search_price("openai", chat.model)
    assert row is not None
    assert row.unit == chat.capabilities.billing_for(chat.model) == "prompt"


def test_every_engine_of_the_catalog_has_a_price() -> None:
    known = {row.vendor for row in SEARCH_PRICES}
    assert {entry.name for entry in CATALOG if entry.kind == "engine"} == ENGINES
    assert known & UNPRICED_ENGINES == set()
    assert known | UNPRICED_ENGINES >= ENGINES


UNPRICED = {
    *("azure", "bedrock", "mistral_conversations", "perplexity_responses", "qwen", "vertex", "vertex_claude"),
    *("xai", "zai"),
}
"""Models that search, and whose vendors' prices of searches are not known."""


def test_a_model_that_searches_has_a_price_or_its_cost_is_unknown() -> None:
    unpriced = set()
    for status in Groundwire(Config(), env={}).providers():
        if status.capabilities.search == "none" or status.capabilities.kind == "engine":
            continue
        vendor = vendor_of(status.name, status.base_url)
        cost = PriceList().of(status.name, status.model, vendor).cost(Usage(10, 10, searches=1))
        if search_price(vendor, status.model) is None and cost.basis != "subscription":
            assert cost.basis == "unknown"
            unpriced.add(status.name)
    assert unpriced == UNPRICED


@pytest.mark.parametrize("engine", sorted(UNPRICED_ENGINES))
def test_the_cost_of_an_engine_without_a_price_for_a_search_is_unknown(engine: str) -> None:
    assert PriceList().of(engine, "", engine).cost(Usage(searches=1)).basis == "unknown"


@pytest.mark.parametrize(
    ("size", "model", "usd"),
    [("low", "sonar", 5), ("medium", "sonar", 8), ("high", "sonar", 12), (None, "sonar-pro", 14)],
)
def test_the_size_of_the_context_decides_where_the_vendor_says_so(
    size: str | None, model: str, usd: int
) -> None:
    row = search_price("perplexity", model, context_size=size)  # type: ignore[arg-type]
    assert row is not None
    assert (row.usd, row.unit) == (Decimal(usd), "prompt")


def test_the_older_search_tool_costs_more_with_models_that_do_not_reason() -> None:
    old = SearchOptions(extras={"openai_responses": {"type": "web_search_preview"}})
    prices = PriceList().of("openai", "gpt-4.1", "openai")
    assert prices.cost(Usage(0, 0, searches=1), old).searches == Decimal("0.025")
    assert prices.cost(Usage(0, 0, searches=1), SearchOptions()).searches == Decimal("0.01")
    assert PriceList().of("openai", "gpt-5", "openai").cost(Usage(0, 0, searches=1), old).usd == Decimal(
        "0.01"
    )


# The most that a request can cost


QUESTION = Request((Message("user", (Text("why?"),)),))


def test_the_most_is_an_upper_bound_of_what_is_billed() -> None:
    prices = PriceList().of("openai", "gpt-5.5", "openai", "openai_responses")
    request = replace(QUESTION, search=SearchOptions(max_uses=2), limits=Limits(max_output_tokens=500))
    most = prices.dearest(request, Capabilities()).usd
    assert most is not None
    for tokens, cached, output, searches in product((3, 30_000), (None, 3), (1, 500), (0, 2)):
        cost = prices.cost(Usage(tokens, output, cached, searches=searches)).usd
        assert cost is not None
        assert cost <= most


def test_the_most_grows_with_the_limits_of_the_request() -> None:
    prices = PriceList().of("anthropic", "claude-sonnet-4-5", "anthropic", "anthropic_messages")

    def most(request: Request) -> Decimal:
        usd = prices.dearest(request, Capabilities()).usd
        assert usd is not None
        return usd

    short = most(replace(QUESTION, limits=Limits(max_output_tokens=10)))
    assert most(replace(QUESTION, limits=Limits(max_output_tokens=1000))) - short == Decimal("0.01485")
    assert most(QUESTION) > short, "without a limit, the model's own applies"
    one, two = (
        most(replace(QUESTION, limits=Limits(max_output_tokens=10), search=SearchOptions(max_uses=uses)))
        for uses in (1, 2)
    )
    assert short < one < two
    assert most(replace(QUESTION, messages=(Message("user", (Text("why? " * 1000),)),))) > most(QUESTION)


@given(st.text(max_size=300))
def test_the_input_is_estimated_upwards(text: str) -> None:
    """No tokenizer needs more than one token for a byte; ordinary texts need one for three or more."""
    estimate = input_estimate(Request((Message("user", (Text(text),)),)))
    assert estimate * 3 >= len(text.encode("utf-8", "replace"))


@given(st.integers(0, 10**15))
def test_nano_usd_survive_as_decimals_and_as_floats(amount: int) -> None:
    assert to_nano(from_nano(amount)) == amount
    assert to_nano(rounded_usd(from_nano(amount))) == amount


def test_a_size_in_bytes_is_rounded_up() -> None:
    assert [tokens_of_bytes(size) for size in (0, 1, 3, 4)] == [0, 1, 1, 2]


# Billing rules, against what the vendors count in recorded answers


FOLDERS = {
    "anthropic": ("anthropic", "anthropic_messages"),
    "openai-responses": ("openai", "openai_responses"),
}


def recorded_events(path: Path, language: Dialect) -> list[Event]:
    """The events of a recorded answer; empty for an error or another kind of document."""
    if path.suffix == ".sse":
        decoder = language.decoder()
        return [*decoder.feed(path.read_bytes()), *decoder.close()]
    body = json.loads(path.read_text("utf-8"))
    if not isinstance(body, dict) or "usage" not in body:
        return []
    return list(language.decode_response(body))


def answers(folder: Path) -> list[Path]:
    beside = (".request.json", ".meta.json")
    return [
        path
        for path in sorted(folder.iterdir())
        if path.suffix in (".json", ".sse") and not path.name.endswith(beside)
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_our_count_of_searches_is_the_vendors_own(recordings: Path, folder: str) -> None:
    """Where a vendor counts its searches, our rule counts the same: it is used where the vendor does not."""
    provider, name = FOLDERS[folder]
    spec, language = find_spec(provider), dialect(name)
    assert spec is not None
    compared = 0
    for path in answers(recordings / folder):
        events = recorded_events(path, language)
        answer = assemble(events)
        calls = {part.id for part in answer.parts if isinstance(part, SearchCall)}
        results = {part.call_id for part in answer.parts if isinstance(part, SearchResult)}
        # A turn that is paused or continued has a call without its result, or the reverse.
        if not answer.usage.searches or answer.finish in (None, "pause") or results - calls:
            continue
        uncounted = [
            UsageSeen(replace(event.usage, searches=None)) if isinstance(event, UsageSeen) else event
            for event in events
        ]
        counted = assemble(SearchCounter(spec.capabilities, answer.model).feed(uncounted)).usage
        assert counted.searches == answer.usage.searches, path.name
        compared += 1
    assert compared >= 2


def test_gemini_bills_a_grounded_prompt_up_to_2_5_and_each_query_since_3(recordings: Path) -> None:
    spec = find_spec("gemini")
    assert spec is not None
    events = recorded_events_of_gemini(recordings / "gemini" / "search-2.5-pro-sf.json")
    queries = {query for search in assemble(events).searches if (query := search.query)}
    assert queries
    for model, count, usd in (("gemini-2.5-pro", 1, "0.035"), ("gemini-3.8-flash", len(queries), "0.014")):
        counter = SearchCounter(spec.capabilities, model)
        named = [replace(event, model=model) if isinstance(event, Started) else event for event in events]
        usage = assemble(counter.feed(named)).usage
        assert usage.searches == count
        cost = PriceList().of("gemini", model, "google").cost(usage)
        assert cost.searches == Decimal(usd) * count
    unused = recorded_events_of_gemini(recordings / "gemini" / "search-not-used.json")
    assert not assemble(SearchCounter(spec.capabilities, "gemini-2.5-pro").feed(unused)).usage.searches


def recorded_events_of_gemini(path: Path) -> list[Event]:
    return list(dialect("gemini").decode_response(json.loads(path.read_text("utf-8"))))


def test_no_recorded_answer_reads_more_than_is_estimated_for_its_searches(recordings: Path) -> None:
    languages = {"anthropic": "anthropic_messages", "openai-responses": "openai_responses"}
    seen = 0
    languages |= {"perplexity-chat": "openai_chat", "openrouter-chat": "openai_chat"}
    for folder, name in languages.items():
        for path in answers(recordings / folder):
            usage = assemble(recorded_events(path, dialect(name))).usage
            if usage.searches and usage.input_tokens:
                assert usage.input_tokens <= usage.searches * TOKENS_PER_SEARCH, path.name
                seen += 1
    assert seen >= 20


@pytest.mark.parametrize("folder", ["openrouter-chat", "perplexity-chat"])
def test_costs_that_vendors_report_are_used_as_they_are(recordings: Path, folder: str) -> None:
    found = 0
    for path in answers(recordings / folder):
        usage = assemble(recorded_events(path, dialect("openai_chat"))).usage
        if usage.cost is None:
            continue
        vendor = folder.partition("-")[0]
        cost = PriceList().of(vendor, "any", vendor).cost(usage)
        assert (cost.basis, cost.usd) == ("reported", Decimal(repr(usage.cost)))
        found += 1
    assert found >= 1
