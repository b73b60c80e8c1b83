"""The command as users start it: a process, a pipe or a terminal, and a provider on loopback."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.model import assemble
from groundwire.text.markdown import render_answer
from tests.faces.fakes import LATE, TEXT
from tests.faces.loopback import Loopback, loopback
from tests.faces.screen import Screen

pytestmark = pytest.mark.server

SOURCE = Path(__file__).parents[2] / "src"
COMMAND = [sys.executable, "-m", "groundwire"]
BOUND = 30.0
ANSWER = render_answer(assemble(LATE)) + "\n"
PROVIDERS = ("gemini", "anthropic", "openai", "openai_chat")


@pytest.fixture
def provider() -> Iterator[Loopback]:
    with loopback() as script:
        script.events = LATE
        yield script


def environment(script: Loopback | None, home: Path, **more: str) -> dict[str, str]:
    address = script.address if script else "http://127.0.0.1:9"
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(SOURCE),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "GROUNDWIRE_BUILD_INDEX": "0",
        "GROUNDWIRE_SEMANTIC": "0",
        "GEMINI_API_KEY": "test-key-0123456789",
        "ANTHROPIC_API_KEY": "test-key-0123456789",
        "OPENAI_API_KEY": "test-key-0123456789",
        "GROUNDWIRE_GEMINI_BASE_URL": address,
        "GROUNDWIRE_ANTHROPIC_BASE_URL": address,
        "GROUNDWIRE_OPENAI_BASE_URL": f"{address}/v1",
        "GROUNDWIRE_OPENAI_CHAT_BASE_URL": f"{address}/v1",
        **more,
    }


def start(*words: str, env: dict[str, str], home: Path, **more: object) -> subprocess.Popen[str]:
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]  # noqa: S603
        [*COMMAND, *words],
        env=env,
        cwd=home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        **more,
    )


def run(*words: str, env: dict[str, str], home: Path, stdin: str = "") -> tuple[int, str, str]:
    with start(*words, env=env, home=home) as process:
        out, err = process.communicate(stdin, timeout=BOUND)
        return process.returncode, out, err


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("flags", [(), ("--no-stream",)])
def test_a_question_gets_a_cited_answer(
    provider: Loopback, tmp_path: Path, name: str, flags: tuple[str, ...]
) -> None:
    code, out, err = run(
        "search", "--provider", name, *flags, "how many?", env=environment(provider, tmp_path), home=tmp_path
    )
    assert (code, err) == (0, "")
    assert out.startswith("Köln hat 1,1 Mio. Einwohner 🏙️")
    assert "\n\nSources:\n[1] Köln in Zahlen (https://stadt.example/koeln)\n" in out
    assert "how many?" in json.dumps(provider.requests[0]["body"])


def test_a_pipe_gets_exactly_the_answer(provider: Loopback, tmp_path: Path) -> None:
    env = environment(provider, tmp_path)
    assert run("search", "--provider", "gemini", "q", env=env, home=tmp_path) == (0, ANSWER, "")


def test_json_names_the_provider(provider: Loopback, tmp_path: Path) -> None:
    env = environment(provider, tmp_path)
    code, out, _ = run("search", "--json", "q", "--provider", "gemini", env=env, home=tmp_path)
    body = json.loads(out)
    assert code == 0
    assert (body["provider"], body["text"], body["grounded"]) == ("gemini", TEXT, True)


def test_auto_uses_the_first_usable_provider(provider: Loopback, tmp_path: Path) -> None:
    (tmp_path / "groundwire.toml").write_text('order = ["openrouter", "gemini", "anthropic"]\n')
    code, out, _ = run("search", "--json", "q", env=environment(provider, tmp_path), home=tmp_path)
    assert code == 0
    assert json.loads(out)["provider"] == "gemini"


def test_a_question_can_be_piped_in(provider: Loopback, tmp_path: Path) -> None:
    env = environment(provider, tmp_path)
    code, _, _ = run("search", "--provider", "gemini", "-", env=env, home=tmp_path, stdin="zwei\nZeilen\n")
    assert code == 0
    assert provider.requests[0]["body"]["contents"][0]["parts"] == [{"text": "zwei\nZeilen"}]


def test_a_refused_key_has_the_exit_code_for_credentials(provider: Loopback, tmp_path: Path) -> None:
    provider.status = 401
    provider.error_body = json.dumps(
        {"error": {"code": 401, "message": "bad key test-key-0123456789"}}
    ).encode()
    code, out, err = run(
        "search", "--provider", "gemini", "q", env=environment(provider, tmp_path), home=tmp_path
    )
    assert (code, out) == (4, "")
    assert err.startswith("groundwire: ")
    assert "groundwire doctor" in err
    assert "0123456789" not in err


def test_an_unreachable_provider_has_the_exit_code_for_the_network(tmp_path: Path) -> None:
    code, out, err = run(
        "search", "--provider", "gemini", "q", env=environment(None, tmp_path), home=tmp_path
    )
    assert (code, out) == (5, "")
    assert "127.0.0.1" in err


def test_a_missing_key_is_an_error_with_advice(tmp_path: Path) -> None:
    env = {key: text for key, text in environment(None, tmp_path).items() if not key.endswith("_API_KEY")}
    code, out, err = run("search", "q", "--provider", "gemini", env=env, home=tmp_path)
    assert (code, out) == (4, "")
    assert "GEMINI_API_KEY" in err
    assert err.count("\n") <= 2


def test_a_tool_follows_its_contract(provider: Loopback, tmp_path: Path) -> None:
    env = environment(provider, tmp_path)
    code, out, err = run("tool", "websearch_gemini", '{"query": "q"}', env=env, home=tmp_path)
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "llmContent": f'Web search results for "q":\n\n{ANSWER.rstrip()}',
        "returnDisplay": 'Search results for "q" returned.',
        "sources": [
            {"web": {"title": "Köln in Zahlen", "uri": "https://stadt.example/koeln"}},
            {"web": {"title": "Großstädte", "uri": "https://statistik.example/staedte"}},
        ],
    }


def test_a_closed_pipe_is_not_an_error(provider: Loopback, tmp_path: Path) -> None:
    gate = threading.Event()

    def pause(number: int) -> None:
        if number == 3:
            gate.wait(BOUND)

    provider.pause = pause
    env = environment(provider, tmp_path)
    with start("search", "--jsonl", "--provider", "gemini", "q", env=env, home=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("{")
        process.stdout.close()
        gate.set()
        assert process.wait(BOUND) == 0
        assert process.stderr.read() == ""


@pytest.mark.parametrize("frames", [0, 2])
def test_an_interruption_stops_everything(provider: Loopback, tmp_path: Path, frames: int) -> None:
    provider.stall_after(frames)
    with start(
        "search",
        "--provider",
        "gemini",
        "q",
        env=environment(provider, tmp_path),
        home=tmp_path,
        start_new_session=True,
    ) as process:
        assert provider.stalled.wait(BOUND)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=BOUND)
        assert process.returncode == 130
        assert err == "groundwire: interrupted\n"
        assert out == ""
    assert provider.disconnected.wait(BOUND)


class Pty:
    """A process on a terminal."""

    def __init__(
        self, *words: str, env: dict[str, str], home: Path, columns: int = 80, rows: int = 24
    ) -> None:
        self.screen = Screen(columns, rows)
        self.written = ""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._master = master
        self.process = subprocess.Popen(  # noqa: S603
            [*COMMAND, *words],
            env=env,
            cwd=home,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)

    def read(self) -> int:
        """Read to the end; the result is the exit code."""
        data = b""
        end = time.monotonic() + BOUND
        while time.monotonic() < end:
            ready, _, _ = select.select([self._master], [], [], 1.0)
            if ready:
                chunk = self._chunk()
                if not chunk:
                    break
                data += chunk
        os.close(self._master)
        self.written = data.decode()
        self.screen.feed(self.written)
        return self.process.wait(BOUND)

    def _chunk(self) -> bytes:
        try:
            return os.read(self._master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return b""


@pytest.mark.parametrize("name", ["gemini", "anthropic", "openai"])
def test_on_a_terminal_the_answer_ends_up_with_its_numbers(
    provider: Loopback, tmp_path: Path, name: str
) -> None:
    env = environment(provider, tmp_path, TERM="xterm-256color", FORCE_HYPERLINK="1")
    terminal = Pty("search", "--provider", name, "q", env=env, home=tmp_path)
    assert terminal.read() == 0
    lines = terminal.screen.text.splitlines()
    assert lines[0] == "Köln hat 1,1 Mio. Einwohner 🏙[1][2]. Es liegt am Rhein.[2]"
    assert lines[1:4] == ["", "Sources", "[1] Köln in Zahlen"]
    assert lines[-1].startswith(f"{name} · sample-model · ")
    assert ("[1]", "https://stadt.example/koeln") in terminal.screen.links
    assert terminal.screen.unknown == []
    assert f"Asking {name}…" in terminal.written
    assert "\x1b[2m" in terminal.written


def test_a_terminal_without_colours_gets_none(provider: Loopback, tmp_path: Path) -> None:
    env = environment(provider, tmp_path, TERM="xterm", NO_COLOR="1")
    terminal = Pty("search", "--provider", "gemini", "q", env=env, home=tmp_path)
    assert terminal.read() == 0
    assert "\x1b[2m" not in terminal.written
    assert "\x1b[1m" not in terminal.written


def test_an_interruption_on_a_terminal_leaves_a_clean_line(provider: Loopback, tmp_path: Path) -> None:
    provider.stall_after(0)
    env = environment(provider, tmp_path, TERM="xterm")
    terminal = Pty("search", "--provider", "gemini", "q", env=env, home=tmp_path)
    assert provider.stalled.wait(BOUND)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.read() == 130
    assert terminal.screen.text == "groundwire: interrupted"
    assert provider.disconnected.wait(BOUND)


def modules_after(program: str) -> set[str]:
    """The modules that a new interpreter has imported after running a program."""
    program = (
        f"import sys; sys.path.insert(0, {str(SOURCE)!r}); {program}; print(*sys.modules, file=sys.stderr)"
    )
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, timeout=BOUND, check=True
    )
    assert result.stdout.startswith(("groundwire 0", "usage: groundwire"))
    return set(result.stderr.split())


def test_the_version_needs_almost_nothing() -> None:
    program = "sys.argv = ['groundwire', '--version']; from groundwire.__main__ import main; main()"
    heavy = {"argparse", "asyncio", "ssl", "re", "typing", "groundwire.model"}
    assert not modules_after(program) & heavy


def test_help_needs_no_network_library() -> None:
    program = "from groundwire.commands.main import run; run(['search', '--help'])"
    assert not modules_after(program) & {"asyncio", "ssl", "groundwire.model", "shutil"}


BINARY = [b"\xff\xfe\x00\x01", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), b"words\0and more"]


@pytest.mark.parametrize("data", BINARY, ids=["bytes", "picture", "nul"])
@pytest.mark.parametrize(
    "command", [["search", "-"], ["tool", "websearch", "-"], ["login", "gemini"]], ids=" ".join
)
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_binary_input_is_refused_as_binary(
    command: list[str], data: bytes, locale: str, tmp_path: Path
) -> None:
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "groundwire", *command],
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LC_ALL": locale},
        cwd=tmp_path,
    )
    assert result.returncode == 2
    assert b"standard input is not UTF-8 text" in result.stderr
    assert not result.stdout
