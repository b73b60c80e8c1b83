"""All keys of our configuration as one table, for the loader and for the JSON schema.

A project's file must not set a key that decides where a credential is sent, which credential is used, or
where files are written; and it cannot enable what the user has disabled.
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
"""Placeholder in a path for a name that the user chooses."""


@value
class SettingKey:
    """A setting."""

    kind: Kind
    about: str
    project: Literal["free", "off", "never"] = "free"
    """Whether a project's file may set it, only set it to false, or not set it at all."""


@value
class SettingTable:
    """Settings by name; `others` describes names that the user chooses."""

    about: str
    members: Mapping[str, Node] = {}
    others: Node | None = None

    def member(self, name: str) -> Node | None:
        """The key or table of a name; None if the name is unknown."""
        return self.members.get(name, self.others)


Node: TypeAlias = SettingKey | SettingTable

SEARCH = SettingTable(
    "Search options, unless the request sets them.",
    {
        "allowed_domains": SettingKey(kinds.DOMAINS, "Search only these sites."),
        "blocked_domains": SettingKey(kinds.DOMAINS, "Never search these sites."),
        "country": SettingKey(kinds.COUNTRY, "Country of the user: ISO 3166, two letters."),
        "region": SettingKey(kinds.TEXT, "Region or state of the user."),
        "city": SettingKey(kinds.TEXT, "City of the user."),
        "timezone": SettingKey(kinds.TEXT, "Time zone of the user: IANA name, such as Europe/Berlin."),
        "language": SettingKey(kinds.TEXT, "Preferred language of pages, such as de."),
        "since": SettingKey(kinds.SINCE, "Only pages since this time: 7d, 2026-01-31, or RFC 3339."),
        "until": SettingKey(kinds.UNTIL, "Only pages until this time."),
        "max_uses": SettingKey(kinds.COUNT, "How many searches a provider may make for one answer."),
        "max_sources": SettingKey(kinds.COUNT, "How many sources an answer should have at most."),
        "context_size": SettingKey(
            kinds.choice("low", "medium", "high"), "How much of the pages the model reads."
        ),
        "live": SettingKey(kinds.FLAG, "false: search only what the provider has stored."),
    },
)

PROVIDER = SettingTable(
    "A provider: adjusts a built-in one, or defines a new one.",
    {
        "dialect": SettingKey(kinds.choice(*DIALECTS), "The wire format that it uses.", project="never"),
        "base_url": SettingKey(
            kinds.BASE_URL, "Its address, up to where the vendor's own client would end it.", project="never"
        ),
        "key_env": SettingKey(
            kinds.VARIABLE, "The environment variable that holds its key.", project="never"
        ),
        "model": SettingKey(kinds.TEXT, "The model to use."),
        "search": SettingKey(kinds.SEARCH, "What searches: native, engine:NAME or none."),
        "search_form": SettingKey(kinds.TEXT, "The form of its search declaration, where it knows several."),
        "timeout": SettingKey(kinds.SECONDS, "Seconds until an answer must be complete."),
        "enabled": SettingKey(kinds.FLAG, "false: never use it.", project="off"),
    },
)

PRICES = SettingTable(
    "Prices of a provider, or of provider/model; * for models whose price is not known.",
    {
        "input": SettingKey(kinds.AMOUNT, "USD for a million input tokens.", project="never"),
        "output": SettingKey(kinds.AMOUNT, "USD for a million output tokens.", project="never"),
        "cached": SettingKey(
            kinds.AMOUNT, "USD for a million input tokens from the provider's cache.", project="never"
        ),
        "cache_write": SettingKey(
            kinds.AMOUNT, "USD for a million input tokens written to the cache.", project="never"
        ),
        "search": SettingKey(kinds.AMOUNT, "USD for 1,000 searches.", project="never"),
        "max_output_tokens": SettingKey(
            kinds.COUNT, "The most output tokens of an answer, for estimates.", project="never"
        ),
    },
)

TEMPLATE = SettingTable(
    "A template: a prompt, its target and its search options, used by name.",
    {
        "prompt": SettingKey(kinds.PROMPT, "The prompt; {input} is replaced by the question."),
        "provider": SettingKey(kinds.TEXT, "The provider to ask, unless the command line names one."),
        "model": SettingKey(kinds.TEXT, "The model to ask, unless the command line names one."),
        **SEARCH.members,
    },
)

GATEWAY = SettingTable(
    "Settings of the gateway.",
    {
        "host": SettingKey(
            kinds.TEXT, "The address to listen on; any but loopback needs keys.", project="never"
        ),
        "port": SettingKey(kinds.COUNT, "The port to listen on.", project="never"),
        "search": SettingKey(
            kinds.TEXT, "The target of Claude Code's own searches: a provider, provider/model, auto or none."
        ),
        "citations": SettingKey(
            kinds.choice("exact", "live"), "exact: text waits for its citations; live: text is sent at once."
        ),
        "render": SettingKey(
            kinds.choice("auto", "structured", "markers", "both"),
            "How citations are shown: as data, as [n] and a list in the text, or as the client needs it.",
        ),
        "hosts": SettingKey(
            kinds.NAMES, "Host names by which clients may reach the gateway.", project="never"
        ),
        "origins": SettingKey(kinds.NAMES, "Web origins whose pages may use it.", project="never"),
        "trusted_proxies": SettingKey(
            kinds.NAMES,
            "Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted.",
            project="never",
        ),
        "max_body_mb": SettingKey(kinds.COUNT, "The largest request body, in megabytes.", project="never"),
        "max_requests": SettingKey(
            kinds.COUNT, "How many requests may run at the same time.", project="never"
        ),
        "cache_seconds": SettingKey(
            kinds.SECONDS_OR_NONE,
            "How long the same request gets the cached answer, in seconds.",
            project="never",
        ),
        "cache_scope": SettingKey(
            kinds.choice("owner", "all"),
            "owner: keys of one owner share cached answers; all: all keys do.",
            project="never",
        ),
        "request_log": SettingKey(kinds.PATH, "A file that gets one line for each request.", project="never"),
        "otlp_endpoint": SettingKey(
            kinds.COLLECTOR, "The OpenTelemetry collector that gets traces and metrics.", project="never"
        ),
        "propagate_trace": SettingKey(
            kinds.FLAG, "true: send the header traceparent to providers.", project="never"
        ),
        "verify": SettingKey(
            kinds.choice("off", "request", "always"),
            "Whether citations are verified: never, if the request asks for it, or always.",
            project="never",
        ),
    },
)

VERIFY = SettingTable(
    "Verification of citations.",
    {
        "model": SettingKey(
            kinds.TEXT, "The model that decides about claims that stay open: provider/model."
        ),
        "timeout": SettingKey(kinds.SECONDS, "Seconds for fetching all cited pages of an answer."),
        "follow": SettingKey(
            kinds.FLAG, "true: follow redirects of cited pages to other sites.", project="never"
        ),
    },
)

ROOT = SettingTable(
    "Configuration of groundwire.",
    {
        "order": SettingKey(
            kinds.ORDER, 'The providers that auto uses, in this order, and no others; "*" for all others.'
        ),
        "timeout": SettingKey(
            kinds.SECONDS, "Seconds until an answer must be complete, all attempts together."
        ),
        "max_answer_mb": SettingKey(
            kinds.COUNT, "The largest answer of a provider that is read, in megabytes.", project="never"
        ),
        "data_dir": SettingKey(kinds.PATH, "Where groundwire keeps its data.", project="never"),
        "store": SettingKey(
            kinds.STORE, "Where sessions, keys and the index are kept, if not in data_dir.", project="never"
        ),
        "redis": SettingKey(
            kinds.REDIS,
            "What gateways share rate limits, cached answers and breakers through.",
            project="never",
        ),
        "compose": SettingKey(
            kinds.TEXT, "The model that writes answers from the pages that an engine found."
        ),
        "build_index": SettingKey(
            kinds.FLAG,
            "false: complete the embedded index only with `groundwire index refresh`.",
            project="off",
        ),
        "resolve_redirects": SettingKey(
            kinds.FLAG,
            "true: replace Gemini's redirect addresses by the addresses of the pages.",
            project="never",
        ),
        "search": SEARCH,
        "gateway": GATEWAY,
        "verify": VERIFY,
        "aliases": SettingTable(
            "Names of your own for models.",
            others=SettingKey(kinds.TEXT, "The model of this name: provider/model."),
        ),
        "templates": SettingTable("Templates by name.", others=TEMPLATE),
        "providers": SettingTable("Providers by name.", others=PROVIDER),
        "prices": SettingTable("Prices that replace those of the price list.", others=PRICES),
    },
)


def key_at(path: Path) -> SettingKey:
    """The key at a path; raises `KeyError`."""
    node: Node | None = ROOT
    for name in path:
        node = node.member(name) if isinstance(node, SettingTable) else None
    if not isinstance(node, SettingKey):
        raise KeyError(dotted(path))
    return node


def all_keys(node: Node = ROOT, path: Path = ()) -> Iterator[tuple[Path, SettingKey]]:
    """All keys in order; NAME stands for names that the user chooses."""
    if isinstance(node, SettingKey):
        yield path, node
        return
    for name, member in node.members.items():
        yield from all_keys(member, (*path, name))
    if node.others is not None:
        yield from all_keys(node.others, (*path, ANY))


def dotted(path: Path) -> str:
    """A path in TOML syntax."""
    return ".".join(name if _is_bare(name) else _quoted(name) for name in path)


def _is_bare(name: str) -> bool:
    return name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()


def _quoted(name: str) -> str:
    safe = name.encode("unicode_escape").decode("ascii") if not name.isprintable() else name
    return f'"{safe}"'


DRAFT = "https://json-schema.org/draft/2020-12/schema"

_PROJECT_RULES = {
    "free": "",
    "off": " A project's file can only disable it.",
    "never": " Not in a project's file.",
}


def json_schema() -> JsonObject:
    """The JSON schema of `config.toml`, for editors."""
    return {"$schema": DRAFT, "title": "groundwire", **_node_schema(ROOT)}


def _node_schema(node: Node) -> JsonObject:
    return _key_schema(node) if isinstance(node, SettingKey) else _table_schema(node)


def _key_schema(key: SettingKey) -> JsonObject:
    return {"description": key.about + _PROJECT_RULES[key.project], **key.kind.schema}


def _table_schema(table: SettingTable) -> JsonObject:
    properties: dict[str, Json] = {name: _node_schema(member) for name, member in table.members.items()}
    others: Json = False if table.others is None else _node_schema(table.others)
    return {
        "description": table.about,
        "type": "object",
        **({"properties": properties} if properties else {}),
        "additionalProperties": others,
    }
