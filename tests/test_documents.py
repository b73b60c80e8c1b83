"""Every code block of README.md and docs/ does what it shows.

The first word after the fence is the language of a block, a second one the kind of JSON or TOML:
`python` is run as a script, `sh` is read by the real parser and run where no network is needed, `console` is
a command with its output, `toml` and `json` are read by their own loaders, `text` is a sample of output.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from groundwire.chat.agents import read_app
from groundwire.commands.main import parse
from groundwire.commands.runner import run_command
from groundwire.config.load import load
from groundwire.credentials.lookup import Lookup, LookupContext, find
from groundwire.dialects.websearch.response import decode_response
from groundwire.faces.cli.arguments import CLIENTS
from groundwire.faces.cli.console import Console
from groundwire.model import Source, assemble
from groundwire.providers.catalog import CATALOG
from groundwire.testing.answers import answer_events
from groundwire.testing.script import answer, load_script
from groundwire.testing.upstream import Upstream
from tests.built_index import copy_index
from tests.credentials.builders import write_private

__all__ = ["copy_index"]

pytestmark = pytest.mark.server

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "docs" / "tutorial.md"
"""Its blocks build on each other: `tests/test_tutorial.py`."""
PAGES = (ROOT / "README.md", *(page for page in sorted((ROOT / "docs").glob("*.md")) if page != TUTORIAL))
LINKING = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")))
LINK = re.compile(r"\]\((?!https?:|@)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
OTHER_PROGRAMS = {"npx", "claude", "curl", "eval", "podman", "kubectl", "helm"}
NEEDS_NETWORK = {"serve", "mcp", "verify"}
NUMBERS = {22: "twenty-two", 23: "twenty-three", 24: "twenty-four"}
EVENTS = answer_events("The Nile is 6650 km long.", Source("https://docs.python.org/3/"), query="nile")


def _is_downloaded(source: str) -> bool:
    """Does `groundwire index add SOURCE` fetch it? It fetches Python's documentation if none is installed."""
    return source == "python" or source.startswith("https://")


class Block(NamedTuple):
    """A code block and its position."""

    position: str
    language: str
    kind: str
    text: str

    def __str__(self) -> str:
        return self.position


def blocks() -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text("utf-8")
        for match in FENCE.finditer(text):
            language, _, kind = match[2].partition(" ")
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(f"{page.name}:{line}", language, kind, match[3]))
    return found


BLOCKS = blocks()


def of(*languages: str) -> list[Block]:
    return [block for block in BLOCKS if block.language in languages]


def test_every_block_names_its_language() -> None:
    unknown = [
        f"{block}: {block.language!r}"
        for block in BLOCKS
        if block.language not in ("python", "sh", "console", "toml", "json", "text")
    ]
    assert not unknown
    assert all(of(language) for language in ("python", "sh", "console", "toml", "json"))


def environment(home: Path, upstream: Upstream) -> dict[str, str]:
    """The environment of a user with one key, whose provider is a scripted upstream."""
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "GROUNDWIRE_BUILD_INDEX": "0",
        "GROUNDWIRE_SEMANTIC": "0",
        "ANTHROPIC_API_KEY": "sk-test",
        "GROUNDWIRE_ANTHROPIC_BASE_URL": upstream.url,
        "GROUNDWIRE_ORDER": "anthropic",
    }


def add_index(block: Block, home: Path, request: pytest.FixtureRequest) -> None:
    """Give the user an index if a block searches in it."""
    if re.search(r"\blocal\b", block.text):
        copy: Callable[[Path], None] = request.getfixturevalue("copy_index")
        copy(home / ".local" / "share" / "groundwire")


@pytest.mark.parametrize("block", of("python"), ids=str)
async def test_python_blocks_run_unchanged(
    block: Block, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    add_index(block, tmp_path, request)
    async with Upstream(answer("anthropic_messages", EVENTS)) as upstream:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-X", "dev", "-W", "error", "-c", block.text),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment(tmp_path, upstream),
            cwd=tmp_path,
        )
        try:
            out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode == 0, err.decode()
        if "print(" in block.text:
            assert out.strip()


def translation() -> str:
    return next(block.text for block in of("python") if "encode_response" in block.text)


def test_the_readme_counts_right() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert "[more than forty providers]" in text
    assert len(CATALOG) > 40
    assert "[eighteen programs]" in text
    assert len(CLIENTS) == 18
    programs = len(list((ROOT / "examples").glob("*.py")))
    assert f"{NUMBERS[programs]} [examples]" in text


def test_the_translation_of_the_readme_keeps_the_citation() -> None:
    scope: dict[str, object] = {}
    exec(translation(), scope)  # noqa: S102  our own README
    message = scope["message"]
    assert isinstance(message, dict)
    texts = [item for item in message["content"] if item["type"] == "text"]
    assert [item["text"] for item in texts] == ["Köln", " liegt am Rhein."]
    assert texts[0]["citations"][0]["url"] == "https://stadt.example/"


def test_the_translation_of_the_readme_accepts_a_citation_without_a_span(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = translation().replace('"endIndex": 5, "text": "Köln"', '"endIndex": 5, "text": "Bonn"')
    assert code != translation()
    exec(code, {})  # noqa: S102  our own README
    assert "the whole answer ['https://stadt.example/']" in capsys.readouterr().out


def commands(text: str) -> list[list[str]]:
    """The arguments of every `groundwire` that a piece of shell runs, up to a pipe or redirection."""
    found = []
    for line in text.splitlines():
        inner = re.findall(r"\$\((groundwire [^)]*)\)", line)
        command = shlex.split(line.removeprefix("$ "), comments=True)
        while command and re.fullmatch(r"[A-Z_]+=\S*", command[0]):
            command.pop(0)
        found += [shlex.split(part)[1:] for part in inner]
        if not command or inner:
            continue
        if command[0] != "groundwire":
            assert command[0] in OTHER_PROGRAMS, line
            continue
        ends = [at for at, token in enumerate(command) if token in ("|", ">", ">>", "&&", ";")]
        found.append(command[1 : min(ends, default=len(command))])
    return found


def shell_of(block: Block) -> str:
    if block.language == "sh":
        return block.text
    return "\n".join(line for line in block.text.splitlines() if line.startswith("$ "))


@pytest.mark.parametrize("block", of("sh", "console"), ids=str)
async def test_shell_commands_are_parsed_and_run(
    block: Block, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    add_index(block, tmp_path, request)
    lines = commands(shell_of(block))
    assert lines or any(program in block.text for program in OTHER_PROGRAMS)
    for folder in ("docs", "handbook"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "install.md").write_text("# Install\n\nRun the installer and follow it.\n")
    with zipfile.ZipFile(tmp_path / "thing-1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("thing/docs/usage.md", "# Usage\n\nTurn the crank twice.\n")

    async def main() -> None:
        async with Upstream(answer("anthropic_messages", EVENTS)) as upstream:
            for command in lines:
                arguments = parse(command)
                downloads = "--download" in command or any(map(_is_downloaded, command[2:3]))
                if command[0] in NEEDS_NETWORK or downloads:
                    continue
                out, err = io.StringIO(), io.StringIO()
                console = Console(
                    stdin=io.StringIO("a-key-of-a-user"),
                    stdout=out,
                    stderr=err,
                    env=environment(tmp_path, upstream),
                    cwd=str(tmp_path),
                )
                code = await asyncio.to_thread(run_command, command[0], arguments, console)
                assert code == 0, (command, err.getvalue())

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        await main()


def config(text: str, home: Path) -> None:
    write_private(home / ".config" / "groundwire" / "config.toml", text)
    loaded = load({}, str(home), str(home))
    assert not loaded.warnings
    assert any(setting.origin != "default" for setting in loaded.settings)


def credentials(text: str, home: Path) -> None:
    write_private(home / "credentials.toml", text)
    context = LookupContext({}, str(home), str(home))
    for name in tomllib.loads(text)["providers"]:
        assert find([Lookup("own", name)], context) is not None


def app(text: str, _: Path) -> None:
    agent = read_app(text)
    assert agent.web_search
    assert agent.name


def tool(text: str, _: Path) -> None:
    assert read_app(json.dumps({"id": "a", "name": "A", "tools": [json.loads(text)]})).web_search


def script(text: str, folder: Path) -> None:
    for name in re.findall(r'"file": "([^"]+)"', text):
        (folder / name).write_bytes(b"data: {}\n\n")
    assert load_script(text, folder).paths


def result(text: str, _: Path) -> None:
    found = assemble(decode_response(json.loads(text)))
    assert found.error is None
    assert found.sources


LOADERS: Mapping[tuple[str, str], Callable[[str, Path], None]] = {
    ("toml", ""): config,
    ("toml", "credentials"): credentials,
    ("json", "app"): app,
    ("json", "tool"): tool,
    ("json", "script"): script,
    ("json", "result"): result,
}


@pytest.mark.parametrize("block", of("toml", "json"), ids=str)
def test_data_is_read_by_its_own_loader(block: Block, tmp_path: Path) -> None:
    LOADERS[block.language, block.kind](block.text, tmp_path)


@pytest.mark.parametrize("script", ["errors.py", "api_reference.py", "command_reference.py", "http_api.py"])
def test_the_generated_page_is_up_to_date(script: str) -> None:
    result = subprocess.run(  # noqa: S603
        [sys.executable, ROOT / "scripts" / script, "--check"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr


@cache
def anchors(page: Path) -> set[str]:
    """The fragments of a page's headings, as GitHub makes them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        same = sum(1 for other in found if re.fullmatch(rf"{re.escape(slug)}(-\d+)?", other))
        found.add(f"{slug}-{same}" if same else slug)
    return found


@pytest.mark.parametrize("page", LINKING, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    broken = []
    for path, fragment in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        target = page.parent / path if path else page
        is_found = target.exists() and (not fragment or fragment in anchors(target.resolve()))
        broken += [] if is_found else [f"{path}#{fragment}"]
    assert not broken
