"""The background build: its status, when it is due, and its process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

from groundwire.engine.index.location import open_index
from groundwire.engine.knowledge import DOCUMENTATION, background, build, builder, has_everything
from groundwire.engine.knowledge.background import (
    LOG_FILE,
    STATUS_FILE,
    BackgroundBuild,
    BuildRecorder,
    BuildStatus,
    documentation_mark,
    environment_mark,
    is_due,
    read_status,
    settle_documentation,
)
from groundwire.engine.knowledge.builder import complete_index
from groundwire.engine.pages import Page
from groundwire.errors import ConfigError, TimedOut
from groundwire.files.lock import locked
from tests.engine.knowledge.few_pages import few_own_pages, few_topic_pages
from tests.engine.knowledge.memory import MemoryIndex
from tests.engine.knowledge.small_documentation import write_documentation

pytestmark = pytest.mark.server

BOUND = 60.0
MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
ROOT = Path(__file__).parents[3]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small index without documentation, which makes the tests fast."""
    monkeypatch.setattr(build, "DOCUMENTED_MODULES", ("json", "glob"))
    monkeypatch.setattr(build, "installed", list)
    monkeypatch.setattr(build, "own_pages", few_own_pages)
    monkeypatch.setattr(build, "topic_pages", few_topic_pages)
    monkeypatch.setattr(builder, "local_copy", lambda: None)
    monkeypatch.setattr(background, "local_copy", lambda: None)


def record(folder: Path, **fields: object) -> None:
    with locked(folder / STATUS_FILE, 1.0) as descriptor:
        BuildRecorder(descriptor).record(**fields)


def test_a_status_is_read_as_it_was_recorded(tmp_path: Path) -> None:
    assert read_status(tmp_path) == BuildStatus()
    with locked(tmp_path / STATUS_FILE, 1.0) as descriptor:
        recorder = BuildRecorder(descriptor)
        recorder.record(phase="building", done=3, total=9, what="Größe")
        assert read_status(tmp_path) == recorder.status
        assert read_status(tmp_path).summary == "being completed: 3 of 9, Größe"
        recorder.record(phase="failed", message="the disk is full.", done=1)
    size = (tmp_path / STATUS_FILE).stat().st_size
    assert read_status(tmp_path).summary == "not complete: the disk is full"
    record(tmp_path, phase="complete", message="x" * 10_000)
    assert read_status(tmp_path).phase == "complete"
    assert (tmp_path / STATUS_FILE).stat().st_size == size


def test_a_build_whose_process_is_gone_was_interrupted(tmp_path: Path) -> None:
    record(tmp_path, phase="building", done=3, total=9)
    assert read_status(tmp_path).phase == "interrupted"


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 50, b"{", b"[1]", b'{"phase": 7, "done": "x"}', b"\xff\xfe"]
)
def test_a_damaged_status_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / STATUS_FILE).write_bytes(content)
    assert read_status(tmp_path) == BuildStatus()


NOW = 1_000_000.0
MARK = environment_mark()
OLD_EDITION = "0 " + MARK.partition(" ")[2]
OTHER_PACKAGES = MARK.rpartition(" ")[0] + " 0000"


@pytest.mark.parametrize(
    ("status", "due"),
    [
        (BuildStatus(), True),
        (BuildStatus("building", at=NOW), False),
        (BuildStatus("interrupted", at=NOW, attempts=1), True),
        (BuildStatus("interrupted", at=NOW, attempts=3), False),
        (BuildStatus("interrupted", at=NOW - 3600, attempts=9), True),
        (BuildStatus("failed", at=NOW - 60), False),
        (BuildStatus("failed", at=NOW - 3600), True),
        (BuildStatus("complete", at=NOW - 999_999, environment=MARK), False),
        (BuildStatus("complete", at=NOW, environment=OLD_EDITION), True),
        (BuildStatus("complete", at=NOW - 60, environment=OTHER_PACKAGES), False),
        (BuildStatus("complete", at=NOW - 7200, environment=OTHER_PACKAGES), True),
    ],
)
def test_when_a_build_is_due(status: BuildStatus, due: bool) -> None:
    assert is_due(status, MARK, NOW) is due


def test_an_installed_package_changes_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    before = environment_mark()
    assert environment_mark() == before
    (tmp_path / "thing-1.0.dist-info").mkdir()
    assert environment_mark() != before


@pytest.mark.usefixtures("few")
def test_a_complete_build_is_recorded_and_nothing_is_due(tmp_path: Path) -> None:
    index = MemoryIndex()
    complete_index(index, tmp_path)
    status = read_status(tmp_path)
    assert (status.phase, status.attempts, status.done) == ("complete", 0, status.total)
    assert has_everything(index)
    assert not is_due(status, environment_mark(), time.time())


@pytest.mark.usefixtures("few")
def test_a_full_disk_is_recorded_with_its_reason(tmp_path: Path) -> None:
    index = MemoryIndex()
    index.fails_after = 0
    with pytest.raises(ConfigError):
        complete_index(index, tmp_path)
    assert read_status(tmp_path).summary == "not complete: the disk is full"


@pytest.mark.usefixtures("few")
def test_only_one_process_builds_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "_PATIENCE", 0.0)
    with locked(tmp_path / STATUS_FILE, 1.0), pytest.raises(TimedOut):
        complete_index(MemoryIndex(), tmp_path)


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A local copy of the documentation of this Python."""
    folder = write_documentation(tmp_path / "html", MINOR)
    monkeypatch.setattr(builder, "local_copy", lambda: folder)
    monkeypatch.setattr(background, "local_copy", lambda: folder)
    return folder


def documented(index: MemoryIndex) -> list[str]:
    return [info.url for info in index.pages(DOCUMENTATION)]


@pytest.mark.usefixtures("few")
def test_a_local_copy_of_the_documentation_is_added_once(tmp_path: Path, copy: Path) -> None:
    index = MemoryIndex()
    complete_index(index, tmp_path)
    assert f"https://docs.python.org/{MINOR}/library/os.html#os.walk" in documented(index)
    assert read_status(tmp_path).documentation == documentation_mark(copy)
    # The user removes it: the next build leaves it out, until there is another copy.
    index.remove(collection=DOCUMENTATION)
    complete_index(index, tmp_path)
    assert documented(index) == []
    os.utime(copy / "objects.inv", (1, 1))
    complete_index(index, tmp_path)
    assert documented(index)


@pytest.mark.usefixtures("few", "copy")
def test_documentation_that_the_user_removed_before_the_build_is_not_added(tmp_path: Path) -> None:
    settle_documentation(tmp_path)
    index = MemoryIndex()
    complete_index(index, tmp_path)
    assert documented(index) == []


@pytest.mark.usefixtures("few", "copy")
def test_the_documentation_of_another_version_stays(tmp_path: Path) -> None:
    index = MemoryIndex()
    index.put(
        [
            Page(
                "https://docs.python.org/3.9/library/os.html#os.walk",
                "os.walk",
                "x",
                collection=DOCUMENTATION,
            )
        ]
    )
    complete_index(index, tmp_path)
    assert documented(index) == ["https://docs.python.org/3.9/library/os.html#os.walk"]


@pytest.mark.usefixtures("few")
def test_an_interrupted_build_does_not_read_stored_files_again(tmp_path: Path, copy: Path) -> None:
    index = MemoryIndex()
    complete_index(index, tmp_path)
    everything = documented(index)
    record(tmp_path, phase="building", documentation="", reading=documentation_mark(copy))
    # A file that is there is not read: what it says now is not noticed.
    (copy / "library" / "os.html").write_text("<main></main>")
    index.remove(urls=[url for url in everything if "tutorial" in url])
    complete_index(index, tmp_path)
    assert documented(index) == everything


@pytest.mark.usefixtures("few")
def test_another_copy_replaces_pages_and_keeps_those_of_the_c_api(tmp_path: Path, copy: Path) -> None:
    index = MemoryIndex()
    complete_index(index, tmp_path)
    c_api = f"https://docs.python.org/{MINOR}/c-api/intro.html#errors"
    index.put([Page(c_api, "In C", "Errors in C.", collection=DOCUMENTATION)])
    (copy / "tutorial" / "errors.html").unlink()
    os.utime(copy / "objects.inv", (1, 1))
    complete_index(index, tmp_path)
    assert c_api in documented(index)
    assert not any("tutorial" in url for url in documented(index))


SMALL_BUILDER = dedent("""
    import sys, time
    from pathlib import Path
    from groundwire.engine.knowledge import build, builder
    from tests.engine.knowledge.few_pages import few_own_pages, few_topic_pages
    builder._NICENESS = 0
    build.own_pages = few_own_pages
    build.topic_pages = few_topic_pages
    build.DOCUMENTED_MODULES = ("json", "glob")
    build.installed = list
    build.BATCH = 10
    builder.local_copy = lambda: None
    held = Path(sys.argv[3]) if len(sys.argv) > 3 and not sys.argv[3].isdigit() else None
    if len(sys.argv) > 3 and sys.argv[3].isdigit():
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
    module_pages = build.module_pages
    def slow_pages(library, module, taken):
        if held and module == "glob":
            held.touch()
            time.sleep(60)
        yield from module_pages(library, module, taken)
    build.module_pages = slow_pages
    sys.exit(builder.main(sys.argv[1:3]))
""")


def start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", SMALL_BUILDER, str(folder), MARK, *words],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "GROUNDWIRE_SEMANTIC": "0"},
    )


def wait_until(path: Path) -> None:
    ends = time.monotonic() + BOUND
    while not path.exists():
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_a_build_that_is_killed_is_completed_by_the_next_one(tmp_path: Path) -> None:
    folder, held = tmp_path / "index", tmp_path / "held"
    killed = start(folder, str(held))
    wait_until(held)
    assert read_status(folder).phase == "building"
    killed.send_signal(signal.SIGKILL)
    killed.wait(BOUND)
    status = read_status(folder)
    assert (status.phase, status.attempts) == ("interrupted", 1)
    with open_index(folder) as index:
        kept = index.stats().pages
        assert kept > 0
        assert not has_everything(index)
    assert start(folder).wait(BOUND) == 0
    assert read_status(folder).phase == "complete"
    with open_index(folder) as index:
        assert index.stats().pages > kept
        assert has_everything(index)


def test_without_disk_space_the_index_answers_from_what_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    with open_index(folder) as index:
        index.put([Page("https://team.example/json", "JSON at home", "Serialize JSON with care.")])
    assert start(folder, str(30_000)).wait(BOUND) == 1
    status = read_status(folder)
    assert status.phase == "failed"
    assert "disk is full" in status.message
    with open_index(folder) as index:
        assert index.search("serialize json")
    assert start(folder).wait(BOUND) == 0
    assert read_status(folder).phase == "complete"


def test_a_second_builder_leaves_the_first_one_alone(tmp_path: Path) -> None:
    folder, held = tmp_path / "index", tmp_path / "held"
    first = start(folder, str(held))
    wait_until(held)
    assert start(folder).wait(BOUND) == 0
    assert first.poll() is None
    assert read_status(folder).phase == "building"
    first.kill()
    first.wait(BOUND)


def test_the_process_is_started_once_and_logs_into_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "_MODULE", "platform")
    started = BackgroundBuild(tmp_path / "index")
    assert started.status().phase == "building"
    monkeypatch.setattr(background, "_MODULE", "not.there")
    assert started.status().phase == "building"
    log = tmp_path / "index" / LOG_FILE
    ends = time.monotonic() + BOUND
    while not log.read_text():
        assert time.monotonic() < ends
        time.sleep(0.02)
    assert sys.platform in log.read_text().lower()


def test_a_folder_that_cannot_be_made_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert BackgroundBuild(tmp_path / "file" / "index").status() == BuildStatus()


def test_a_complete_index_starts_nothing(tmp_path: Path) -> None:
    record(tmp_path, phase="complete", environment=MARK)
    assert BackgroundBuild(tmp_path).status().phase == "complete"
    assert not (tmp_path / LOG_FILE).exists()
    record(tmp_path, phase="failed")
    assert BackgroundBuild(tmp_path).status().phase == "failed"
