"""`groundwire history`: lists, searches and shows the conversations of the terminal and of the chat page."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Callable, Coroutine, Iterator
from datetime import datetime

from groundwire.chat.answers import extract, is_unreadable, state_of
from groundwire.chat.chat import Chat, chat_for
from groundwire.chat.export import session_as_json, session_as_markdown
from groundwire.chat.turns import SessionReader
from groundwire.commands.chat import LOCAL_OWNER
from groundwire.commands.config import open_client
from groundwire.dialects.json import dump_json
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import BOLD, DIM, RED, Console, styled
from groundwire.faces.cli.output import as_text
from groundwire.model import Json, Message
from groundwire.model.value import value
from groundwire.store.base import Session, StoredMessage
from groundwire.store.open import open_store, store_address
from groundwire.text.sanitise import escape_invisible_json, one_line, sanitise

_SHORT_ID = 8
_PAGE = 200
"""Sessions that are read at a time, and messages that are searched for."""

Excerpt = list[tuple[str, bool]]
"""Pieces of text, with a flag that marks hits."""


@value
class HistoryEntry:
    """A conversation, and where the words of a query are in it."""

    session: Session
    excerpts: tuple[tuple[StoredMessage, Excerpt], ...] = ()


def run_history(arguments: Namespace, console: Console) -> int:
    """List, search or show."""
    words: list[str] = arguments.query
    if words[:1] == ["show"] and len(words) == 2:
        if arguments.json and arguments.markdown:
            raise UsageError("--json and --markdown cannot be used together")
        return _with_chat(arguments, console, lambda chat: _show(chat, words[1], arguments, console))
    if arguments.markdown:
        raise UsageError("--markdown is for one conversation: groundwire history show ID --markdown")
    return _with_chat(arguments, console, lambda chat: _list(chat, " ".join(words), arguments, console))


def _with_chat(
    arguments: Namespace, console: Console, run: Callable[[Chat], Coroutine[None, None, int]]
) -> int:
    client = open_client(arguments, console)
    config = client.config
    with open_store(store_address(config.store, config.data_dir)) as store:

        async def run_and_close() -> int:
            try:
                return await run(chat_for(client, store))
            finally:
                await client.aclose()

        return asyncio.run(run_and_close())


async def _list(chat: Chat, query: str, arguments: Namespace, console: Console) -> int:
    limit: int = arguments.limit
    if query.strip():
        entries = await _search(chat, query, limit)
    else:
        entries = [HistoryEntry(session) for session in await chat.sessions(LOCAL_OWNER, limit)]
    if arguments.json:
        conversations: list[Json] = [_encode(entry) for entry in entries]
        console.write(escape_invisible_json(dump_json({"version": 1, "conversations": conversations})) + "\n")
    else:
        for entry in entries:
            _write_entry(entry, console)
    if entries:
        return exit_codes.OK
    found = f"no conversation contains {query!r}" if query.strip() else "there is no conversation yet"
    console.note(f"groundwire: {found}")
    return exit_codes.NOTHING_FOUND


async def _search(chat: Chat, query: str, limit: int) -> list[HistoryEntry]:
    """The conversations with messages that contain the words, the latest first."""
    found: dict[str, tuple[Session, list[tuple[StoredMessage, Excerpt]]]] = {}
    for session, turn in await chat.find(LOCAL_OWNER, query, _PAGE):
        _, excerpts = found.setdefault(session.id, (session, []))
        excerpts.append((turn, extract(one_line(turn.content.text), query)))
    return [HistoryEntry(session, tuple(excerpts)) for session, excerpts in found.values()][:limit]


def _encode(entry: HistoryEntry) -> Json:
    session = entry.session
    encoded: dict[str, Json] = {
        "id": session.id,
        "title": session.title,
        "created": session.created,
        "updated": session.updated,
    }
    if entry.excerpts:
        encoded["matches"] = [
            {
                "number": turn.number,
                "role": "user" if isinstance(turn.content, Message) else "assistant",
                "excerpt": "".join(text for text, _ in excerpt),
            }
            for turn, excerpt in entry.excerpts
        ]
    return encoded


def _write_entry(entry: HistoryEntry, console: Console) -> None:
    session = entry.session
    head = f"{session.id[:_SHORT_ID]}  {_local_time(session.updated)}"
    title = one_line(session.title) or "(no title)"
    console.write(f"{styled(head, DIM) if console.colored else head}  {title}\n")
    for _, excerpt in entry.excerpts[:1]:
        pieces = (styled(text, BOLD) if hit and console.colored else text for text, hit in excerpt)
        console.write(f"    {''.join(pieces)}\n")


def _local_time(text: str) -> str:
    try:
        return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:  # a damaged row
        return one_line(text)[:16]


async def _show(chat: Chat, prefix: str, arguments: Namespace, console: Console) -> int:
    sessions = await _sessions_with(chat, prefix)
    if len(sessions) != 1:
        several = f"{len(sessions)} conversations begin with {prefix!r}; write more of the id"
        none = f'there is no conversation {prefix!r}; to search for words: groundwire history "show {prefix}"'
        console.note(f"groundwire: {several if sessions else none}", RED)
        return exit_codes.USAGE if sessions else exit_codes.NOTHING_FOUND
    reader = await chat.read_session(LOCAL_OWNER, sessions[0].id)
    if arguments.json:
        chunks = session_as_json(reader)
    elif arguments.markdown:
        chunks = session_as_markdown(reader)
    else:
        chunks = _as_text(reader, console)
    for chunk in chunks:
        console.write(chunk)
    if arguments.json:
        console.write("\n")
    return exit_codes.OK


async def _sessions_with(chat: Chat, prefix: str) -> list[Session]:
    """The conversations whose id begins so; an id is a path of the chat page, which may be pasted whole."""
    wanted = prefix.rpartition("/")[2].lower()
    found: list[Session] = []
    before: Session | None = None
    while page := await chat.sessions(LOCAL_OWNER, _PAGE, before):
        found += (session for session in page if wanted and session.id.startswith(wanted))
        before = page[-1]
    return found


def _as_text(reader: SessionReader, console: Console) -> Iterator[str]:
    title = one_line(reader.session.title)
    yield f"{styled(title, BOLD) if console.colored else title}\n"
    for turn in reader.turns:
        content = turn.content
        if isinstance(content, Message):
            yield "\n" + "".join(f"> {line}\n" for line in sanitise(content.text).split("\n")) + "\n"
            continue
        state = "unreadable" if is_unreadable(content) else state_of(content)
        text = as_text(content).strip("\n")
        yield f"{text}\n" if text else ""
        if state != "done":
            yield f"({state})\n"
