"""OpenAI: Responses API, Chat Completions with search models, and the ChatGPT Codex backend.

The search models of Chat Completions always search, and take few options.

The Codex backend is used with a ChatGPT login instead of a key. It requires `stream: true`, `store: false`,
non-empty `instructions` and a list of items without ids; it rejects limits, sampling settings, and the lowest
reasoning effort. With `tool_choice: auto` it often does not search at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groundwire.credentials.lookup import Lookup
from groundwire.credentials.secret import Credential
from groundwire.errors import UnsupportedFeature
from groundwire.model import Json, JsonObject, Request
from groundwire.providers.models import default_model
from groundwire.providers.policy import Capabilities, Support
from groundwire.providers.spec import ProviderSpec, bearer, path

_KEY_LOOKUPS = (
    Lookup("environment", "OPENAI_API_KEY"),
    Lookup("opencode", "openai", "api"),
    Lookup("own", "openai"),
)
_ADVICE = "Set OPENAI_API_KEY, run `groundwire login openai`, or log in with OpenCode."

_SEARCH_OPTIONS: dict[str, Support] = {
    "allowed_domains": "native",
    "blocked_domains": "native",
    "live": "native",
    "location": "native",
    "max_uses": "native",
    "context_size": "native",
}

OPENAI = ProviderSpec(
    name="openai",
    title="OpenAI",
    dialect="openai_responses",
    base_url="https://api.openai.com/v1",
    url=path("/responses"),
    model=default_model("openai"),
    family=r"gpt-\d+(?:\.\d+)?(?:-terra)?",
    lookups=_KEY_LOOKUPS,
    missing="MISSING_OPENAI_API_KEY",
    advice=_ADVICE,
    background=True,
    capabilities=Capabilities(options=_SEARCH_OPTIONS),
)


OPENAI_CHAT = ProviderSpec(
    name="openai_chat",
    title="OpenAI Chat",
    dialect="openai_chat",
    base_url="https://api.openai.com/v1",
    url=path("/chat/completions"),
    model=default_model("openai_chat"),
    family=r"gpt-\d+(?:\.\d+)?-search-api",
    lookups=(
        Lookup("environment", "OPENAI_API_KEY"),
        Lookup("opencode", "openai", "api"),
        Lookup("own", "openai_chat"),
        Lookup("own", "openai"),
    ),
    missing="MISSING_OPENAI_API_KEY",
    advice=_ADVICE,
    capabilities=Capabilities(
        billing=(("", "prompt"),),  # a search model reports no calls, and every grounded answer is one
        options={
            "allowed_domains": "emulated",
            "blocked_domains": "emulated",
            "location": "native",
            "context_size": "native",
        },
    ),
)


_INSTRUCTIONS = "Answer the question. Search the web where it helps, and cite what you found."
_REJECTED_FIELDS = (
    *("max_output_tokens", "max_completion_tokens", "max_tool_calls", "stream_options", "metadata", "user"),
    *("temperature", "top_p", "top_logprobs", "frequency_penalty", "presence_penalty", "truncation"),
    *("background", "safety_identifier", "prompt_cache_retention"),
)
_STATEFUL_FIELDS = ("previous_response_id", "conversation", "prompt")


def oauth_headers(credential: Credential | None) -> Mapping[str, str]:
    if credential is None:
        return {}
    account = {"chatgpt-account-id": credential.account_id} if credential.account_id else {}
    return {
        **bearer(credential),
        **account,
        "originator": "codex_cli_rs",
        "openai-beta": "responses=experimental",
    }


def adjust_for_codex(body: JsonObject, request: Request) -> JsonObject:
    """The body as the Codex backend accepts it."""
    for name in _STATEFUL_FIELDS:
        if name in body:
            raise UnsupportedFeature(f"openai_oauth keeps no conversations: send the history, not {name}")
    adjusted: JsonObject = {key: value for key, value in body.items() if key not in _REJECTED_FIELDS}
    adjusted["stream"] = True
    adjusted["store"] = False
    adjusted["model"] = str(adjusted.get("model", "")).removeprefix("openai/")
    adjusted["instructions"] = adjusted.get("instructions") or _INSTRUCTIONS
    items = adjusted.get("input")
    adjusted["input"] = list(_stateless(items)) if isinstance(items, list) else _as_items(items)
    reasoning = adjusted.get("reasoning")
    if isinstance(reasoning, dict) and reasoning.get("effort") == "minimal":
        adjusted["reasoning"] = {**reasoning, "effort": "low"}
    functions = any(isinstance(tool, dict) and tool.get("type") == "function" for tool in _tools(body))
    if request.search is not None and not functions and request.tool_choice is None:
        adjusted["tool_choice"] = {"type": "web_search"}
    return adjusted


def _tools(body: JsonObject) -> list[Json]:
    tools = body.get("tools")
    return tools if isinstance(tools, list) else []


def _stateless(items: list[Json]) -> Iterator[Json]:
    """Items without ids, because the backend stores nothing; system messages become developer messages."""
    for item in items:
        if not isinstance(item, dict):
            yield item
        elif item.get("type") != "item_reference":
            kept: JsonObject = {key: value for key, value in item.items() if key != "id"}
            yield {**kept, "role": "developer"} if item.get("role") == "system" else kept


def _as_items(text: Json) -> list[Json]:
    content: Json = [{"type": "input_text", "text": text or ""}]
    return [{"type": "message", "role": "user", "content": content}]


OPENAI_OAUTH = ProviderSpec(
    name="openai_oauth",
    title="ChatGPT (Codex)",
    dialect="openai_responses",
    base_url="https://chatgpt.com/backend-api/codex",
    url=path("/responses"),
    model=default_model("openai_oauth"),
    family=r"gpt-\d+(?:\.\d+)?(?:-terra)?",
    lookups=(Lookup("opencode", "openai", "oauth"), Lookup("codex", "tokens", "oauth")),
    missing="MISSING_OPENAI_OAUTH_SESSION",
    advice="Log in with `opencode auth login` or `codex login`.",
    headers=oauth_headers,
    adjust=adjust_for_codex,
    always_streams=True,
    capabilities=Capabilities(
        options={
            "allowed_domains": "native",
            "blocked_domains": "native",
            "live": "native",
            "location": "native",
            "context_size": "native",
        }
    ),
)
