"""Vendors that speak the dialects of OpenAI: data, and what each requires beyond the dialect.

| vendor | web search |
|---|---|
| xAI | the tool of Responses; the list of blocked domains is `excluded_domains` |
| Perplexity | every request of the Chat form searches; the tool of the Responses form has its own filters |
| Groq | the `compound` systems search by themselves; `search_settings` restricts them |
| Qwen | `enable_search` and `search_options` |
| Z.ai | a tool `web_search` with an object of the same name |
| Mistral | none in this API; `mistral_conversations` has one |
| DeepSeek, Moonshot, Together, Fireworks | none in this API |

Users give a model without web search one with `search = "engine:web"`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from groundwire.credentials.lookup import Lookup
from groundwire.dialects.fields import as_object
from groundwire.model import Json, JsonObject, Request, SearchOptions
from groundwire.model.value import replace
from groundwire.providers.models import default_model
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import ProviderSpec, Spelling, path

_CHAT = "/chat/completions"
_SOURCES = "web_search_call.action.sources"
_DOMAIN_LISTS = ("allowed_domains", "blocked_domains")
_NO_SEARCH = Capabilities(search="none")

_ChangeFilters: TypeAlias = "Callable[[JsonObject], JsonObject]"


def _keys(name: str, *variables: str, opencode: str = "") -> tuple[Lookup, ...]:
    """The vendor's variables, OpenCode's record, which may have another name, and `groundwire login`."""
    return (
        *(Lookup("environment", variable) for variable in variables),
        Lookup("opencode", opencode or name, "api"),
        Lookup("own", name),
    )


def _advice(name: str, variable: str) -> str:
    return f"Set {variable}, or run `groundwire login {name}`."


def _search_form(form: str) -> Spelling:
    """Writes the search of Chat Completions in the form of a vendor."""

    def spelling(options: SearchOptions) -> SearchOptions:
        if options.extras.get("openai_chat", {}).get("form") == form:
            return options
        return replace(options, extras={**options.extras, "openai_chat": {"form": form}})

    return spelling


# Responses


def adjust_for_xai(body: JsonObject, _: Request) -> JsonObject:
    """The name of the block list, and no request for OpenAI's list of sources."""
    return _without_sources(_with_filters(body, _xai_filters))


def adjust_for_perplexity(body: JsonObject, _: Request) -> JsonObject:
    """One list of domains, in which blocked ones have a minus sign, and no request for OpenAI's sources."""
    return _without_sources(_with_filters(body, _perplexity_filters))


def adjust_for_sonar(body: JsonObject, request: Request) -> JsonObject:
    """Every request searches, unless it says otherwise."""
    return {**body, "disable_search": True} if request.search is None else body


def _xai_filters(filters: JsonObject) -> JsonObject:
    names = {"blocked_domains": "excluded_domains"}
    return {names.get(name, name): domains for name, domains in filters.items()}


def _perplexity_filters(filters: JsonObject) -> JsonObject:
    allowed, blocked = filters.get("allowed_domains"), filters.get("blocked_domains")
    rest = {name: item for name, item in filters.items() if name not in _DOMAIN_LISTS}
    domains: list[Json] = list(allowed) if isinstance(allowed, list) else []
    if not domains and isinstance(blocked, list):
        domains = [f"-{domain}" for domain in blocked]
    return {**rest, "search_domain_filter": domains} if domains else rest


def _with_filters(body: JsonObject, change: _ChangeFilters) -> JsonObject:
    """The body with the filters of its search tools changed; the same object if nothing changes."""
    tools = body.get("tools")
    if not isinstance(tools, list):
        return body
    changed: list[Json] = []
    for tool in tools:
        filters = as_object(as_object(tool).get("filters"))
        changed.append({**as_object(tool), "filters": change(filters)} if filters else tool)
    return body if changed == tools else {**body, "tools": changed}


def _without_sources(body: JsonObject) -> JsonObject:
    include = body.get("include")
    if not isinstance(include, list) or _SOURCES not in include:
        return body
    others: list[Json] = [name for name in include if name != _SOURCES]
    rest = {name: item for name, item in body.items() if name != "include"}
    return {**rest, "include": others} if others else rest


_INCLUDE = frozenset({"include"})
"""The sources that OpenAI sends on request are sent by these anyway."""
XAI = ProviderSpec(
    name="xai",
    title="xAI",
    dialect="openai_responses",
    base_url="https://api.x.ai/v1",
    url=path("/responses"),
    model=default_model("xai"),
    family=r"grok-\d+(?:\.\d+)?",
    lookups=_keys("xai", "XAI_API_KEY"),
    missing="MISSING_XAI_API_KEY",
    advice=_advice("xai", "XAI_API_KEY"),
    adjust=adjust_for_xai,
    carried=_INCLUDE,
    models_page="https://docs.x.ai/docs/models",
    capabilities=Capabilities(
        both_domain_lists=False, options={"allowed_domains": "native", "blocked_domains": "native"}
    ),
)
_PERPLEXITY_MODELS = "https://docs.perplexity.ai/docs/getting-started/models"
_PERPLEXITY_VARIABLES = ("PERPLEXITY_API_KEY", "PPLX_API_KEY")
PERPLEXITY = ProviderSpec(
    name="perplexity",
    title="Perplexity",
    dialect="openai_chat",
    base_url="https://api.perplexity.ai",
    url=path(_CHAT),
    model="sonar",
    lookups=_keys("perplexity", *_PERPLEXITY_VARIABLES),
    missing="MISSING_PERPLEXITY_API_KEY",
    advice=_advice("perplexity", "PERPLEXITY_API_KEY"),
    adjust=adjust_for_sonar,
    spelling=_search_form("perplexity"),
    models_page=_PERPLEXITY_MODELS,
    capabilities=Capabilities(
        functions_with_search=False,
        both_domain_lists=False,
        billing=(("", "prompt"),),
        options={
            "allowed_domains": "native",
            "blocked_domains": "native",
            "location": "native",
            "language": "native",
            "since": "native",
            "until": "native",
            "context_size": "native",
        },
    ),
)
PERPLEXITY_RESPONSES = ProviderSpec(
    name="perplexity_responses",
    title="Perplexity Responses",
    dialect="openai_responses",
    base_url="https://api.perplexity.ai/v1",
    url=path("/responses"),
    model="perplexity/sonar",
    lookups=(
        *(Lookup("environment", variable) for variable in _PERPLEXITY_VARIABLES),
        Lookup("opencode", "perplexity", "api"),
        Lookup("own", "perplexity_responses"),
        Lookup("own", "perplexity"),
    ),
    missing="MISSING_PERPLEXITY_API_KEY",
    advice=_advice("perplexity", "PERPLEXITY_API_KEY"),
    adjust=adjust_for_perplexity,
    carried=_INCLUDE,
    # Its items for pages would be messages without content for OpenAI's clients.
    passes_through=False,
    models_page=_PERPLEXITY_MODELS,
    capabilities=Capabilities(
        both_domain_lists=False,
        options={
            "allowed_domains": "native",
            "blocked_domains": "native",
            "location": "native",
            "context_size": "native",
        },
    ),
)


# Chat Completions


_MAX_TOKENS = frozenset({"max_completion_tokens"})


def with_max_tokens(body: JsonObject, _: Request) -> JsonObject:
    """The limit of the answer by its former name, the only one that these vendors know."""
    if "max_completion_tokens" not in body:
        return body
    names = {"max_completion_tokens": "max_tokens"}
    return {names.get(name, name): item for name, item in body.items()}


def adjust_for_groq(body: JsonObject, _: Request) -> JsonObject:
    """The names of Groq's own systems begin with the name of the vendor."""
    model = body.get("model")
    if isinstance(model, str) and model.startswith("compound"):
        return {**body, "model": f"groq/{model}"}
    return body


GROQ = ProviderSpec(
    name="groq",
    title="Groq",
    dialect="openai_chat",
    base_url="https://api.groq.com/openai/v1",
    url=path(_CHAT),
    model="groq/compound",
    lookups=_keys("groq", "GROQ_API_KEY"),
    missing="MISSING_GROQ_API_KEY",
    advice=_advice("groq", "GROQ_API_KEY"),
    adjust=adjust_for_groq,
    spelling=_search_form("groq"),
    models_page="https://console.groq.com/docs/models",
    capabilities=Capabilities(
        functions_with_search=False,
        citations="sources",
        options={"allowed_domains": "native", "blocked_domains": "native"},
    ),
)
QWEN = ProviderSpec(
    name="qwen",
    title="Qwen",
    dialect="openai_chat",
    base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    url=path(_CHAT),
    model="qwen-plus",
    lookups=_keys("qwen", "DASHSCOPE_API_KEY", opencode="alibaba"),
    missing="MISSING_DASHSCOPE_API_KEY",
    advice=_advice("qwen", "DASHSCOPE_API_KEY"),
    adjust=with_max_tokens,
    carried=_MAX_TOKENS,
    spelling=_search_form("qwen"),
    models_page="https://www.alibabacloud.com/help/en/model-studio/models",
    key_hint=(
        "A key is valid in the region that made it: for one of mainland China, set providers.qwen.base_url "
        "to https://dashscope.aliyuncs.com/compatible-mode/v1"
    ),
    capabilities=Capabilities(options={"allowed_domains": "emulated", "blocked_domains": "emulated"}),
)
ZAI = ProviderSpec(
    name="zai",
    title="Z.ai",
    dialect="openai_chat",
    base_url="https://api.z.ai/api/paas/v4",
    url=path(_CHAT),
    model=default_model("zai"),
    family=r"glm-\d+(?:\.\d+)?",
    lookups=_keys("zai", "ZAI_API_KEY"),
    missing="MISSING_ZAI_API_KEY",
    advice=_advice("zai", "ZAI_API_KEY"),
    adjust=with_max_tokens,
    carried=_MAX_TOKENS,
    spelling=_search_form("zai"),
    models_page="https://docs.z.ai/guides/overview/overview",
    key_hint=("For a key of bigmodel.cn, set providers.zai.base_url to https://open.bigmodel.cn/api/paas/v4"),
    capabilities=Capabilities(
        options={"allowed_domains": "emulated", "blocked_domains": "emulated", "max_sources": "native"}
    ),
)
MISTRAL = ProviderSpec(
    name="mistral",
    title="Mistral",
    dialect="openai_chat",
    base_url="https://api.mistral.ai/v1",
    url=path(_CHAT),
    model="mistral-large-latest",
    lookups=_keys("mistral", "MISTRAL_API_KEY"),
    missing="MISSING_MISTRAL_API_KEY",
    advice=_advice("mistral", "MISTRAL_API_KEY"),
    adjust=with_max_tokens,
    carried=_MAX_TOKENS,
    models_page="https://docs.mistral.ai/getting-started/models",
    capabilities=_NO_SEARCH,
)
DEEPSEEK = ProviderSpec(
    name="deepseek",
    title="DeepSeek",
    dialect="openai_chat",
    base_url="https://api.deepseek.com/v1",
    url=path(_CHAT),
    model=default_model("deepseek"),
    family=r"deepseek-v\d+(?:\.\d+)?-flash",
    lookups=_keys("deepseek", "DEEPSEEK_API_KEY"),
    missing="MISSING_DEEPSEEK_API_KEY",
    advice=_advice("deepseek", "DEEPSEEK_API_KEY"),
    adjust=with_max_tokens,
    carried=_MAX_TOKENS,
    models_page="https://api-docs.deepseek.com/quick_start/pricing",
    capabilities=_NO_SEARCH,
)
MOONSHOT = ProviderSpec(
    name="moonshot",
    title="Moonshot",
    dialect="openai_chat",
    base_url="https://api.moonshot.ai/v1",
    url=path(_CHAT),
    model=default_model("moonshot"),
    family=r"kimi-k\d+(?:\.\d+)?",
    lookups=_keys("moonshot", "MOONSHOT_API_KEY", opencode="moonshotai"),
    missing="MISSING_MOONSHOT_API_KEY",
    advice=_advice("moonshot", "MOONSHOT_API_KEY"),
    models_page="https://platform.kimi.ai/docs/models",
    key_hint="For a key of moonshot.cn, set providers.moonshot.base_url to https://api.moonshot.cn/v1",
    capabilities=_NO_SEARCH,
)
TOGETHER = ProviderSpec(
    name="together",
    title="Together AI",
    dialect="openai_chat",
    base_url="https://api.together.ai/v1",
    url=path(_CHAT),
    model="openai/gpt-oss-120b",
    lookups=_keys("together", "TOGETHER_API_KEY", opencode="togetherai"),
    missing="MISSING_TOGETHER_API_KEY",
    advice=_advice("together", "TOGETHER_API_KEY"),
    adjust=with_max_tokens,
    carried=_MAX_TOKENS,
    models_page="https://docs.together.ai/docs/serverless-models",
    capabilities=_NO_SEARCH,
)
FIREWORKS = ProviderSpec(
    name="fireworks",
    title="Fireworks",
    dialect="openai_chat",
    base_url="https://api.fireworks.ai/inference/v1",
    url=path(_CHAT),
    model="accounts/fireworks/models/gpt-oss-120b",
    lookups=_keys("fireworks", "FIREWORKS_API_KEY", opencode="fireworks-ai"),
    missing="MISSING_FIREWORKS_API_KEY",
    advice=_advice("fireworks", "FIREWORKS_API_KEY"),
    models_page="https://fireworks.ai/models",
    capabilities=_NO_SEARCH,
)
