"""The other commands: tool, tools, providers, doctor, config, completion."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from groundwire.commands.completion import bash, fish, words_of, zsh
from groundwire.config.schema import Config, ProviderSettings
from groundwire.credentials.lookup import LookupResult
from groundwire.errors import AuthRejected, Unreachable
from groundwire.faces.cli.arguments import COMMANDS
from groundwire.model import Finished, Started, TextDelta
from tests.faces.fakes import LATE, TEXT, Bench, FakeClient, status

pytestmark = pytest.mark.server

OK = (Started(), TextDelta(0, "ok"), Finished())


def test_a_tool_prints_its_contract() -> None:
    bench = Bench(FakeClient(LATE))
    assert bench.run("tool", "websearch_gemini", '{"query": "how many?"}') == 0
    result = json.loads(bench.stdout)
    assert result["returnDisplay"] == 'Search results for "how many?" returned.'
    assert result["llmContent"].startswith('Web search results for "how many?":\n\nKöln hat')
    assert result["sources"][0] == {"web": {"title": "Köln in Zahlen", "uri": "https://stadt.example/koeln"}}
    assert bench.client.requests[0][1] == "gemini"
    assert bench.client.closed


def test_a_tool_reads_its_arguments_from_standard_input() -> None:
    bench = Bench(FakeClient(LATE), stdin='{"query": "how many?"}')
    assert bench.run("tool", "websearch", "-") == 0
    assert bench.client.requests[0][0].query == "how many?"


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        ('{"query": "x", "foo": 1}', "INVALID_TOOL_ARGUMENTS", 2),
        ('{"query": " "}', "INVALID_QUERY", 2),
        ("{}", "INVALID_QUERY", 2),
        ("[1]", "INVALID_TOOL_ARGUMENTS", 2),
        ("not json", "INVALID_TOOL_ARGUMENTS", 2),
        ('{"query": "x"}', "GEMINI_WEB_SEARCH_FAILED", 5),
    ],
)
def test_a_failed_tool_prints_a_result_in_its_format(arguments: str, kind: str, code: int) -> None:
    bench = Bench(FakeClient([Unreachable("no route")]))
    assert bench.run("tool", "websearch_gemini", arguments) == code
    assert json.loads(bench.stdout)["error"]["type"] == kind
    assert bench.stderr.startswith("groundwire: ")


def test_a_tool_that_finds_nothing_has_its_exit_code() -> None:
    bench = Bench(FakeClient((Started(), Finished())))
    assert bench.run("tool", "websearch", '{"query": "x"}') == 3
    assert json.loads(bench.stdout)["returnDisplay"] == "No information found."


def test_an_unknown_tool_is_refused_with_those_that_are_known() -> None:
    bench = Bench()
    assert bench.run("tool", "websearch_bing", "{}") == 2
    assert "there is no tool 'websearch_bing'; there are websearch," in bench.stderr


def test_the_tools_are_listed_for_people() -> None:
    bench = Bench()
    assert bench.run("tools", "--lang", "de") == 0
    assert "geminisearch\n    Führt eine Websuche" in bench.stdout


def test_the_special_tools_are_listed_and_defined() -> None:
    bench = Bench()
    assert bench.run("tools") == 0
    assert "webSearch\n" in bench.stdout
    assert "googleSearch\n" in bench.stdout
    bench = Bench()
    assert bench.run("tools", "--special", "--lang", "de") == 0
    web, google = json.loads(bench.stdout)
    assert (web["id"], web["name"], google["id"]) == ("webSearch", "Websuche", "googleSearch")


@pytest.mark.parametrize(
    ("form", "entries"),
    [
        ("openai-responses", [{"type": "web_search"}]),
        ("openai-chat", []),
        ("gemini", [{"googleSearch": {}}]),
        ("mcp", []),
    ],
)
def test_the_special_tools_are_declared_as_each_api_does(form: str, entries: list[object]) -> None:
    bench = Bench()
    assert bench.run("tools", "--special", "--format", form) == 0
    assert json.loads(bench.stdout) == entries


@pytest.mark.parametrize("form", ["openai-responses", "openai-chat", "anthropic", "gemini", "mcp"])
def test_the_tools_are_printed_in_every_format(form: str) -> None:
    bench = Bench()
    assert bench.run("tools", "--format", form) == 0
    assert "websearch_openrouter" in json.dumps(json.loads(bench.stdout))


PROVIDERS = FakeClient(
    OK,
    Config(providers={"mine": ProviderSettings(enabled=False)}),
    [status("gemini"), status("anthropic", usable=False, reason="Set ANTHROPIC_API_KEY.")],
    {
        "gemini": [
            LookupResult("environment GEMINI_API_KEY", found=True, detail="a key", kind="api"),
            LookupResult(
                "OpenCode's auth.json", found=True, detail="a session", expires=1_800_000_000.0 + 3600
            ),
        ],
        "anthropic": [
            LookupResult("environment ANTHROPIC_API_KEY", found=False, detail="not set"),
            LookupResult("Codex", found=True, detail="a session", expires=1.0, warnings=("open to others",)),
        ],
    },
)


def test_providers_are_listed_with_their_capabilities() -> None:
    bench = Bench(PROVIDERS)
    assert bench.run("providers") == 0
    assert bench.stdout.splitlines()[:4] == [
        "PROVIDER   READY  MODEL            WHY",
        "gemini     yes    gemini-model     environment KEY",
        "anthropic  no     anthropic-model  Set ANTHROPIC_API_KEY.",
        "mine       off                     switched off in the configuration",
    ]
    abilities = bench.stdout.splitlines()[5:7]
    assert abilities[0].split()[:4] == ["PROVIDER", "CITES", "--allow", "--block"]
    assert abilities[1].split() == [
        "gemini",
        "spans",
        "yes",
        "no",
        "no",
        "-",
        "-",
        "prompt",
        "-",
        "prompt",
        "-",
    ]


def test_providers_as_json() -> None:
    bench = Bench(PROVIDERS)
    assert bench.run("providers", "--json") == 0
    body = json.loads(bench.stdout)
    assert [item["name"] for item in body["providers"]] == ["gemini", "anthropic"]
    assert body["providers"][0]["options"]["allowed_domains"] == "native"


def test_the_doctor_reports_where_credentials_were_found(tmp_path: Path) -> None:
    (tmp_path / "groundwire.toml").write_text('order = ["gemini"]\n')
    bench = Bench(PROVIDERS, cwd=str(tmp_path), env={"GROUNDWIRE_DATA_DIR": str(tmp_path)})
    assert bench.run("doctor") == 0
    assert f"+ {tmp_path}/groundwire.toml: read\n" in bench.stdout
    assert f"+ {tmp_path}: writable\n" in bench.stdout
    assert "+ gemini\n    + environment GEMINI_API_KEY: a key\n" in bench.stdout
    assert "OpenCode's auth.json: a session, good for 1 hours\n" in bench.stdout
    assert (
        "  anthropic: Set ANTHROPIC_API_KEY.\n      environment ANTHROPIC_API_KEY: not set\n" in bench.stdout
    )
    assert "a session, expired: it will be refreshed when it is used\n" in bench.stdout
    assert "open to others" in bench.stdout
    assert "You can ask gemini; `groundwire search` asks gemini first." in bench.stdout
    assert bench.client.requests == []


def test_the_doctor_sends_no_request_unless_live(tmp_path: Path) -> None:
    env = {"GROUNDWIRE_DATA_DIR": str(tmp_path)}
    client = FakeClient(OK, statuses=[status("gemini"), status("openai", usable=False)])
    bench = Bench(client, env=env)
    assert bench.run("doctor", "--live") == 0
    assert [(request.search, name) for request, name, _ in client.requests] == [(None, "gemini")]
    assert "+ gemini: answered in 0.0 s" in bench.stdout
    assert client.closed


def test_the_doctor_reports_providers_that_do_not_respond(tmp_path: Path) -> None:
    env = {"GROUNDWIRE_DATA_DIR": str(tmp_path)}
    bench = Bench(FakeClient([AuthRejected("bad key")], statuses=[status("gemini")]), env=env)
    assert bench.run("doctor", "--live", "--json") == 4
    provider = json.loads(bench.stdout)["providers"][0]
    assert (provider["answered"], provider["error"]) == (False, "bad key")
    bench = Bench(FakeClient([Unreachable("no route")], statuses=[status("gemini")]), env=env)
    assert bench.run("doctor", "--live") == 5
    assert "! gemini: no route Check the network" in bench.stdout


def test_the_doctor_reports_that_no_provider_is_usable(tmp_path: Path) -> None:
    bench = Bench(
        FakeClient(statuses=[status("gemini", usable=False)]), env={"GROUNDWIRE_DATA_DIR": str(tmp_path)}
    )
    assert bench.run("doctor") == 4
    assert "No provider can be used yet" in bench.stdout


def test_the_doctor_reports_an_unusable_data_directory(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for path, words in (
        (file, "not a directory"),
        (Path("/proc/groundwire/data"), "cannot be made in /proc"),
    ):
        bench = Bench(FakeClient(statuses=[status("gemini")]), env={"GROUNDWIRE_DATA_DIR": str(path)})
        assert bench.run("doctor") == 4
        assert words in bench.stdout


def test_the_doctor_works_with_a_broken_configuration(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("order = [")
    bench = Bench(env={"GROUNDWIRE_CONFIG": str(path)})
    assert bench.run("doctor") == 4
    assert "groundwire 0" in bench.stdout
    assert f"{path}:1" in bench.stderr


def test_the_configuration_is_shown_with_its_origin(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('order = ["gemini", "openai"]\n[search]\ncountry = "de"\n')
    bench = Bench(env={"GROUNDWIRE_CONFIG": str(path)})
    assert bench.run("config", "show", "--origin", "--data-dir", "/somewhere") == 0
    assert f'order = ["gemini", "openai"]  # {path}\n' in bench.stdout
    assert f'search.country = "DE"  # {path}\n' in bench.stdout
    assert 'data_dir = "/somewhere"  # command line\n' in bench.stdout
    bench = Bench(env={"GROUNDWIRE_CONFIG": str(path)})
    assert bench.run("config", "show") == 0
    assert "#" not in bench.stdout
    bench = Bench(env={"GROUNDWIRE_CONFIG": str(path)})
    assert bench.run("config", "show", "--json") == 0
    settings = {item["name"]: item for item in json.loads(bench.stdout)["settings"]}
    assert settings["search.country"] == {"name": "search.country", "value": "DE", "origin": str(path)}


def test_warnings_about_the_configuration_are_printed() -> None:
    bench = Bench(FakeClient(LATE), env={"GROUNDWIRE_GEMNI_MODEL": "x"})
    bench.run("search", "q")
    assert bench.stderr.startswith("Warning: ")
    assert "GROUNDWIRE_GEMNI_MODEL" in bench.stderr


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("script", [bash, zsh, fish])
def test_completion_knows_every_command_and_flag(command: str, script: object) -> None:
    assert callable(script)
    text = script()
    assert command in text
    for word in words_of(command):
        if word.name.startswith("--"):
            assert word.name.removeprefix("--") in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed(shell: str) -> None:
    bench = Bench()
    assert bench.run("completion", shell) == 0
    assert "groundwire" in bench.stdout


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (["sea"], ["search"]),
        (["search", "--prov"], ["--provider"]),
        (["search", "--provider", "gem"], ["gemini"]),
        (["search", "--context", "m"], ["medium"]),
        (["tool", "gemini"], ["geminisearch"]),
        (["config", "s"], ["show"]),
        (["completion", "z"], ["zsh"]),
    ],
)
def test_completion_works_in_bash(line: list[str], found: list[str]) -> None:
    words = " ".join(["groundwire", *line])
    script = f'{bash()}\nCOMP_WORDS=({words})\nCOMP_CWORD={len(line)}\n_groundwire\necho "${{COMPREPLY[@]}}"'
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=20, check=True)  # noqa: S603, S607
    assert result.stdout.split() == found
    assert result.stderr == ""


def test_the_tool_result_contains_the_answer(tmp_path: Path) -> None:
    bench = Bench(FakeClient(LATE))
    bench.run("tool", "geminisearch", '{"query": "x"}')
    assert TEXT[:20] in json.loads(bench.stdout)["llmContent"]
    assert "geminisearch" in bench.client.added
