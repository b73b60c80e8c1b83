"""Values as rows, and back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from groundwire.dialects.jsontext import dump_json, load_json
from groundwire.errors import ClientWireError
from groundwire.model import Answer, Json, JsonObject, Message, Usage
from groundwire.model.json import decode, encode
from groundwire.model.value import field_names
from groundwire.store.base import Agent, Session, StoredMessage, Texts, UsageRow, UsageTotal

Cell: TypeAlias = str | int | float | None
Row: TypeAlias = Sequence[object]
Values: TypeAlias = Mapping[str, Cell]

# What a column of text cannot hold everywhere; JSON has escapes for it.
_UNKEPT = re.compile("[\x00\ud800-\udfff]")


def sound(**cells: Cell) -> dict[str, Cell]:
    """Values for a statement, in signs that every database takes."""
    return {
        name: _UNKEPT.sub("\ufffd", cell) if isinstance(cell, str) else cell for name, cell in cells.items()
    }


def agent_values(agent: Agent) -> dict[str, Cell]:
    body: JsonObject = {
        "name": {**agent.name},
        "description": {**agent.description},
        "prompt": {**agent.prompt},
        "provider": agent.provider,
        "model": agent.model,
        "web_search": agent.web_search,
        "rest": agent.rest,
        "owner": agent.owner,
    }
    return sound(id=agent.id, body=dump_json(body), created=agent.created, updated=agent.updated)


def agent_of(row: Row) -> Agent:
    key, text, created, updated = cast("tuple[str, str, str, str]", tuple(row))
    body = cast("JsonObject", load_json(text, ClientWireError))
    return Agent(
        key,
        _texts(body["name"]),
        _texts(body["description"]),
        _texts(body["prompt"]),
        str(body["provider"]),
        str(body["model"]),
        web_search=body["web_search"] is True,
        rest=cast("JsonObject", body["rest"]),
        created=created,
        updated=updated,
        owner=str(body.get("owner", "")),
    )


def session_values(session: Session) -> dict[str, Cell]:
    return sound(**{name: getattr(session, name) for name in field_names(Session)})


def session_of(row: Row) -> Session:
    return Session(*cast("tuple[str, ...]", tuple(row)))


def message_values(message: StoredMessage) -> dict[str, Cell]:
    return sound(
        id=message.id,
        session=message.session,
        body=dump_json(encode(message.content)),
        provider=message.provider,
        created=message.created,
    )


def message_of(row: Row) -> StoredMessage:
    key, session, text, provider, created, number = cast("tuple[str, str, str, str, str, int]", tuple(row))
    content = decode(load_json(text, ClientWireError))
    if not isinstance(content, Message | Answer):
        raise ClientWireError("expected a message or an answer")
    return StoredMessage(key, session, content, provider, created, number)


def usage_values(row: UsageRow) -> dict[str, Cell]:
    own = {name: getattr(row, name) for name in field_names(UsageRow) if name != "usage"}
    return sound(**own, **{name: getattr(row.usage, name) for name in field_names(Usage)})


def usage_total_of(row: Row) -> UsageTotal:
    day, provider, model, requests, errors, *counts = row
    usage = Usage(*cast("list[int | None]", counts))
    return UsageTotal(str(day), str(provider), str(model), cast("int", requests), cast("int", errors), usage)


def _texts(body: Json) -> Texts:
    return {language: str(text) for language, text in cast("JsonObject", body).items()}
