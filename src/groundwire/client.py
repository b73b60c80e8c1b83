"""`Groundwire`: the Python API, and the composition root.

The client resolves a model name, plans the targets, looks in the response cache and routes; nothing above it
does any of that again. It is the only place that builds the object graph: configuration, credentials,
connections, providers, router. All state is in the object; connections are opened on first use and closed by
`aclose`.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from decimal import Decimal
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from groundwire import __version__
from groundwire.client_protocol import AnswerStream
from groundwire.config.load import load
from groundwire.config.options import checked_options
from groundwire.config.schema import DEFAULT_ORDER, Config, ProviderSettings
from groundwire.credentials.lookup import CredentialFinder, Lookup, LookupContext, LookupResult, explain
from groundwire.credentials.oauth import token_url
from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential, Secret
from groundwire.credentials.session import Refresher
from groundwire.dialects.json import msgspec_library, use_library
from groundwire.engine.engines.api import ApiEngineSpec
from groundwire.errors import ConfigError, CostLimit, GroundwireError, InvalidQuery, MissingCredential
from groundwire.model import (
    Answer,
    Assembler,
    Event,
    Failed,
    Message,
    Request,
    SearchOptions,
    Text,
)
from groundwire.model.cost import Cost
from groundwire.model.value import replace
from groundwire.providers.background import BackgroundProvider
from groundwire.providers.catalog import CATALOG
from groundwire.providers.count_tokens import can_count, count_tokens
from groundwire.providers.engine_factory import (
    EngineFactory,
    EngineSpec,
    IndexSettings,
    LazyMapping,
    StreamModel,
    api_engine_spec,
)
from groundwire.providers.http import HttpProvider
from groundwire.providers.local_servers import PortProbe
from groundwire.providers.models import FirstModelProvider, SuccessorProvider
from groundwire.providers.openai_session import oauth_sender, refresh_process
from groundwire.providers.pricing import PriceList, is_listed, load_prices
from groundwire.providers.quota import QuotaBoard
from groundwire.providers.registry import adjusted, describe, load_registered
from groundwire.providers.spec import (
    Batches,
    Provider,
    ProviderContext,
    ProviderFactory,
    ProviderPlugin,
    ProviderSpec,
    ProviderStatus,
    status_of,
)
from groundwire.routing.cache import ResponseCache
from groundwire.routing.failover import Router
from groundwire.routing.health import Health, ProviderHealth
from groundwire.routing.metering import MeteredProvider, PricingTerms, Quote, SpendingGuard, terms_of
from groundwire.routing.observe import AttemptObserver
from groundwire.routing.resolve import AUTO, Plan, ResolvedTarget, plan_for, ranked, resolve, substituted
from groundwire.transport.http import Deadlines, Http
from groundwire.transport.threads import is_loop_running, run_in_loop_thread
from groundwire.verify.policy import VerifyPolicy

if TYPE_CHECKING:
    from groundwire.compare.comparison import Comparison
    from groundwire.compare.run import ComparePolicy, Progress
    from groundwire.engine.knowledge import ReportProgress
    from groundwire.engine.knowledge.background import BuildStatus
    from groundwire.engine.pages import Page
    from groundwire.transport.redis import RedisLink
    from groundwire.verify.facts import VerifyReport
    from groundwire.verify.redirects import RedirectResolver
    from groundwire.verify.verifier import Verifier

T = TypeVar("T")

__all__ = ["Groundwire", "ProviderStatus", "asearch", "search", "search_request", "stream"]


class Groundwire:
    """Client: searches the web with the configured providers, over connections that are kept open.

    Use it as an async context manager, or call `aclose` at the end. Without a configuration, it loads the
    user's own.
    """

    def __init__(self, config: Config | None = None, *, env: Mapping[str, str] | None = None) -> None:
        self._env = dict(os.environ if env is None else env)
        self._home = self._env.get("HOME") or str(Path.home())
        self.config = config if config is not None else load(self._env, self._home, str(Path.cwd()))
        self._finder = CredentialFinder(LookupContext(self._env, self._home, self.config.config_dir))
        self._redactor = Redactor()
        self._quotas = QuotaBoard()
        self._http = Http(self._env)
        self._refresher = Refresher(
            oauth_sender(self._http),
            time.time,
            url=token_url(self._env),
            in_worker=refresh_process(self._env),
        )
        self._specs: dict[str, ProviderSpec] = {}
        self._added: dict[str, ProviderSpec] = {}
        self._keys: dict[str, Secret] = {}
        self._price_list = PriceList(self.config.prices)
        self._terms: dict[str, PricingTerms] = {}
        self._time_limits: dict[str, float] = {}
        self.spending_guard: SpendingGuard | None = None
        """Decides before each request to a provider whether its budget allows it."""
        self._plugins = self._create_plugins()
        self._ports = PortProbe({name: row.base_url for name, row in self._specs.items() if row.is_local})
        self._providers = {name: plugin.provider for name, plugin in self._plugins.items()}
        self._health = Health(time.monotonic)
        self._router = Router(
            self._providers,
            health=self._health,
            sleep=asyncio.sleep,
            random=random.random,
        )
        self._cache = ResponseCache(self._route_target, self.config.gateway.cache_seconds, time.monotonic)
        self._redirects: RedirectResolver | None = None

    async def __aenter__(self) -> Groundwire:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        self._redirects = None
        await self._engine_factory.aclose()
        await self._http.aclose()

    def share(self, link: RedisLink) -> None:
        """Share cached answers and the state of breakers with other gateways."""
        # Imported on demand: the library of Redis is optional, and takes half a second.
        from groundwire.routing.shared_cache import SharedAnswers  # noqa: PLC0415
        from groundwire.routing.shared_health import SharedHealth  # noqa: PLC0415

        SharedHealth(link, self._health)
        cache = self._cache
        if cache.seconds > 0:
            cache.shared = SharedAnswers(link, cache.seconds, cache.limits.answer, _namespace(self.config))

    def search(
        self,
        query: str,
        *,
        provider: str = AUTO,
        model: str = "",
        options: SearchOptions | None = None,
        max_cost: Decimal | float | None = None,
        verify: bool = False,
    ) -> Answer:
        """Search and return the complete answer. Inside a running event loop (Jupyter), it uses a thread.

        A search that could cost more than `max_cost` USD raises `CostLimit`, and is not sent.
        """
        return self._run(
            lambda client: client.asearch(
                query, provider=provider, model=model, options=options, max_cost=max_cost, verify=verify
            )
        )

    def verify(
        self, answer: Answer, *, options: SearchOptions | None = None, policy: VerifyPolicy | None = None
    ) -> VerifyReport:
        """Verify the citations of an answer like `averify`, without an event loop."""
        return self._run(lambda client: client.averify(answer, options=options, policy=policy))

    def _run(self, call: Callable[[Groundwire], Awaitable[T]]) -> T:
        async def run(groundwire: Groundwire) -> T:
            async with groundwire:
                return await call(groundwire)

        # Connections belong to one event loop, so the thread gets a client of its own.
        return run_in_loop_thread(lambda: run(self._copy())) if is_loop_running() else asyncio.run(run(self))

    def _copy(self) -> Groundwire:
        copy = Groundwire(self.config, env=self._env)
        for name, row in self._added.items():
            copy.add(row, self._keys.get(name))
        return copy

    async def asearch(
        self,
        query: str,
        *,
        provider: str = AUTO,
        model: str = "",
        options: SearchOptions | None = None,
        max_cost: Decimal | float | None = None,
        verify: bool = False,
    ) -> Answer:
        """Search and return the complete answer. If the answer is interrupted, raise its error.

        With `verify`, the cited pages are read: the report is in the extras of the answer
        (`answer.extras["groundwire"]["verification"]`), and each citation that fails is a warning.
        """
        request = replace(search_request(query, options or self.config.search), stream=False)
        assembler = Assembler()
        async with aclosing(
            self.stream(request, provider=provider, model=model, max_cost=max_cost)
        ) as events:
            async for event in events:
                if isinstance(event, Failed):
                    raise event.error
                assembler.feed(event)
        answer = assembler.answer()
        if not verify:
            return answer
        from groundwire.verify.encode import with_report  # noqa: PLC0415  few searches are verified

        return with_report(answer, await self.averify(answer, options=options))

    async def averify(
        self, answer: Answer, *, options: SearchOptions | None = None, policy: VerifyPolicy | None = None
    ) -> VerifyReport:
        """Read the pages that an answer cites, and return the facts about each citation.

        Only cited addresses are contacted, and only public ones. `options` are the search options whose
        domain lists the sources must obey; those of the configuration by default.
        """
        settings = self.config.verify
        if policy is None:
            policy = VerifyPolicy(follow=settings.follow, seconds=settings.timeout)
        return await self._verifier().report(answer, options or self.config.search, policy)

    async def acompare(
        self,
        query: str | Request,
        providers: Sequence[str],
        *,
        options: SearchOptions | None = None,
        policy: ComparePolicy | None = None,
        report: Progress | None = None,
    ) -> Comparison:
        """Ask several providers (`name` or `name/model`) at once, and compare their answers.

        `report` is called when a provider begins to search, begins to answer, and is done.
        """
        from groundwire.compare.run import compare_providers  # noqa: PLC0415  rarely needed

        request = (
            query if isinstance(query, Request) else search_request(query, options or self.config.search)
        )
        return await compare_providers(self, request, providers, policy, report)

    async def resolve_redirects(self, answer: Answer) -> Answer:
        """The answer with the addresses of the pages instead of Gemini's redirect addresses, which stay in
        the extras of the sources."""
        return await self._redirect_resolver().resolved(answer)

    def _redirect_resolver(self) -> RedirectResolver:
        if self._redirects is None:
            from groundwire.verify.redirects import RedirectResolver  # noqa: PLC0415  opt-in

            self._redirects = RedirectResolver(self._engine_factory.fetcher(), time.monotonic)
        return self._redirects

    def _verifier(self) -> Verifier:
        from groundwire.verify.fetch import CitedPages  # noqa: PLC0415  few searches are verified
        from groundwire.verify.verifier import Verifier  # noqa: PLC0415

        factory = self._engine_factory
        pages = CitedPages(factory.fetcher(), factory.read_document, factory.stored_page)
        model = self.config.verify.model
        return Verifier(pages, self._ask_verifying_model if model else None, model)

    async def _ask_verifying_model(self, request: Request) -> str:
        """The text of the answer of `verify.model`."""
        provider, _, model = self.config.verify.model.partition("/")
        assembler = Assembler()
        async with aclosing(self.stream(request, provider=provider, model=model)) as events:
            async for event in events:
                if isinstance(event, Failed):
                    raise event.error
                assembler.feed(event)
        return assembler.answer().text

    async def stream(
        self,
        query: str | Request,
        *,
        provider: str = AUTO,
        model: str = "",
        options: SearchOptions | None = None,
        max_cost: Decimal | float | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of an answer as they arrive. Closing the generator cancels the request."""
        request = (
            query if isinstance(query, Request) else search_request(query, options or self.config.search)
        )
        if request.search is not None:
            request = replace(request, search=checked_options(request.search, time.time()))
        if max_cost is not None:
            await asyncio.to_thread(load_prices)
            check_cost(self.quote(request, self.resolve(model, provider=provider)), max_cost)
        async with aclosing(self.batches(request, provider=provider, model=model)) as batches:
            async for batch in batches:
                for event in batch:
                    yield event

    def batches(
        self,
        request: Request,
        *,
        provider: str = AUTO,
        model: str = "",
        target: ResolvedTarget | None = None,
        cached: bool = False,
        among: tuple[str, ...] = (),
    ) -> AnswerStream:
        """The events of an answer in the batches in which they arrived.

        A caller that has resolved the names already passes the `target` instead of `provider` and `model`.
        `among` limits the providers that the default target tries.

        With `cached`, a search that was answered within `gateway.cache_seconds`, or is being answered now, is
        not sent again; `AnswerStream.cache_status` says so.
        """
        if target is None:
            target = self.resolve(model, provider=provider)
        else:
            model = target.model
        if model and model != request.model:
            request = replace(request, model=model)
        if self.config.resolve_redirects:
            request = replace(request, wire=None)  # bytes that are passed through keep their addresses
        answer = AnswerStream(target)
        # The cache knows a target by its name: another choice of providers is another target.
        name = " ".join((target.provider, *among)) if among else target.provider
        batches = (
            self._cache.batches(request, provider=name, model=target.model, note=answer.cache.set)
            if cached
            else self._route(request, target, among)
        )
        if self.config.resolve_redirects:
            batches = self._redirect_resolver().resolved_batches(batches)
        return answer.attach(batches)

    def resolve(self, model: str = "", *, provider: str = AUTO) -> ResolvedTarget:
        """The provider and model that a name means; `auto` and no model for the default target."""
        return resolve(model, self.config.aliases, self.usable(), provider)

    def _route_target(self, request: Request, *, provider: str, model: str) -> Batches:
        name, *among = provider.split(" ")
        return self._route(request, ResolvedTarget(name, model), tuple(among))

    def _route(self, request: Request, target: ResolvedTarget, among: tuple[str, ...] = ()) -> Batches:
        plan = self._plan(request, target, among)
        guard = self.spending_guard
        if guard is None or not guard.is_needed():
            return self._router.batches(request, plan)
        quote = self._quote(request, plan)
        priced = tuple(target for target in plan.targets if _label(target) not in quote.unpriced)
        return guard.guard(
            quote, lambda: self._router.batches(request, replace(plan, targets=priced or plan.targets))
        )

    def _plan(self, request: Request, target: ResolvedTarget, among: tuple[str, ...] = ()) -> Plan:
        if target.provider != AUTO:
            return Plan((target,), self._seconds((target,)))
        searching = request.search is not None
        usable = self._able_to_search() if searching else self.usable()
        known, order = self.usable(), self.order
        if among:
            order = tuple(name for name in order if name in among and name in self._providers)
            known = LazyMapping(dict.fromkeys(order), self._is_usable)
        if request.links_only:  # an engine finds them without a model
            order = tuple(sorted(order, key=lambda name: name not in self.engines))
        if not searching and not any(usable.get(name) for name in order if name not in self.engines):
            self._ports.look()
        plan = plan_for(target, order, usable, searching=searching, engines=self.engines)
        warnings = substituted(request.model, self.config.aliases, known)
        return replace(plan, seconds=self._seconds(plan.targets), warnings=warnings)

    def quote(self, request: Request, target: ResolvedTarget) -> Quote:
        """The most that a request can cost: the price of its dearest target."""
        return self._quote(request, self._plan(request, target))

    def _quote(self, request: Request, plan: Plan) -> Quote:
        costs = {_label(target): self._dearest(request, target) for target in plan.targets}
        known = [usd for usd in costs.values() if usd is not None]
        unpriced = tuple(name for name, usd in costs.items() if usd is None)
        return Quote(max(known) if known else None, unpriced, plan.seconds)

    def _dearest(self, request: Request, target: ResolvedTarget) -> Decimal | None:
        provider = self._providers[target.provider]
        model = target.model or provider.model
        return self._terms[target.provider].dearest(request, model, provider.capabilities).usd

    def _seconds(self, targets: Sequence[ResolvedTarget]) -> float:
        """The time limit of a request, over all attempts."""
        return max(map(self._time_limit, (target.provider for target in targets)))

    def _time_limit(self, provider: str) -> float:
        limit = self._time_limits.get(provider)
        if limit is None:
            settings = self.config.provider(provider)
            limit = settings.timeout or self.config.timeout or Deadlines().total
            self._time_limits[provider] = limit
        return limit

    def _able_to_search(self) -> Mapping[str, bool]:
        """The usable providers that can search."""

        usable = self.usable()
        return LazyMapping(self._providers, lambda name: self.can_search(name) and usable[name])

    def can_search(self, provider: str) -> bool:
        """Can the provider search the web? True for `auto`, which chooses one that can."""
        return provider == AUTO or self._providers[provider].capabilities.search != "none"

    @property
    def order(self) -> tuple[str, ...]:
        """The providers that `auto` tries, in this order; unusable ones are skipped."""
        configured = (name for name, item in self.config.providers.items() if item.base_url or item.enabled)
        return ranked(self.config.order, configured, DEFAULT_ORDER, self.engines)

    @property
    def engines(self) -> frozenset[str]:
        """The providers that only find pages: no model writes their answers."""
        return self._engines

    async def count_tokens(self, request: Request, *, provider: str, model: str) -> int | None:
        """Count the tokens of a request at its provider; None if the provider cannot count them."""
        row = self._specs.get(provider)
        if row is None or not can_count(row, request.wire):
            return None
        request = replace(request, model=model)
        return await count_tokens(row, self._http, await self._credential(row), self._redactor, request)

    def find_servers(self) -> None:
        """Find out which model servers run on this machine. Blocks for a tenth of a second at most."""
        self._ports.look()

    def prepare(self) -> None:
        """Import the modules that the first request needs, so that it does not wait for them, and find local
        model servers."""
        self.find_servers()
        for name in ("transport.response", *(f"dialects.{row.dialect}" for row in self._specs.values())):
            import_module(f"groundwire.{name}")
        use_library(msgspec_library())
        # The price list takes 30 MB and a second: only where a vendor that it has can be used.
        if any(is_listed(terms.vendor) and self._is_usable(name) for name, terms in self._terms.items()):
            load_prices()

    async def page(self, url: str, *, live: bool = True) -> Page:
        """Return a page from the index; if it is not there and `live` is set, fetch it from the web."""
        return await self._engine_factory.page(url, live=live)

    def usable(self) -> Mapping[str, bool]:
        """Map the name of every provider to whether it is usable now."""
        snapshot: CredentialFinder | None = None

        def is_usable(name: str) -> bool:
            nonlocal snapshot
            snapshot = snapshot or self._finder.snapshot()
            with self._finder.using(snapshot):
                return self._is_usable(name)

        return LazyMapping(self._providers, is_usable)

    def _is_usable(self, name: str) -> bool:
        return self._plugins[name].is_usable()

    def default_model(self, provider: str) -> str:
        """The default model of a provider; empty if it has none."""
        return self._providers[provider].model if provider in self._providers else ""

    def health(self) -> Mapping[str, ProviderHealth]:
        """The circuit breaker, the last error and the rate limits of every provider that was called."""
        return {
            name: replace(health, quotas=self._quotas.of(name))
            for name, health in self._router.health.report().items()
        }

    def providers(self) -> list[ProviderStatus]:
        """Return the status of every known provider."""
        return [status_of(self._plugins[name]) for name in self.names]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all known providers."""
        return tuple(name for name in self._plugins if name not in self._added)

    @property
    def keyed(self) -> tuple[str, ...]:
        """The providers and engines whose key can be stored with `groundwire login`."""
        return tuple(name for name in self.names if Lookup("own", name) in self._plugins[name].lookups)

    def findings(self, name: str) -> list[LookupResult]:
        """Return where a provider's credentials were looked for, and what was found."""
        return explain(self._plugins[name].lookups, self._finder.context) if name in self.names else []

    def observe_attempts(self, observer: AttemptObserver) -> None:
        """Call a function when a provider is called, and the function that it returns when that ends."""
        self._router.observe = observer

    def watch_index(self, report: ReportProgress) -> None:
        """Report progress to a callback while the embedded index is built."""
        self._engine_factory.report = report

    def build_index(self) -> BuildStatus | None:
        """Complete the embedded index in the background, if it is not complete; returns how far it is, and
        None if `build_index` is off."""
        background = self._engine_factory.background()
        return background.status() if background is not None else None

    def add(self, row: ProviderSpec, key: Secret | None = None) -> None:
        """Add a provider that is used only by its name. A `key` takes precedence over its lookups."""
        if key:
            self._keys[row.name] = key
        if self.config.timeout:
            row = replace(row, deadlines=_limited(row.deadlines, self.config.timeout))
        self._added[row.name] = row
        self._plugins[row.name] = self._http_plugin(row)
        self._providers[row.name] = self._plugins[row.name].provider

    def _create_plugins(self) -> dict[str, ProviderPlugin]:
        """All providers that are not disabled: HTTP APIs, then other providers, then engines."""
        factories: dict[str, ProviderFactory] = {}
        engines: dict[str, EngineSpec] = {}
        for name in dict.fromkeys((*(entry.name for entry in CATALOG), *self.config.providers)):
            settings = self.config.provider(name)
            if settings.enabled is False:
                continue
            found = load_registered(name)
            if found is None:
                found = describe(name, settings.dialect, settings.base_url, settings.key_env)
            if isinstance(found, ProviderSpec):
                self._specs[name] = self._configured(found)
            elif isinstance(found, EngineSpec | ApiEngineSpec):
                engines[name] = self._configured_engine(found)
            else:
                factories[name] = found
        self._engine_factory = EngineFactory(
            engines,
            self._http,
            self._redactor,
            self._finder,
            IndexSettings(
                Path(self.config.data_dir) / "index", self.config.store, is_built=self.config.build_index
            ),
        )
        self._engines = frozenset(engines)
        write = self._writing_model()
        return {
            **{name: self._http_plugin(row) for name, row in self._specs.items()},
            **{name: self._metered_plugin(make(self._context(name))) for name, make in factories.items()},
            **{name: self._metered_plugin(self._engine_factory.plugin(name, write)) for name in engines},
        }

    def _metered_plugin(self, plugin: ProviderPlugin) -> ProviderPlugin:
        provider = plugin.provider
        is_engine = provider.name in self._engines
        terms = terms_of(
            self._price_list, provider.name, "" if is_engine else plugin.base_url, plugin.dialect
        )
        if is_engine and self.config.compose:
            terms = replace(terms, writer=self._most_for_writing)
        self._terms[provider.name] = terms
        return replace(plugin, provider=MeteredProvider(provider, terms))

    def _most_for_writing(self, request: Request) -> Cost:
        """The most that the model costs that writes the answers of engines."""
        provider, _, model = self.config.compose.partition("/")
        written = replace(request, search=None)
        return self._terms[provider].dearest(written, model, self._providers[provider].capabilities)

    def _configured(self, row: ProviderSpec) -> ProviderSpec:
        settings = self.config.provider(row.name)
        timeout = settings.timeout or self.config.timeout
        row = adjusted(
            row,
            base_url=settings.base_url or self._env.get(row.base_url_env, "").strip(),
            model=settings.model,
            search=settings.search,
            search_form=settings.search_form,
        )
        deadlines = _limited(row.deadlines, timeout) if timeout else row.deadlines
        if self.config.max_answer_mb:
            deadlines = replace(deadlines, largest=self.config.max_answer_mb * 2**20)
        return row if deadlines is row.deadlines else replace(row, deadlines=deadlines)

    def _configured_engine(self, found: EngineSpec | ApiEngineSpec) -> EngineSpec:
        spec = found if isinstance(found, EngineSpec) else api_engine_spec(found)
        configured = self.config.provider(spec.name).base_url
        return replace(spec, base_url=configured or self._env.get(spec.base_url_env, "") or spec.base_url)

    def _context(self, name: str) -> ProviderContext:
        settings = self.config.provider(name)
        return ProviderContext(
            name=name,
            settings=settings,
            timeout=settings.timeout or self.config.timeout,
            environment=self._env,
            home=self._home,
            http=self._http,
            redactor=self._redactor,
            credential=self._finder.find,
        )

    def _writing_model(self) -> StreamModel | None:
        """Sends requests to the model that writes answers from an engine's passages, if one is configured."""
        if not self.config.compose:
            return None
        provider, _, model = self.config.compose.partition("/")

        def write(request: Request) -> Batches:
            return self.batches(request, provider=provider, model=model)

        return write

    def _http_plugin(self, row: ProviderSpec) -> ProviderPlugin:
        return ProviderPlugin(
            self._http_provider(row),
            row.title,
            is_usable=lambda: self._has_access(row),
            reason=lambda: self._reason(row),
            lookups=row.lookups,
            dialect=row.dialect,
            base_url=row.base_url,
        )

    def _has_access(self, row: ProviderSpec) -> bool:
        """Can requests be sent: is there an address, a key if it needs one, a server if it is a local one?"""
        if row.is_local:
            return row.name in self._ports or _is_configured(self.config.provider(row.name))
        has_key = not row.missing or self._finder.find(row.lookups) is not None
        return bool(row.base_url) and has_key

    def _reason(self, row: ProviderSpec) -> str:
        if row.is_local or not row.base_url:
            return f"server at {row.base_url}" if self._has_access(row) else row.advice
        findings = explain(row.lookups, self._finder.context)
        origin = next((finding.place for finding in findings if finding.found), "")
        return origin or (row.advice if row.missing else "needs no key")

    def _http_provider(self, row: ProviderSpec) -> Provider:
        async def credential() -> Credential | None:
            return await self._credential(row)

        renew = self._refresher.after_refusal
        form = BackgroundProvider if row.background else HttpProvider
        http_provider = form(row, self._http, credential, self._redactor, renew=renew)
        http_provider.quotas = self._quotas
        provider: Provider = http_provider
        if row.is_local and not row.model:
            provider = FirstModelProvider(provider, row, self._http, credential)
        if row.family:
            provider = SuccessorProvider(provider, row, self._http, credential)
        terms = self._terms[row.name] = terms_of(self._price_list, row.name, row.base_url, row.dialect)
        provider = MeteredProvider(provider, terms)
        kind, _, engine = self.config.provider(row.name).search.partition(":")
        return self._with_engine(provider, engine) if kind == "engine" else provider

    def _with_engine(self, provider: Provider, engine: str) -> Provider:
        """A model whose searches an engine runs (`search = "engine:NAME"`)."""
        factory = self._engine_factory
        if engine not in factory.names:
            known = ", ".join(factory.names)
            raise ConfigError(
                f"providers.{provider.name}.search: there is no engine {engine!r}; known: {known}"
            )
        from groundwire.routing.tool_loop.provider import (  # noqa: PLC0415  rarely needed
            MAX_ROUNDS,
            ToolLoopProvider,
        )

        searches = terms_of(self._price_list, engine)
        self._terms[provider.name] = replace(self._terms[provider.name], rounds=MAX_ROUNDS, engine=searches)
        return ToolLoopProvider(
            provider,
            lambda: factory.engine(engine),
            factory.capabilities(engine),
            prices=searches.prices(""),
            open_page=factory.page,
        )

    async def _credential(self, row: ProviderSpec) -> Credential | None:
        key = self._keys.get(row.name)
        found = Credential(key, "api", row.title) if key else self._finder.find(row.lookups)
        if found is None or not row.base_url:
            if row.missing:
                raise _missing(row)
            return None
        self._redactor.add_credential(found)
        if found.kind == "oauth":
            found = await self._refresher.fresh(found)
            self._redactor.add_credential(found)
        return found


def search_request(query: str, options: SearchOptions) -> Request:
    """The request for a question that is to be answered with web search."""
    if not isinstance(query, str):
        raise InvalidQuery(f"the query must be a text, not {type(query).__name__}")
    if not query.strip():
        raise InvalidQuery("the query is empty; ask something")
    return Request((Message("user", (Text(query),)),), search=options, stream=True)


def _is_configured(settings: ProviderSettings) -> bool:
    """Has the user described this server, so that it need not be found?"""
    return bool(settings.base_url or settings.model or settings.enabled)


def check_cost(quote: Quote, max_cost: Decimal | float) -> None:
    """Raise `CostLimit` if a request could cost more."""
    limit = max_cost if isinstance(max_cost, Decimal) else Decimal(repr(max_cost))
    if quote.unpriced:
        raise CostLimit(
            f"the price of {', '.join(quote.unpriced)} is not known, so the cost cannot be limited; set it "
            "in [prices] of the configuration, or name another provider"
        )
    if quote.usd is not None and quote.usd > limit:
        raise CostLimit(
            f"this request could cost up to ${quote.usd:.4f}, more than the limit of ${limit}; allow more, "
            "set a smaller max_uses, or choose a cheaper model"
        )


def _label(target: ResolvedTarget) -> str:
    return f"{target.provider}/{target.model}" if target.model else target.provider


def _namespace(config: Config) -> str:
    """Digest of what decides an answer besides the request: gateways that differ in it share no answers."""
    decisive = (
        __version__,
        *(config.providers, config.order, config.aliases),
        *(config.compose, config.search),
    )
    return sha256(repr(decisive).encode()).hexdigest()[:16]


def _limited(deadlines: Deadlines, seconds: float) -> Deadlines:
    return replace(
        deadlines,
        first_byte=min(deadlines.first_byte, seconds),
        idle=min(deadlines.idle, seconds),
        total=seconds,
    )


def _missing(row: ProviderSpec) -> GroundwireError:
    error = MissingCredential(f"no credentials for {row.title}. {row.advice}")
    error.code = row.missing
    return error


def search(
    query: str,
    *,
    provider: str = AUTO,
    model: str = "",
    options: SearchOptions | None = None,
    max_cost: Decimal | float | None = None,
    verify: bool = False,
) -> Answer:
    """Search the web with the user's configuration and return the complete answer.

    `provider` and `model` take the names that the command line takes; `auto` tries the usable providers in
    order. An answer that failed or was interrupted raises a `GroundwireError`. A search that could cost more
    than `max_cost` USD raises `CostLimit`, and is not sent. With `verify`, its citations are verified; see
    `Groundwire.asearch`.
    """
    return Groundwire().search(
        query, provider=provider, model=model, options=options, max_cost=max_cost, verify=verify
    )


async def asearch(
    query: str,
    *,
    provider: str = AUTO,
    model: str = "",
    options: SearchOptions | None = None,
    max_cost: Decimal | float | None = None,
    verify: bool = False,
) -> Answer:
    """Search the web like `search`, in an event loop."""
    async with Groundwire() as groundwire:
        return await groundwire.asearch(
            query, provider=provider, model=model, options=options, max_cost=max_cost, verify=verify
        )


async def stream(
    query: str | Request, *, provider: str = AUTO, model: str = "", options: SearchOptions | None = None
) -> AsyncGenerator[Event, None]:
    """Search the web with the user's configuration and yield the events of the answer as they arrive."""
    async with (
        Groundwire() as groundwire,
        aclosing(groundwire.stream(query, provider=provider, model=model, options=options)) as events,
    ):
        async for event in events:
            yield event
