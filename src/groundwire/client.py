"""Groundwire: the composition root, and the Python API.

The only place that builds the object graph: configuration, credentials, connections, providers, router. No
state outside the object; everything is made when first needed, and closed by `aclose`.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from groundwire.config.load import load
from groundwire.config.options import checked_options
from groundwire.config.schema import DEFAULT_ORDER, Config
from groundwire.credentials.lookup import Finding, Lookup, Places, explain, find
from groundwire.credentials.oauth import token_url
from groundwire.credentials.redact import Redactor
from groundwire.credentials.refresher import Refresher
from groundwire.credentials.secret import Credential, Secret
from groundwire.errors import GroundwireError, InvalidQuery, MissingCredential
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
from groundwire.model.value import replace
from groundwire.providers import copilot
from groundwire.providers.copilot_command import settings_from
from groundwire.providers.count_tokens import count_tokens, counts
from groundwire.providers.http import HttpProvider
from groundwire.providers.openai_session import apart, sender
from groundwire.providers.registry import BUILT_IN, adjusted, built_in, describe
from groundwire.providers.spec import Batches, OneByOne, Provider, ProviderSpec
from groundwire.providers.successor import CurrentModel
from groundwire.routing.failover import Plan, Router
from groundwire.routing.health import Health
from groundwire.routing.resolve import AUTO, plan_for, ranked, resolve, substituted
from groundwire.transport.deadlines import Deadlines
from groundwire.transport.http import Http
from groundwire.transport.threads import is_running, run_apart
from groundwire.wiring import ENGINES, Ask, EngineFactory, LazyMapping, ProviderStatus

if TYPE_CHECKING:
    from groundwire.engine.knowledge import ReportProgress
    from groundwire.engine.pages import Page

__all__ = ["Groundwire", "ProviderStatus", "asearch", "question", "search", "stream"]


class Groundwire:
    """Cited web search with whatever providers the user has."""

    def __init__(self, config: Config | None = None, *, env: Mapping[str, str] | None = None) -> None:
        self._env = dict(os.environ if env is None else env)
        home = self._env.get("HOME") or str(Path.home())
        self.config = config if config is not None else load(self._env, home, str(Path.cwd()))
        self._places = Places(self._env, home, self.config.config_dir)
        self._redactor = Redactor()
        self._http = Http(self._env)
        self._refresher = Refresher(
            sender(self._http), time.time, url=token_url(self._env), apart=apart(self._env)
        )
        self._engines = EngineFactory(self.config, self._env, self._http, self._redactor, self._places)
        self._rows = {name: row for name in self._names() if (row := self._row(name)) is not None}
        self._added: dict[str, ProviderSpec] = {}
        self._keys: dict[str, Secret] = {}
        self._live = {name: self._provider(row) for name, row in self._rows.items()}
        self._copilot = self._copilot_cli(home)
        if self.config.provider(copilot.NAME).enabled is not False:
            self._live[copilot.NAME] = OneByOne(self._copilot)
        for name in self._engines.names:
            self._live[name] = self._engines.provider(name, self._writer())
        self._router = Router(
            self._live,
            health=Health(time.monotonic),
            sleep=asyncio.sleep,
            chance=random.random,
        )

    async def __aenter__(self) -> Groundwire:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._engines.aclose()
        await self._http.aclose()

    def search(
        self, query: str, *, provider: str = AUTO, model: str = "", options: SearchOptions | None = None
    ) -> Answer:
        """Ask and wait for the whole answer. Where an event loop runs (Jupyter), it is asked in a thread."""

        async def ask(groundwire: Groundwire) -> Answer:
            async with groundwire:
                return await groundwire.asearch(query, provider=provider, model=model, options=options)

        # Connections belong to one event loop, so the thread gets its own.
        return run_apart(lambda: ask(self._copy())) if is_running() else asyncio.run(ask(self))

    def _copy(self) -> Groundwire:
        copy = Groundwire(self.config, env=self._env)
        for name, row in self._added.items():
            copy.add(row, self._keys.get(name))
        return copy

    async def asearch(
        self, query: str, *, provider: str = AUTO, model: str = "", options: SearchOptions | None = None
    ) -> Answer:
        """Ask and wait for the whole answer. An answer that broke off is raised as its error."""
        request = replace(question(query, options or self.config.search), stream=False)
        assembler = Assembler()
        async with aclosing(self.stream(request, provider=provider, model=model)) as events:
            async for event in events:
                if isinstance(event, Failed):
                    raise event.error
                assembler.feed(event)
        return assembler.answer()

    async def stream(
        self,
        query: str | Request,
        *,
        provider: str = AUTO,
        model: str = "",
        options: SearchOptions | None = None,
    ) -> AsyncGenerator[Event, None]:
        """The events of an answer as they happen; leaving the loop stops the provider."""
        request = query if isinstance(query, Request) else question(query, options or self.config.search)
        if request.search is not None:
            request = replace(request, search=checked_options(request.search, time.time()))
        async with aclosing(self.batches(request, provider=provider, model=model)) as batches:
            async for batch in batches:
                for event in batch:
                    yield event

    def batches(self, request: Request, *, provider: str = AUTO, model: str = "") -> Batches:
        """The same, as it arrives: events that came together stay together."""
        target = self.resolve(provider, model)
        searching = request.search is not None
        usable = self._able_to_search() if searching else self.usable()
        plan = plan_for(target, self.order, usable, searching=searching)
        named = model or request.model
        warnings = substituted(named, self.config.aliases, self.usable()) if target[0] == AUTO else ()
        return self._router.batches(request, replace(plan, seconds=self._seconds(plan), warnings=warnings))

    def resolve(self, provider: str = AUTO, model: str = "") -> tuple[str, str]:
        """The provider and the model that a name means; `auto` and no model for the default target."""
        return resolve(model, self.config.aliases, self.usable(), provider)

    def _seconds(self, plan: Plan) -> float:
        """How long a request may take, all attempts together."""
        limits = (self.config.provider(target.provider).timeout for target in plan.targets)
        return max(limit or self.config.timeout or plan.seconds for limit in limits)

    def _able_to_search(self) -> Mapping[str, bool]:
        """Providers that `auto` may ask to search."""

        def can(name: str) -> bool:
            return self._live[name].capabilities.search != "none" and self._is_usable(name)

        return LazyMapping(self._live, can)

    @property
    def order(self) -> tuple[str, ...]:
        """The providers that `auto` asks, in order, as far as they can be used."""
        configured = (name for name, item in self.config.providers.items() if item.base_url or item.enabled)
        return ranked(self.config.order, configured, DEFAULT_ORDER)

    async def count_tokens(self, request: Request, *, provider: str, model: str) -> int | None:
        """The tokens of a request as its provider counts them; None where that one does not."""
        row = self._rows.get(provider)
        if row is None or not counts(row, request.wire):
            return None
        asked = replace(request, model=model)
        return await count_tokens(row, self._http, await self._credential(row), self._redactor, asked)

    def prepare(self) -> None:
        """Import now what the first request would wait for; for those who serve many."""
        for name in ("transport.connections", *(f"dialects.{row.dialect}" for row in self._rows.values())):
            import_module(f"groundwire.{name}")

    async def page(self, url: str, *, live: bool = True) -> Page:
        """A page as it is stored; else, if `live`, as it is on the web now, fetched under the guard."""
        return await self._engines.page(url, live=live)

    def usable(self) -> Mapping[str, bool]:
        """Every provider that may be named, and whether it can be used now."""
        return LazyMapping(self._live, self._is_usable)

    def providers(self) -> list[ProviderStatus]:
        """Every provider that is known, and whether it can be used."""
        others = [self._copilot_status()] if copilot.NAME in self._live else []
        engines = map(self._engines.status, self._engines.names)
        return [*(self._status(row) for row in self._rows.values()), *others, *engines]

    @property
    def names(self) -> tuple[str, ...]:
        """The providers that are known."""
        return tuple(name for name in self._live if name not in self._added)

    @property
    def keyed(self) -> tuple[str, ...]:
        """The providers and engines whose key can be stored in our own file."""
        lookups = {name: row.lookups for name, row in self._rows.items()} | self._engines.lookups()
        return tuple(name for name, places in lookups.items() if Lookup("own", name) in places)

    def findings(self, name: str) -> list[Finding]:
        """What every place that may hold a provider's credential answers."""
        if name in self._engines.names:
            return self._engines.findings(name)
        return explain(self._rows[name].lookups, self._places) if name in self._rows else []

    def watch_index(self, report: ReportProgress) -> None:
        """Be told how far the embedded index is while it is made."""
        self._engines.report = report

    def add(self, row: ProviderSpec, key: Secret | None = None) -> None:
        """A provider beside the configured ones, asked only by its name; a key goes before any lookup."""
        if key:
            self._keys[row.name] = key
        if self.config.timeout:
            row = replace(row, deadlines=_within(row.deadlines, self.config.timeout))
        self._added[row.name] = row
        self._live[row.name] = self._provider(row)

    def _names(self) -> list[str]:
        known = dict.fromkeys((*BUILT_IN, *self.config.providers))
        return [name for name in known if name != copilot.NAME and name not in ENGINES]

    def _row(self, name: str) -> ProviderSpec | None:
        settings = self.config.provider(name)
        if settings.enabled is False:
            return None
        row = built_in(name) or describe(name, settings.dialect, settings.base_url, settings.key_env)
        timeout = settings.timeout or self.config.timeout
        row = adjusted(
            row,
            base_url=settings.base_url,
            model=settings.model,
            search=settings.search,
            search_form=settings.search_form,
        )
        deadlines = _within(row.deadlines, timeout) if timeout else row.deadlines
        if self.config.max_answer_mb:
            deadlines = replace(deadlines, largest=self.config.max_answer_mb * 2**20)
        return row if deadlines is row.deadlines else replace(row, deadlines=deadlines)

    def _copilot_cli(self, home: str) -> copilot.CopilotProvider:
        settings = self.config.provider(copilot.NAME)
        seconds = settings.timeout or self.config.timeout
        found = settings_from(self._env, home, model=settings.model, seconds=seconds)
        return copilot.CopilotProvider(found, self._redactor)

    def _copilot_status(self) -> ProviderStatus:
        """A program that runs on this machine is asked only if the user wants it."""
        trouble = self._copilot.trouble()
        wanted = self.config.provider(copilot.NAME).enabled is True
        reason = trouble or ("enabled" if wanted else "set providers.copilot.enabled = true, or name it")
        return ProviderStatus(
            copilot.NAME,
            copilot.TITLE,
            wanted and not trouble,
            reason,
            self._copilot.model,
            "its command line",
            "",
            copilot.CAPABILITIES,
        )

    def _writer(self) -> Ask | None:
        """Asks the model that writes answers out of what engines find, if one is configured."""
        if not self.config.compose:
            return None
        provider, _, model = self.config.compose.partition("/")

        def ask(request: Request) -> Batches:
            return self.batches(request, provider=provider, model=model)

        return ask

    def _provider(self, row: ProviderSpec) -> Provider:
        async def credential() -> Credential | None:
            return await self._credential(row)

        renew = self._refresher.after_refusal
        speaker: Provider = HttpProvider(row, self._http, credential, self._redactor, renew=renew)
        if row.family:
            speaker = CurrentModel(speaker, row, self._http, credential)
        kind, _, engine = self.config.provider(row.name).search.partition(":")
        return self._engines.searching(speaker, engine) if kind == "engine" else speaker

    async def _credential(self, row: ProviderSpec) -> Credential | None:
        key = self._keys.get(row.name)
        found = Credential(key, "api", row.title) if key else find(row.lookups, self._places)
        if found is None:
            if row.missing:
                raise _missing(row)
            return None
        self._redactor.add_credential(found)
        if found.kind == "oauth":
            found = await self._refresher.fresh(found)
            self._redactor.add_credential(found)
        return found

    def _is_usable(self, name: str) -> bool:
        if name == copilot.NAME:
            return self._copilot_status().usable
        row = self._rows.get(name) or self._added.get(name)
        if row is None:
            return self._engines.status(name).usable
        return not row.missing or find(row.lookups, self._places) is not None

    def _status(self, row: ProviderSpec) -> ProviderStatus:
        findings = explain(row.lookups, self._places)
        origin = next((finding.place for finding in findings if finding.found), "")
        usable = bool(origin) or not row.missing
        reason = origin or ("needs no key" if usable else row.advice)
        return ProviderStatus(
            row.name, row.title, usable, reason, row.model, row.dialect, row.base_url, row.capabilities
        )


def question(query: str, options: SearchOptions) -> Request:
    """A request to search the web for an answer."""
    if not isinstance(query, str):
        raise InvalidQuery(f"the query must be a text, not {type(query).__name__}")
    if not query.strip():
        raise InvalidQuery("the query is empty; ask something")
    return Request((Message("user", (Text(query),)),), search=options, stream=True)


def _within(deadlines: Deadlines, seconds: float) -> Deadlines:
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
    query: str, *, provider: str = AUTO, model: str = "", options: SearchOptions | None = None
) -> Answer:
    """Ask with the user's own configuration, and wait for the whole answer."""
    return Groundwire().search(query, provider=provider, model=model, options=options)


async def asearch(
    query: str, *, provider: str = AUTO, model: str = "", options: SearchOptions | None = None
) -> Answer:
    """The same for programs with an event loop."""
    async with Groundwire() as groundwire:
        return await groundwire.asearch(query, provider=provider, model=model, options=options)


async def stream(
    query: str | Request, *, provider: str = AUTO, model: str = "", options: SearchOptions | None = None
) -> AsyncGenerator[Event, None]:
    """The events of an answer as they happen, with the user's own configuration."""
    async with (
        Groundwire() as groundwire,
        aclosing(groundwire.stream(query, provider=provider, model=model, options=options)) as events,
    ):
        async for event in events:
            yield event
