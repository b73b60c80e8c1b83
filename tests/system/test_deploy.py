"""The files in deploy/: accepted by the programs they are for, and right about the gateway."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import tomllib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import aiohttp
import jsonschema
import pytest
import yaml

from groundwire.client import Groundwire
from groundwire.commands.http_app import create_app
from groundwire.commands.main import parse
from groundwire.config.load import load
from groundwire.config.schema import Config, GatewaySettings
from groundwire.model import Source
from groundwire.model.value import replace
from groundwire.server.app import HttpApp
from groundwire.server.keys import KeyFile
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.serving import provider_at, running_server
from tests.transport.certificates import certificate

pytestmark = pytest.mark.server

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "helm" / "groundwire"
SECONDS = 20.0
EVENTS = answer_events("It was completed in 1880.", Source("https://dom.example/"))
ProxyCommand: TypeAlias = Callable[[Path, int, str], tuple[list[str], str]]
QUERY_KEY = "AIza-key-in-a-query-0123456789"


def program(name: str) -> str:
    """The path of a program that `make test` installs."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    assert found, f"{name} is missing; the Makefile has the package that contains it"
    return found


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def load_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def nginx(folder: Path, port: int, gateway: str, other: str = "") -> tuple[list[str], str]:
    """The command that runs nginx.conf here, and the URL that it serves. Without another gateway, one has
    both roles."""
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    for old, new in (
        ("/tmp/", f"{folder}/"),  # noqa: S108  the path in the file
        ("/etc/nginx/tls/tls.crt", f"{folder}/certificate.pem"),
        ("/etc/nginx/tls/tls.key", f"{folder}/certificate.pem"),
        ("gateway-1:8484", gateway),
        ("gateway-2:8484", other or gateway),
        ("listen 8443", f"listen 127.0.0.1:{port}"),
        ("/dev/stdout", f"{folder}/access.log"),
        ("/dev/stderr", f"{folder}/error.log"),
        ("worker_processes auto", "daemon off;\nworker_processes 1"),
        ("worker_rlimit_nofile 65536;", ""),
        ("worker_connections 16384", "worker_connections 1024"),
    ):
        assert old in text
        text = text.replace(old, new)
    (folder / "nginx.conf").write_text(text)
    command = [program("nginx"), "-e", f"{folder}/error.log", "-p", str(folder), "-c", f"{folder}/nginx.conf"]
    run(*command, "-t")
    return command, f"https://localhost:{port}"


def caddy(folder: Path, port: int, gateway: str) -> tuple[list[str], str]:
    """The command that runs the Caddyfile here, and the URL that it serves."""
    text = (DEPLOY / "Caddyfile").read_text("utf-8")
    for old, new in (
        ("gateway-1:8484 gateway-2:8484", gateway),
        ("groundwire.example.com {", f"{{\n\tadmin off\n}}\nhttp://localhost:{port} {{\n\tbind 127.0.0.1"),
        ("output stdout", f"output file {folder}/access.log"),
        ("health_interval 2s", "health_interval 20ms"),
    ):
        assert old in text
        text = text.replace(old, new)
    (folder / "Caddyfile").write_text(text)
    command = [program("caddy"), "run", "--adapter", "caddyfile", "--config", f"{folder}/Caddyfile"]
    return command, f"http://localhost:{port}"


@asynccontextmanager
async def proxied(
    folder: Path,
    upstream: str,
    proxy: ProxyCommand,
) -> AsyncIterator[tuple[str, str, HttpApp, aiohttp.ClientSession]]:
    """A gateway with a proxy in front; yields the URL of the proxy, a key, the gateway and a client."""
    _, context = certificate(folder, "localhost")
    key, _ = KeyFile(str(folder)).create("me", 0)
    env = {"HOME": str(folder)}
    config = Config(
        providers={"mine": provider_at("openai_chat", upstream)},
        order=("mine",),
        data_dir=str(folder),
        gateway=GatewaySettings(trusted_proxies=("127.0.0.1",)),
    )
    async with (
        Groundwire(config, env=env) as groundwire,
        running_server(app := create_app(groundwire, env)) as (url, _),
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as client,
    ):
        command, address = proxy(folder, free_port(), url.removeprefix("http://"))
        process = await asyncio.create_subprocess_exec(
            *command,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        )
        try:
            async with asyncio.timeout(SECONDS):
                while not await answers(client, address):
                    assert process.returncode is None
                    await asyncio.sleep(0.02)
            yield address, key, app, client
        finally:
            process.terminate()
            await process.wait()


async def answers(client: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with client.get(f"{url}/readyz") as response:
            return response.status == 200
    except aiohttp.ClientConnectionError:
        return False


QUESTION = {
    "model": "auto",
    "stream": True,
    "messages": [{"role": "user", "content": "?"}],
    "web_search_options": {},
}


@pytest.mark.parametrize("proxy", [nginx, caddy])
async def test_streams_pass_a_proxy_as_they_are_written_and_keys_stay_out_of_its_log(
    tmp_path: Path, proxy: ProxyCommand
) -> None:
    scripted = answer("openai_chat", EVENTS)
    stalled = replace(scripted, stall_at=(scripted.stream or b"").index(b"It was completed") + 100)
    async with Upstream(stalled) as upstream, proxied(tmp_path, upstream.url, proxy) as (url, key, _, client):
        head = {"authorization": f"Bearer {key}", "x-api-key": key, "x-groundwire-citations": "live"}
        path = f"{url}/v1/chat/completions?key={QUERY_KEY}"
        async with asyncio.timeout(SECONDS), client.post(path, json=QUESTION, headers=head) as response:
            assert response.status == 200
            received = b""
            while b"It was completed" not in received:  # the provider has not finished, and never will
                received += await response.content.readany()
            # Closed at once: nginx notices a client that ends TLS properly only at the next ping.
            assert response.connection
            assert response.connection.transport
            response.connection.transport.abort()
        async with client.get(f"{url}/metrics", headers={"authorization": f"Bearer {key}"}) as hidden:
            assert hidden.status == 404
        await upstream.disconnected(timeout=SECONDS)
        async with asyncio.timeout(SECONDS):
            while "/v1/chat/completions" not in (text := (tmp_path / "access.log").read_text()):
                await asyncio.sleep(0.02)
    assert key not in text
    assert QUERY_KEY not in text
    assert all(json.loads(line) for line in text.splitlines())


async def test_caddy_sends_no_request_to_a_gateway_that_is_about_to_leave(tmp_path: Path) -> None:
    async with (
        Upstream(answer("openai_chat", EVENTS)) as upstream,
        proxied(tmp_path, upstream.url, caddy) as (url, key, app, client),
    ):
        head = {"authorization": f"Bearer {key}"}
        async with client.get(f"{url}/v1/models", headers=head) as before:
            assert before.status == 200
        app.leaving = True
        async with asyncio.timeout(SECONDS):
            while True:
                async with client.get(f"{url}/v1/models", headers=head) as after:
                    if after.status == 503:  # Caddy's: there is no other gateway
                        assert "x-request-id" not in after.headers
                        break
                await asyncio.sleep(0.02)


def test_caddy_accepts_the_caddyfile_as_it_is(tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path)}
    command = [program("caddy"), "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")]
    subprocess.run(command, check=True, capture_output=True, timeout=60, env=env)  # noqa: S603


def test_systemd_accepts_the_service_and_finds_it_little_exposed(tmp_path: Path) -> None:
    text = (DEPLOY / "groundwire.service").read_text("utf-8")
    unit = tmp_path / "groundwire.service"
    # systemd checks that the program exists.
    unit.write_text(text.replace("/opt/groundwire/bin/groundwire", program("true")))
    analyze = program("systemd-analyze")
    assert run(analyze, "verify", "--man=no", str(unit)) == ""
    # Fails above an exposure of 2.0, of 10.
    run(analyze, "security", "--offline=true", "--threshold=20", "--no-pager", str(unit))


def serve_commands() -> list[tuple[list[str], int]]:
    """The arguments of `groundwire` in each file, and the seconds that it has to end."""
    compose = load_yaml(DEPLOY / "compose.yaml")["x-gateway"]
    unit = (DEPLOY / "groundwire.service").read_text("utf-8")
    started = re.search(r"^ExecStart=\S+ (.+)$", unit, re.MULTILINE)
    stops = re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    image = re.search(r"^CMD (\[.+\])$", (DEPLOY / "Containerfile").read_text("utf-8"), re.MULTILINE)
    assert started
    assert stops
    assert image
    return [
        (compose["command"], int(compose["stop_grace_period"].removesuffix("s"))),
        (started[1].split(), int(stops[1])),
        (json.loads(image[1]), 45),
    ]


@pytest.mark.parametrize(("words", "seconds"), serve_commands())
def test_the_gateway_has_the_time_to_drain_before_it_is_killed(words: Sequence[str], seconds: int) -> None:
    arguments = parse(list(words))
    assert seconds > arguments.drain_delay + arguments.drain + 5


def configurations() -> list[str]:
    return [(DEPLOY / "config.toml").read_text("utf-8"), load_yaml(CHART / "values.yaml")["config"]]


@pytest.mark.parametrize("text", configurations())
def test_configurations_are_valid_also_with_the_lines_that_are_comments(tmp_path: Path, text: str) -> None:
    uncommented = re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE)
    path = tmp_path / "config.toml"
    path.write_text(uncommented)
    config = load({"GROUNDWIRE_CONFIG": str(path), "HOME": str(tmp_path)}, str(tmp_path), str(tmp_path))
    assert config.gateway.hosts == ("groundwire.example.com",)
    assert config.gateway.trusted_proxies
    assert not config.warnings


def test_the_values_of_the_chart_fit_its_schema() -> None:
    values, schema = load_yaml(CHART / "values.yaml"), json.loads((CHART / "values.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(values, schema)
    assert set(schema["properties"]) - {"global"} == set(values)
    used = {
        match[1]
        for template in (CHART / "templates").iterdir()
        for match in re.finditer(r"\.Values\.(\w+)", template.read_text())
    }
    assert used == set(values)


def test_the_version_of_the_chart_is_that_of_the_package() -> None:
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    chart = load_yaml(CHART / "Chart.yaml")
    assert (chart["version"], chart["appVersion"]) == (project["version"], project["version"])


def test_both_gateways_of_compose_are_behind_both_proxies_and_share_the_store() -> None:
    compose = load_yaml(DEPLOY / "compose.yaml")
    gateways = {name for name in compose["services"] if name.startswith("gateway-")}
    for file in ("nginx.conf", "Caddyfile"):
        assert set(re.findall(r"\b(gateway-\d):8484", (DEPLOY / file).read_text())) == gateways
    stores = {compose["services"][name]["environment"]["GROUNDWIRE_STORE"] for name in gateways}
    assert len(gateways) == 2
    assert len(stores) == 1


def test_no_file_contains_a_secret() -> None:
    secret = re.compile(r"(?i)(password|secret|_key)\s*[=:]\s*['\"]?[0-9a-z]{16,}")
    files = [path for path in DEPLOY.rglob("*") if path.is_file()]
    assert not [path for path in files if secret.search(path.read_text("utf-8"))]
