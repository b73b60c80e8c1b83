"""Whom the suite asks: every built-in provider, and one row of the configuration for each dialect.

What is expected of a speaker on the wire is written down here by hand, not derived from its row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import replace as replace_speaker

from groundwire.credentials.secret import Credential, Secret
from groundwire.model.value import replace
from groundwire.providers.models import default_model
from groundwire.providers.registry import adjusted, describe, find_spec
from groundwire.providers.spec import ProviderSpec
from groundwire.transport.deadlines import Deadlines

KEY = "sk-canary-Zq7Kp2Wm9Xv4Tn8Rb3Yd6"
ACCOUNT = "acct-7f3a"
MODEL = "model-of-mine"


@dataclass(frozen=True)
class Speaker:
    """A provider, where it listens below its base address, and how it is shown the key."""

    name: str
    dialect: str
    base: str
    path: str
    auth: str = "authorization"
    stream_path: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    always_streams: bool = False
    is_configured: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def key_shown(self) -> str:
        return f"Bearer {KEY}" if self.auth == "authorization" else KEY

    def path_for(self, *, streamed: bool) -> str:
        return self.stream_path if streamed and self.stream_path else self.path

    def row(self, url: str, deadlines: Deadlines | None = None) -> ProviderSpec:
        """The row as a user would point it at a server of their own."""
        if self.is_configured:
            row = adjusted(describe(self.name, self.dialect, url + self.base, "MY_KEY"), model=MODEL)
        else:
            found = find_spec(self.name)
            assert found is not None
            row = adjusted(found, base_url=url + self.base)
        return replace(row, deadlines=deadlines) if deadlines else row


_GEMINI = "/v1beta/models/{}:generateContent"
_GEMINI_STREAM = "/v1beta/models/{}:streamGenerateContent?alt=sse"
_VERSION = {"anthropic-version": "2023-06-01"}

VENDORS = (
    Speaker("anthropic", "anthropic_messages", "", "/v1/messages", "x-api-key", headers=_VERSION),
    Speaker("openai", "openai_responses", "/v1", "/v1/responses"),
    Speaker(
        "gemini",
        "gemini",
        "",
        _GEMINI.format(default_model("gemini")),
        "x-goog-api-key",
        _GEMINI_STREAM.format(default_model("gemini")),
    ),
    Speaker("openrouter", "openai_responses", "/api/v1", "/api/v1/responses"),
    Speaker(
        "openai_oauth",
        "openai_responses",
        "/backend-api/codex",
        "/backend-api/codex/responses",
        headers={"chatgpt-account-id": ACCOUNT, "originator": "codex_cli_rs"},
        always_streams=True,
    ),
    Speaker("openai_chat", "openai_chat", "/v1", "/v1/chat/completions"),
)
CONFIGURED = tuple(
    replace_speaker(speaker, is_configured=True)
    for speaker in (
        Speaker("my_anthropic", "anthropic_messages", "/a", "/a/v1/messages", "x-api-key", headers=_VERSION),
        Speaker("my_responses", "openai_responses", "/b/v1", "/b/v1/responses"),
        Speaker("my_chat", "openai_chat", "/c/v1", "/c/v1/chat/completions"),
        Speaker(
            "my_gemini",
            "gemini",
            "/d",
            "/d" + _GEMINI.format(MODEL),
            "x-goog-api-key",
            "/d" + _GEMINI_STREAM.format(MODEL),
        ),
        Speaker("my_interactions", "gemini_interactions", "/e", "/e/v1beta/interactions", "x-goog-api-key"),
        Speaker("my_websearch", "websearch", "/f", "/f/v1/search"),
    )
)
SPEAKERS = (*VENDORS, *CONFIGURED)
STREAMING = tuple(speaker for speaker in SPEAKERS if speaker.dialect != "websearch")
"""Those who can tell an answer bit by bit; the others have only searches to give, and whole."""


def speaker_named(name: str) -> Speaker:
    """The one of that name."""
    return next(item for item in SPEAKERS if item.name == name)


def credential() -> Credential:
    """The key, as credentials are found."""
    return Credential(Secret(KEY), "api", "a test", account_id=ACCOUNT)
