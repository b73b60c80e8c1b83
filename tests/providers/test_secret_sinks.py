"""Hundreds of failures of a whole client at debug level: no sink shows a stretch of any secret.

Fourteen secrets are in use at once: keys of every vendor and of configured servers, both tokens of a ChatGPT
session before and after its refresh, and the token in the environment of a subprocess. Every upstream repeats
what it was shown, wherever it can.
"""

from __future__ import annotations

import asyncio
import html
import json
import logging
import random
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

import pytest

from groundwire.client import Groundwire
from groundwire.config.load import load
from groundwire.errors import GroundwireError
from groundwire.model import Json
from groundwire.testing.script import Script, ScriptedResponse, json_response
from groundwire.testing.upstream import Upstream
from tests.credentials.builders import codex_file, write_private
from tests.providers.copilot.fake import fake_cli
from tests.providers.test_secrets import CANARIES, echo, spellings

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
    """Environment variables, and the tokens of the session, each with a secret of its own."""
    given = iter(GIVEN)
    names = ("COPILOT_GITHUB_TOKEN", *VENDORS.values(), *(f"{name.upper()}_KEY" for name in OWN))
    env = {name: next(given) for name in names}
    tokens = {name: next(given) for name in ("access", "refresh", "next access", "next refresh")}
    assert next(given, None) is None, "every canary is in use"
    return env, tokens


def configuration(url: str) -> str:
    """Every provider leads to the same upstream."""
    rows = [f'[providers.{name}]\nbase_url = "{url}/{name}"' for name in (*VENDORS, "openai_oauth")]
    rows += [
        f'[providers.{name}]\ndialect = "{dialect}"\nbase_url = "{url}/{name}"\nmodel = "m"\n'
        f'key_env = "{name.upper()}_KEY"'
        for name, dialect in OWN.items()
    ]
    return "\n\n".join((*rows, "[providers.copilot]\nenabled = true\n"))


class World:
    """A user with all these secrets, a client of theirs, and all that anybody could read of it."""

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

    def told_to(self, provider: str) -> list[str]:
        """The secrets that a provider has seen, or will with the next request."""
        if provider != "openai_oauth":
            return [self._given[provider]]
        stored = codex_file(self.home).read_text("utf-8")
        first = [self.tokens["access"], self.tokens["refresh"]]
        return first + [token for token in self.tokens.values() if json.dumps(token) in stored]

    def login(self) -> tuple[ScriptedResponse, ...]:
        """One refresh succeeds; the next one is refused, with the token in the refusal."""
        fresh = {"access_token": self.tokens["next access"], "refresh_token": self.tokens["next refresh"]}
        said: Json = {"code": self.tokens["next refresh"], "message": json.dumps(self.tokens)}
        return json_response({**fresh, "expires_in": 100_000}), json_response({"error": said}, 401)

    async def fail(self, provider: str, *, stream: bool) -> Iterator[str]:
        """Ask, and all that can be shown of the failure."""
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
    """An error as logs and debuggers print it, with all that stands behind it."""
    yield from (str(error), repr(error), repr(vars(error)), *traceback.format_exception(error))
    behind: BaseException | None = error.__cause__ or error.__context__
    while behind is not None:
        yield from (str(behind), repr(behind), repr(vars(behind)))
        behind = behind.__cause__ or behind.__context__


def found_in(text: str) -> set[str]:
    """Stretches of secrets in a text, plain or decoded."""
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
    """All files but those that are there to keep secrets."""
    return {
        str(path.relative_to(home)): path.read_text("utf-8", "replace")
        for path in home.rglob("*")
        if path.is_file() and path != codex_file(home)
    }


async def wander(
    world: World, upstream: Upstream, logs: pytest.LogCaptureFixture, failures: int
) -> list[str]:
    """Fail in every way; the stretches of secrets that were seen."""
    chance = random.Random(14)
    login = {"/oauth/token": world.login()}
    seen: list[str] = []
    rounds = 0
    while world.failures < failures and rounds < 2 * failures:
        name = world.names[rounds % len(world.names)]
        upstream.script = Script((response(chance, chance.choice(world.told_to(name))),), login)
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
def test_failures_show_no_secret_in_any_sink(
    failures: int,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG)

    async def at_once(_: float) -> None:
        pass

    async def main() -> World:
        async with Upstream(Script()) as upstream:
            with monkeypatch.context() as patch:
                patch.setattr(asyncio, "sleep", at_once)  # what the client's router waits with
                world = World(tmp_path, upstream.url)
            async with world.client:
                assert (await wander(world, upstream, caplog, failures))[:5] == []
            assert found_in(f"{world.client!r} {world.client.config!r} {world.client.providers()!r}") == set()
            return world

    world = asyncio.run(main())
    assert world.failures >= failures + COPILOT_RUNS
    printed = capfd.readouterr()
    assert found_in(printed.out + printed.err) == set()
    assert {name: found_in(text) for name, text in kept(tmp_path).items() if found_in(text)} == {}
    assert json.dumps(world.tokens["next refresh"]) in codex_file(tmp_path).read_text("utf-8")
