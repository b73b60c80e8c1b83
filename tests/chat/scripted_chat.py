"""A chat whose providers are scripted servers on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from time import time

from groundwire.chat.chat import Chat
from groundwire.chat.questions import ChatQuestion
from groundwire.chat.turns import Turn
from groundwire.client import Groundwire
from groundwire.config.schema import Config, ProviderSettings
from groundwire.model import Answer
from groundwire.store.base import Agent, StoredMessage
from groundwire.store.open import open_store
from groundwire.store.sql import SqlStore

SEARCHING = Agent("finder", {"en": "Finder", "de": "Finder"}, web_search=True)


@asynccontextmanager
async def open_chat(
    folder: Path,
    providers: Mapping[str, ProviderSettings],
    agent: Agent = SEARCHING,
    clock: Callable[[], float] = time,
    address: str = "",
) -> AsyncIterator[Chat]:
    """Open a chat with one agent, over a store in a folder or at a URL."""
    config = Config(providers=dict(providers), order=tuple(providers), data_dir=str(folder))
    with open_store(address or f"sqlite:///{folder}/chat.db") as store:
        async with Groundwire(config, env={"HOME": str(folder), "OPENAI_API_KEY": "sk-dummy"}) as groundwire:
            chat = Chat(groundwire, store, clock=clock)
            await chat.save_agent(agent, "")
            yield chat


def expire_leases(chat: Chat) -> None:
    """Expire all leases, as if their holders had died."""
    store = chat._store
    assert isinstance(store, SqlStore)
    with store._database.transaction() as transaction:
        transaction.rows("UPDATE groundwire_leases SET expires = 0", {})


async def answered(chat: Chat, question: ChatQuestion) -> Turn:
    """Ask a question and return the complete turn."""
    async with aclosing(chat.ask(question)) as turns:
        snapshots = [turn async for turn in turns]
    return snapshots[-1]


def answer_in(message: StoredMessage) -> Answer:
    """The answer that a stored message contains."""
    assert isinstance(message.content, Answer)
    return message.content
