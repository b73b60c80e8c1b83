"""Anthropic, Messages API."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.credentials.lookup import Lookup
from groundwire.credentials.secret import Credential
from groundwire.providers.models import default_model
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import ProviderSpec, path

API_VERSION = "2023-06-01"


def headers(credential: Credential | None) -> Mapping[str, str]:
    key = {} if credential is None else {"x-api-key": credential.secret.reveal()}
    return {"anthropic-version": API_VERSION, **key}


ANTHROPIC = ProviderSpec(
    name="anthropic",
    title="Anthropic",
    dialect="anthropic_messages",
    base_url="https://api.anthropic.com",
    url=path("/v1/messages"),
    model=default_model("anthropic"),
    family=r"claude-sonnet-[\d-]+",
    lookups=(
        Lookup("environment", "ANTHROPIC_API_KEY"),
        Lookup("opencode", "anthropic", "api"),
        Lookup("own", "anthropic"),
    ),
    missing="MISSING_ANTHROPIC_API_KEY",
    advice="Set ANTHROPIC_API_KEY, run `groundwire login anthropic`, or log in with OpenCode.",
    headers=headers,
    forwards=("anthropic-beta", "anthropic-version"),
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
