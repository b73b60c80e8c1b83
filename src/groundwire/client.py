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
from pathlib import Path
from types import TracebackType

from groundwire.config.load import load
from groundwire.config.schema import Config
from groundwire.credentials.lookup import Places, explain, find
from groundwire.credentials.redact import Redactor
from groundwire.credentials.refresh import ensure_fresh
from groundwire.credentials.secret import Credential
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
from groundwire.model.value import replace, value
from groundwire.providers.base import Provider, Row
from groundwire.providers.capabilities import Capabilities
from groundwire.providers.registry import BUILT_IN, adjusted, built_in, describe
from groundwire.routing.health import Health
from groundwire.routing.plan import AUTO, choose
from groundwire.routing.run import Router
from groundwire.transport.deadlines import Deadlines
from groundwire.transport.http import Call, Http


@value
class ProviderStatus:
    """A provider, and whether it can be used."""

    name: str
    title: str
    usable: bool
    reason: str
    model: str
    dialect: str
    base_url: str
    capabilities: Capabilities


class Groundwire:
    """Cited web search with whatever providers the user has."""

    def __init__(self, config: Config | None = None, *, env: Mapping[str, str] | None = None) -> None:
        self._env = dict(os.environ if env is None else env)
        home = self._env.get("HOME") or str(Path.home())
        self.config = config if config is not None else load(self._env, home, str(Path.cwd()))
        self._places = Places(self._env, home, self.config.config_dir)
        self._redactor = Redactor()
        self._http = Http()
        self._rows = {name: row for name in self._names() if (row := self._row(name)) is not None}
        self._router = Router(
            {name: self._provider(row) for name, row in self._rows.items()},
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
        await self._http.aclose()

    def search(
        self, query: str, *, provider: str = AUTO, model: str = "", options: SearchOptions | None = None
    ) -> Answer:
        """Ask and wait for the whole answer. For programs without an event loop."""

        async def ask() -> Answer:
            async with self:
                return await self.asearch(query, provider=provider, model=model, options=options)

        return asyncio.run(ask())

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
        if isinstance(query, str):
            query = question(query, options or self.config.search)
        usable = {name: self._is_usable(row) for name, row in self._rows.items()}
        plan = choose(provider, model, self.config.order, usable)
        async with aclosing(self._router.events(query, plan)) as events:
            async for event in events:
                yield event

    def providers(self) -> list[ProviderStatus]:
        """Every provider that is known, and whether it can be used."""
        return [self._status(row) for row in self._rows.values()]

    def _names(self) -> list[str]:
        return list(dict.fromkeys((*BUILT_IN, *self.config.providers)))

    def _row(self, name: str) -> Row | None:
        settings = self.config.provider(name)
        if settings.enabled is False:
            return None
        row = built_in(name) or describe(name, settings.dialect, settings.base_url, settings.key_env)
        timeout = settings.timeout or self.config.timeout
        row = adjusted(row, base_url=settings.base_url, model=settings.model)
        return replace(row, deadlines=_within(row.deadlines, timeout)) if timeout else row

    def _provider(self, row: Row) -> Provider:
        from groundwire.providers.http import HttpProvider

        async def credential() -> Credential | None:
            return await self._credential(row)

        return HttpProvider(row, self._http, credential, self._redactor)

    async def _credential(self, row: Row) -> Credential | None:
        found = find(row.lookups, self._places)
        if found is None:
            if row.missing:
                raise _missing(row)
            return None
        self._redactor.add(found.secret)
        if found.kind == "oauth":
            found = await ensure_fresh(found, self._post, time.time())
            self._redactor.add(found.secret)
        return found

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        call = Call("POST", url, headers, body)
        async with self._http.open(call, Deadlines(first_byte=30, total=30)) as exchange:
            return exchange.status, await exchange.body()

    def _is_usable(self, row: Row) -> bool:
        return not row.missing or find(row.lookups, self._places) is not None

    def _status(self, row: Row) -> ProviderStatus:
        findings = explain(row.lookups, self._places)
        origin = next((finding.place for finding in findings if finding.found), "")
        usable = bool(origin) or not row.missing
        reason = origin or ("needs no key" if usable else row.advice)
        return ProviderStatus(
            row.name, row.title, usable, reason, row.model, row.dialect, row.base_url, row.capabilities
        )


def question(query: str, options: SearchOptions) -> Request:
    """A request to search the web for an answer."""
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


def _missing(row: Row) -> GroundwireError:
    error = MissingCredential(f"no credentials for {row.title}. {row.advice}")
    error.code = row.missing
    return error
