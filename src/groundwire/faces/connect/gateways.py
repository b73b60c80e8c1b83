"""Clients whose requests to their model can go by way of the gateway, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from groundwire.errors import UnsupportedFeature
from groundwire.faces.connect.changes import Change, Form
from groundwire.faces.connect.clients import CLIENTS, NAME, Place, Surroundings, under
from groundwire.model import Json, JsonObject
from groundwire.model.value import value


@value
class Way:
    """Where a client is told who answers for its model, and in which words."""

    file: Place
    form: Form
    path: tuple[str, ...]
    entry: Callable[[str], Json]
    after: str
    """What the user does next."""


def _codex_provider(url: str) -> JsonObject:
    # Its newest models search only with the last of these.
    return {
        "name": NAME,
        "base_url": f"{url}/v1",
        "wire_api": "responses",
        "supports_standalone_web_search": True,
    }


def _opencode_provider(url: str) -> JsonObject:
    # Without models a provider is not shown; the gateway knows more than these two. OpenCode copies the
    # options of a model into its requests: these ask for search.
    return {
        "npm": "@ai-sdk/openai-compatible",
        "name": NAME,
        "options": {"baseURL": f"{url}/v1", "apiKey": NAME},
        "models": {
            "auto": {
                "name": "auto: the first provider that can be used",
                "options": {"web_search_options": {}},
            },
            "local": {"name": "local: the pages that are indexed"},
        },
    }


WAYS: Mapping[str, Way] = {
    "claude-code": Way(
        under("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
        "json",
        ("env", "ANTHROPIC_BASE_URL"),
        lambda url: url,
        "Claude Code wants a login or a key of its own. While the gateway has no keys it takes any: "
        "ANTHROPIC_AUTH_TOKEN=groundwire claude",
    ),
    "codex": Way(
        CLIENTS["codex"].file,
        "toml",
        ("model_providers", NAME),
        _codex_provider,
        "`codex -c model_provider=groundwire` uses it. If the gateway has keys, env_key in the table names "
        "the variable that holds one.",
    ),
    "opencode": Way(
        CLIENTS["opencode"].file,
        "json",
        ("provider", NAME),
        _opencode_provider,
        "Start OpenCode again and choose by /models, or `opencode -m groundwire/auto`. More models of the "
        "gateway are added under models, by the names that it knows them by: `provider/model`.",
    ),
    "gemini-cli": Way(
        under("GEMINI_CLI_HOME", "", ".gemini", ".env"),
        "env",
        ("GOOGLE_GEMINI_BASE_URL",),
        lambda url: url,
        "Gemini CLI wants a login by key. While the gateway has no keys it takes any: "
        "GEMINI_API_KEY=groundwire gemini",
    ),
}


def gateway_change(name: str, around: Surroundings) -> Change:
    """The client's own requests to its model, by way of the gateway."""
    way = WAYS.get(name)
    if way is None:
        title = CLIENTS[name].title
        raise UnsupportedFeature(
            f"--gateway is for {', '.join(WAYS)}; {title} is connected with --http, or without"
        )
    return Change(way.file(around), way.form, way.path, way.entry(around.url))
