"""Every key of our own configuration, as one table, which the loader and the JSON schema read.

A project's file may not set a key that decides where a credential is sent, which one it is, or where files
are written; and what the user switched off it cannot switch on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from groundwire.config import kinds
from groundwire.config.kinds import Kind
from groundwire.dialects.registry import DIALECTS
from groundwire.model import Json, JsonObject
from groundwire.model.value import value

Path: TypeAlias = tuple[str, ...]
"""The names on the way to a key: `("providers", "gemini", "model")`."""

ANY = "NAME"
"""Stands in a path for a name that the user chooses."""


@value
class Key:
    """A setting."""

    kind: Kind
    about: str
    project: Literal["free", "off", "never"] = "free"
    """What a project's file may do: set it, set it to false, or nothing."""


@value
class Table:
    """Settings by name, or anything by a name that the user chooses."""

    about: str
    members: Mapping[str, Node] = {}
    others: Node | None = None

    def member(self, name: str) -> Node | None:
        """What stands under a name."""
        return self.members.get(name, self.others)


Node: TypeAlias = Key | Table

SEARCH = Table(
    "How to search, unless the question says otherwise.",
    {
        "allowed_domains": Key(kinds.DOMAINS, "Search only these sites."),
        "blocked_domains": Key(kinds.DOMAINS, "Never search these sites."),
        "country": Key(kinds.COUNTRY, "Where the asker is: ISO 3166, two letters."),
        "region": Key(kinds.TEXT, "Where the asker is: region or state."),
        "city": Key(kinds.TEXT, "Where the asker is: city."),
        "timezone": Key(kinds.TEXT, "Where the asker is: IANA name, such as Europe/Berlin."),
        "language": Key(kinds.TEXT, "Preferred language of pages, such as de."),
        "since": Key(kinds.SINCE, "Only pages from then on: 7d, 2026-01-31, or RFC 3339."),
        "until": Key(kinds.UNTIL, "Only pages up to then."),
        "max_uses": Key(kinds.COUNT, "How many searches a provider may make for one answer."),
        "max_sources": Key(kinds.COUNT, "How many sources an answer should have at most."),
        "context_size": Key(kinds.choice("low", "medium", "high"), "How much of the pages the model reads."),
        "live": Key(kinds.FLAG, "false: search only what the provider has stored."),
    },
)

PROVIDER = Table(
    "A provider: adjusts one that is built in, or describes one of your own.",
    {
        "dialect": Key(kinds.choice(*DIALECTS), "The wire language it speaks.", project="never"),
        "base_url": Key(
            kinds.BASE_URL, "Its address, up to where the vendor's own client would end it.", project="never"
        ),
        "key_env": Key(kinds.VARIABLE, "The environment variable that holds its key.", project="never"),
        "model": Key(kinds.TEXT, "The model to ask."),
        "search": Key(kinds.SEARCH, "Who searches: native, engine:NAME or none."),
        "search_form": Key(kinds.TEXT, "The form of its search declaration, where it knows several."),
        "timeout": Key(kinds.SECONDS, "Seconds until an answer must be complete."),
        "enabled": Key(kinds.FLAG, "false: never ask it.", project="off"),
    },
)

GATEWAY = Table(
    "How the gateway takes requests.",
    {
        "host": Key(kinds.TEXT, "The address to listen on; any but loopback needs keys.", project="never"),
        "port": Key(kinds.COUNT, "The port to listen on.", project="never"),
        "search": Key(
            kinds.TEXT, "The target of Claude Code's own searches: a provider, provider/model, auto or none."
        ),
        "citations": Key(
            kinds.choice("exact", "live"), "exact: text waits for its citations; live: text comes at once."
        ),
        "render": Key(
            kinds.choice("auto", "structured", "markers", "both"),
            "How citations are shown: as data, as [n] and a list in the text, or as the client needs it.",
        ),
        "hosts": Key(kinds.NAMES, "Names by which clients may reach the gateway.", project="never"),
        "origins": Key(kinds.NAMES, "Web origins whose pages may use it.", project="never"),
        "trusted_proxies": Key(
            kinds.NAMES,
            "Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.",
            project="never",
        ),
        "max_body_mb": Key(kinds.COUNT, "The largest body that is read.", project="never"),
        "max_requests": Key(kinds.COUNT, "How many requests may be under way at once.", project="never"),
        "cache_seconds": Key(
            kinds.SECONDS_OR_NONE, "How long the same question has the same answer.", project="never"
        ),
        "request_log": Key(kinds.PATH, "A file for a line about each request.", project="never"),
    },
)

ROOT = Table(
    "Configuration of groundwire.",
    {
        "order": Key(
            kinds.ORDER, 'The providers that auto asks, in this order, and no others; "*" for all others.'
        ),
        "timeout": Key(kinds.SECONDS, "Seconds until an answer must be complete, all attempts together."),
        "max_answer_mb": Key(
            kinds.COUNT, "The largest answer of a provider that is read, in megabytes.", project="never"
        ),
        "data_dir": Key(kinds.PATH, "Where groundwire keeps its data.", project="never"),
        "store": Key(
            kinds.STORE, "Where sessions, keys and the index are kept, if not in data_dir.", project="never"
        ),
        "compose": Key(kinds.TEXT, "The model that writes answers out of pages that an engine found."),
        "search": SEARCH,
        "gateway": GATEWAY,
        "aliases": Table(
            "Names of your own for models.",
            others=Key(kinds.TEXT, "What the name stands for: provider/model."),
        ),
        "providers": Table("Providers by name.", others=PROVIDER),
    },
)


def key_at(path: Path) -> Key:
    """The key at a path that is known to lead to one."""
    node: Node | None = ROOT
    for name in path:
        node = node.member(name) if isinstance(node, Table) else None
    if not isinstance(node, Key):
        raise KeyError(dotted(path))
    return node


def all_keys(node: Node = ROOT, path: Path = ()) -> Iterator[tuple[Path, Key]]:
    """Every key, in order; names that the user chooses are told as NAME."""
    if isinstance(node, Key):
        yield path, node
        return
    for name, member in node.members.items():
        yield from all_keys(member, (*path, name))
    if node.others is not None:
        yield from all_keys(node.others, (*path, ANY))


def dotted(path: Path) -> str:
    """A path as TOML writes it."""
    return ".".join(name if _is_bare(name) else _quoted(name) for name in path)


def _is_bare(name: str) -> bool:
    return name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()


def _quoted(name: str) -> str:
    safe = name.encode("unicode_escape").decode("ascii") if not name.isprintable() else name
    return f'"{safe}"'


DRAFT = "https://json-schema.org/draft/2020-12/schema"

_PROJECT_RULES = {
    "free": "",
    "off": " A project's file can only switch it off.",
    "never": " Not in a project's file.",
}


def json_schema() -> JsonObject:
    """The schema of `config.toml`."""
    return {"$schema": DRAFT, "title": "groundwire", **_node_schema(ROOT)}


def _node_schema(node: Node) -> JsonObject:
    return _key_schema(node) if isinstance(node, Key) else _table_schema(node)


def _key_schema(key: Key) -> JsonObject:
    return {"description": key.about + _PROJECT_RULES[key.project], **key.kind.schema}


def _table_schema(table: Table) -> JsonObject:
    properties: dict[str, Json] = {name: _node_schema(member) for name, member in table.members.items()}
    others: Json = False if table.others is None else _node_schema(table.others)
    return {
        "description": table.about,
        "type": "object",
        **({"properties": properties} if properties else {}),
        "additionalProperties": others,
    }
