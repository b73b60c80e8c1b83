"""Conversion of stored values to database rows, and back."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TypeAlias, cast

from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError, GroundwireError
from groundwire.model import Answer, JsonObject, Message, Usage
from groundwire.model.cost import NANO, to_nano
from groundwire.model.json import decode, encode
from groundwire.model.value import field_names, replace
from groundwire.store.base import (
    UNKNOWN_OWNER,
    UNREADABLE_MESSAGE,
    Agent,
    AnswerRating,
    ApiKey,
    AuditEntry,
    Content,
    KeyUsageTotal,
    Session,
    SessionShare,
    StoredMessage,
    Texts,
    UsageRow,
    UsageTotal,
)
from groundwire.store.key_json import revoked_for_all, stored_rights, with_rights

log = logging.getLogger("groundwire.store")

Cell: TypeAlias = str | int | float | None
Row: TypeAlias = Sequence[object]
Values: TypeAlias = Mapping[str, Cell]

# Characters that not every database stores in text columns; JSON escapes them.
_UNSUPPORTED = re.compile("[\x00\ud800-\udfff]")


def cells(**values: Cell) -> dict[str, Cell]:
    """Values for a statement, with characters that every database supports."""
    return {
        name: _UNSUPPORTED.sub("\ufffd", cell)
        if isinstance(cell, str) and ("\0" in cell or not cell.isascii())
        else cell
        for name, cell in values.items()
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
    return cells(id=agent.id, body=dump_json(body), created=agent.created, updated=agent.updated)


def agent_of(row: Row) -> Agent:
    """The agent of a row; if its JSON is damaged, a placeholder with the id."""
    key, text, created, updated = map(_text, row)
    try:
        body = Fields.of(load_json(text, ClientWireError), ClientWireError)
        owner = body.text("owner")
    except ClientWireError as error:
        return _unreadable_agent(key, UNKNOWN_OWNER, error)
    try:
        return Agent(
            key,
            _texts(body, "name"),
            _texts(body, "description"),
            _texts(body, "prompt"),
            body.text("provider"),
            body.text("model"),
            web_search=body.get("web_search") is True,
            rest=body.obj("rest").raw,
            created=created,
            updated=updated,
            owner=owner,
        )
    except ClientWireError as error:
        return _unreadable_agent(key, owner, error)


def _unreadable_agent(key: str, owner: str, error: ClientWireError) -> Agent:
    log.warning("the stored agent %r cannot be read: %s", key, error.message)
    return Agent(key, {"en": key}, owner=owner, is_readable=False)


def session_values(session: Session) -> dict[str, Cell]:
    names = (name for name in field_names(Session) if name not in ("pinned", "folder"))
    return cells(**{name: getattr(session, name) for name in names})


def session_of(row: Row) -> Session:
    key, agent, owner, title, created, updated, folder = map(_text, (*row[:6], row[7]))
    return Session(key, agent, owner, title, created, updated, bool(row[6]), folder)


def share_values(share: SessionShare) -> dict[str, Cell]:
    return cells(**{name: getattr(share, name) for name in field_names(SessionShare)})


def share_of(row: Row) -> SessionShare:
    key, digest, session, owner, last, created, expires = row
    return SessionShare(
        _text(key),
        _text(digest),
        _text(session),
        _text(owner),
        cast("int", last),
        _text(created),
        _text(expires),
    )


def rating_values(rating: AnswerRating) -> dict[str, Cell]:
    return cells(**{name: getattr(rating, name) for name in field_names(AnswerRating)})


def rating_of(row: Row) -> AnswerRating:
    message, session, owner, rating, rated = row
    return AnswerRating(_text(message), _text(session), _text(owner), cast("int", rating), _text(rated))


def message_values(message: StoredMessage) -> dict[str, Cell]:
    return cells(
        id=message.id,
        session=message.session,
        body=dump_json(encode(message.content)),
        provider=message.provider,
        created=message.created,
    )


def message_of(row: Row) -> StoredMessage:
    """The message of a row; if its JSON is damaged, an answer with an error."""
    key, session, text, provider, created = map(_text, row[:5])
    return StoredMessage(key, session, _content(key, text), provider, created, cast("int", row[5]))


def _content(key: str, text: str) -> Content:
    try:
        content = decode(load_json(text, ClientWireError))
        if isinstance(content, Message | Answer):
            return content
        reason = f"it is a {type(content).__name__}"
    except ClientWireError as error:
        reason = error.message
    log.warning("the stored message %r cannot be read: %s", key, reason)
    failure = GroundwireError("the stored message is damaged and cannot be read")
    failure.code = UNREADABLE_MESSAGE
    return Answer(error=failure)


def key_values(key: ApiKey) -> dict[str, Cell]:
    body: JsonObject = {"name": key.name, "revoked": revoked_for_all(key)}
    if key.parent:
        body["parent"] = key.parent
    rights = stored_rights(key)
    return cells(
        id=key.id,
        fingerprint=key.fingerprint,
        body=dump_json(body),
        created=key.created,
        rights=dump_json(rights) if rights else "",
    )


def key_of(row: Row) -> ApiKey:
    """The key of a row; one whose JSON is damaged counts as revoked."""
    key, fingerprint, text, created, rights = map(_text, row)
    try:
        body = Fields.of(load_json(text, ClientWireError), ClientWireError)
        record = ApiKey(
            *(key, body.text("name"), fingerprint, created, body.text("revoked")),
            parent=body.text("parent"),
        )
        stored = Fields.of(load_json(rights or "{}", ClientWireError), ClientWireError)
        return with_rights(record, stored.raw)
    except ClientWireError as error:
        log.warning("the stored API key %r cannot be read, and is refused: %s", key, error.message)
        return ApiKey(key, "", fingerprint, created, created)


_COUNTS = tuple(name for name in field_names(Usage) if name != "search_cost")
_OWN = tuple(name for name in field_names(UsageRow) if name != "usage")


_own_values = attrgetter(*_OWN)
_count_values = attrgetter(*_COUNTS)


def usage_values(row: UsageRow) -> dict[str, Cell]:
    values = dict(zip((*_OWN, *_COUNTS), (*_own_values(row), *_count_values(row.usage)), strict=True))
    values["cache_hit"] = int(row.cache_hit)
    values["nano_usd"] = None if row.usage.cost is None else to_nano(row.usage.cost)
    return cells(**values)


def audit_values(entry: AuditEntry) -> dict[str, Cell]:
    return cells(**{name: getattr(entry, name) for name in field_names(AuditEntry)})


def audit_of(row: Row) -> AuditEntry:
    return AuditEntry(*map(_text, row))


def key_usage_of(row: Row) -> KeyUsageTotal:
    key, requests, errors, *counts = row
    usage = Usage(*cast("list[int | None]", counts))
    return KeyUsageTotal(str(key), cast("int", requests), cast("int", errors), usage)


def usage_total_of(row: Row) -> UsageTotal:
    day, provider, model, requests, errors, *counts, nano_usd, seconds, cache_hits = row
    cost = None if nano_usd is None else cast("int", nano_usd) / NANO
    return UsageTotal(
        str(day),
        str(provider),
        str(model),
        cast("int", requests),
        cast("int", errors),
        replace(Usage(*cast("list[int | None]", counts)), cost=cost),
        cast("float", seconds),
        cast("int", cache_hits),
    )


def _texts(body: Fields, name: str) -> Texts:
    texts = body.obj(name)
    return {language: texts.text(language) for language in texts.raw}


def _text(cell: object) -> str:
    """SQLite does not enforce the type of a text column."""
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
