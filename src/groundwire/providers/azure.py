"""Azure OpenAI, Responses API in its version 1. The model is the name of a deployment.

The address is that of the resource: `https://NAME.openai.azure.com` or
`https://NAME.services.ai.azure.com`, with or without `/openai/v1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from groundwire.credentials.lookup import Lookup
from groundwire.credentials.secret import Credential
from groundwire.errors import ConfigError
from groundwire.model import Request
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import ProviderSpec, bearer

_VERSION = "/openai/v1"
_TOKEN_VARIABLE = "AZURE_OPENAI_AD_TOKEN"  # noqa: S105  a name
_SETTING = "AZURE_OPENAI_ENDPOINT or providers.azure.base_url"
_EXAMPLE = "write the address of the resource, like https://NAME.openai.azure.com"


def url(base: str, _: Request) -> str:
    """The address of the resource with the path of the API. Raises `ConfigError` for other addresses."""
    parts = urlsplit(base)
    host = parts.hostname or ""
    if parts.scheme not in ("https", "http"):
        raise ConfigError(f"{_SETTING} does not begin with https://; {_EXAMPLE}")
    if parts.query or "/deployments" in parts.path:
        raise ConfigError(f"{_SETTING} is the address of a deployment; {_EXAMPLE}")
    if host.endswith(".api.cognitive.microsoft.com"):
        raise ConfigError(f"{_SETTING} is the address of a region; {_EXAMPLE}")
    address = base.rstrip("/").removesuffix("/openai")
    return f"{address}/responses" if address.endswith(_VERSION) else f"{address}{_VERSION}/responses"


def headers(credential: Credential | None) -> Mapping[str, str]:
    """Azure's own header for keys; `Authorization` is for tokens of Entra ID."""
    if credential is not None and credential.origin.endswith(_TOKEN_VARIABLE):
        return bearer(credential)
    return {} if credential is None else {"api-key": credential.secret.reveal()}


AZURE = ProviderSpec(
    name="azure",
    title="Azure OpenAI",
    dialect="openai_responses",
    base_url="",
    base_url_env="AZURE_OPENAI_ENDPOINT",
    url=url,
    model="",
    lookups=(
        Lookup("environment", "AZURE_OPENAI_API_KEY"),
        Lookup("environment", _TOKEN_VARIABLE),
        Lookup("own", "azure"),
    ),
    missing="MISSING_AZURE_OPENAI_API_KEY",
    advice=(
        "Set AZURE_OPENAI_ENDPOINT to the address of your resource, and AZURE_OPENAI_API_KEY; the model is "
        "the name of a deployment."
    ),
    headers=headers,
    key_hint="A key is valid for its own resource only: compare it with AZURE_OPENAI_ENDPOINT",
    background=True,
    models_page="https://ai.azure.com (the deployments of your resource)",
    capabilities=Capabilities(
        options={
            "allowed_domains": "native",
            "blocked_domains": "native",
            "location": "native",
            "max_uses": "native",
            "context_size": "native",
        }
    ),
)
