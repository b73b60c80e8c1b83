"""Claude on Vertex AI: the Messages API, with the model in the path and a version of its own.

Web search is available in the first version of the tool only, the one that groundwire writes.
"""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.credentials.lookup import Lookup
from groundwire.credentials.secret import Credential
from groundwire.model import JsonObject, Request
from groundwire.providers.google_cloud import (
    ADVICE,
    KEY_HINT,
    MISSING,
    MODELS_PAGE,
    TOKEN_VARIABLES,
    base_url_in,
    create_plugin,
    location_in,
    model_path,
)
from groundwire.providers.models import default_model
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import ProviderContext, ProviderPlugin, ProviderSpec, bearer

_SEARCH_BETA = "web-search-2025-03-05"
_VERSION = "vertex-2023-10-16"
_REGION_VARIABLE = "CLOUD_ML_REGION"
_PROJECT_VARIABLES = ("ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT")


def headers(credential: Credential | None) -> Mapping[str, str]:
    """The access token, and the beta without which Vertex AI refuses the search tool."""
    return {"anthropic-beta": _SEARCH_BETA, **bearer(credential)}


def adjust(body: JsonObject, _: Request) -> JsonObject:
    """The body without the model, which is in the path, and with the version."""
    return {"anthropic_version": _VERSION, **{name: item for name, item in body.items() if name != "model"}}


def vertex_claude_spec(project: str, location: str) -> ProviderSpec:
    """Claude in a project and a region of Google Cloud."""

    def url(base: str, request: Request) -> str:
        form = "streamRawPredict" if request.stream else "rawPredict"
        return f"{base.rstrip('/')}{model_path(project, location, 'anthropic', request.model)}:{form}"

    return ProviderSpec(
        name="vertex_claude",
        title="Claude on Vertex AI",
        dialect="anthropic_messages",
        base_url=base_url_in(location),
        url=url,
        model=default_model("anthropic"),
        lookups=tuple(Lookup("environment", name) for name in TOKEN_VARIABLES),
        missing=MISSING,
        advice=ADVICE,
        headers=headers,
        adjust=adjust,
        carried=frozenset({"model"}),
        passes_through=False,
        models_page=MODELS_PAGE,
        key_hint=KEY_HINT,
        capabilities=Capabilities(
            pauses=True,
            both_domain_lists=False,
            options={
                "allowed_domains": "native",
                "blocked_domains": "native",
                "location": "native",
                "max_uses": "native",
            },
        ),
    )


def create_vertex_claude(context: ProviderContext) -> ProviderPlugin:
    """A `ProviderFactory`: Claude on Vertex AI."""
    env = context.environment
    project = next((found for name in _PROJECT_VARIABLES if (found := env.get(name, ""))), "")
    location = env.get(_REGION_VARIABLE, "") or location_in(env)
    return create_plugin(context, vertex_claude_spec(project, location), project)
