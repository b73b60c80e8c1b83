"""Sessions, turns and agents of one key are not accessible to another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest

from groundwire.chat.agents import CITED_SEARCH, DEFAULT
from groundwire.chat.chat import Chat
from groundwire.chat.questions import ChatQuestion
from groundwire.errors import TurnedAway
from groundwire.model import Message, Text
from groundwire.model.value import replace
from groundwire.store.base import Agent, Session, Store, StoredMessage
from groundwire.store.open import open_store
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.chat.scripted_chat import SEARCHING, answered, open_chat
from tests.faces.gateway.serving import provider_at
from tests.figures import Figures

pytestmark = pytest.mark.server

PRIVATE_AGENT = Agent("mine", {"en": "Mine"}, prompt={"en": "My secret prompt"})


async def refused(call: Awaitable[object]) -> None:
    with pytest.raises(TurnedAway) as caught:
        await call
    assert caught.value.status_hint == 404


async def test_an_agent_belongs_to_its_creator(tmp_path: Path) -> None:
    async with open_chat(tmp_path, {}) as chat:
        stored = await chat.save_agent(PRIVATE_AGENT, "me")
        assert [agent.id for agent in await chat.agents("me")] == ["finder", "mine"]
        assert [agent.id for agent in await chat.agents("you")] == ["finder"]
        await refused(chat.agent("mine", "you"))
        await refused(chat.remove_agent("mine", "you"))
        await refused(anext(chat.ask(ChatQuestion("What?", "you", agent="mine"))))
        assert await chat.agent("mine", "me") == stored
        await chat.remove_agent("mine", "me")
        await refused(chat.agent("mine", "me"))


async def test_changing_the_agent_of_another_owner_creates_a_copy(tmp_path: Path) -> None:
    async with open_chat(tmp_path, {}) as chat:
        await chat.save_agent(PRIVATE_AGENT, "me")
        for other in (PRIVATE_AGENT, SEARCHING, DEFAULT, CITED_SEARCH):
            before = await chat.agent(other.id, "me")
            copy = await chat.save_agent(replace(other, model="theirs"), "you")
            assert copy.id != other.id
            assert copy.owner == "you"
            assert await chat.agent(copy.id, "you") == copy
            assert await chat.agent(other.id, "me") == before
        await refused(chat.remove_agent("finder", "you"))
        assert (await chat.agent("finder", "you")).model == ""


async def test_the_owner_field_cannot_transfer_an_agent(tmp_path: Path) -> None:
    async with open_chat(tmp_path, {}) as chat:
        stored = await chat.save_agent(replace(PRIVATE_AGENT, owner=""), "me")
        assert stored.owner == "me"
        taken = await chat.save_agent(replace(stored, owner="me", model="x"), "you")
        assert (taken.owner, (await chat.agent("mine", "me")).model) == ("you", "")


async def test_a_session_whose_agent_belongs_to_another_owner_uses_the_default_agent(tmp_path: Path) -> None:
    async with (
        Upstream(answer("openai_chat", answer_events("Said."))) as upstream,
        open_chat(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as chat,
    ):
        await chat.save_agent(PRIVATE_AGENT, "me")
        turn = await answered(chat, ChatQuestion("What?", "me", agent="mine"))
        await chat.remove_agent("mine", "me")
        await chat.save_agent(replace(PRIVATE_AGENT, prompt={"en": "Tell me everything"}), "you")
        assert (await chat.open("me", turn.session.id)).agent == DEFAULT
        await answered(chat, ChatQuestion("And?", "me", turn.session.id))
        assert b"Tell me everything" not in upstream.requests[-1].body


Attempt = Callable[[Chat, str, str], Awaitable[object]]
ATTEMPTS: dict[str, Attempt] = {
    "read": lambda chat, owner, name: chat.open(owner, name),
    "export": lambda chat, owner, name: chat.read_session(owner, name),
    "rename": lambda chat, owner, name: chat.rename(owner, name, "Theirs"),
    "remove": lambda chat, owner, name: chat.remove(owner, name),
    "ask": lambda chat, owner, name: anext(chat.ask(ChatQuestion("What?", owner, name))),
    "agent": lambda chat, owner, name: chat.agent(f"a{name}", owner),
    "remove agent": lambda chat, owner, name: chat.remove_agent(f"a{name}", owner),
}


def fill(store: Store, owners: int) -> dict[str, str]:
    """Store sessions and agents of many owners; return the owner of each session."""
    owners_by_session = {}
    for number in range(owners):
        owner, name = f"owner{number}", f"s{number}"
        store.put_session(Session(name, f"a{name}", owner, f"secret of {owner}", "2026-01-01", "2026-01-01"))
        message = Message("user", (Text(f"secret of {owner}"),))
        store.add_message(StoredMessage(f"m{name}", name, message, created="2026-01-01"))
        store.put_agent(Agent(f"a{name}", {"en": "Secret"}, owner=owner))
        owners_by_session[name] = owner
    return owners_by_session


@pytest.mark.parametrize("attempts", [400, pytest.param(10_000, marks=pytest.mark.thorough)])
async def test_ids_give_no_access_to_data_of_other_owners(
    attempts: int, tmp_path: Path, figures: Figures
) -> None:
    rng = Random(12)
    with open_store(f"sqlite:///{tmp_path}/chat.db") as store:
        owners_by_session = fill(store, 25)

    async with open_chat(tmp_path, {}) as chat:
        for _ in range(attempts):
            name = rng.choice(list(owners_by_session))
            other = rng.choice(
                [owner for owner in (*owners_by_session.values(), "") if owner != owners_by_session[name]]
            )
            attempt = rng.choice(list(ATTEMPTS))
            await refused(ATTEMPTS[attempt](chat, other, name))
        figures.add("S12", "attempts with ids of other owners, all refused", attempts)
        for name, owner in owners_by_session.items():
            opened = await chat.open(owner, name)
            assert (opened.session.title, opened.agent.id) == (f"secret of {owner}", f"a{name}")
            found = await chat.find(owner, "secret of")
            assert [message.content.text for _, message in found] == [f"secret of {owner}"]
            assert {agent.owner for agent in await chat.agents(owner)} == {"", owner}
