"""Provider cases and a scripted upstream: every built-in provider, and a configured one for each dialect.

What is expected of a case on the wire is written here by hand, not derived from its spec.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from dataclasses import replace as replace_case

import pytest

from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential, Secret
from groundwire.errors import GroundwireError
from groundwire.model import Answer, Event, Failed, Finished, Message, Request, SearchOptions, Text, assemble
from groundwire.model.value import replace
from groundwire.providers.bedrock import bedrock_spec
from groundwire.providers.gemini import vertex_spec
from groundwire.providers.http import HttpProvider
from groundwire.providers.models import default_model
from groundwire.providers.registry import adjusted, describe, find_spec
from groundwire.providers.spec import ProviderSpec, flatten
from groundwire.providers.vertex_claude import vertex_claude_spec
from groundwire.testing.upstream import Script, ScriptedResponse, Upstream
from groundwire.transport.http import Deadlines, Http

KEY = "sk-canary-Zq7Kp2Wm9Xv4Tn8Rb3Yd6"
ACCOUNT = "acct-7f3a"
MODEL = "model-of-mine"


@dataclass(frozen=True)
class ProviderCase:
    """A provider, its path below the base URL, and the header of its key."""

    name: str
    dialect: str
    base: str
    path: str
    auth: str = "authorization"
    stream_path: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    always_streams: bool = False
    is_configured: bool = False
    searches: bool = True
    """Has the model a web search of its own?"""
    model: str = ""
    """Named in the configuration, where the vendor has no default."""
    is_local: bool = False
    """Is it a server on this machine?"""

    def __str__(self) -> str:
        return self.name

    @property
    def key_shown(self) -> str:
        return f"Bearer {KEY}" if self.auth == "authorization" else KEY

    def path_for(self, *, streamed: bool) -> str:
        return self.stream_path if streamed and self.stream_path else self.path

    def row(self, url: str, deadlines: Deadlines | None = None) -> ProviderSpec:
        """The spec, pointed at a test server."""
        if self.is_configured:
            search = "" if self.searches else "none"
            described = describe(self.name, self.dialect, url + self.base, "MY_KEY")
            row = adjusted(described, model=MODEL, search=search)
        else:
            row = adjusted(built_in(self.name), base_url=url + self.base, model=self.model)
        return replace(row, deadlines=deadlines) if deadlines else row


def built_in(name: str) -> ProviderSpec:
    """The spec of a built-in provider; some depend on the environment."""
    if name in _DEPENDENT:
        return _DEPENDENT[name]
    found = find_spec(name)
    assert found is not None
    return found


_DEPENDENT: Mapping[str, ProviderSpec] = {
    "vertex": vertex_spec("my-project", "europe-west4"),
    "vertex_claude": vertex_claude_spec("my-project", "europe-west4"),
    "bedrock": bedrock_spec("us-east-1"),
}


_GEMINI = "/v1beta/models/{}:generateContent"
_GEMINI_STREAM = "/v1beta/models/{}:streamGenerateContent?alt=sse"
_PROJECT = "/v1/projects/my-project/locations/europe-west4/publishers"
_VERTEX = _PROJECT + "/google/models/{}:{}"
_VERTEX_CLAUDE = _PROJECT + "/anthropic/models/{}:{}"
_CONVERSE = "/model/{}/converse"
_VERSION = {"anthropic-version": "2023-06-01"}

VENDORS = (
    ProviderCase("anthropic", "anthropic_messages", "", "/v1/messages", "x-api-key", headers=_VERSION),
    ProviderCase("openai", "openai_responses", "/v1", "/v1/responses"),
    ProviderCase(
        "gemini",
        "gemini",
        "",
        _GEMINI.format(default_model("gemini")),
        "x-goog-api-key",
        _GEMINI_STREAM.format(default_model("gemini")),
    ),
    ProviderCase("openrouter", "openai_responses", "/api/v1", "/api/v1/responses"),
    ProviderCase(
        "openai_oauth",
        "openai_responses",
        "/backend-api/codex",
        "/backend-api/codex/responses",
        headers={"chatgpt-account-id": ACCOUNT, "originator": "codex_cli_rs"},
        always_streams=True,
    ),
    ProviderCase("openai_chat", "openai_chat", "/v1", "/v1/chat/completions"),
    ProviderCase("xai", "openai_responses", "/v1", "/v1/responses"),
    ProviderCase("perplexity", "openai_chat", "", "/chat/completions"),
    ProviderCase("perplexity_responses", "openai_responses", "/v1", "/v1/responses"),
    ProviderCase("azure", "openai_responses", "", "/openai/v1/responses", "api-key", model="my-deployment"),
    ProviderCase(
        "vertex",
        "gemini",
        "",
        _VERTEX.format(default_model("gemini"), "generateContent"),
        stream_path=_VERTEX.format(default_model("gemini"), "streamGenerateContent?alt=sse"),
    ),
    ProviderCase(
        "vertex_claude",
        "anthropic_messages",
        "",
        _VERTEX_CLAUDE.format(default_model("anthropic"), "rawPredict"),
        stream_path=_VERTEX_CLAUDE.format(default_model("anthropic"), "streamRawPredict"),
    ),
    ProviderCase(
        "bedrock",
        "bedrock_converse",
        "",
        _CONVERSE.format("us.amazon.nova-2-lite-v1%3A0"),
        stream_path=_CONVERSE.format("us.amazon.nova-2-lite-v1%3A0") + "-stream",
    ),
    ProviderCase("groq", "openai_chat", "/openai/v1", "/openai/v1/chat/completions"),
    ProviderCase("qwen", "openai_chat", "/compatible-mode/v1", "/compatible-mode/v1/chat/completions"),
    ProviderCase("mistral_conversations", "mistral_conversations", "/v1", "/v1/conversations"),
    ProviderCase("zai", "openai_chat", "/api/paas/v4", "/api/paas/v4/chat/completions"),
    *(
        ProviderCase(name, "openai_chat", base, f"{base}/chat/completions", searches=False)
        for name, base in (
            ("mistral", "/v1"),
            ("deepseek", "/v1"),
            ("moonshot", "/v1"),
            ("together", "/v1"),
            ("fireworks", "/inference/v1"),
        )
    ),
    ProviderCase("cohere", "cohere_chat", "", "/v2/chat", searches=False),
    *(
        ProviderCase(
            name,
            "openai_chat",
            "/v1",
            "/v1/chat/completions",
            searches=False,
            model="llama",
            is_local=True,
        )
        for name in ("ollama", "vllm", "lmstudio", "llamacpp")
    ),
)
CONFIGURED = tuple(
    replace_case(case, is_configured=True)
    for case in (
        ProviderCase(
            "my_anthropic", "anthropic_messages", "/a", "/a/v1/messages", "x-api-key", headers=_VERSION
        ),
        ProviderCase("my_responses", "openai_responses", "/b/v1", "/b/v1/responses"),
        ProviderCase("my_chat", "openai_chat", "/c/v1", "/c/v1/chat/completions"),
        ProviderCase(
            "my_gemini",
            "gemini",
            "/d",
            "/d" + _GEMINI.format(MODEL),
            "x-goog-api-key",
            "/d" + _GEMINI_STREAM.format(MODEL),
        ),
        ProviderCase(
            "my_interactions", "gemini_interactions", "/e", "/e/v1beta/interactions", "x-goog-api-key"
        ),
        ProviderCase(
            "my_converse",
            "bedrock_converse",
            "/h",
            "/h" + _CONVERSE.format(MODEL),
            stream_path="/h" + _CONVERSE.format(MODEL) + "-stream",
        ),
        ProviderCase("my_cohere", "cohere_chat", "/i", "/i/v2/chat"),
        ProviderCase("my_conversations", "mistral_conversations", "/j/v1", "/j/v1/conversations"),
        ProviderCase("my_websearch", "websearch", "/f", "/f/v1/search"),
    )
)
PROVIDER_CASES = (*(case for case in VENDORS if case.searches), *CONFIGURED)
WITHOUT_SEARCH = (
    *(case for case in VENDORS if not case.searches),
    ProviderCase(
        "my_plain", "openai_chat", "/g/v1", "/g/v1/chat/completions", is_configured=True, searches=False
    ),
)
STREAMING = tuple(case for case in PROVIDER_CASES if case.dialect != "websearch")
"""Cases that can stream an answer; the others return whole search results."""


_READ_LIKE_ANOTHER = frozenset(
    {
        *("xai", "perplexity", "perplexity_responses", "azure", "vertex", "groq", "qwen", "zai"),
        *("mistral_conversations", "my_converse", "vertex_claude"),
        *("my_anthropic", "my_responses", "my_chat", "my_gemini"),
    }
)
"""Vendors that differ from another one in their requests only."""


def sampled(cases: Iterable[ProviderCase]) -> list[object]:
    """Cases for tests of answers and errors: one for each way to read them, the others in the long form."""
    return [
        pytest.param(
            case, id=case.name, marks=pytest.mark.thorough if case.name in _READ_LIKE_ANOTHER else ()
        )
        for case in cases
    ]


def sampled_with(cases: Iterable[ProviderCase], others: Sequence[str]) -> list[object]:
    """The same, each with a third of the strings, and each string with a third of the cases; the other pairs
    in the long form."""
    ordered = sorted(cases, key=lambda case: case.name in _READ_LIKE_ANOTHER)
    pairs: list[object] = []
    for place, case in enumerate(ordered):
        for number, other in enumerate(others):
            is_short = (place + number) % 3 == 0 and case.name not in _READ_LIKE_ANOTHER
            marks = () if is_short else pytest.mark.thorough
            pairs.append(pytest.param(case, other, id=f"{case.name}-{other[:12]}", marks=marks))
    return pairs


def case_named(name: str) -> ProviderCase:
    """The case of that name."""
    return next(item for item in PROVIDER_CASES if item.name == name)


def credential() -> Credential:
    """The key as a credential."""
    return Credential(Secret(KEY), "api", "a test", account_id=ACCOUNT)


QUERY = "How long is the Nile?"


def question(*, stream: bool = False, search: SearchOptions | None = None, query: str = QUERY) -> Request:
    """A question with web search."""
    return Request((Message("user", (Text(query),)),), search=search or SearchOptions(), stream=stream)


@dataclass
class ProviderOutcome:
    """Events and error, as a caller receives them."""

    events: list[Event] = field(default_factory=list)
    raised: GroundwireError | None = None

    @property
    def answer(self) -> Answer:
        return assemble(self.events)

    @property
    def error(self) -> GroundwireError | None:
        """The error, raised before the answer began or emitted by it."""
        return self.raised or self.answer.error

    @property
    def ends(self) -> list[Event]:
        return [event for event in self.events if isinstance(event, Finished | Failed)]


async def ask(provider: HttpProvider, request: Request) -> ProviderOutcome:
    """The whole answer, or the error."""
    outcome = ProviderOutcome()
    try:
        async for event in flatten(provider.batches(request)):
            outcome.events.append(event)
    except GroundwireError as error:
        outcome.raised = error
    return outcome


class ProviderWorld:
    """A case, the upstream that plays it, and the connections between them."""

    def __init__(self, case: ProviderCase, upstream: Upstream, http: Http) -> None:
        self.case = case
        self.upstream = upstream
        self.http = http
        self.redactor = Redactor()
        self.deadlines = Deadlines(connect=600, first_byte=600, idle=600, total=600)
        self.clock: Callable[[], float] = lambda: 0.0

    def provider(self, deadlines: Deadlines | None = None) -> HttpProvider:
        async def key() -> Credential | None:
            return credential()

        row = self.case.row(self.upstream.url, deadlines or self.deadlines)
        return HttpProvider(row, self.http, key, self.redactor, self.clock)

    async def ask(
        self, request: Request | None = None, deadlines: Deadlines | None = None
    ) -> ProviderOutcome:
        return await ask(self.provider(deadlines), request or question())


@asynccontextmanager
async def world(
    case: ProviderCase, script: Script | ScriptedResponse | list[ScriptedResponse]
) -> AsyncIterator[ProviderWorld]:
    """A provider and its upstream; all connections are closed at the end."""
    async with Upstream(script) as upstream:
        async with Http({}) as http:
            yield ProviderWorld(case, upstream, http)
        await upstream.closed()
