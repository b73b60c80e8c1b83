"""How programs are configured to send the requests to their model through the gateway, as data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from groundwire.faces.connect.changes import Change, FileFormat
from groundwire.faces.connect.locations import (
    ConnectContext,
    Locate,
    first_existing,
    in_config,
    in_deployment,
    opencode_file,
    under,
)
from groundwire.model import Json, JsonObject
from groundwire.model.value import value

NAME = "groundwire"
_AUTO = "auto: the first provider that can be used"
_LOCAL = "local: the pages that are indexed"
_CONTEXT_TOKENS = 128_000
_OUTPUT_TOKENS = 16_000
_OTHER_MODELS = (
    "Other models of the gateway can be added by the names that it knows them by: `provider/model`."
)


@value
class GatewaySpec:
    """The entry that makes a program use the gateway."""

    file: Locate
    form: FileFormat
    path: tuple[str, ...]
    entry: Callable[[str], Json]
    after: str
    """What the user does next."""


def gateway_entries(name: str, context: ConnectContext) -> list[Change]:
    """The changes for a program that has a base URL setting."""
    spec = GATEWAY_SPECS[name]
    return [Change(spec.file(context), spec.form, spec.path, spec.entry(context.url))]


def _codex_provider(url: str) -> JsonObject:
    # Its newest models search only with the last of these members.
    return {
        "name": NAME,
        "base_url": f"{url}/v1",
        "wire_api": "responses",
        "supports_standalone_web_search": True,
    }


def _opencode_provider(url: str) -> JsonObject:
    # Without models a provider is not shown; the gateway knows more than these two. OpenCode copies the
    # options of a model into its requests: these request search.
    return {
        "npm": "@ai-sdk/openai-compatible",
        "name": NAME,
        "options": {"baseURL": f"{url}/v1", "apiKey": NAME},
        "models": {
            "auto": {"name": _AUTO, "options": {"web_search_options": {}}},
            "local": {"name": _LOCAL},
        },
    }


def _openclaw_provider(url: str) -> JsonObject:
    models: list[Json] = [_openclaw_model("auto", _AUTO), _openclaw_model("local", _LOCAL)]
    return {
        "baseUrl": f"{url}/v1",
        "apiKey": NAME,
        "api": "openai-completions",
        # It shows no citations of Chat.
        "headers": {"x-groundwire-render": "markers"},
        "models": models,
    }


def _openclaw_model(name: str, title: str) -> JsonObject:
    return {
        "id": name,
        "name": title,
        "reasoning": False,
        "input": ["text"],
        "contextWindow": _CONTEXT_TOKENS,
        "maxTokens": _OUTPUT_TOKENS,
    }


def _crush_provider(url: str) -> JsonObject:
    limits: JsonObject = {"context_window": _CONTEXT_TOKENS, "default_max_tokens": _OUTPUT_TOKENS}
    return {
        "name": NAME,
        "type": "openai-compat",
        "base_url": f"{url}/v1",
        "api_key": NAME,
        "models": [{"id": "auto", "name": _AUTO, **limits}, {"id": "local", "name": _LOCAL, **limits}],
    }


def _goose_provider(url: str) -> str:
    provider = {
        "name": NAME,
        "engine": "openai",
        "display_name": NAME,
        "description": "Cited web search for every model",
        "api_key_env": "GROUNDWIRE_API_KEY",
        "base_url": f"{url}/v1/chat/completions",
        "models": [{"name": name, "context_limit": _CONTEXT_TOKENS} for name in ("auto", "local")],
        "supports_streaming": True,
        "requires_auth": False,
    }
    return json.dumps(provider, indent=2) + "\n"


def _zed_provider(url: str) -> JsonObject:
    models: list[Json] = [
        {"name": name, "display_name": title, "max_tokens": _CONTEXT_TOKENS}
        for name, title in (("auto", _AUTO), ("local", _LOCAL))
    ]
    return {"api_url": f"{url}/v1", "available_models": models}


GATEWAY_SPECS: Mapping[str, GatewaySpec] = {
    "claude-code": GatewaySpec(
        under("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
        "json",
        ("env", "ANTHROPIC_BASE_URL"),
        lambda url: url,
        "Claude Code wants a login or a key of its own. While the gateway has no keys it takes any: "
        "ANTHROPIC_AUTH_TOKEN=groundwire claude",
    ),
    "codex": GatewaySpec(
        under("CODEX_HOME", ".codex", "config.toml"),
        "toml",
        ("model_providers", NAME),
        _codex_provider,
        "`codex -c model_provider=groundwire` uses it. If the gateway has keys, env_key in the table names "
        "the variable that holds one.",
    ),
    "opencode": GatewaySpec(
        first_existing(opencode_file("opencode.jsonc"), opencode_file("opencode.json")),
        "json",
        ("provider", NAME),
        _opencode_provider,
        f"Start OpenCode again and choose by /models, or `opencode -m groundwire/auto`. {_OTHER_MODELS}",
    ),
    "gemini-cli": GatewaySpec(
        under("GEMINI_CLI_HOME", "", ".gemini", ".env"),
        "env",
        ("GOOGLE_GEMINI_BASE_URL",),
        lambda url: url,
        "Gemini CLI wants a login by key. While the gateway has no keys it takes any: "
        "GEMINI_API_KEY=groundwire gemini",
    ),
    "qwen-code": GatewaySpec(
        under("QWEN_HOME", ".qwen", ".env"),
        "env",
        ("OPENAI_BASE_URL",),
        lambda url: f"{url}/v1",
        "Qwen Code wants a key and a model. While the gateway has no keys it takes any key: "
        "OPENAI_API_KEY=groundwire qwen --auth-type openai -m auto",
    ),
    "openclaw": GatewaySpec(
        under("OPENCLAW_STATE_DIR", ".openclaw", "openclaw.json"),
        "json",
        ("models", "providers", NAME),
        _openclaw_provider,
        f"`openclaw models set groundwire/auto` chooses it. {_OTHER_MODELS}",
    ),
    "kilo": GatewaySpec(
        first_existing(in_config("kilo", "kilo.jsonc"), in_config("kilo", "kilo.json")),
        "json",
        ("provider", NAME),
        _opencode_provider,
        f"Start Kilo again and choose by /models, or `kilo run -m groundwire/auto`. {_OTHER_MODELS}",
    ),
    "crush": GatewaySpec(
        in_config("crush", "crush.json"),
        "json",
        ("providers", NAME),
        _crush_provider,
        f"Start Crush again and choose the model with ctrl+l. {_OTHER_MODELS}",
    ),
    "goose": GatewaySpec(
        in_config(
            "goose",
            "custom_providers",
            f"{NAME}.json",
            windows=("Block", "goose", "config", "custom_providers", f"{NAME}.json"),
        ),
        "whole",
        (),
        _goose_provider,
        "`goose session --provider groundwire --model auto` uses it. If the gateway has keys, "
        "GROUNDWIRE_API_KEY holds one.",
    ),
    "zed": GatewaySpec(
        in_config("zed", "settings.json", windows=("Zed", "settings.json")),
        "json",
        ("language_models", "openai_compatible", NAME),
        _zed_provider,
        "Zed asks for a key in the settings of its agent panel. While the gateway has no keys it takes "
        f"any. {_OTHER_MODELS}",
    ),
    "open-webui": GatewaySpec(
        in_deployment("", ".env"),
        "env",
        ("OPENAI_API_BASE_URL",),
        lambda url: f"{url}/v1",
        "Start Open WebUI again with this file as its environment, and with OPENAI_API_KEY=groundwire if "
        "the gateway has no keys.",
    ),
}
