"""A fake `Groundwire` client with scripted events, and a console for commands that use it."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, Mapping, Sequence
from decimal import Decimal

from groundwire.client import ProviderStatus
from groundwire.commands.main import parse
from groundwire.commands.runner import run_command
from groundwire.config.schema import Config
from groundwire.credentials.lookup import LookupResult
from groundwire.credentials.secret import Secret
from groundwire.errors import GroundwireError
from groundwire.faces.cli.console import Console
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Extras,
    Finished,
    Request,
    SearchCall,
    SearchCalled,
    SearchOptions,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    Usage,
    UsageSeen,
)
from groundwire.model.value import replace
from groundwire.providers.policy import Capabilities, Support
from groundwire.providers.spec import ProviderSpec
from tests.stub_client import StubClient

COLOGNE = Source("https://stadt.example/koeln", "Köln in Zahlen", "cited")
CITIES = Source("https://statistik.example/staedte", "Großstädte", "cited")
SIGNED: Extras = {"groundwire": {"provider": "gemini", "model": "gemini-2.5-flash"}}

SEARCHED: tuple[Event, ...] = (
    SearchStarted(0, "s1"),
    SearchCalled(0, SearchCall("s1", ("Einwohner Köln",))),
    SearchReturned(1, SearchResult("s1", (replace(COLOGNE, state="retrieved"),))),
)
TEXT = "Köln hat 1,1 Mio. Einwohner 🏙️. Es liegt am Rhein."
FIRST = Span(0, TEXT.index(". Es"))
SECOND = Span(TEXT.index("Es"), len(TEXT))
LATE: tuple[Event, ...] = (
    Started("r1", "gemini-2.5-flash"),
    *SEARCHED,
    TextDelta(2, TEXT[:20]),
    TextDelta(2, TEXT[20:]),
    Cited(Citation(FIRST, (Evidence(COLOGNE), Evidence(CITIES)))),
    Cited(Citation(SECOND, (Evidence(CITIES),))),
    TextSettled(2),
    UsageSeen(Usage(input_tokens=1200, output_tokens=31, searches=1, cost=0.0123)),
    Finished("stop", extras=SIGNED),
)
"""Citations after the text, as Gemini reports them."""


class FakeClient(StubClient):
    """Answers with scripted events; a scripted error is raised."""

    def __init__(
        self,
        events: Sequence[Event | GroundwireError] = (),
        config: Config | None = None,
        statuses: Sequence[ProviderStatus] = (),
        findings: Mapping[str, list[LookupResult]] | None = None,
    ) -> None:
        super().__init__(config)
        self._events = events
        self._statuses = list(statuses)
        self._findings = dict(findings or {})
        self.requests: list[tuple[Request, str, str]] = []
        self.added: dict[str, tuple[ProviderSpec, Secret | None]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return ("gemini", "anthropic", "openai", *self.config.providers)

    async def stream(
        self,
        query: str | Request,
        *,
        provider: str = "auto",
        model: str = "",
        options: SearchOptions | None = None,
        max_cost: Decimal | float | None = None,
    ) -> AsyncGenerator[Event, None]:
        assert isinstance(query, Request)
        self.requests.append((query, provider, model))
        for event in self._events:
            await asyncio.sleep(0)
            if isinstance(event, GroundwireError):
                raise event
            yield event

    def providers(self) -> list[ProviderStatus]:
        return self._statuses

    def findings(self, name: str) -> list[LookupResult]:
        return self._findings.get(name, [])

    def add(self, row: ProviderSpec, key: Secret | None = None) -> None:
        self.added[row.name] = (row, key)


class Terminal(io.StringIO):
    """An output stream that reports itself as a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


NO_HOME = "/dev/null/home"
"""A home that nobody can create, not even root."""


class Bench:
    """Runs commands with a fake client, and captures their output."""

    def __init__(
        self,
        client: FakeClient | None = None,
        *,
        terminal: bool = False,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        cwd: str = "/nonexistent",
    ) -> None:
        self.client = client or FakeClient()
        self.out = Terminal() if terminal else io.StringIO()
        self.err = Terminal() if terminal else io.StringIO()
        self.console = Console(
            stdin=io.StringIO(stdin),
            stdout=self.out,
            stderr=self.err,
            env={"HOME": NO_HOME, **({"TERM": "xterm"} if terminal else {}), **(env or {})},
            cwd=cwd,
            clock=lambda: 1_800_000_000.0,
        )
        self.configs: list[Config] = []
        self.opened: list[str] = []
        """Addresses that were opened in the browser."""

        def connect(config: Config, env: Mapping[str, str]) -> FakeClient:
            self.configs.append(config)
            self.client.config = replace(config, providers=self.client.config.providers)
            return self.client

        def browse(url: str) -> bool:
            self.opened.append(url)
            return True

        self.console.connect = connect
        self.console.browse = browse

    def run(self, *words: str) -> int:
        """Run a command line."""
        return run_command(words[0], parse(list(words)), self.console)

    @property
    def stdout(self) -> str:
        return self.out.getvalue()

    @property
    def stderr(self) -> str:
        return self.err.getvalue()


def status(name: str, *, usable: bool = True, reason: str = "environment KEY") -> ProviderStatus:
    """The status of a provider."""
    options: dict[str, Support] = {"allowed_domains": "native", "since": "emulated"}
    return ProviderStatus(
        name,
        name.title(),
        usable,
        reason,
        f"{name}-model",
        "gemini",
        "https://x.example",
        Capabilities(options=options),
    )
