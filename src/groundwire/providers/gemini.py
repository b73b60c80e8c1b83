"""Google Gemini: the Developer API, and Vertex AI.

A key goes in a header, never in the URL, which is logged. Vertex AI takes an access token of Google Cloud;
project and region are parts of the address.

Up to Gemini 2.5 a request cannot have both web search and functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from groundwire.credentials.lookup import Lookup
from groundwire.credentials.secret import Credential
from groundwire.errors import UnsupportedFeature
from groundwire.model import FunctionTool, JsonObject, Request
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
from groundwire.providers.spec import ProviderContext, ProviderPlugin, ProviderSpec

_UP_TO_2 = r"gemini-[12]\b"
_EITHER_OR = re.compile(_UP_TO_2)


def url(base: str, request: Request) -> str:
    """The model and the method are part of the path."""
    form = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
    return f"{base.rstrip('/')}/v1beta/models/{quote(request.model.removeprefix('models/'), safe='')}:{form}"


def headers(credential: Credential | None) -> Mapping[str, str]:
    return {} if credential is None else {"x-goog-api-key": credential.secret.reveal()}


def adjust(body: JsonObject, request: Request) -> JsonObject:
    """The body, unchanged. Raises `UnsupportedFeature` if the model would refuse it."""
    functions = any(isinstance(tool, FunctionTool) for tool in request.tools)
    if functions and request.search is not None and _EITHER_OR.search(request.model):
        raise UnsupportedFeature(
            f"{request.model} cannot search the web and call functions in one request; "
            "choose a Gemini 3 model, or leave one of them out"
        )
    return body


_CAPABILITIES = Capabilities(
    functions_with_search=False,
    billing=((_UP_TO_2, "prompt"), ("", "query")),
    coordinates=True,  # `retrievalConfig.latLng` is its only location field
    options={
        "allowed_domains": "emulated",
        "blocked_domains": "emulated",
        "language": "native",
        "location": "emulated",
        "since": "native",
        "until": "native",
    },
)
GEMINI = ProviderSpec(
    name="gemini",
    title="Google Gemini",
    dialect="gemini",
    base_url="https://generativelanguage.googleapis.com",
    url=url,
    model=default_model("gemini"),
    family=r"gemini-\d+(?:\.\d+)?-flash",
    lookups=(
        Lookup("opencode", "google", "api"),
        Lookup("environment", "GEMINI_API_KEY"),
        Lookup("environment", "GOOGLE_API_KEY"),
        Lookup("own", "gemini"),
    ),
    missing="MISSING_GEMINI_API_KEY",
    advice=(
        "Set GEMINI_API_KEY (a key comes from Google AI Studio), run `groundwire login gemini`, "
        "or log in with OpenCode."
    ),
    headers=headers,
    adjust=adjust,
    capabilities=_CAPABILITIES,
)


# Vertex AI


def vertex_spec(project: str, location: str) -> ProviderSpec:
    """Gemini in a project and a region of Google Cloud."""

    def vertex_url(base: str, request: Request) -> str:
        form = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
        model = request.model.removeprefix("models/")
        return f"{base.rstrip('/')}{model_path(project, location, 'google', model)}:{form}"

    return ProviderSpec(
        name="vertex",
        title="Vertex AI",
        dialect="gemini",
        base_url=base_url_in(location),
        url=vertex_url,
        model=default_model("gemini"),
        lookups=tuple(Lookup("environment", name) for name in TOKEN_VARIABLES),
        missing=MISSING,
        advice=ADVICE,
        adjust=adjust,
        models_page=MODELS_PAGE,
        key_hint=KEY_HINT,
        capabilities=_CAPABILITIES,
    )


def create_vertex(context: ProviderContext) -> ProviderPlugin:
    """A `ProviderFactory`: Gemini on Vertex AI."""
    env = context.environment
    project = env.get("GOOGLE_CLOUD_PROJECT", "")
    return create_plugin(context, vertex_spec(project, location_in(env)), project)
