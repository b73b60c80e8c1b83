"""The GitHub Copilot CLI as a provider: a subprocess that may do nothing but search.

Its web search runs at GitHub and has no other door; a model must be asked to use it. So everything about
the call is confined (`copilot_command`, `copilot_sandbox`), and what comes back is believed as little as
possible (`copilot_output`). A search takes half a minute to a minute; few run at once, the others wait.

Never used unless the user chooses it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from secrets import token_hex
from weakref import WeakKeyDictionary

from groundwire.credentials.redact import Redactor
from groundwire.errors import ConfigError, GroundwireError, Overloaded, Refused, TimedOut, Unreachable
from groundwire.model import Event, Failed, Finished, Request, Started, Warned
from groundwire.model.value import replace
from groundwire.providers.capabilities import Capabilities
from groundwire.providers.copilot_command import CopilotSettings, arguments, prompt, query_of
from groundwire.providers.copilot_egress import Dial, dial, egress
from groundwire.providers.copilot_output import Output
from groundwire.providers.copilot_sandbox import (
    Folder,
    Tools,
    confined,
    environment,
    find_program,
    find_tools,
    make_folder,
    probe,
)
from groundwire.providers.policy import Audit, prepare, refuse_foreign_context
from groundwire.transport.process import ProcessCommand, ProcessLimits, start_process

NAME = "copilot"
TITLE = "GitHub Copilot CLI"
CAPABILITIES = Capabilities(
    streaming=False,
    functions_with_search=False,
    options={"allowed_domains": "emulated", "blocked_domains": "emulated"},
)
_NO_JSON_LINES = re.compile(r"unknown option.{0,10}--(?:output-format|stream)")


def fresh_mark() -> str:
    """A delimiter that nobody can guess."""
    return token_hex(16)


class CopilotProvider:
    """Searches by way of the user's Copilot CLI."""

    def __init__(
        self,
        settings: CopilotSettings,
        redactor: Redactor,
        *,
        mark: Callable[[], str] = fresh_mark,
        concurrent: int = 2,
        dial: Dial = dial,
    ) -> None:
        self._settings = settings
        self._redactor = redactor
        self._mark = mark
        self._concurrent = concurrent
        self._dial = dial
        self._gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
        self._tools: Tools | None = None
        self._silent = False
        redactor.add(settings.token)

    @property
    def name(self) -> str:
        return NAME

    @property
    def model(self) -> str:
        return self._settings.model

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def trouble(self) -> str:
        """Why the CLI cannot be used, and what to do; empty if it can, as far as can be seen from outside."""
        try:
            self._program()
        except ConfigError as error:
            return error.message
        return ""

    async def confinement(self) -> str:
        """How the CLI is confined, for people."""
        tools = await self._confining()
        if tools.bwrap:
            network = "with the whole network" if tools.keeps_network else "that leads to GitHub alone"
            return f"runs in a sandbox {network} (bubblewrap)"
        return "runs without a sandbox, limited to its search tool; install bubblewrap to confine it"

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """The answer: told when the search has returned, because the CLI streams nothing worth reading."""
        try:
            program = self._program()
            query = query_of(request)
            refuse_foreign_context(request, NAME)
            prepared = prepare(request, CAPABILITIES, NAME)
            model = request.model or self._settings.model
            asked = prompt(prepared.request, query, self._mark)
            arguments(model)  # refuses a bad name before anything is said
            for warning in (*prepared.warnings, *_unsaid(request)):
                yield warning
            audit = Audit(prepared.audited) if prepared.audited else None
            run = self._answer(program, model, asked, query)
            async with self._turn(), aclosing(_told(run)) as events:
                async for event in events:
                    for told in audit.check(event) if audit else (event,):
                        yield self._clean(told)
        except GroundwireError as error:
            raise self._redactor.cleaned(error) from None

    async def _answer(
        self, program: str, model: str, asked: bytes, query: str
    ) -> AsyncGenerator[Event, None]:
        """One run; a second one for a CLI that turns out to know no JSON lines."""
        for silent in (self._silent, True):
            async with aclosing(self._run(program, arguments(model, silent=silent), asked, query)) as events:
                async for event in events:
                    if isinstance(event, Failed) and not silent and _knows_no_json_lines(event.error):
                        self._silent = True
                        break
                    yield event
                    if isinstance(event, Failed | Finished):
                        return

    async def _run(
        self, program: str, flags: tuple[str, ...], asked: bytes, query: str
    ) -> AsyncGenerator[Event, None]:
        settings = self._settings
        tools = await self._confining()
        output = Output(query)
        async with _folder(settings.login) as folder, self._door(folder, tools):
            argv = confined((program, *flags), folder, tools, settings)
            command = ProcessCommand(argv, environment(folder, tools, settings), folder.work, asked)
            async with start_process(command, ProcessLimits(seconds=settings.seconds)) as process:
                try:
                    async with aclosing(process.lines()) as lines:
                        async for line in lines:
                            for event in output.feed(line):
                                yield event
                            if output.is_complete:
                                break
                    code, errors = (0, b"") if output.is_complete else await process.end()
                except TimedOut:
                    raise _late(settings.seconds) from None
                for event in output.close(code, errors):
                    yield event

    def _program(self) -> str:
        if self._settings.problem:
            raise ConfigError(self._settings.problem)
        return find_program(self._settings.path, self._settings.search)

    async def _confining(self) -> Tools:
        """What there is to confine with, and works: bubblewrap may be forbidden where it is installed."""
        if self._tools is None:
            tools = find_tools(self._settings.search)
            choices = (tools, replace(tools, keeps_network=True))
            chosen = replace(tools, bwrap="")
            for choice in choices if self._settings.sandbox and tools.bwrap else ():
                if await _works(choice):
                    chosen = choice
                    break
            self._tools = chosen  # not before: whoever asks meanwhile must not go without
        return self._tools

    def _door(self, folder: Folder, tools: Tools) -> AbstractAsyncContextManager[None]:
        """The way out of a sandbox that has no network."""
        if not tools.bwrap or tools.keeps_network:
            return nullcontext()
        return egress(folder.door, self._settings.env, self._dial)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Wait for one of the places, as long as an answer may take."""
        gate = self._gates.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._concurrent))
        try:
            async with asyncio.timeout(self._settings.seconds):
                await gate.acquire()
        except TimeoutError:
            raise Overloaded(
                f"{self._concurrent} searches are running through the Copilot CLI, and none ended in time"
            ) from None
        try:
            yield
        finally:
            gate.release()

    def _clean(self, event: Event) -> Event:
        match event:
            case Failed(error):
                return Failed(self._redactor.cleaned(error))
            case Warned(code, message):
                return Warned(code, self._redactor.redact_known(message))
        return event


async def _told(run: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    """The events of a run: a failure before the first visible one is raised, a later one is told."""
    begun = False
    try:
        async with aclosing(run) as events:
            async for event in events:
                if isinstance(event, Failed) and not begun:
                    raise event.error
                begun = begun or not isinstance(event, Started | Warned)
                yield event
    except GroundwireError as error:
        if not begun:
            raise
        yield Failed(error)


@asynccontextmanager
async def _folder(login: str) -> AsyncIterator[Folder]:
    folder = make_folder(login)
    try:
        yield folder
    finally:
        # The CLI leaves 200 MB; a thread removes them, also if nobody waits for it any more.
        await asyncio.to_thread(folder.remove)


async def _works(tools: Tools) -> bool:
    try:
        async with start_process(ProcessCommand(probe(tools), {}, "/"), ProcessLimits(seconds=5)) as process:
            code, _ = await process.end()
    except Unreachable:
        return False  # a time-out is no answer: it must not cost the sandbox
    return code == 0


def _late(seconds: float) -> TimedOut:
    return TimedOut(
        f"the Copilot CLI did not answer within {seconds:g} s; set WEB_SEARCH_TIMEOUT (milliseconds) to wait "
        "longer"
    )


def _unsaid(request: Request) -> tuple[Warned, ...]:
    """What a search tool has no use for. Nothing is dropped in silence."""
    said = {
        "a conversation: only the last question was sent": len(request.messages) > 1,
        "functions": bool(request.tools),
        "way to answer without searching": request.search is None,
    }
    return tuple(Warned("not_carried", f"{NAME} has no {name}") for name, is_said in said.items() if is_said)


def _knows_no_json_lines(error: GroundwireError) -> bool:
    return isinstance(error, Refused) and _NO_JSON_LINES.search(error.message) is not None
