"""Secrets are redacted: whatever an upstream echoes, no error, event, log or traceback repeats it."""

from __future__ import annotations

import asyncio
import base64
import html
import json
import logging
import random
import re
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from groundwire.client import Groundwire
from groundwire.config.load import load
from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential, Secret
from groundwire.errors import GroundwireError, Unreachable
from groundwire.model import Event, Failed, Finished, Json, Request, TextDelta, Warned
from groundwire.providers.http import HttpProvider
from groundwire.testing.answers import encode_answer
from groundwire.testing.script import Script, ScriptedResponse, json_response, text_response
from groundwire.testing.upstream import Upstream
from groundwire.transport.http import Deadlines
from tests.credentials.builders import codex_file, write_private
from tests.figures import Figures
from tests.providers.copilot.fake import fake_cli
from tests.providers.harness import (
    PROVIDER_CASES,
    STREAMING,
    ProviderCase,
    ProviderOutcome,
    ask,
    case_named,
    question,
    sampled,
    sampled_with,
    world,
)
from tests.transport.bounded import run

pytestmark = pytest.mark.server

CANARIES = (
    "sk-proj-Zq7Kp2Wm9Xv4Tn8Rb3Yd6Hs1",
    "sk-ant-api03-Lm4Nq8Wz2Xc6Vb0Tr5Yp9-AA",
    "sk-or-v1-3f9a1c7e5b2d8046f1a3c5e7b9d20468",
    "AIzaSyD3kX9vQ2mW7bN4tR8yH1jL6pZ0cF5gUaE",
    "AQ.Ab8RN6Jk2Lw9Qz4Xv7Tn1Mp5Yd3Hs",
    "xai-Hk3Vb8Nq2Wm7Zx4Tc9Rp1Yd6Ls0Fg5",
    "ghp_Qw7Zx2Vb9Nm4Kj1Hg6Fd3Sa8Po5Iu0",
    "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiI0MiJ9.c2lnbmF0dXJlLW9mLXRva2Vu",
    "7f3a9c1e5b2d80467f3a9c1e5b2d8046",
    "9b2f4c6e-1a3d-4f5b-8c7e-0d1f2a3b4c5d",
    "k+ey/with=signs~and.dots_and+more/==",
    "quote\"back\\slash'angle<amp&percent%41",
    "hunter22",
    "L" + "ongKeyPart" * 20,
)
KNOWN = CANARIES[8:]
"""Secrets without a known format: they can only be redacted by value."""


def spellings(secret: str) -> Iterator[str]:
    """Encodings in which an upstream may echo a secret."""
    yield secret
    yield quote(secret, safe="")
    yield quote(secret, safe="").lower() if "%" in quote(secret, safe="") else secret
    yield json.dumps(secret)[1:-1]
    yield secret[: max(8, len(secret) * 2 // 3)] + "…"
    yield base64.b64encode(f"user:{secret}".encode()).decode()


def echo(text: str) -> Iterator[ScriptedResponse]:
    """Error responses of every kind that contain a text."""
    message = f"Incorrect API key provided: {text}. Find yours at https://x.example/?key={text}"
    bodies: tuple[Json, ...] = (
        {"error": {"message": message, "type": text, "code": text}},
        {"type": "error", "error": {"type": text, "message": message}, "request_id": text},
        {"error": {"code": 401, "message": message, "status": text, "details": [{"reason": text}]}},
        {"detail": message},
        {"llmContent": message, "returnDisplay": text, "error": {"message": message, "type": text}},
    )
    for body in bodies:
        yield json_response(body, 401)
        yield json_response(body)
    yield ScriptedResponse(
        403, {"content-type": "text/html"}, f"<html>{html.escape(text)} {text}</html>".encode()
    )
    yield ScriptedResponse(
        500, {"content-type": "text/plain"}, f"panic: Authorization: Bearer {text}".encode()
    )
    yield ScriptedResponse(429, {"x-request-id": text if text.isascii() else "x", "retry-after": text[:20]})
    yield text_response(
        f"event: error\ndata: {json.dumps({'type': 'error', 'error': {'message': message}})}\n\n"
    )
    yield text_response(f"data: {{malformed {text}\n\n")
    yield ScriptedResponse(302, {"location": f"https://x.example/?key={quote(text)}"})
    yield ScriptedResponse(raw=f"{text}\r\n".encode())
    yield ScriptedResponse(body=f"<html>{text}</html>".encode())
    yield ScriptedResponse(body=f'{{"broken": "{text}'.encode())


def echoes(secret: str) -> Iterator[ScriptedResponse]:
    """Every kind of error in every spelling."""
    for text in spellings(secret):
        yield from echo(text)


def some_echoes(secret: str) -> list[ScriptedResponse]:
    """Every kind of error once, in spellings that differ from secret to secret."""
    kinds = zip(*(echo(text) for text in spellings(secret)), strict=True)
    first = CANARIES.index(secret)
    return [kind[(first + number) % len(kind)] for number, kind in enumerate(kinds)]


def leaks(text: str, secret: str) -> list[str]:
    """Substrings of a secret in a text, plain or decoded."""
    forms = (text, unquote(text), html.unescape(text), text.replace("\\\\", "\\").replace('\\"', '"'))
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
    found = [
        secret[at : at + 8]
        for at in range(len(secret) - 7)
        if any(secret[at : at + 8] in form for form in forms)
    ]
    return found + [
        encoded[at : at + 12] for at in range(2, len(encoded) - 13) if encoded[at : at + 12] in text
    ]


def everything(outcome: ProviderOutcome) -> str:
    """All that a caller, a log or a debugger could show of an outcome."""
    shown = [repr(event) for event in outcome.events if not isinstance(event, TextDelta)]
    errors = [error for error in (outcome.raised, outcome.answer.error) if error is not None]
    for error in errors:
        shown += (str(error), repr(error), repr(vars(error)), *traceback.format_exception(error))
        shown += _chain(error)
    return "\n".join(shown)


def _chain(error: BaseException) -> Iterator[str]:
    seen: BaseException | None = error
    while seen is not None:
        yield f"{seen!s} {seen!r}"
        seen = seen.__cause__ or seen.__context__


@pytest.mark.parametrize(("case", "secret"), sampled_with(PROVIDER_CASES, CANARIES))
def test_an_echoed_key_is_never_shown(
    case: ProviderCase, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    check_responses(case, secret, some_echoes(secret))
    assert leaks(caplog.text, secret) == []


@pytest.mark.thorough
@pytest.mark.parametrize("secret", CANARIES, ids=lambda text: text[:12])
@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
def test_an_echoed_key_is_never_shown_however_it_is_encoded(case: ProviderCase, secret: str) -> None:
    check_responses(case, secret, list(echoes(secret)))


def check_responses(case: ProviderCase, secret: str, responses: list[ScriptedResponse]) -> None:
    """Receive every response, and check all that is shown of it."""

    async def key() -> Credential | None:
        return Credential(Secret(secret), "api", "a test", refresh=Secret(f"refresh-{secret}"))

    async def main() -> None:
        async with world(case, responses) as here:
            provider = HttpProvider(case.row(here.upstream.url), here.http, key, Redactor())
            for number, response in enumerate(responses):
                outcome = await ask(provider, question(stream=bool(number % 2)))
                assert outcome.error is not None, response
                assert leaks(everything(outcome), secret) == [], (response, everything(outcome))

    run(main())


@pytest.mark.parametrize("case", sampled(PROVIDER_CASES))
async def test_no_failure_of_the_network_shows_the_key(case: ProviderCase) -> None:
    secret = CANARIES[0]
    scripts = [
        Script(port_state="closed"),
        Script((ScriptedResponse(raw=b""),)),
        Script((ScriptedResponse(delay=9),)),
        Script((ScriptedResponse(body=b"abcdef", cut_at=3),)),
    ]

    async def key() -> Credential | None:
        return Credential(Secret(secret), "api", "a test")

    for script in scripts:
        async with world(case, script) as here:
            row = case.row(here.upstream.url, Deadlines(first_byte=0.05))
            outcome = await ask(HttpProvider(row, here.http, key, Redactor()), question())
            assert outcome.error is not None
            assert leaks(everything(outcome), secret) == []


async def test_credentials_in_a_url_are_not_shown() -> None:
    case = case_named("my_chat")

    async def key() -> Credential | None:
        return None

    async with world(case, Script(port_state="closed")) as here:
        row = case.row(here.upstream.url.replace("://", "://me:hunter22hunter22@"))
        outcome = await ask(HttpProvider(row, here.http, key, Redactor()), question())
        assert isinstance(outcome.raised, Unreachable)
        assert leaks(everything(outcome), "hunter22hunter22") == []


@pytest.mark.parametrize(("case", "secret"), sampled_with(STREAMING, KNOWN))
async def test_an_error_inside_an_answer_is_redacted_too(case: ProviderCase, secret: str) -> None:
    failed: list[Event] = [TextDelta(0, "So far. "), Failed(GroundwireError(f"bad key {secret}"))]
    warned: list[Event] = [
        Warned("w", f"your key {secret} expires"),
        TextDelta(0, "Yes."),
        Finished("filtered", f"key {secret} is not for this"),
    ]

    async def key() -> Credential | None:
        return Credential(Secret(secret), "api", "a test")

    for events in (failed, warned):
        form = encode_answer(case.dialect, events)
        stream = ScriptedResponse(
            headers={"content-type": "text/event-stream"}, body=form.stream, framing="chunked"
        )
        async with world(case, [stream, ScriptedResponse(body=form.whole)]) as here:
            provider = HttpProvider(case.row(here.upstream.url), here.http, key, Redactor())
            for streamed in (True, False):
                outcome = await ask(provider, question(stream=streamed))
                shown = [
                    repr(event) for event in outcome.events if isinstance(event, Failed | Finished | Warned)
                ]
                shown += [event.error.message for event in outcome.events if isinstance(event, Failed)]
                text = re.sub(r"extras=\{.*", "", "\n".join(shown))
                assert leaks(text, secret) == [], text


async def test_a_call_can_be_printed() -> None:
    case = case_named("anthropic")
    secret = CANARIES[1]

    async def key() -> Credential | None:
        return Credential(Secret(secret), "api", "a test")

    async with world(case, ScriptedResponse(401)) as here:
        provider = HttpProvider(case.row(here.upstream.url), here.http, key, Redactor())
        headers = provider._headers(await key(), Request(()))
        assert headers["x-api-key"] == secret
        assert leaks(f"{headers!r} {headers!s} {headers}", secret) == []


SHORTEST = 8
VENDORS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
}
OWN = {
    "my_chat": "openai_chat",
    "my_interactions": "gemini_interactions",
    "my_websearch": "websearch",
    "my_anthropic": "anthropic_messages",
    "my_gemini": "gemini",
}
COPILOT_RUNS = 12
GIVEN = (CANARIES[6], *CANARIES[:6], *CANARIES[7:])
"""In the order in which they are handed out; the first looks like a token of GitHub's."""
STRETCHES = {secret[at : at + SHORTEST] for secret in CANARIES for at in range(len(secret) - SHORTEST + 1)}
STREWN = """
import json, os
everything = json.dumps(dict(os.environ))
sys.stderr.write("Error: " + everything + "\\n")
print(everything)
"""


def keys() -> tuple[dict[str, str], dict[str, str]]:
    """Environment variables and session tokens, each with its own secret."""
    given = iter(GIVEN)
    names = ("COPILOT_GITHUB_TOKEN", *VENDORS.values(), *(f"{name.upper()}_KEY" for name in OWN))
    env = {name: next(given) for name in names}
    tokens = {name: next(given) for name in ("access", "refresh", "next access", "next refresh")}
    assert next(given, None) is None, "every canary is in use"
    return env, tokens


def configuration(url: str) -> str:
    """Every provider has the same upstream."""
    rows = [f'[providers.{name}]\nbase_url = "{url}/{name}"' for name in (*VENDORS, "openai_oauth")]
    rows += [
        f'[providers.{name}]\ndialect = "{dialect}"\nbase_url = "{url}/{name}"\nmodel = "m"\n'
        f'key_env = "{name.upper()}_KEY"'
        for name, dialect in OWN.items()
    ]
    return "\n\n".join((*rows, "[providers.copilot]\nenabled = true\n"))


class SecretWorld:
    """A user with all these secrets, and a client whose output is searched for them."""

    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        self.url = url
        env, self.tokens = keys()
        write_private(home / ".config" / "groundwire" / "config.toml", configuration(url))
        session = {"access_token": self.tokens["access"], "refresh_token": self.tokens["refresh"]}
        write_private(codex_file(home), json.dumps({"tokens": {**session, "account_id": "a"}}))
        cli = fake_cli(home, ("run", STREWN), ("exit", 1), recorded=False)
        env |= {"HOME": str(home), "PATH": "/usr/bin:/bin", "COPILOT_PATH": str(cli.path)}
        env["GROUNDWIRE_OPENAI_OAUTH_TOKEN_URL"] = f"{url}/oauth/token"
        self.client = Groundwire(load(env, str(home), str(home)), env=env)
        self.names = (*VENDORS, *OWN, "openai_oauth")
        self.failures = 0
        self._given = {name: env[variable] for name, variable in VENDORS.items()}
        self._given |= {name: env[f"{name.upper()}_KEY"] for name in OWN}

    def secrets_of(self, provider: str) -> list[str]:
        """The secrets that a provider has seen, or will with the next request."""
        if provider != "openai_oauth":
            return [self._given[provider]]
        stored = codex_file(self.home).read_text("utf-8")
        first = [self.tokens["access"], self.tokens["refresh"]]
        return first + [token for token in self.tokens.values() if json.dumps(token) in stored]

    def login(self) -> tuple[ScriptedResponse, ...]:
        """One refresh succeeds; the next one is refused, with the token in the refusal."""
        fresh = {"access_token": self.tokens["next access"], "refresh_token": self.tokens["next refresh"]}
        error: Json = {"code": self.tokens["next refresh"], "message": json.dumps(self.tokens)}
        return json_response({**fresh, "expires_in": 100_000}), json_response({"error": error}, 401)

    async def fail(self, provider: str, *, stream: bool) -> Iterator[str]:
        """Send a request; returns all that can be shown of its failure."""
        try:
            if stream:
                events = [event async for event in self.client.stream("why?", provider=provider)]
                return iter([repr(event) for event in events])
            await self.client.asearch("why?", provider=provider)
        except GroundwireError as error:
            self.failures += 1
            return shown(error)
        return iter(())


def shown(error: BaseException) -> Iterator[str]:
    """An error as logs and debuggers print it, with its causes."""
    yield from (str(error), repr(error), repr(vars(error)), *traceback.format_exception(error))
    cause: BaseException | None = error.__cause__ or error.__context__
    while cause is not None:
        yield from (str(cause), repr(cause), repr(vars(cause)))
        cause = cause.__cause__ or cause.__context__


def found_in(text: str) -> set[str]:
    """Substrings of secrets in a text, plain or decoded."""
    forms = {text, unquote(text), html.unescape(text), text.replace("\\\\", "\\").replace('\\"', '"')}
    return {
        form[at : at + SHORTEST]
        for form in forms
        for at in range(len(form) - SHORTEST + 1)
        if form[at : at + SHORTEST] in STRETCHES
    }


def response(chance: random.Random, secret: str) -> ScriptedResponse:
    """An error of any kind that repeats a secret, whole or in part, in any spelling, in some noise."""
    text = chance.choice([*spellings(secret)])
    if chance.random() < 0.3 and len(secret) > SHORTEST:
        start = chance.randrange(len(secret) - SHORTEST)
        text = secret[start : chance.randrange(start + SHORTEST, len(secret) + 1)]
    noise = "".join(chance.choices("abc {}\"'\\,:%&=<>/", k=chance.randrange(12)))
    return chance.choice([*echo(chance.choice((text, noise + text, text + noise)))])


def kept(home: Path) -> Mapping[str, str]:
    """All files but the stored session."""
    return {
        str(path.relative_to(home)): path.read_text("utf-8", "replace")
        for path in home.rglob("*")
        if path.is_file() and path != codex_file(home)
    }


async def provoke_failures(
    world: SecretWorld, upstream: Upstream, logs: pytest.LogCaptureFixture, failures: int
) -> list[str]:
    """Fail in every way; returns the substrings of secrets that were shown."""
    chance = random.Random(14)
    login = {"/oauth/token": world.login()}
    seen: list[str] = []
    rounds = 0
    while world.failures < failures and rounds < 2 * failures:
        name = world.names[rounds % len(world.names)]
        upstream.script = Script((response(chance, chance.choice(world.secrets_of(name))),), login)
        for text in await world.fail(name, stream=chance.random() < 0.5):
            seen += (f"{name}: {found} in {text}" for found in found_in(text))
        rounds += 1
    for number in range(COPILOT_RUNS):
        for text in await world.fail("copilot", stream=bool(number % 2)):
            seen += (f"copilot: {found} in {text}" for found in found_in(text))
    for record in logs.records:
        seen += (f"log: {found}" for found in found_in(record.getMessage()))
    return seen


@pytest.mark.parametrize("failures", [400, pytest.param(2000, marks=pytest.mark.thorough)])
async def test_failures_show_no_secret_in_any_sink(
    failures: int,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    figures: Figures,
) -> None:
    caplog.set_level(logging.DEBUG)

    async def at_once(_: float) -> None:
        pass

    async def main() -> SecretWorld:
        async with Upstream(Script()) as upstream:
            with monkeypatch.context() as patch:
                patch.setattr(asyncio, "sleep", at_once)  # the client's router waits with it
                world = SecretWorld(tmp_path, upstream.url)
            async with world.client:
                assert (await provoke_failures(world, upstream, caplog, failures))[:5] == []
            assert found_in(f"{world.client!r} {world.client.config!r} {world.client.providers()!r}") == set()
            return world

    world = await main()
    assert world.failures >= failures + COPILOT_RUNS
    figures.add("S14", "failures, none of which shows a secret", world.failures)
    printed = capfd.readouterr()
    assert found_in(printed.out + printed.err) == set()
    assert {name: found_in(text) for name, text in kept(tmp_path).items() if found_in(text)} == {}
    assert json.dumps(world.tokens["next refresh"]) in codex_file(tmp_path).read_text("utf-8")
