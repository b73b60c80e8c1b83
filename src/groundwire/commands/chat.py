"""`groundwire chat`: a conversation in the terminal, stored like those of the chat page.

The event loop runs only while a question is answered. At the prompt the terminal belongs to readline.
"""

from __future__ import annotations

import asyncio
import re
import signal
import threading
import time
from argparse import Namespace
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from decimal import Decimal
from typing import NamedTuple

from groundwire.chat.agents import CITED_SEARCH
from groundwire.chat.answers import state_of, stopped
from groundwire.chat.chat import Chat, chat_for
from groundwire.chat.questions import ChatQuestion
from groundwire.chat.turns import Turn
from groundwire.client_protocol import ResolvedTarget, SearchClient
from groundwire.commands.config import open_client
from groundwire.commands.open import open_source
from groundwire.commands.runner import report_error
from groundwire.commands.search import AnswerWriter, answer_writer, asking, check_provider, report_end
from groundwire.commands.templates import chosen_target, filled_prompt, template_of
from groundwire.config.schema import TemplateSettings
from groundwire.errors import GroundwireError
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.console import DIM, RED, Console
from groundwire.faces.cli.last_sources import save_sources
from groundwire.faces.cli.live import Status
from groundwire.faces.cli.output import SearchQuestion, write_footer, write_sources
from groundwire.model import Answer, Event, Request, Source
from groundwire.model.value import replace, value
from groundwire.routing.resolve import AUTO
from groundwire.store.open import open_store, store_address
from groundwire.text.sanitise import one_line
from groundwire.text.sources import SourceNumberer, number_answer

LOCAL_OWNER = ""
"""The owner of conversations where no key is needed, as on the chat page."""

_PROMPT = "> "
_ONCE = "index_building"
"""A notice about the state of the index, not about an answer: it is shown once."""
_COMMAND = re.compile(r"/[a-z]+(?=\s|$)")
"""A path such as `/etc/hosts` begins a question."""


@value
class ChatOptions:
    """What the command line says about all questions of a conversation."""

    target: ResolvedTarget
    template: TemplateSettings = TemplateSettings()
    max_cost: Decimal | None = None
    """In USD, for each answer."""


def run_chat(arguments: Namespace, console: Console) -> int:
    """Answer questions until the input ends."""
    client = open_client(arguments, console)
    config = client.config
    target = ResolvedTarget(*chosen_target(arguments, config))
    check_provider(client, target.provider)
    options = ChatOptions(target, template_of(arguments, config), arguments.max_cost)
    # The store is closed last: an answer that is cancelled when the loop ends is still stored.
    with open_store(store_address(config.store, config.data_dir)) as store, asyncio.Runner() as runner:
        try:
            conversation = Conversation(chat_for(client, store), client, console, options)
            if arguments.resume:
                runner.run(conversation.resume())
            return ConversationPrompt(conversation, console, runner).run()
        finally:
            runner.run(client.aclose())


class StoppableAnswer:
    """The events of one answer: they are written as they arrive, and Ctrl-C ends them, so that exactly what
    was written is stored."""

    def __init__(self, client: SearchClient, options: ChatOptions, writer: AnswerWriter) -> None:
        self._client = client
        self._options = options
        self._writer = writer
        self._is_stopped = False
        self._reading: asyncio.Task[object] | None = None

    def stop(self) -> None:
        """End the answer; a second call ends the command."""
        if self._is_stopped:
            raise KeyboardInterrupt
        self._is_stopped = True
        if self._reading is not None:
            self._reading.cancel()

    async def batches(
        self, request: Request, target: ResolvedTarget
    ) -> AsyncGenerator[Sequence[Event], None]:
        """Ask the target that the user chose, else that of the agent."""
        chosen = self._options.target
        provider, model = target if chosen == ResolvedTarget(AUTO, "") else chosen
        self._reading = asyncio.current_task()
        try:
            if self._is_stopped:
                raise stopped()
            events = self._client.stream(
                request, provider=provider, model=model, max_cost=self._options.max_cost
            )
            async with aclosing(events):
                async for event in events:
                    self._writer.feed(event)
                    yield (event,)
        except asyncio.CancelledError:
            if not self._is_stopped:
                raise
            raise stopped() from None
        finally:
            self._reading = None


@contextmanager
def _on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on Ctrl-C for the duration of the block. Signals reach only the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, stop)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


class Conversation:
    """One conversation: its session in the store, its target, and its last answer."""

    def __init__(self, chat: Chat, client: SearchClient, console: Console, options: ChatOptions) -> None:
        self._chat = chat
        self._client = client
        self._console = console
        self._noted_building = False
        self.options = options
        self.begin()

    def begin(self) -> None:
        """Begin a new conversation; it is stored with its first question."""
        self._session = ""
        self._agent = CITED_SEARCH.id
        self.answer = Answer()
        self.sources: Sequence[Source] = ()
        """As they are numbered in the last answer."""

    async def resume(self) -> None:
        """Continue the conversation that was used last. Its agent stays, if that one searches."""
        sessions = await self._chat.sessions(LOCAL_OWNER, 1)
        if not sessions:
            self._console.note("There is no conversation yet; this is a new one.", DIM)
            return
        last = await self._chat.open(LOCAL_OWNER, sessions[0].id, limit=2)
        self._session = last.session.id
        self._agent = "" if last.agent.web_search else CITED_SEARCH.id
        for turn in last.turns:
            if isinstance(turn.content, Answer):
                self.answer, self.sources = turn.content, number_answer(turn.content).sources
        self._console.note(f"Continuing: {one_line(last.session.title)}", DIM)

    def choose_model(self, name: str) -> None:
        """Use another model from now on; raises `GroundwireError` if there is none of this name."""
        self._client.resolve(name)
        options = self.options
        self.options = ChatOptions(ResolvedTarget(AUTO, name), options.template, options.max_cost)

    async def ask(self, text: str) -> int:
        """Ask, write the answer, and store both; returns the exit code of this question."""
        # The loop stood still at the prompt: let it notice which connections were closed meanwhile.
        await asyncio.sleep(0)
        console, options = self._console, self.options
        # Only the first question fills in the template: follow-up questions refer to it.
        query = text if self._session else filled_prompt(options.template, text)
        status = Status(console, time.monotonic)
        writer = answer_writer(console, status)
        live = StoppableAnswer(self._client, options, writer)
        status.show(asking(options.target.provider))
        began = time.monotonic()
        question = ChatQuestion(query, LOCAL_OWNER, self._session, self._agent)
        with _on_interrupt(live.stop):
            async with status.spinning():
                turn = await self._last_state(question, live)
            self.answer = turn.answer.content if isinstance(turn.answer.content, Answer) else Answer()
            self.sources = writer.finish(self.answer)
            shown = SearchQuestion(query, *options.target)
            write_footer(console, self._without_repeated_notice(), shown, time.monotonic() - began)
            if self.answer.error is None or self.sources:
                save_sources(self._client.config.data_dir, self.sources)
        if state_of(self.answer) == "stopped":
            console.note("Interrupted. The received part is stored.", DIM)
            return exit_codes.INTERRUPTED
        return report_end(self.answer, shown, console)

    def _without_repeated_notice(self) -> Answer:
        """The answer, without the notice that was shown for an earlier one."""
        answer = self.answer
        if self._noted_building:
            return replace(answer, warnings=tuple(one for one in answer.warnings if one.code != _ONCE))
        self._noted_building = any(warning.code == _ONCE for warning in answer.warnings)
        return answer

    async def _last_state(self, question: ChatQuestion, live: StoppableAnswer) -> Turn:
        """Run the turn to its end."""
        last: Turn | None = None
        async with aclosing(self._chat.ask(question, live.batches)) as turns:
            async for turn in turns:
                # The session is known as soon as the question is stored: the next one belongs to it.
                self._session, last = turn.session.id, turn
        if last is None:
            raise GroundwireError("the question was not stored")
        return last

    def show_sources(self) -> None:
        """Write the sources of the last answer once more."""
        if not self.sources:
            self._console.note("The last answer has no sources.")
            return
        numberer = SourceNumberer()
        for source in self.sources:
            numberer.number(source)
        write_sources(self._console, numberer, (), self.answer)


class ChatCommand(NamedTuple):
    """A command of the prompt."""

    run: Callable[[ConversationPrompt, str], int]
    about: str


class ConversationPrompt:
    """Reads questions and commands, line by line."""

    def __init__(self, conversation: Conversation, console: Console, runner: asyncio.Runner) -> None:
        self._conversation = conversation
        self._console = console
        self._runner = runner
        self._is_interactive = console.stdin.isatty()
        self._has_answered = False
        self._is_over = False

    def run(self) -> int:
        """Read to the end. In a pipe, the exit code is that of the first question that failed."""
        if self._is_interactive:
            self._console.note("Ask a question. /help lists the commands, Ctrl-D ends.", DIM)
        failed: int = exit_codes.OK
        while (line := self._next_line()) is not None:
            if not line.strip():
                continue
            code = self._handle(line)
            if self._is_over:
                break
            if self._is_interactive:
                self._console.note("")
                continue
            failed = failed or code
            if code == exit_codes.INTERRUPTED:
                break
        return failed

    def _next_line(self) -> str | None:
        while True:
            try:
                line = self._console.read_line(_PROMPT)
            except KeyboardInterrupt:
                if not self._is_interactive:
                    raise
                self._console.note("\nCtrl-D or /quit ends the conversation.", DIM)
                continue
            if line is None and self._is_interactive:
                self._console.note("")  # the prompt of the shell needs a line of its own
            return line

    def _handle(self, line: str) -> int:
        try:
            if not (match := _COMMAND.match(line)):
                return self._ask(line.strip())
            if match[0] not in COMMANDS:
                self._console.note(
                    f"{match[0]} is not a command; /help lists them. A question that begins with / needs a "
                    "blank before it.",
                    RED,
                )
                return exit_codes.USAGE
            return COMMANDS[match[0]].run(self, line[match.end() :].strip())
        except GroundwireError as error:
            return report_error(error, self._console)

    def _ask(self, question: str) -> int:
        if self._has_answered and not self._is_interactive:
            self._console.write("\n")
        self._has_answered = True
        return self._runner.run(self._conversation.ask(question))

    def help(self, _: str) -> int:
        """List the commands."""
        for name, command in COMMANDS.items():
            self._console.note(f"  {name:<12}{command.about}")
        self._console.note("  Ctrl-C      stop the answer and keep the received part\n  Ctrl-D      exit")
        return exit_codes.OK

    def quit(self, _: str) -> int:
        """End the conversation."""
        self._is_over = True
        return exit_codes.OK

    def new(self, _: str) -> int:
        """Begin a new conversation."""
        self._conversation.begin()
        self._console.note("This is a new conversation.", DIM)
        return exit_codes.OK

    def sources(self, _: str) -> int:
        """Show the sources of the last answer."""
        self._conversation.show_sources()
        return exit_codes.OK

    def open(self, text: str) -> int:
        """Open a source of the last answer."""
        if not text.isdecimal():
            self._console.note("Which source? For example: /open 1", RED)
            return exit_codes.USAGE
        return open_source(int(text[:9]), self._conversation.sources, self._console)

    def model(self, name: str) -> int:
        """Choose a model, or show the chosen one."""
        if name:
            self._conversation.choose_model(name)
        provider, model = self._conversation.options.target
        shown = "/".join(part for part in (provider, model) if part) if provider != AUTO else model or AUTO
        self._console.note(f"Model: {shown}", DIM)
        return exit_codes.OK


COMMANDS: Mapping[str, ChatCommand] = {
    "/help": ChatCommand(ConversationPrompt.help, "show this list"),
    "/quit": ChatCommand(ConversationPrompt.quit, "exit"),
    "/new": ChatCommand(ConversationPrompt.new, "begin a new conversation"),
    "/sources": ChatCommand(ConversationPrompt.sources, "show the sources of the last answer"),
    "/open": ChatCommand(ConversationPrompt.open, "N: open a source of the last answer"),
    "/model": ChatCommand(
        ConversationPrompt.model, "NAME: use another model; without a name: show the current one"
    ),
}
