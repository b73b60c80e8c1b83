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
from groundwire.errors import ConfigError, MissingCredential, UnsupportedFeature
from groundwire.model import FunctionTool, JsonObject, Request
from groundwire.model.value import replace
from groundwire.providers.models import default_model
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import ProviderContext, ProviderPlugin, ProviderSpec

TOKEN_VARIABLES = ("VERTEX_ACCESS_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN")
"""Variables with an access token of Google Cloud."""
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

_GLOBAL = "global"
_REGION = re.compile(r"global|us|eu|[a-z]+-[a-z]+\d{1,2}")
_VERTEX_ADVICE = (
    "Set GOOGLE_CLOUD_PROJECT, perhaps GOOGLE_CLOUD_LOCATION, and log in with "
    "`gcloud auth application-default login` or set VERTEX_ACCESS_TOKEN."
)


def vertex_spec(project: str, location: str) -> ProviderSpec:
    """Gemini in a project and a region of Google Cloud."""
    host = "aiplatform.googleapis.com" if location == _GLOBAL else f"{location}-aiplatform.googleapis.com"

    def vertex_url(base: str, request: Request) -> str:
        if not _REGION.fullmatch(location):
            raise ConfigError(
                f"GOOGLE_CLOUD_LOCATION is {location!r}, which is not a region; write one like europe-west4, "
                "or global"
            )
        form = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
        model = quote(request.model.removeprefix("models/"), safe="")
        place = f"projects/{quote(project, safe='')}/locations/{location}/publishers/google/models"
        return f"{base.rstrip('/')}/v1/{place}/{model}:{form}"

    return ProviderSpec(
        name="vertex",
        title="Vertex AI",
        dialect="gemini",
        base_url=f"https://{host}",
        url=vertex_url,
        model=default_model("gemini"),
        lookups=tuple(Lookup("environment", name) for name in TOKEN_VARIABLES),
        missing="MISSING_VERTEX_CREDENTIALS",
        advice=_VERTEX_ADVICE,
        adjust=adjust,
        models_page="https://cloud.google.com/vertex-ai/generative-ai/docs/models",
        key_hint=(
            "Log in again with `gcloud auth application-default login`, and check that the API is enabled in "
            "the project"
        ),
        capabilities=_CAPABILITIES,
    )


def create_vertex(context: ProviderContext) -> ProviderPlugin:
    """A `ProviderFactory`: Vertex AI with application default credentials or an access token."""
    from groundwire.providers.google_tokens import GoogleTokens  # noqa: PLC0415  few users have it
    from groundwire.providers.http import HttpProvider  # noqa: PLC0415

    env = context.environment
    project = env.get("GOOGLE_CLOUD_PROJECT", "")
    row = vertex_spec(project, env.get("GOOGLE_CLOUD_LOCATION", "") or _GLOBAL)
    settings = context.settings
    row = replace(row, base_url=settings.base_url or row.base_url, model=settings.model or row.model)
    if context.timeout:
        row = replace(row, deadlines=replace(row.deadlines, total=context.timeout))
    tokens = GoogleTokens(context.http, env, context.home)

    async def credential() -> Credential | None:
        found = await tokens.credential() if project else None
        if found is None:
            missing = MissingCredential(f"no project or credentials for {row.title}. {row.advice}")
            missing.code = row.missing
            raise missing
        return found

    return ProviderPlugin(
        HttpProvider(row, context.http, credential, context.redactor),
        row.title,
        is_usable=lambda: bool(project and tokens.origin),
        reason=lambda: tokens.origin if project and tokens.origin else row.advice,
        lookups=row.lookups,
        dialect=row.dialect,
        base_url=row.base_url,
    )
