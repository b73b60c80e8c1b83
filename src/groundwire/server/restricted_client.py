"""`RestrictedClient`: a client as one API key may use it.

Endpoints get an application with this client instead of the full one (`HttpApp.restricted_to`), so no route
can forget a check: providers and models are checked where a name is resolved and again where a request is
sent, and search options where a request is sent.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from time import time
from typing import TYPE_CHECKING

from groundwire.client_protocol import AnswerStream
from groundwire.config.options import checked_options
from groundwire.errors import ForbiddenForKey, RequestError, UnknownModel
from groundwire.model import FunctionTool, Message, OpaqueTool, Request, SearchOptions, Source, Text
from groundwire.model.access import KeyScope
from groundwire.model.value import replace
from groundwire.routing.resolve import AUTO, ResolvedTarget, names_default, resolve
from groundwire.server.key_rights import common_domains, matches
from groundwire.text.domains import admits

if TYPE_CHECKING:
    from decimal import Decimal

    from groundwire.client_protocol import ProviderHealth, SearchClient
    from groundwire.compare.comparison import Comparison
    from groundwire.compare.run import ComparePolicy, Progress
    from groundwire.config.schema import Config
    from groundwire.credentials.lookup import LookupResult
    from groundwire.credentials.secret import Secret
    from groundwire.engine.knowledge import BuildProgress
    from groundwire.engine.knowledge.background import BuildStatus
    from groundwire.engine.pages import Page
    from groundwire.model import Answer, Event
    from groundwire.providers.spec import ProviderSpec, ProviderStatus
    from groundwire.verify.facts import VerifyReport
    from groundwire.verify.policy import VerifyPolicy

_OFFLINE_TOOLS = (
    *("bash", "text_editor", "computer", "memory", "local_shell", "apply_patch", "custom"),
    *("function", "file_search", "fileSearch", "image_generation", "namespace", "tool_search"),
)
"""Vendor tools that the client runs, or that do not reach the web. Names may have a date after them."""


def restricts_client(scope: KeyScope) -> bool:
    """Does the scope restrict more than routes and amounts?"""
    return bool(scope.providers or scope.models or scope.allowed_domains or not scope.may_search)


class RestrictedClient:
    """A `SearchClient` that refuses what the scope of a key does not allow, with `ForbiddenForKey`."""

    def __init__(self, client: SearchClient, scope: KeyScope) -> None:
        self._client = client
        self._scope = scope

    @property
    def config(self) -> Config:
        """The configuration of the full client."""
        return self._client.config

    @property
    def names(self) -> tuple[str, ...]:
        """The known providers that the key may use."""
        return tuple(filter(self._may_ask, self._client.names))

    @property
    def order(self) -> tuple[str, ...]:
        """The providers that `auto` tries for this key."""
        return tuple(filter(self._may_ask_default, self._client.order))

    @property
    def engines(self) -> frozenset[str]:
        """The providers that only find pages."""
        return self._client.engines

    @property
    def keyed(self) -> tuple[str, ...]:
        """The providers whose key can be stored."""
        return tuple(filter(self._may_ask, self._client.keyed))

    def resolve(self, model: str = "", *, provider: str = AUTO) -> ResolvedTarget:
        """The target that a name means for this key.

        A vendor's name for which the key has no provider means the default target, as it does where that
        vendor is not configured.
        """
        aliases, usable = self.config.aliases, self.usable()
        try:
            target = self._client.resolve(model, provider=provider)
        except RequestError:
            target = resolve(model, aliases, usable, provider)  # its error names only the key's providers
        if not self._may_ask(target.provider) and provider == AUTO:
            try:
                target = resolve(model, aliases, usable)
            except UnknownModel:
                raise self._no_provider(target.provider) from None
        self._check_target(target, model)
        return target

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
        """The answer, if the key allows the target and the search."""
        if target is None:
            target = self.resolve(model, provider=provider)
        else:
            self._check_target(target, request.model)
        request = self._restricted(request, target)
        allowed = among or self._among(target, request.model, searching=request.search is not None)
        return self._client.batches(request, target=target, cached=cached, among=allowed)

    async def stream(
        self,
        query: str | Request,
        *,
        provider: str = AUTO,
        model: str = "",
        options: SearchOptions | None = None,
        max_cost: Decimal | float | None = None,
    ) -> AsyncGenerator[Event, None]:
        """The events of an answer, if the key allows the target and the search."""
        if isinstance(query, str):
            query = self._search_request(query, options)
        if query.search is not None:
            query = replace(query, search=checked_options(query.search, time()))
        if max_cost is not None:
            target = self.resolve(model, provider=provider)
            # The price is that of one target: the first that the key may use.
            among = self._among(target, query.model, searching=query.search is not None)
            named = among[0] if among else target.provider
            events = self._client.stream(
                self._restricted(query, target), provider=named, model=target.model, max_cost=max_cost
            )
            async with aclosing(events):
                async for event in events:
                    yield event
            return
        async with aclosing(self.batches(query, provider=provider, model=model)) as batches:
            async for batch in batches:
                for event in batch:
                    yield event

    async def acompare(
        self,
        query: str | Request,
        providers: Sequence[str],
        *,
        options: SearchOptions | None = None,
        policy: ComparePolicy | None = None,
        report: Progress | None = None,
    ) -> Comparison:
        """Compare the answers of providers that the key may use."""
        from groundwire.compare.run import compare_providers  # noqa: PLC0415  rarely needed

        if isinstance(query, str):
            query = self._search_request(query, options)
        return await compare_providers(self, query, providers, policy, report)

    async def averify(
        self, answer: Answer, *, options: SearchOptions | None = None, policy: VerifyPolicy | None = None
    ) -> VerifyReport:
        """Verify citations, if the key may search and allows the domains of all cited pages."""
        self._check_pages(answer)
        return await self._client.averify(answer, options=options, policy=policy)

    async def resolve_redirects(self, answer: Answer) -> Answer:
        """Resolve redirect addresses, if the key may search."""
        self._check_search()
        return await self._client.resolve_redirects(answer)

    def _search_request(self, query: str, options: SearchOptions | None) -> Request:
        search = options or self.config.search
        return Request((Message("user", (Text(query),)),), search=search, stream=True)

    def _check_pages(self, answer: Answer) -> None:
        self._check_search()
        allowed = SearchOptions(self._scope.allowed_domains)
        cited = (item.source for citation in answer.citations for item in citation.evidence)
        if not all(admits(allowed, source) for source in cited):
            raise ForbiddenForKey(f"this API key reads only pages of {self._domains}")

    async def count_tokens(self, request: Request, *, provider: str, model: str) -> int | None:
        """The input tokens of a request, if the key allows the target."""
        self._check_target(ResolvedTarget(provider, model), request.model)
        return await self._client.count_tokens(request, provider=provider, model=model)

    def can_search(self, provider: str) -> bool:
        """Can the provider search the web, and may the key?"""
        return self._scope.may_search and self._client.can_search(provider)

    async def page(self, url: str, *, live: bool = True) -> Page:
        """A page, if the key may search and allows its domain."""
        self._check_search()
        if not admits(SearchOptions(self._scope.allowed_domains), Source(url)):
            raise ForbiddenForKey(f"this API key reads only pages of {self._domains}")
        return await self._client.page(url, live=live)

    def usable(self) -> Mapping[str, bool]:
        """The providers that the key may name, and whether they can be used now."""
        return _AllowedProviders(self._client.usable(), self._may_ask)

    def providers(self) -> list[ProviderStatus]:
        """The status of every provider whose default model the key may use."""
        return [status for status in self._client.providers() if self._may_ask_default(status.name)]

    def default_model(self, provider: str) -> str:
        """The default model of a provider."""
        return self._client.default_model(provider)

    def findings(self, name: str) -> list[LookupResult]:
        """What each credential lookup of a provider found."""
        return self._client.findings(name) if self._may_ask(name) else []

    def health(self) -> Mapping[str, ProviderHealth]:
        """The health of the providers that the key may use."""
        return {name: item for name, item in self._client.health().items() if self._may_ask(name)}

    def add(self, row: ProviderSpec, key: Secret | None = None) -> None:
        """Add a provider that is used only by its name."""
        self._client.add(row, key)

    def watch_index(self, report: Callable[[BuildProgress], None]) -> None:
        """Receive the progress while the embedded index is built."""
        self._client.watch_index(report)

    def build_index(self) -> BuildStatus | None:
        """Complete the embedded index in the background."""
        return self._client.build_index()

    def find_servers(self) -> None:
        """Find out which model servers run on this machine."""
        self._client.find_servers()

    def prepare(self) -> None:
        """Import now what the first request would wait for."""
        self._client.prepare()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    @property
    def _domains(self) -> str:
        return ", ".join(self._scope.allowed_domains)

    def _may_ask(self, provider: str) -> bool:
        listed = self._scope.providers
        return provider == AUTO or (
            (not listed or provider in listed)
            and (self._scope.may_search or provider not in self._client.engines)
        )

    def _may_ask_default(self, provider: str) -> bool:
        """May the key use the default model of a provider?"""
        return self._may_ask(provider) and self._matches(
            self._names(ResolvedTarget(provider, self._client.default_model(provider)))
        )

    def _matches(self, names: tuple[str, ...]) -> bool:
        patterns = self._scope.models
        return not patterns or any(matches(pattern, name) for pattern in patterns for name in names)

    def _names(self, target: ResolvedTarget, sent: str = "") -> tuple[str, ...]:
        """The names that patterns are compared with."""
        provider, model = target
        model = model or self._client.default_model(provider)
        own = (model, f"{provider}/{model}") if model else (provider,)
        return (*own, sent.removeprefix("models/")) if sent else own

    def _names_default(self, sent: str) -> tuple[str, ...]:
        """The name of the default target as the client sent it; a vendor's name that it replaces does not
        count."""
        if sent in self.config.aliases:
            return (sent, AUTO)
        return (AUTO,) if names_default(sent) else ()

    def _check_target(self, target: ResolvedTarget, sent: str) -> None:
        if not self._may_ask(target.provider):
            raise self._no_provider(target.provider)
        if target.provider == AUTO:
            self._among(target, sent)
        elif not self._matches(self._names(target, sent)):
            raise ForbiddenForKey(
                f"this API key may not use the model {(sent or target.model or target.provider)[:100]!r}; "
                f"it allows {', '.join(self._scope.models)}"
            )

    def _no_provider(self, provider: str) -> ForbiddenForKey:
        if not self._scope.may_search and provider in self._client.engines:
            return _no_search()
        allowed = ", ".join(self._scope.providers)
        return ForbiddenForKey(f"this API key may not use {provider[:100]!r}; it allows {allowed}")

    def _among(self, target: ResolvedTarget, sent: str, *, searching: bool = False) -> tuple[str, ...]:
        """The providers that the default target may try; empty for any other target."""
        if target.provider != AUTO:
            return ()
        named = self._scope.models and self._matches(self._names_default(sent))
        allowed = self._may_ask if named else self._may_ask_default
        usable = self._client.usable()
        found = tuple(name for name in self._client.order if name in usable and allowed(name))
        if not any(usable.get(name) for name in found):
            if not self._scope.may_search and any(usable.get(name) for name in self._client.engines):
                raise ForbiddenForKey(
                    "this API key may not search the web, and there is no model that it can use instead"
                )
            raise ForbiddenForKey("this API key allows no provider that can be used; name another model")
        if searching and not any(self._client.can_search(name) for name in found):
            raise ForbiddenForKey("this API key allows no provider that can search the web")
        return found

    def _check_search(self) -> None:
        if not self._scope.may_search:
            raise _no_search()

    def _restricted(self, request: Request, target: ResolvedTarget) -> Request:
        """The request with the search restrictions of the key."""
        scope = self._scope
        self._check_other_models(request, target)
        if scope.may_search and not scope.allowed_domains:
            return request
        search = request.search
        if search is None and self._leads_to_engine(target, request.model):
            search = SearchOptions()  # an engine searches even if the request does not declare it
        if search is not None:
            self._check_search()
        self._check_tools(request)
        if search is None or not scope.allowed_domains:
            return request
        allowed = common_domains(search.allowed_domains, scope.allowed_domains)
        if allowed == search.allowed_domains:
            return request
        # The client's own bytes do not have the restriction: they must not be passed through.
        return replace(request, search=replace(search, allowed_domains=allowed), wire=None)

    def _check_other_models(self, request: Request, target: ResolvedTarget) -> None:
        """Refuse other models that a request names: OpenRouter's and Perplexity's list of `models` to fall
        back to, and the `model` of a vendor tool."""
        if not self._scope.models:
            return
        lists = (extras.get("models") for extras in request.extras.values())
        named = [name for names in lists if isinstance(names, list) for name in names]
        named += [tool.data.get("model") for tool in request.tools if isinstance(tool, OpaqueTool)]
        for name in named:
            if name is not None and not self._matches((str(name), f"{target.provider}/{name}")):
                raise ForbiddenForKey(f"this API key may not use the model {str(name)[:100]!r}")

    def _leads_to_engine(self, target: ResolvedTarget, sent: str) -> bool:
        if target.provider != AUTO:
            return target.provider in self._client.engines
        usable = self._client.usable()
        names = (name for name in self._among(target, sent) if usable.get(name))
        return all(name in self._client.engines for name in names)

    def _check_tools(self, request: Request) -> None:
        """Refuse vendor tools that reach the web by themselves, such as `web_fetch` or `url_context`."""
        for tool in request.tools:
            name = _vendor_name(tool) if not isinstance(tool, FunctionTool) else "function"
            if not name.startswith(_OFFLINE_TOOLS):
                raise ForbiddenForKey(
                    f"this API key restricts web search, so it may not use the tool {name[:60]!r}"
                )
        if any(extras.get("agent") for extras in request.extras.values()):
            raise ForbiddenForKey("this API key restricts web search, so it may not use a vendor's agent")


class _AllowedProviders(Mapping[str, bool]):
    """The allowed names of a mapping. Values are read only when they are needed: finding out whether a
    provider is usable takes time."""

    def __init__(self, usable: Mapping[str, bool], may_ask: Callable[[str], bool]) -> None:
        self._usable = usable
        self._may_ask = may_ask

    def __getitem__(self, name: str) -> bool:
        if not self._may_ask(name):
            raise KeyError(name)
        return self._usable[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._may_ask(name) and name in self._usable

    def __iter__(self) -> Iterator[str]:
        return filter(self._may_ask, self._usable)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _vendor_name(tool: OpaqueTool) -> str:
    kind = tool.data.get("type")
    return kind if isinstance(kind, str) else next(iter(tool.data), "")


def _no_search() -> ForbiddenForKey:
    return ForbiddenForKey("this API key may not search the web; send the request without web search")
