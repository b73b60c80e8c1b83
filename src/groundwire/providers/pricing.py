"""Prices: what the tokens and searches of an answer cost, and the most that a request can cost.

Prices of tokens come from the package `genai-prices`, whose data is part of it: nothing is fetched. It takes
a second to import, so it is loaded on first use. Prices of searches are the table here, because vendors
count searches in different units. `[prices]` of the configuration overrides both.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from time import time
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from groundwire.model import Request, SearchOptions, Usage
from groundwire.model.cost import UNKNOWN_COST, ConfiguredPrices, Cost, CostBasis
from groundwire.model.request import ContextSize
from groundwire.model.value import replace, value
from groundwire.providers.catalog import ENGINES
from groundwire.providers.policy import Billing, Capabilities

if TYPE_CHECKING:
    from genai_prices import Usage as GenaiUsage
    from genai_prices.types import TieredPrices

SEARCHES_CHECKED = "2026-11-15"
"""When the vendors' pages were last checked for the prices of searches."""

_MILLION = Decimal(1_000_000)
_THOUSAND = Decimal(1_000)
_ZERO = Decimal(0)


@value
class SearchPrice:
    """What a vendor charges for searches."""

    vendor: str
    usd: Decimal
    """For 1,000 units."""
    unit: Billing = "call"
    model: str = ""
    """Pattern of model names."""
    form: str = ""
    """The type of the search tool, where it decides the price."""
    context_size: ContextSize | None = None
    """The size that the price is for, where it decides the price."""


def _sizes(vendor: str, model: str, *usd: int) -> tuple[SearchPrice, ...]:
    """Prices for a small, medium and large context; the last one also where none is set."""
    low, medium, high = map(Decimal, usd)
    return (
        SearchPrice(vendor, low, "prompt", model, context_size="low"),
        SearchPrice(vendor, medium, "prompt", model, context_size="medium"),
        SearchPrice(vendor, high, "prompt", model),
    )


SEARCH_PRICES: tuple[SearchPrice, ...] = (
    SearchPrice("anthropic", Decimal(10)),
    SearchPrice("openai", Decimal(25), "prompt", r"gpt-4.*search-preview"),
    SearchPrice("openai", Decimal(10), "prompt", r"search-(?:preview|api)"),
    # The older tool costs more with models that do not reason.
    SearchPrice("openai", Decimal(25), "call", r"^gpt-4", form="web_search_preview"),
    SearchPrice("openai", Decimal(10)),
    SearchPrice("google", Decimal(35), "prompt", r"gemini-[12]\b"),
    SearchPrice("google", Decimal(14), "query"),
    SearchPrice("groq", Decimal(5)),
    *_sizes("perplexity", r"^sonar-(?:pro|reasoning-pro)$", 6, 10, 14),
    *_sizes("perplexity", r"^sonar(?:-reasoning)?$", 5, 8, 12),
    # Five results of its default engine; OpenRouter reports what it really charged.
    SearchPrice("openrouter", Decimal(20)),
    SearchPrice("brave", Decimal(5), "query"),
    SearchPrice("exa", Decimal(5), "query"),
    SearchPrice("tavily", Decimal(8), "query"),
    SearchPrice("google_pse", Decimal(5), "query"),
    SearchPrice("linkup", Decimal("5.87"), "query"),
    SearchPrice("parallel", Decimal(5), "query"),
    SearchPrice("serper", Decimal(1), "query"),
    SearchPrice("you", Decimal(5), "query"),
    SearchPrice("searxng", _ZERO, "query"),
    SearchPrice("web", _ZERO, "query"),
    SearchPrice("local", _ZERO, "query"),
)
"""The first row that matches applies. `unit` is what `Capabilities.billing` counts."""

UNPRICED_ENGINES = frozenset({"jina", "firecrawl", "ollama_search"})
"""Engines that charge tokens, credits or a plan, not searches: their price has to be configured."""

_VENDORS: Mapping[str, str] = {
    "anthropic.com": "anthropic",
    "openai.com": "openai",
    "generativelanguage.googleapis.com": "google",
    "openrouter.ai": "openrouter",
    "groq.com": "groq",
    "perplexity.ai": "perplexity",
    "mistral.ai": "mistral",
    "x.ai": "x-ai",
    "deepseek.com": "deepseek",
    "together.xyz": "together",
    "together.ai": "together",
    "fireworks.ai": "fireworks",
    "cerebras.ai": "cerebras",
    "moonshot.ai": "moonshotai",
    "openai.azure.com": "azure",
    "amazonaws.com": "aws",
    "cohere.com": "cohere",
    "z.ai": "zai",
}
"""Vendors by the domain of their API, with the names of `genai-prices`."""
_LISTED = frozenset(_VENDORS.values())
_SUBSCRIPTIONS = frozenset({"chatgpt.com", "copilot"})
"""A flat rate covers what they answer."""

_OUTPUT_LIMITS: Mapping[str, int] = {
    "anthropic_messages": 8192,
    "gemini": 65_536,
    "gemini_interactions": 65_536,
}
"""The most output tokens of a request that sets no limit, by dialect. Anthropic's is what we send."""
_OUTPUT_LIMIT = 128_000
"""That of OpenAI's models, and of all others."""
_SEARCHES = 10
"""The searches of a request that sets no limit: Anthropic pauses after about as many."""
TOKENS_PER_SEARCH = 48_000
"""Input tokens that the pages of one search add at most. The largest recorded answers have 44,471 for one
search, and 404,500 for ten, because each step reads the pages of the steps before."""
_BYTES_PER_TOKEN = 3
"""English has four to five bytes in a token, code and other scripts about three: estimates are upwards."""


def vendor_of(provider: str, base_url: str) -> str:
    """Whose prices apply: the vendor of the address, or a provider without one by its name."""
    host = urlsplit(base_url).hostname or ""
    if not host:
        return provider
    labels = host.split(".")
    domains = [".".join(labels[start:]) for start in range(len(labels))]
    known = (_VENDORS.get(domain) or (domain if domain in _SUBSCRIPTIONS else "") for domain in domains)
    return next(filter(None, known), "")


def search_price(
    vendor: str, model: str, form: str = "", context_size: ContextSize | None = None
) -> SearchPrice | None:
    """The price of searches; None if it is not known."""
    for row in SEARCH_PRICES:
        sized = row.context_size is None or row.context_size == context_size
        if row.vendor == vendor and sized and re.search(row.model, model) and form.startswith(row.form):
            return row
    return None


FALLBACK = "*"
"""The name of the prices for models whose price is not known."""


@value
class PriceList:
    """Finds the prices of a provider's model: configured, listed, or the configured fallback."""

    configured: Mapping[str, ConfiguredPrices] = {}

    def of(self, provider: str, model: str, vendor: str, dialect: str = "") -> ModelPrices:
        """The prices of a model."""
        own = self.configured.get(f"{provider}/{model}") or self.configured.get(provider)
        fallback = self.configured.get(FALLBACK)
        return ModelPrices(model, vendor, own, fallback, dialect)


@value
class ModelPrices:
    """The prices of one model. Nothing is looked up before it is needed."""

    model: str
    vendor: str
    own: ConfiguredPrices | None = None
    fallback: ConfiguredPrices | None = None
    dialect: str = ""

    def cost(self, usage: Usage, options: SearchOptions | None = None) -> Cost:
        """The cost of an answer; what the provider reports itself takes precedence."""
        if usage.cost is not None:
            return Cost("reported", tokens=Decimal(repr(usage.cost)))
        if self.vendor in _SUBSCRIPTIONS and self.own is None:
            return Cost("subscription")
        tokens, basis = self._tokens(usage)
        if tokens is None:
            return UNKNOWN_COST
        searches = self._searches(usage.searches or 0, options)
        if searches is None:
            return UNKNOWN_COST
        if basis == "free" and searches:
            basis = "listed"
        return Cost(basis, tokens, searches, price_source() if basis == "listed" else "")

    def dearest(
        self, request: Request, capabilities: Capabilities, rounds: int = 1, *, billed: bool = True
    ) -> Cost:
        """The most that a request can cost, with the size of its input estimated upwards.

        `rounds` is the number of requests that it may need, `billed` whether the vendor runs its searches.
        """
        searches = self._most_searches(request, capabilities)
        tokens = input_estimate(request) + searches * TOKENS_PER_SEARCH
        plain = Usage(tokens, self.most_output(request), searches=searches if billed else 0)
        stored = replace(plain, cache_write_tokens=tokens)
        costs = [self.cost(usage, request.search) for usage in (plain, stored)]
        dearest = max(costs, key=lambda cost: cost.tokens)
        return replace(dearest, tokens=dearest.tokens * rounds)

    def most_output(self, request: Request) -> int:
        """The most output tokens of a request."""
        if request.limits.max_output_tokens is not None:
            return request.limits.max_output_tokens
        if self.own is not None and self.own.max_output_tokens is not None:
            return self.own.max_output_tokens
        return _OUTPUT_LIMITS.get(self.dialect, _OUTPUT_LIMIT)

    def _most_searches(self, request: Request, capabilities: Capabilities) -> int:
        if request.search is None or capabilities.search == "none":
            return 0
        if capabilities.billing_for(self.model) == "prompt" or capabilities.kind == "engine":
            return 1
        return _SEARCHES if request.search.max_uses is None else request.search.max_uses

    def _searches(self, count: int, options: SearchOptions | None) -> Decimal | None:
        if not count:
            return _ZERO
        if self.own is not None and self.own.search is not None:
            return _amount(self.own.search, count, _THOUSAND)
        form = str((options.extras if options else {}).get("openai_responses", {}).get("type", ""))
        row = search_price(self.vendor, self.model, form, options.context_size if options else None)
        if row is not None:
            return row.usd * count / _THOUSAND
        if self.fallback is not None and self.fallback.search is not None:
            return _amount(self.fallback.search, count, _THOUSAND)
        return None

    def _tokens(self, usage: Usage) -> tuple[Decimal | None, CostBasis]:
        if self.own is not None and self.own.input is not None:
            return _configured_tokens(self.own, usage), "configured"
        if self.vendor in ENGINES:
            return _ZERO, "free"
        if usage.input_tokens is None and usage.output_tokens is None:
            return None, "unknown"  # a provider that counts nothing is not free
        listed = _listed_tokens(self.vendor, self.model, usage)
        if listed is not None:
            return listed, "listed"
        if self.fallback is not None and self.fallback.input is not None:
            return _configured_tokens(self.fallback, usage), "configured"
        return None, "unknown"


def input_estimate(request: Request) -> int:
    """The input tokens of a request, estimated upwards from its text."""
    return tokens_of_bytes(_size(request))


def tokens_of_bytes(size: int) -> int:
    """Tokens of a text with this number of bytes, estimated upwards."""
    return -(-size // _BYTES_PER_TOKEN)


_OVERHEAD = 64
"""Bytes of a message or tool besides its text."""


def _size(request: Request) -> int:
    if request.wire is not None and request.wire.data:
        return len(request.wire.data)
    parts: Sequence[object] = (
        *request.system,
        *request.tools,
        *(part for message in request.messages for part in message.parts),
    )
    return sum(_OVERHEAD + len(_text_of(part).encode("utf-8", "replace")) for part in parts)


def _text_of(part: object) -> str:
    text = getattr(part, "text", None)
    return text if isinstance(text, str) else repr(part)


def _amount(price: float, count: int, unit: Decimal) -> Decimal:
    return Decimal(repr(price)) * count / unit


def _configured_tokens(prices: ConfiguredPrices, usage: Usage) -> Decimal:
    cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
    plain = max(0, (usage.input_tokens or 0) - cached - written)
    base = prices.input or 0.0
    counts = (
        (base, plain),
        (base if prices.cached is None else prices.cached, cached),
        (base if prices.cache_write is None else prices.cache_write, written),
        (prices.output or 0.0, usage.output_tokens or 0),
    )
    return sum((_amount(price, count, _MILLION) for price, count in counts), _ZERO)


def _listed_tokens(vendor: str, model: str, usage: Usage) -> Decimal | None:
    """The price of the tokens by `genai-prices`; None if it does not know the model."""
    if vendor not in _LISTED or not model:
        return None
    found = _token_prices(vendor, model.removeprefix("models/"), int(time() / _PRICE_SECONDS))
    return found(usage) if found is not None else None


_PRICE_SECONDS = 600
"""How long a price is kept: some vendors charge less at certain hours."""
_OWN_KEYS = frozenset({"input_mtok", "cache_read_mtok", "cache_write_mtok", "output_mtok"})
_OTHER_KEYS = re.compile(r"audio|image|video|_1h_|_kcount$")
"""Prices of what our usage does not count, and of searches."""


@lru_cache(maxsize=1024)
def _token_prices(vendor: str, model: str, _: int) -> Callable[[Usage], Decimal] | None:
    """A function for the price of the tokens of a model. The package needs a quarter of a millisecond for
    each answer, so its prices are only looked up there."""
    from genai_prices import calc_price  # noqa: PLC0415  takes a second

    try:
        prices = calc_price(_counts(Usage(1, 1)), model, provider_id=vendor).model_price
    except LookupError:
        return None
    keys = {key for key, price in vars(prices).items() if price is not None}
    if any(key not in _OWN_KEYS and not _OTHER_KEYS.search(key) for key in keys):

        def calculated(usage: Usage) -> Decimal:
            found = calc_price(_counts(usage), model, provider_id=vendor)
            return found.input_price + found.output_price

        return calculated
    plain = _tiers(prices.input_mtok)
    cached, written = _tiers(prices.cache_read_mtok) or plain, _tiers(prices.cache_write_mtok) or plain
    output = _tiers(prices.output_mtok)

    def summed(usage: Usage) -> Decimal:
        total = usage.input_tokens or 0
        read = min(usage.cached_tokens or 0, total)
        stored = min(usage.cache_write_tokens or 0, total - read)
        parts = (
            (plain, total - read - stored),
            (cached, read),
            (written, stored),
            (output, usage.output_tokens or 0),
        )
        return sum((_rate(tiers, total) * count for tiers, count in parts if count), _ZERO) / _MILLION

    return summed


def _counts(usage: Usage) -> GenaiUsage:
    from genai_prices import Usage as GenaiUsage  # noqa: PLC0415  takes a second

    total = usage.input_tokens or 0
    cached = min(usage.cached_tokens or 0, total)
    return GenaiUsage(
        input_tokens=total,
        cache_read_tokens=cached,
        cache_write_tokens=min(usage.cache_write_tokens or 0, total - cached),
        output_tokens=usage.output_tokens or 0,
    )


Tiers: TypeAlias = tuple[tuple[int, Decimal], ...]
"""Prices by the number of input tokens that they begin after."""


def _tiers(price: Decimal | TieredPrices | None) -> Tiers:
    if price is None:
        return ()
    if isinstance(price, Decimal):
        return ((-1, price),)
    return ((-1, price.base), *((tier.start, tier.price) for tier in price.tiers))


def _rate(tiers: Tiers, total: int) -> Decimal:
    """The price that a number of input tokens leads to; it applies to all tokens."""
    return next((price for start, price in reversed(tiers) if total > start), _ZERO)


@cache
def price_source() -> str:
    """The price list and the date of its prices."""
    from importlib.metadata import version  # noqa: PLC0415  half a millisecond, once

    return f"genai-prices {version('genai-prices')}, searches {SEARCHES_CHECKED}"


def is_listed(vendor: str) -> bool:
    """Are the vendor's prices in the price list, which has to be loaded first?"""
    return vendor in _LISTED


def are_prices_loaded() -> bool:
    """Has the price list been loaded?"""
    return "genai_prices.data" in sys.modules


def load_prices() -> None:
    """Load the price list, which takes a second; call it in a thread."""
    _listed_tokens("openai", "gpt-5.5", Usage(1, 1))
