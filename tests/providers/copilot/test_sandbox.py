"""Sandbox: what a hostile Copilot CLI cannot do.

These tests need bubblewrap and fail without it; `apt-get install bubblewrap` (or the like) brings it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from groundwire.credentials.redact import Redactor
from groundwire.errors import ConfigError, TimedOut, UpstreamWireError
from groundwire.model import Message, Request, SearchOptions, Text, assemble
from groundwire.model.value import replace
from groundwire.providers.copilot.command import CopilotSettings, arguments
from groundwire.providers.copilot.provider import CopilotProvider
from groundwire.providers.copilot.sandbox import (
    RunFolder,
    SandboxTools,
    create_run_folder,
    find_sandbox_tools,
    sandboxed_command,
)
from groundwire.providers.spec import flatten
from tests.providers.copilot.fake import PYTHON, TOKEN, fake_cli

pytestmark = pytest.mark.server

PROMPT = 20.0
"""Seconds: less than those sleep who must be ended, and more than a busy machine needs."""
REPORT = """
say({"type": "assistant.message", "data": {"content": json.dumps(found)}})
say({"type": "result", "exitCode": 0})
"""
ATTEMPT = """
def attempt(action):
    try:
        return action()
    except OSError as error:
        return type(error).__name__
def read(path):
    return attempt(lambda: open(path, errors="replace").read())
def write(path):
    return attempt(lambda: open(path, "w").write("rewritten") and "written")
"""


@pytest.fixture(autouse=True)
def bubblewrap() -> str:
    """Fail if bubblewrap is missing, because a skipped test proves nothing."""
    found = shutil.which("bwrap", path=f"{os.environ.get('PATH', '')}:/usr/bin")
    if found is None:
        pytest.fail("bubblewrap is not installed: run `apt-get install -y bubblewrap`, then test again")
    return found


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """The home of a user, with secrets in it."""
    home = tmp_path / "user"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text("CANARY-KEY")
    (home / ".copilot").mkdir()
    (home / ".copilot" / "config.json").write_text('{"copilot_tokens": {"github.com": "CANARY-LOGIN"}}')
    (home / "project" / ".git" / "hooks").mkdir(parents=True)
    return home


async def answer_of(settings: CopilotSettings) -> str:
    provider = CopilotProvider(settings, Redactor())
    assert "bubblewrap)" in await provider.confinement(), "bubblewrap is installed, but cannot run here"
    request = Request((Message("user", (Text("q"),)),), search=SearchOptions())
    async with aclosing(flatten(provider.batches(request))) as events:
        return assemble([event async for event in events]).text


def inside(folder: Path, code: str, env: dict[str, str] | None = None) -> Any:
    """Run Python instead of the CLI, in the sandbox; returns what it put into `found`."""
    cli = fake_cli(folder, ("run", ATTEMPT + code + REPORT), recorded=False)
    return json.loads(asyncio.run(answer_of(cli.settings(env, sandbox=True))))


def pids_with(argument: str) -> list[int]:
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                if argument.encode() in (path / "cmdline").read_bytes().split(b"\0"):
                    found.append(int(path.name))
            except OSError:
                continue
    return found


def are_gone(argument: str) -> bool:
    ends = time.monotonic() + PROMPT
    while time.monotonic() < ends and pids_with(argument):
        time.sleep(0.01)
    return not pids_with(argument)


def test_in_the_sandbox_the_cli_is_called_exactly_as_without_it(tmp_path: Path) -> None:
    found = inside(tmp_path, "found = [call['argv'], call['env'], call['cwd'], call['found'], call['home']]")
    argv, env, cwd, here, home = found
    assert argv == list(arguments("gpt-4.1"))
    assert cwd.endswith("/work")
    assert (here, home) == ([], [])
    assert {name: text for name, text in env.items() if name not in ("HOME", "COPILOT_HOME", "PWD")} == {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "COPILOT_GITHUB_TOKEN": TOKEN,
        "HTTPS_PROXY": "http://127.0.0.1:3128",
        "https_proxy": "http://127.0.0.1:3128",
        "NODE_USE_ENV_PROXY": "1",
    }
    assert not Path(cwd).exists()


def test_keys_in_the_home_cannot_be_read(tmp_path: Path, user: Path) -> None:
    code = f"""
found = [read({str(user)!r} + "/.ssh/id_ed25519"), read(os.path.expanduser("~/.ssh/id_ed25519")),
         attempt(lambda: os.listdir({str(user)!r})), attempt(lambda: os.listdir("/home")),
         read("/etc/shadow")]
"""
    assert inside(tmp_path, code) == ["FileNotFoundError"] * 5
    assert "CANARY" not in json.dumps(inside(tmp_path, "found = [os.listdir('/'), os.listdir('/tmp')]"))


def test_secrets_of_the_environment_cannot_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "CANARY-ENVIRONMENT")
    code = """
found = [dict(os.environ)] + [read(f"/proc/{name}/environ") for name in os.listdir("/proc") if name.isdigit()]
"""
    found = inside(tmp_path, code, {"OPENAI_API_KEY": "CANARY-GIVEN"})
    assert "CANARY" not in json.dumps(found)


def test_no_process_outside_can_be_seen_or_signalled(tmp_path: Path) -> None:
    code = f"""
found = [[read(f"/proc/{{name}}/cmdline") for name in os.listdir("/proc") if name.isdigit()],
         attempt(lambda: os.kill({os.getpid()}, 0)), read("/proc/{os.getpid()}/environ"),
         read("/proc/{os.getpid()}/mem")]
"""
    commands, killed, environment, memory = inside(tmp_path, code)
    assert Path("/proc/self/cmdline").read_text() not in commands
    assert len(commands) <= 4
    assert (killed, environment, memory) == ("ProcessLookupError", "FileNotFoundError", "FileNotFoundError")


def test_nothing_outside_can_be_written(tmp_path: Path, user: Path) -> None:
    paths = [
        tmp_path / "outside",
        user / "project" / ".git" / "hooks" / "pre-commit",
        user / ".bashrc",
        Path("/usr/bin/groundwire-canary"),
        Path("/etc/groundwire-canary"),
        Path("/groundwire-canary"),
        Path("/var/tmp/groundwire-canary"),  # noqa: S108
    ]
    code = f"found = [write(path) for path in {[str(path) for path in paths]!r}]"
    found = inside(tmp_path, code)
    assert set(found[1:]) <= {"FileNotFoundError", "OSError", "PermissionError"}
    # What it writes to a temporary directory stays in its own.
    assert [path for path in paths if path.exists()] == []


def test_its_own_configuration_and_program_cannot_be_rewritten(tmp_path: Path, user: Path) -> None:
    code = """
own = os.environ["COPILOT_HOME"] + "/config.json"
found = [read(own), write(own), write(sys.argv[0]), write(sys.executable)]
"""
    config = user / ".copilot" / "config.json"
    before = config.read_text()
    found = inside(tmp_path, code, {"COPILOT_GITHUB_TOKEN": ""})
    assert found == [before.replace(": ", ":"), "written", "OSError", "OSError"]
    assert config.read_text() == before
    assert (tmp_path / "copilot").read_text().startswith("#!")


def test_a_symlink_in_the_working_directory_gives_no_access_and_deletes_nothing(
    tmp_path: Path, user: Path
) -> None:
    code = f"""
os.symlink({str(user)!r}, "link")
os.symlink("/etc/shadow", "shadow")
found = [read("link/.ssh/id_ed25519"), read("shadow"), write("link/planted")]
"""
    assert inside(tmp_path, code) == ["FileNotFoundError"] * 3
    assert (user / ".ssh" / "id_ed25519").read_text() == "CANARY-KEY"
    assert not (user / "planted").exists()


def test_removing_the_folder_of_a_run_follows_no_symlink(tmp_path: Path, user: Path) -> None:
    folder = create_run_folder("")
    Path(folder.work, "link").symlink_to(user)
    folder.remove()
    assert not Path(folder.root).exists()
    assert (user / ".ssh" / "id_ed25519").exists()


CHILDREN = """
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            null = os.open("/dev/null", os.O_RDWR)
            os.dup2(null, 1); os.dup2(null, 2)
            os.execv({python!r}, [{python!r}, "-IS", "-c", "import time; time.sleep(60)", {argument!r}])
        os._exit(0)
time.sleep(0.3)
found = len([name for name in os.listdir("/proc") if name.isdigit()])
"""


def test_children_that_leave_the_session_die_with_the_run(tmp_path: Path) -> None:
    argument = f"escaped-{os.getpid()}-end"
    count = inside(tmp_path, CHILDREN.format(python=PYTHON, argument=argument))
    assert count >= 20
    assert are_gone(argument)


async def test_children_that_leave_the_session_die_at_the_timeout(tmp_path: Path) -> None:
    argument = f"escaped-{os.getpid()}-late"
    code = CHILDREN.format(python=PYTHON, argument=argument) + "time.sleep(60)"
    cli = fake_cli(tmp_path, ("run", code), recorded=False)
    with pytest.raises(TimedOut):
        await answer_of(cli.settings({"WEB_SEARCH_TIMEOUT": "2000"}, sandbox=True))
    assert are_gone(argument)


async def test_children_that_leave_the_session_die_with_a_cancelled_caller(tmp_path: Path) -> None:
    argument = f"escaped-{os.getpid()}-cancel"
    code = CHILDREN.format(python=PYTHON, argument=argument) + "time.sleep(60)"
    cli = fake_cli(tmp_path, ("run", code), recorded=False)

    async def main() -> None:
        task = asyncio.create_task(answer_of(cli.settings(sandbox=True)))
        async with asyncio.timeout(PROMPT):
            while not pids_with(argument):
                await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    await main()
    assert are_gone(argument)


async def test_a_gigabyte_of_output_is_cut_at_two_megabytes(tmp_path: Path) -> None:
    code = "block = 'x' * 65536\nfor _ in range(16384): sys.stdout.write(block)"
    cli = fake_cli(tmp_path, ("run", code), recorded=False)
    with pytest.raises(UpstreamWireError, match="2097152"):
        await answer_of(cli.settings(sandbox=True))


def test_the_resources_of_the_cli_are_limited(tmp_path: Path) -> None:
    code = """
found = {}
for row in open("/proc/self/limits"):
    for name in ("Max cpu time", "Max file size", "Max processes", "Max core file size"):
        if row.startswith(name):
            found[name] = row[len(name):].split()[1]
found["caps"] = [row.split()[1] for row in open("/proc/self/status") if row.startswith("CapEff")]
"""
    assert inside(tmp_path, code) == {
        "Max cpu time": "240",
        "Max file size": "536870912",
        "Max processes": "512",
        "Max core file size": "0",
        "caps": ["0000000000000000"],
    }


async def test_the_packages_of_the_program_are_visible_and_no_more(tmp_path: Path) -> None:
    package = tmp_path / "lib" / "node_modules" / "@github" / "copilot"
    package.mkdir(parents=True)
    sibling = package.parent / "copilot-linux-x64" / "data"
    sibling.parent.mkdir()
    sibling.write_text("own")
    other = tmp_path / "lib" / "other"
    other.write_text("CANARY")
    code = f"found = [read({str(sibling)!r}), read({str(other)!r})]"
    cli = fake_cli(package, ("run", ATTEMPT + code + REPORT), recorded=False)
    link = tmp_path / "copilot"
    link.symlink_to(cli.path)
    settings = replace(cli.settings(sandbox=True), path=str(link), home=str(tmp_path / "user"))
    assert json.loads(await answer_of(settings)) == ["own", "FileNotFoundError"]


def shown(argv: tuple[str, ...], folder: Path) -> list[str]:
    """The part of a folder that is visible in the sandbox."""
    return [path for at, path in enumerate(argv) if argv[at - 1] == "--ro-bind" and str(folder) in path]


def test_the_interpreter_of_a_script_is_seen_with_its_library(tmp_path: Path) -> None:
    program = tmp_path / "copilot"
    program.write_text("#!/usr/bin/env -S A=b interpreter --flag\n")
    prefix = tmp_path / "versions" / "22"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib").mkdir()
    (prefix / "bin" / "interpreter").write_text("")
    (prefix / "bin" / "interpreter").chmod(0o700)
    settings = CopilotSettings(env={"PATH": f"{prefix}/bin"}, home=str(tmp_path / "user"))
    argv = sandboxed_command((str(program),), make_none(), SandboxTools("bwrap"), settings)
    interpreter = f"{prefix}/bin/interpreter"
    assert shown(argv, tmp_path) == [str(program), str(prefix), interpreter]
    # An interpreter in the user's own `bin` must not bring the whole home along.
    argv = sandboxed_command(
        (str(program),), make_none(), SandboxTools("bwrap"), replace(settings, home=str(prefix))
    )
    assert shown(argv, tmp_path) == [str(program), interpreter]


@pytest.mark.parametrize("first", ["", "\x7fELF", "#!", "#! /usr/bin/env", "#!/nowhere/at/all"])
def test_a_program_without_an_interpreter_is_shown_alone(tmp_path: Path, first: str) -> None:
    program = tmp_path / "copilot"
    program.write_text(first)
    argv = sandboxed_command(
        (str(program),), make_none(), SandboxTools("bwrap"), CopilotSettings(home="/home/me")
    )
    assert shown(argv, tmp_path) == [str(program)]


def make_none() -> RunFolder:
    return RunFolder("/private")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"theme": "dark"}'])
def test_a_configuration_without_a_login_is_not_copied(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    folder = create_run_folder(str(tmp_path))
    assert list(Path(folder.login).iterdir()) == []
    folder.remove()


def test_no_secret_is_in_the_arguments(tmp_path: Path, user: Path) -> None:
    settings = fake_cli(tmp_path).settings(sandbox=True)
    folder = create_run_folder(str(user / ".copilot"))
    for tools in (find_sandbox_tools(settings.search), SandboxTools()):
        argv = sandboxed_command((settings.path, *arguments("gpt-4.1")), folder, tools, settings)
        assert not any(TOKEN in part or "CANARY" in part for part in argv)
    folder.remove()


@pytest.mark.parametrize(
    "program",
    [
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n",
        "#!/nowhere/at/all\n",
    ],
)
async def test_a_sandbox_that_does_not_work_here_is_reported_and_not_used(
    tmp_path: Path, program: str
) -> None:
    broken = tmp_path / "bin" / "bwrap"
    broken.parent.mkdir()
    broken.write_text(program)
    broken.chmod(0o700)
    cli = fake_cli(tmp_path)
    settings = cli.settings({"PATH": f"{broken.parent}:/usr/bin:/bin"}, sandbox=True)
    provider = CopilotProvider(settings, Redactor())
    assert "without a sandbox" in await provider.confinement()


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(ConfigError, match="TMPDIR"):
        create_run_folder("")


def test_the_private_folder_is_for_its_owner_alone(user: Path) -> None:
    folder = create_run_folder(str(user / ".copilot"))
    modes = {path: Path(path).stat().st_mode & 0o777 for path in (folder.root, folder.home, folder.work)}
    assert set(modes.values()) == {0o700}
    assert Path(folder.login, "config.json").stat().st_mode & 0o777 == 0o600
    folder.remove()
