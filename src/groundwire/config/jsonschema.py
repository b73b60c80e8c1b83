"""The JSON schema of our own files, for editors; made from the same table that the loader checks against."""

from __future__ import annotations

from groundwire.config.keys import ROOT, Key, Node, Table
from groundwire.model import Json, JsonObject

DRAFT = "https://json-schema.org/draft/2020-12/schema"

_PROJECT = {
    "free": "",
    "off": " A project's file can only switch it off.",
    "never": " Not in a project's file.",
}


def schema() -> JsonObject:
    """The schema of `config.toml`."""
    return {"$schema": DRAFT, "title": "groundwire", **_node(ROOT)}


def _node(node: Node) -> JsonObject:
    return _key(node) if isinstance(node, Key) else _table(node)


def _key(key: Key) -> JsonObject:
    return {"description": key.about + _PROJECT[key.project], **key.kind.schema}


def _table(table: Table) -> JsonObject:
    properties: dict[str, Json] = {name: _node(member) for name, member in table.members.items()}
    others: Json = False if table.others is None else _node(table.others)
    return {
        "description": table.about,
        "type": "object",
        **({"properties": properties} if properties else {}),
        "additionalProperties": others,
    }
