"""Vertex AI: addresses of projects and regions, and providers with credentials of Google Cloud."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from groundwire.credentials.secret import Credential
from groundwire.errors import ConfigError, MissingCredential
from groundwire.model.value import replace
from groundwire.providers.spec import ProviderContext, ProviderPlugin, ProviderSpec

TOKEN_VARIABLES = ("VERTEX_ACCESS_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN")
"""Variables with an access token of Google Cloud."""
MISSING = "MISSING_VERTEX_CREDENTIALS"
ADVICE = (
    "Set GOOGLE_CLOUD_PROJECT, perhaps GOOGLE_CLOUD_LOCATION, and log in with "
    "`gcloud auth application-default login` or set VERTEX_ACCESS_TOKEN."
)
KEY_HINT = (
    "Log in again with `gcloud auth application-default login`, and check that the API is enabled in "
    "the project"
)
MODELS_PAGE = "https://cloud.google.com/vertex-ai/generative-ai/docs/models"
_GLOBAL = "global"
_REGION = re.compile(r"global|us|eu|[a-z]+-[a-z]+\d{1,2}")
_HOSTS: Mapping[str, str] = {
    _GLOBAL: "aiplatform.googleapis.com",
    **{name: f"aiplatform.{name}.rep.googleapis.com" for name in ("us", "eu")},
}


def base_url_in(location: str) -> str:
    """The address of Vertex AI in a region, in several regions (`us`, `eu`) or in all of them (`global`)."""
    return f"https://{_HOSTS.get(location, f'{location}-aiplatform.googleapis.com')}"


def model_path(project: str, location: str, publisher: str, model: str) -> str:
    """The path of a model in a project. Raises `ConfigError` if the region is none."""
    if not _REGION.fullmatch(location):
        raise ConfigError(
            f"GOOGLE_CLOUD_LOCATION is {location!r}, which is not a region; write one like europe-west4, "
            "or global"
        )
    models = f"projects/{quote(project, safe='')}/locations/{location}/publishers/{publisher}/models"
    return f"/v1/{models}/{quote(model, safe='')}"


def location_in(env: Mapping[str, str]) -> str:
    """The region of the environment; by default all of them."""
    return env.get("GOOGLE_CLOUD_LOCATION", "") or _GLOBAL


def create_plugin(context: ProviderContext, row: ProviderSpec, project: str) -> ProviderPlugin:
    """A provider with application default credentials or an access token."""
    from groundwire.providers.google_tokens import GoogleTokens  # noqa: PLC0415  few users have it
    from groundwire.providers.http import HttpProvider  # noqa: PLC0415

    settings = context.settings
    row = replace(row, base_url=settings.base_url or row.base_url, model=settings.model or row.model)
    if context.timeout:
        row = replace(row, deadlines=replace(row.deadlines, total=context.timeout))
    tokens = GoogleTokens(context.http, context.environment, context.home)

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
