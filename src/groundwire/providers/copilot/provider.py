"""GitHub Copilot CLI as a provider: a subprocess that is confined to its web search tool.

The web search runs at GitHub and has no API of its own; the CLI's model must be asked to use it. So the
command line (`command`) and the process (`sandbox`, `egress`) are confined, and only what the tool itself
returned is trusted (`output`). A search takes half a minute to a minute; few run at once, others wait.

`create_provider` is a `ProviderFactory`, as an installed package would register one. The provider is used
only if the user enables it or names it.
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
from groundwire.providers.copilot.command import CopilotSettings, arguments, prompt, query_of, settings_from
from groundwire.providers.copilot.egress import Dial, dial, egress
from groundwire.providers.copilot.sandbox import (
    RunFolder,
    SandboxTools,
    create_run_folder,
    environment,
    find_program,
    find_sandbox_tools,
    probe_command,
    sandboxed_command,
)
from groundwire.providers.policy import Audit, Capabilities, prepare, refuse_foreign_context
from groundwire.providers.spec import Batches, ProviderContext, ProviderPlugin
from groundwire.transport.process import ProcessCommand, ProcessLimits, start_process

NAME = "copilot"
TITLE = "GitHub Copilot CLI"
CAPABILITIES = Capabilities(
    streaming=False,
    functions_with_search=False,
    options={"allowed_domains": "emulated", "blocked_domains": "emulated"},
)
_UNKNOWN_OUTPUT_FORMAT = re.compile(r"unknown option.{0,10}--(?:output-format|stream)")


def create_provider(context: ProviderContext) -> ProviderPlugin:
    """The provider, by the user's environment and settings."""
    settings = context.settings
    provider = CopilotProvider(
        settings_from(context.environment, context.home, model=settings.model, seconds=context.timeout),
        context.redactor,
    )
    enabled = settings.enabled is True

    def reason() -> str:
        problem = provider.problem()
        return problem or ("enabled" if enabled else "set providers.copilot.enabled = true, or name it")

    return ProviderPlugin(
        provider,
        TITLE,
        is_usable=lambda: enabled and not provider.problem(),
        reason=reason,
        dialect="its command line",
    )


def random_delimiter() -> str:
    """A delimiter that cannot be guessed."""
    return token_hex(16)


class CopilotProvider:
    """Searches with the user's Copilot CLI."""

    def __init__(
        self,
        settings: CopilotSettings,
        redactor: Redactor,
        *,
        delimiter: Callable[[], str] = random_delimiter,
        concurrent: int = 2,
        dial: Dial = dial,
    ) -> None:
        self._settings = settings
        self._redactor = redactor
        self._delimiter = delimiter
        self._concurrent = concurrent
        self._dial = dial
        self._semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )
        self._tools: SandboxTools | None = None
        self._plain_output = False
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

    def problem(self) -> str:
        """Why the CLI cannot be used and what to do; empty if it is installed and enabled."""
        try:
            self._program()
        except ConfigError as error:
            return error.message
        return ""

    async def confinement(self) -> str:
        """How the CLI is confined, in words for the user."""
        tools = await self._sandbox_tools()
        if tools.bwrap:
            network = "with the whole network" if tools.keeps_network else "that leads to GitHub alone"
            return f"runs in a sandbox {network} (bubblewrap)"
        return "runs without a sandbox, limited to its search tool; install bubblewrap to confine it"

    async def batches(self, request: Request) -> Batches:
        """The answer, once the search has returned: what the CLI streams before is not used."""
        try:
            program = self._program()
            query = query_of(request)
            refuse_foreign_context(request, NAME)
            prepared = prepare(request, CAPABILITIES, NAME)
            model = request.model or self._settings.model
            stdin = prompt(prepared.request, query, self._delimiter)
            arguments(model)  # refuses a bad model name before the first event
            if warnings := (*prepared.warnings, *_not_carried(request)):
                yield warnings
            audit = Audit(prepared.audited) if prepared.audited else None
            run = self._answer(program, model, stdin, query)
            async with self._slot(), aclosing(_raise_early_failure(run)) as events:
                async for event in events:
                    checked = audit.check(event) if audit else (event,)
                    if batch := [self._redacted(item) for item in checked]:
                        yield batch
        except GroundwireError as error:
            raise self._redactor.cleaned(error) from None

    async def _answer(
        self, program: str, model: str, stdin: bytes, query: str
    ) -> AsyncGenerator[Event, None]:
        """Run the CLI; run it again without `--output-format` if its version does not know that option."""
        for plain in (self._plain_output, True):
            flags = arguments(model, plain_output=plain)
            async with aclosing(self._run(program, flags, stdin, query)) as events:
                async for event in events:
                    if isinstance(event, Failed) and not plain and _lacks_json_output(event.error):
                        self._plain_output = True
                        break
                    yield event
                    if isinstance(event, Failed | Finished):
                        return

    async def _run(
        self, program: str, flags: tuple[str, ...], stdin: bytes, query: str
    ) -> AsyncGenerator[Event, None]:
        from groundwire.providers.copilot.output import OutputReader  # noqa: PLC0415  most clients never run it

        settings = self._settings
        tools = await self._sandbox_tools()
        output = OutputReader(query)
        async with _run_folder(settings.login) as folder, self._egress(folder, tools):
            argv = sandboxed_command((program, *flags), folder, tools, settings)
            command = ProcessCommand(argv, environment(folder, tools, settings), folder.work, stdin)
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
                    raise _timed_out(settings.seconds) from None
                for event in output.close(code, errors):
                    yield event

    def _program(self) -> str:
        if self._settings.problem:
            raise ConfigError(self._settings.problem)
        return find_program(self._settings.path, self._settings.search)

    async def _sandbox_tools(self) -> SandboxTools:
        """The sandbox programs that work here: bubblewrap may be installed and yet forbidden."""
        if self._tools is None:
            tools = find_sandbox_tools(self._settings.search)
            choices = (tools, replace(tools, keeps_network=True))
            chosen = replace(tools, bwrap="")
            for choice in choices if self._settings.sandbox and tools.bwrap else ():
                if await _sandbox_works(choice):
                    chosen = choice
                    break
            self._tools = chosen  # set last: a concurrent request must not run without the sandbox
        return self._tools

    def _egress(self, folder: RunFolder, tools: SandboxTools) -> AbstractAsyncContextManager[None]:
        """The egress proxy of a sandbox without a network."""
        if not tools.bwrap or tools.keeps_network:
            return nullcontext()
        return egress(folder.egress_socket, self._settings.env, self._dial)

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        """Wait for one of the concurrent runs to end, no longer than a run may take."""
        semaphore = self._semaphores.setdefault(
            asyncio.get_running_loop(), asyncio.Semaphore(self._concurrent)
        )
        try:
            async with asyncio.timeout(self._settings.seconds):
                await semaphore.acquire()
        except TimeoutError:
            raise Overloaded(
                f"{self._concurrent} searches are running through the Copilot CLI, and none ended in time"
            ) from None
        try:
            yield
        finally:
            semaphore.release()

    def _redacted(self, event: Event) -> Event:
        match event:
            case Failed(error):
                return Failed(self._redactor.cleaned(error))
            case Warned(code, message):
                return Warned(code, self._redactor.redact_known(message))
        return event


async def _raise_early_failure(run: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    """The events of a run. A failure before the first visible one is raised; a later one is an event."""
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
async def _run_folder(login: str) -> AsyncIterator[RunFolder]:
    folder = create_run_folder(login)
    try:
        yield folder
    finally:
        # The CLI leaves 200 MB; a thread removes them, even if this task is cancelled.
        await asyncio.to_thread(folder.remove)


async def _sandbox_works(tools: SandboxTools) -> bool:
    try:
        async with start_process(
            ProcessCommand(probe_command(tools), {}, "/"), ProcessLimits(seconds=5)
        ) as process:
            code, _ = await process.end()
    except Unreachable:
        return False  # a timeout is not caught: it does not prove that the sandbox is missing
    return code == 0


def _timed_out(seconds: float) -> TimedOut:
    return TimedOut(
        f"the Copilot CLI did not answer within {seconds:g} s; set WEB_SEARCH_TIMEOUT (milliseconds) to wait "
        "longer"
    )


def _not_carried(request: Request) -> tuple[Warned, ...]:
    """A warning for everything in the request that the CLI cannot be given."""
    present = {
        "a conversation: only the last question was sent": len(request.messages) > 1,
        "functions": bool(request.tools),
        "way to answer without searching": request.search is None,
    }
    return tuple(
        Warned("not_carried", f"{NAME} has no {name}") for name, is_present in present.items() if is_present
    )


def _lacks_json_output(error: GroundwireError) -> bool:
    return isinstance(error, Refused) and _UNKNOWN_OUTPUT_FORMAT.search(error.message) is not None
