"""Google Gemini, Developer API. The key goes in a header, never in the address, which gets logged."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from groundwire.credentials.lookup import Lookup
from groundwire.credentials.secret import Credential
from groundwire.model import Request
from groundwire.providers.base import Row
from groundwire.providers.capabilities import Capabilities


def url(base: str, request: Request) -> str:
    """Model and form stand in the path."""
    form = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
    return f"{base.rstrip('/')}/v1beta/models/{quote(request.model, safe='')}:{form}"


def headers(credential: Credential | None) -> Mapping[str, str]:
    return {} if credential is None else {"x-goog-api-key": credential.secret.reveal()}


ROW = Row(
    name="gemini",
    title="Google Gemini",
    dialect="gemini",
    base_url="https://generativelanguage.googleapis.com",
    url=url,
    model="gemini-2.5-flash",
    lookups=(
        Lookup("opencode", "google", "api"),
        Lookup("environment", "GEMINI_API_KEY"),
        Lookup("environment", "GOOGLE_API_KEY"),
        Lookup("own", "gemini"),
    ),
    missing="MISSING_GEMINI_API_KEY",
    advice="Set GEMINI_API_KEY (a key comes from Google AI Studio), or log in with OpenCode.",
    headers=headers,
    capabilities=Capabilities(
        functions_with_search=False,
        options={
            "allowed_domains": "emulated",
            "blocked_domains": "emulated",
            "language": "native",
            "location": "native",
            "since": "native",
            "until": "native",
        },
    ),
)
