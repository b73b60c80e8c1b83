"""Templates of the configuration: prompt, target and search options of `-t NAME`."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.model import SearchOptions
from tests.faces.fakes import LATE, Bench, FakeClient

CONFIG = """
[search]
max_uses = 5
language = "en"

[templates.compare]
prompt = \"\"\"
Compare {input}
by price. {input}!\"\"\"
provider = "gemini"
model = "gemini-x"
allowed_domains = ["a.example"]
max_uses = 2

[templates.papers]
allowed_domains = ["arxiv.org"]
"""


def run(folder: Path, *words: str, stdin: str = "", config: str = CONFIG) -> tuple[int, Bench]:
    (folder / "config.toml").write_text(config)
    env = {"GROUNDWIRE_CONFIG": str(folder / "config.toml"), "GROUNDWIRE_DATA_DIR": str(folder / "data")}
    bench = Bench(FakeClient(LATE), env=env, stdin=stdin)
    return bench.run(*words), bench


def test_a_template_fills_in_its_prompt_and_sets_target_and_options(tmp_path: Path) -> None:
    code, bench = run(tmp_path, "search", "-t", "compare", "uv", "and", "{input}")
    assert code == 0
    request, provider, model = bench.client.requests[0]
    assert request.query == "Compare uv and {input}\nby price. uv and {input}!"
    assert (provider, model) == ("gemini", "gemini-x")
    assert request.search == SearchOptions(allowed_domains=("a.example",), max_uses=2, language="en")


def test_without_a_template_nothing_of_it_applies(tmp_path: Path) -> None:
    _, bench = run(tmp_path, "search", "uv")
    request, provider, model = bench.client.requests[0]
    assert (request.query, provider, model) == ("uv", "auto", "")
    assert request.search == SearchOptions(max_uses=5, language="en")


@pytest.mark.parametrize(
    ("flags", "target"), [(("--provider", "anthropic"), ("anthropic", "")), (("--model", "m"), ("auto", "m"))]
)
def test_the_command_line_comes_first_and_targets_are_not_mixed(
    tmp_path: Path, flags: tuple[str, ...], target: tuple[str, str]
) -> None:
    _, bench = run(tmp_path, "search", "-t", "compare", *flags, "--max-uses", "1", "uv")
    request, *asked = bench.client.requests[0]
    assert tuple(asked) == target
    assert request.search is not None
    assert request.search.max_uses == 1


def test_a_template_without_a_prompt_asks_the_question_as_it_is(tmp_path: Path) -> None:
    _, bench = run(tmp_path, "search", "--template", "papers", "attention")
    assert bench.client.requests[0][0].query == "attention"


def test_an_empty_question_is_refused_with_a_template_too(tmp_path: Path) -> None:
    code, bench = run(tmp_path, "search", "-t", "compare", " ")
    assert code == 2
    assert "the query is empty" in bench.stderr


def test_only_the_first_question_of_a_conversation_fills_in_the_prompt(tmp_path: Path) -> None:
    _, bench = run(tmp_path, "chat", "-t", "compare", stdin="uv\nand pip?\n/new\nruff\n")
    assert [request.query for request, _, _ in bench.client.requests] == [
        "Compare uv\nby price. uv!",
        "and pip?",
        "Compare ruff\nby price. ruff!",
    ]
    assert {request.search.max_uses for request, _, _ in bench.client.requests if request.search} == {2}


@pytest.mark.parametrize("command", [("search", "q"), ("chat",)])
@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        ("compar", CONFIG, "there is no template 'compar'; did you mean compare?"),
        ("zzz", CONFIG, "there is no template 'zzz'; known are compare, papers"),
        ("zzz", "", "there is no template 'zzz'; the configuration has no [templates.NAME]"),
    ],
)
def test_an_unknown_name_is_refused(
    tmp_path: Path, command: tuple[str, ...], name: str, config: str, message: str
) -> None:
    code, bench = run(tmp_path, *command, "-t", name, config=config)
    assert code == 2
    assert message in bench.stderr
    assert bench.client.requests == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('prompt = "no place"', "templates.x.prompt: a prompt needs {input}"),
        ("prompt = 1", "templates.x.prompt: expected a text with {input}"),
        ('prompt = "{input} \\u0007"', "templates.x.prompt: expected a text with {input}"),
        ('provider = "gemni"', "templates.x.provider: there is no provider 'gemni'; did you mean gemini?"),
        ('base_url = "https://x.example"', "templates.x.base_url: unknown key"),
    ],
)
def test_a_wrong_template_is_reported_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    code, bench = run(tmp_path, "search", "q", config=f"[templates.x]\n{line}\n")
    assert code == 4
    assert f"config.toml:2: {message}" in bench.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_names(tmp_path: Path, shell: str) -> None:
    config = CONFIG + '[templates."two words; rm"]\nmodel = "x"\n'
    _, bench = run(tmp_path, "completion", shell, config=config)
    assert "compare papers" in bench.stdout
    assert "two words" not in bench.stdout
    code, bench = run(tmp_path, "completion", shell, config="not toml")
    assert code == 0
    assert "groundwire" in bench.stdout
