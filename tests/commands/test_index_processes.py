"""`groundwire index add` as users start it, interrupted, and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from groundwire.engine.index.location import open_index
from tests.engine.crawl.website import page, website

pytestmark = pytest.mark.server

BOUND = 60.0
SOURCE = Path(__file__).parents[2] / "src"
PAGES = 12


def start(home: Path, *words: str, program: tuple[str, str] = ("-m", "groundwire")) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603
        [sys.executable, *program, *words],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(SOURCE),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "GROUNDWIRE_SEMANTIC": "0",
        },
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def test_an_interrupted_crawl_keeps_its_pages_and_is_resumed(tmp_path: Path) -> None:
    held, go_on = threading.Event(), threading.Event()
    with website() as site:
        site.put("/robots.txt", "User-agent: *\nDisallow:", "text/plain")
        for number in range(PAGES):
            site.put(
                f"/p{number}", page(f"page {number}", f"/p{number + 1}" if number + 1 < PAGES else "/p0")
            )

        def before(path: str) -> None:
            if path == "/p5" and not go_on.is_set():
                held.set()
                go_on.wait(BOUND)

        site.before = before
        words = (
            "index",
            "add",
            f"{site.address}/p0",
            "--private",
            "--max-pages",
            "50",
            "--collection",
            "site",
        )
        process = start(tmp_path, *words)
        try:
            assert held.wait(BOUND)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=BOUND)
        finally:
            go_on.set()
            process.kill()
        assert process.returncode == 130, err
        assert out.startswith("5 added")
        assert "run the same command again to continue" in err
        assert err.rstrip().endswith("groundwire: interrupted")
        with open_index(tmp_path / ".local/share/groundwire/index") as index:
            assert len(list(index.pages("site"))) == 5

        site.requests.clear()
        with start(tmp_path, *words) as process:
            out, err = process.communicate(timeout=BOUND)
        assert process.returncode == 0, err
        assert out == f"{PAGES - 5} added, 0 updated, 0 unchanged\n"
        assert site.paths == ["/robots.txt", *(f"/p{number}" for number in range(5, PAGES))]
        with open_index(tmp_path / ".local/share/groundwire/index") as index:
            assert len(list(index.pages("site"))) == PAGES
        assert list((tmp_path / ".local/share/groundwire/crawls").iterdir()) == []


HELD = """
import sys, threading
from groundwire.engine.crawl import files
from groundwire.commands.main import run
read_file = files._read_file
def held(path, *rest):
    if path.name == "p25.md":
        print("held", flush=True)
        threading.Event().wait(600)
    return read_file(path, *rest)
files._read_file = held
sys.exit(run(sys.argv[1:]))
"""


def test_an_interrupted_folder_keeps_its_pages_and_does_not_wait_for_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(40):
        (folder / f"p{number:02}.md").write_text(f"# Page {number}\n\nThe words of page number {number}.\n")
    words = ("index", "add", "docs", "--base-url", "https://docs.example/")
    process = start(tmp_path, *words, program=("-c", HELD))
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=BOUND)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert out == "25 added, 0 updated, 0 unchanged\n"
    with start(tmp_path, *words) as process:
        out, err = process.communicate(timeout=BOUND)
    assert process.returncode == 0, err
    assert out == "15 added, 0 updated, 25 unchanged\n"


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from groundwire.commands.main import run\n"
        "code = run(['index', '--help'])\n"
        "heavy = {'lxml', 'tantivy', 'docutils', 'asyncio', 'sqlite3'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else code)"
    )
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=BOUND, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
