"""What the client builds: providers, sessions, engines, and what an unused client costs."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from groundwire.client import Groundwire
from groundwire.config.load import load
from groundwire.errors import AuthRejected, GroundwireError, MissingCredential
from groundwire.model import Json, Request, Source
from groundwire.providers.spec import Batches
from groundwire.routing.resolve import Plan
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, ScriptedResponse, answer, json_response
from groundwire.testing.upstream import Upstream
from tests.credentials.builders import codex_file, jwt, stored_refresh, write_private, write_session

pytestmark = pytest.mark.server

EVENTS = answer_events("The Nile is 6650 km long.", Source("https://alpha.example/"), query="nile")
LATER = 4_000_000_000
NO = json_response({"detail": "Provided authentication token is expired."}, 401)
CODEX = "/backend-api/codex/responses"
TOKEN = "/oauth/token"  # noqa: S105  a path


def client(home: Path, config: str, **env: str) -> Groundwire:
    write_private(home / ".config" / "groundwire" / "config.toml", config)
    env["HOME"] = str(home)
    return Groundwire(load(env, str(home), str(home)), env=env)


def codex_client(home: Path, url: str) -> Groundwire:
    write_session(home, "codex", "access-first", "refresh-first", LATER)
    config = f'[providers.openai_oauth]\nbase_url = "{url}/backend-api/codex"\n'
    return client(home, config, GROUNDWIRE_OPENAI_OAUTH_TOKEN_URL=url + TOKEN)


def fresh() -> ScriptedResponse:
    tokens: Json = {"access_token": jwt({"exp": LATER}), "refresh_token": "refresh-next", "expires_in": 1000}
    return json_response(tokens)


def house(url: str, *more: str) -> str:
    """A server of the user's own."""
    return "\n".join(
        ("[providers.house]", 'dialect = "openai_chat"', f'base_url = "{url}/v1"', 'model = "m"', *more, "")
    )


async def test_a_refused_session_is_renewed_in_a_subprocess_and_the_answer_arrives(tmp_path: Path) -> None:
    paths = {CODEX: (NO, answer("openai_responses", EVENTS)), TOKEN: (fresh(),)}
    async with Upstream(Script(paths=paths)) as upstream, codex_client(tmp_path, upstream.url) as here:
        found = await here.asearch("how long?", provider="openai_oauth")
        assert found.text == "The Nile is 6650 km long."
        assert [request.path for request in upstream.requests] == [CODEX, TOKEN, CODEX]
        assert stored_refresh(codex_file(tmp_path)) == "refresh-next"


async def test_a_session_that_stays_refused_is_reported_with_advice(tmp_path: Path) -> None:
    paths = {CODEX: (NO,), TOKEN: (fresh(),)}
    async with Upstream(Script(paths=paths)) as upstream, codex_client(tmp_path, upstream.url) as here:
        with pytest.raises(AuthRejected, match="codex login"):
            await here.asearch("how long?", provider="openai_oauth")
        assert [request.path for request in upstream.requests] == [CODEX, TOKEN, CODEX]


async def test_a_configured_server_is_used_without_being_in_the_order(tmp_path: Path) -> None:
    paths = {
        "/v1/messages": (ScriptedResponse(401),),
        "/v1/chat/completions": (answer("openai_chat", EVENTS),),
    }
    async with Upstream(Script(paths=paths)) as upstream:
        config = f'[providers.anthropic]\nbase_url = "{upstream.url}"\n{house(upstream.url)}'
        async with client(tmp_path, config, ANTHROPIC_API_KEY="sk-ant-x") as here:
            assert "house" not in here.config.order
            found = await here.asearch("how long?")
        assert found.text == "The Nile is 6650 km long."
        requested = [request.path for request in upstream.requests]
        assert requested == ["/v1/messages", "/v1/chat/completions"], "after whom the order names"


@pytest.mark.parametrize("enabled", [True, False])
async def test_a_disabled_server_is_not_used(tmp_path: Path, enabled: bool) -> None:
    async with Upstream(answer("openai_chat", EVENTS)) as upstream:
        config = house(upstream.url, f"enabled = {json.dumps(enabled)}")
        async with client(tmp_path, config) as here:
            assert ("house" in here.usable()) is enabled
            if enabled:
                await here.asearch("how long?")
        assert len(upstream.requests) == int(enabled)


@pytest.mark.parametrize(
    "program",
    [
        "import groundwire; groundwire.Groundwire()",
        "from groundwire.commands.main import run; run(['providers'])",
        "from groundwire.commands.main import run; run(['doctor'])",
        "from groundwire.commands.main import run; run(['search', '--help'])",
    ],
)
def test_the_http_client_is_not_imported_before_the_first_call(tmp_path: Path, program: str) -> None:
    steps = (
        "import sys",
        "try:",
        f"    {program}",
        "except SystemExit: pass",
        "assert 'groundwire.transport.response' not in sys.modules",
    )
    watched = "\n".join(steps)
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", watched], env=env, cwd=tmp_path, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr


async def test_the_first_call_imports_it(tmp_path: Path) -> None:
    async with Upstream(answer("openai_chat", EVENTS)) as upstream:
        write_private(tmp_path / ".config" / "groundwire" / "config.toml", house(upstream.url))
        steps = (
            "import sys, groundwire",
            "groundwire.Groundwire().search('q', provider='house')",
            "assert 'groundwire.transport.response' in sys.modules",
        )
        env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
        command = (sys.executable, "-c", "\n".join(steps))
        process = await asyncio.create_subprocess_exec(*command, env=env, cwd=tmp_path)
        assert await process.wait() == 0


async def test_a_configured_order_is_exclusive_unless_it_has_a_star(tmp_path: Path) -> None:
    paths = {
        "/v1/messages": (ScriptedResponse(401),),
        "/v1/chat/completions": (answer("openai_chat", EVENTS),),
    }
    async with Upstream(Script(paths=paths)) as upstream:
        tables = f'[providers.anthropic]\nbase_url = "{upstream.url}"\n{house(upstream.url)}'
        alone, all_of_them = 'order = ["anthropic"]\n' + tables, 'order = ["anthropic", "*"]\n' + tables
        async with client(tmp_path, alone, ANTHROPIC_API_KEY="sk-ant-x") as here:
            assert here.order == ("anthropic",)
            with pytest.raises(AuthRejected):
                await here.asearch("how long?")
        assert [request.path for request in upstream.requests] == ["/v1/messages"]
        async with client(tmp_path, all_of_them, ANTHROPIC_API_KEY="sk-ant-x") as here:
            assert (await here.asearch("how long?")).text == "The Nile is 6650 km long."


async def test_an_order_without_a_usable_provider_is_an_error(tmp_path: Path) -> None:
    async with client(tmp_path, 'order = ["anthropic"]\n') as here:
        with pytest.raises(MissingCredential, match=r"\(anthropic\)"):
            await here.asearch("how long?")


async def test_one_deadline_applies_to_all_silent_providers(tmp_path: Path) -> None:
    limits: list[float] = []

    async def main() -> None:
        async with Upstream(Script(port_state="unresponsive")) as upstream:
            tables = "\n".join(
                f'[providers.p{number}]\ndialect = "openai_chat"\nbase_url = "{upstream.url}/{number}"\n'
                'model = "m"\n'
                for number in range(3)
            )
            config = 'timeout = 0.2\norder = ["p0", "p1", "p2"]\n' + tables
            async with client(tmp_path, config) as here:
                batches = here._router.batches

                def watched(request: Request, plan: Plan) -> Batches:
                    limits.append(plan.seconds)
                    return batches(request, plan)

                here._router.batches = watched  # type: ignore[method-assign]
                with pytest.raises(GroundwireError):
                    await here.asearch("how long?")

    await main()
    assert limits == [0.2]
