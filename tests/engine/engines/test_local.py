"""The embedded engine: its initial index, its data directory, and several processes at once."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from groundwire.engine.compose.answer import Composition
from groundwire.engine.compose.events import composition_events
from groundwire.engine.dense import build as dense_build
from groundwire.engine.dense import packages, stage, vector_file
from groundwire.engine.dense.build import complete_vectors
from groundwire.engine.dense.packages import MULTILINGUAL, EncoderPackage, MeaningUnavailable
from groundwire.engine.dense.vector_file import vectors_path
from groundwire.engine.engines.local import LocalEngine
from groundwire.engine.index.base import Index
from groundwire.engine.index.location import open_index
from groundwire.engine.knowledge import CORE_EDITION, BuildProgress, build, has_core, ignore_progress, refresh
from groundwire.engine.knowledge.addresses import CONTENTS_URL
from groundwire.engine.knowledge.background import BackgroundBuild, BuildStatus
from groundwire.engine.pages import Engine, EngineResult, Page
from groundwire.errors import ConfigError
from groundwire.model import NOTHING_FOUND, NOTICES, SearchOptions, Warned
from tests.engine.dense.fakes import PHRASES, FakeEncoder
from tests.engine.knowledge.few_pages import few_own_pages, few_topic_pages
from tests.engine.knowledge.memory import MemoryIndex

pytestmark = pytest.mark.server

ANY = SearchOptions()
ROOT = Path(__file__).parents[3]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small index, which makes the tests fast."""
    monkeypatch.setattr(build, "CORE_MODULES", ("json", "decimal"))
    monkeypatch.setattr(build, "DOCUMENTED_MODULES", ("json", "decimal", "glob"))
    monkeypatch.setattr(build, "installed", list)
    monkeypatch.setattr(build, "own_pages", few_own_pages)
    monkeypatch.setattr(build, "topic_pages", few_topic_pages)


def find(engine: LocalEngine, query: str, options: SearchOptions = ANY) -> EngineResult:
    async def requested() -> EngineResult:
        try:
            return await engine.find(query, options, limit=5)
        finally:
            await engine.close()

    return asyncio.run(asyncio.wait_for(requested(), 60))


@pytest.mark.usefixtures("few")
def test_an_empty_data_directory_answers_at_once_and_shows_progress(tmp_path: Path) -> None:
    seen: list[BuildProgress] = []
    engine: Engine = LocalEngine(tmp_path / "index", report=seen.append)
    assert engine.name == "local"
    assert isinstance(engine, LocalEngine)
    found = find(engine, "How do I serialize to a JSON formatted str?")
    assert "/Lib/json/__init__.py#L" in found.passages[0].url
    assert found.queries == ("How do I serialize to a JSON formatted str?",)
    assert found.warnings == ()
    assert seen[-1].done == seen[-1].total
    again: list[BuildProgress] = []
    assert find(LocalEngine(tmp_path / "index", report=again.append), "json.dumps").passages
    assert again == []


@pytest.mark.usefixtures("few")
def test_a_thin_answer_has_advice_until_the_index_is_complete(tmp_path: Path) -> None:
    found = find(LocalEngine(tmp_path), "zorkmid")
    assert [advice.code for advice in found.advice] == ["index_partial"]
    warnings = [
        event for event in composition_events("zorkmid", found, Composition()) if isinstance(event, Warned)
    ]
    assert [warning.code for warning in warnings] == ["index_partial", NOTHING_FOUND]
    firm = Composition("Yes.", found=True)
    assert not [event for event in composition_events("zorkmid", found, firm) if isinstance(event, Warned)]
    with open_index(tmp_path) as index:
        refresh(index)
    assert find(LocalEngine(tmp_path), "zorkmid").advice == ()


@pytest.mark.usefixtures("few")
def test_a_corrected_or_translated_question_is_reported(tmp_path: Path) -> None:
    corrected = find(LocalEngine(tmp_path), "convert an object to a JSON strnig")
    assert [warning.code for warning in corrected.warnings] == ["query_corrected"]
    assert "convert an object to a JSON string" in corrected.warnings[0].message
    translated = find(LocalEngine(tmp_path), "Wie lese ich eine JSON-Datei?")
    assert {warning.code for warning in translated.warnings} <= NOTICES
    assert find(LocalEngine(tmp_path), "convert an object to a JSON string").warnings == ()
    unanswered = find(LocalEngine(tmp_path), "how do I bake an applle cake")
    assert [advice.code for advice in unanswered.advice] == ["did_you_mean", "index_partial"]
    assert "apple" in unanswered.advice[0].message


@pytest.mark.usefixtures("few")
def test_restrictions_are_enforced(tmp_path: Path) -> None:
    own = Page("https://team.example/json", "JSON at home", "Serialize JSON.", published="2024-05-01")
    with open_index(tmp_path) as index:
        index.put([own])
    options = [
        SearchOptions(allowed_domains=("team.example",)),
        SearchOptions(since="2024-01-01"),
    ]
    for kept in options:
        found = find(LocalEngine(tmp_path), "serialize JSON", kept)
        assert [passage.url for passage in found.passages] == [own.url]
    blocked = find(LocalEngine(tmp_path), "serialize JSON", SearchOptions(blocked_domains=("github.com",)))
    assert own.url in {passage.url for passage in blocked.passages}
    assert not any("github.com" in passage.url for passage in blocked.passages)
    assert find(LocalEngine(tmp_path), "serialize JSON", SearchOptions(until="2023-01-01")).passages == ()
    assert find(LocalEngine(tmp_path), "serialize JSON", SearchOptions(live=False)).warnings == ()
    live = find(LocalEngine(tmp_path), "serialize JSON", SearchOptions(live=True))
    assert [warning.code for warning in live.warnings] == ["not_live"]
    named = {"allowed_domains", "blocked_domains", "since", "until", "language", "live"}
    assert LocalEngine(tmp_path).honours == named


@pytest.mark.usefixtures("few")
def test_nothing_is_found_for_unknown_words(tmp_path: Path) -> None:
    assert find(LocalEngine(tmp_path), "xyzzyplugh").passages == ()


@pytest.mark.usefixtures("few")
def test_a_data_directory_that_cannot_be_written_is_reported_and_a_temporary_index_used(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("in the way")
    used: list[Path] = []

    def opener(folder: Path) -> Index:
        used.append(folder)
        return open_index(folder)

    found = find(LocalEngine(tmp_path / "file" / "index", opener=opener), "json.dumps")
    assert found.passages
    assert [warning.code for warning in found.warnings] == ["index_not_kept"]
    assert str(tmp_path) in found.warnings[0].message
    assert len(used) == 2
    assert not used[1].exists()


@pytest.mark.usefixtures("few")
def test_an_index_that_can_be_read_and_not_written_is_searched_as_it_is(tmp_path: Path) -> None:
    index = MemoryIndex()
    index.fails_after = 0
    page = Page("https://team.example/decimal", "decimal", "Decimal arithmetic.")
    index.stored = {page.url: page, CONTENTS_URL: Page(CONTENTS_URL, "Contents", CORE_EDITION)}
    found = find(LocalEngine(tmp_path, opener=lambda folder: index), "decimal arithmetic")
    assert [passage.url for passage in found.passages if passage.text] == [page.url]
    assert found.warnings == ()
    assert index.closed


@pytest.mark.usefixtures("few")
def test_an_error_is_raised_if_no_index_can_be_opened(tmp_path: Path) -> None:
    def refused(folder: Path) -> Index:
        raise ConfigError("no space left")

    with pytest.raises(ConfigError, match="no space left"):
        find(LocalEngine(tmp_path, opener=refused), "json")


class FixedBuild(BackgroundBuild):
    """A background build in a given state."""

    def __init__(self, status: BuildStatus) -> None:
        self.fixed = status
        self.asked = 0

    def status(self) -> BuildStatus:
        self.asked += 1
        return self.fixed


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("status", "warnings", "advice"),
    [
        (BuildStatus("building", 3, 9), ["index_building"], []),
        (BuildStatus("failed", message="the disk is full"), ["index_incomplete"], []),
        (BuildStatus("complete"), [], []),
        (BuildStatus("interrupted"), [], ["index_partial"]),
    ],
)
def test_an_answer_says_how_far_the_index_is(
    tmp_path: Path, status: BuildStatus, warnings: list[str], advice: list[str]
) -> None:
    found = find(LocalEngine(tmp_path, background=FixedBuild(status)), "json.dumps")
    assert found.passages
    assert [warning.code for warning in found.warnings] == warnings
    assert [item.code for item in found.advice] == advice
    if status.phase == "building":
        assert "(3 of 9)" in found.warnings[0].message


@pytest.mark.usefixtures("few")
def test_an_index_that_is_not_kept_is_not_completed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    build_status = FixedBuild(BuildStatus("building"))
    found = find(LocalEngine(tmp_path / "file" / "index", background=build_status), "json.dumps")
    assert found.passages
    assert [warning.code for warning in found.warnings] == ["index_not_kept"]
    assert build_status.asked == 0


@pytest.mark.usefixtures("few")
async def test_concurrent_questions_open_the_index_once(tmp_path: Path) -> None:
    opened: list[Path] = []

    def opener(folder: Path) -> Index:
        opened.append(folder)
        return open_index(folder)

    async def requested() -> list[EngineResult]:
        engine = LocalEngine(tmp_path, opener=opener)
        found = await asyncio.gather(*(engine.find("json.dumps", ANY) for _ in range(20)))
        await engine.close()
        return found

    found = await asyncio.wait_for(requested(), 60)
    assert len(opened) == 1
    assert all(item.passages == found[0].passages for item in found)


PROCESS = """
import asyncio, sys
from pathlib import Path
from groundwire.engine.engines.local import LocalEngine
from groundwire.engine.knowledge import build
from groundwire.model import SearchOptions
from tests.engine.knowledge.few_pages import few_own_pages, few_topic_pages
if sys.argv[2:] == ["few"]:
    build.CORE_MODULES = ("json", "decimal")
    build.own_pages = few_own_pages
    build.topic_pages = few_topic_pages
async def main():
    engine = LocalEngine(Path(sys.argv[1]))
    found = await engine.find("json.dumps", SearchOptions())
    await engine.close()
    print(found.passages[0].url, *(warning.code for warning in found.warnings))
asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("words", "least"), [(("few",), 150), pytest.param((), 1500, marks=pytest.mark.thorough)]
)
def test_processes_that_start_together_on_an_empty_directory_all_answer(
    tmp_path: Path, words: tuple[str, ...], least: int
) -> None:
    command = [sys.executable, "-W", "error", "-c", PROCESS, str(tmp_path), *words]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)  # noqa: S603
        for _ in range(3)
    ]
    outputs = [process.communicate(timeout=120)[0].split() for process in running]
    assert [len(urls) for urls in outputs] == [1, 1, 1]
    assert all("/Lib/json/__init__.py#L" in urls[0] for urls in outputs)
    with open_index(tmp_path) as index:
        assert has_core(index)
        urls = [info.url for info in index.pages()]
    assert len(urls) == len(set(urls)) > least


LATER = """
import sys
import groundwire.engine.engines.local
heavy = ("numpy", "tantivy", "sqlite3", "importlib.metadata", "groundwire.engine.knowledge.build")
print(*[name for name in heavy if name in sys.modules])
"""


def test_importing_the_engine_loads_neither_the_index_nor_what_builds_it() -> None:
    command = [sys.executable, "-c", LATER]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == []


COMMAND = """
import sys
from groundwire.commands.main import run
code = run(["search", "--provider", "local", "--data-dir", sys.argv[1], "serialize to a JSON formatted str"])
print(code, *sys.modules, file=sys.stderr)
"""
UNUSED = (
    *("email", "html", "http.client", "importlib.metadata", "numpy", "shutil", "sysconfig", "tempfile"),
    *("groundwire.engine.knowledge.build", "groundwire.transport.response", "groundwire.transport.ssrf"),
)
"""Modules that other commands need, of those that take long to import."""


@pytest.mark.usefixtures("few")
def test_a_question_on_the_command_line_imports_only_what_it_needs(tmp_path: Path) -> None:
    find(LocalEngine(tmp_path / "index"), "json")
    environment = {**os.environ, "GROUNDWIRE_SEMANTIC": "0", "GROUNDWIRE_BUILD_INDEX": "0"}
    command = [sys.executable, "-c", COMMAND, str(tmp_path)]
    result = subprocess.run(  # noqa: S603
        command, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert "json.dumps" in result.stdout
    code, *modules = result.stderr.splitlines()[-1].split()
    assert code == "0"
    assert sorted(set(UNUSED).intersection(modules)) == []


def complete(folder: Path) -> None:
    """Add what is missing, vectors included."""
    with open_index(folder) as index:
        refresh(index, ignore_progress)
        complete_vectors(index)


EXPENSES = Page(
    "https://team.example/expenses", "Travel", "Send your expenses within a month.", language="en"
)
REFUND = "refund"


@pytest.fixture
def semantic(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is installed, with a small encoder."""

    def finder(models: Path) -> list[FakeEncoder]:
        return [FakeEncoder(MULTILINGUAL.name)]

    monkeypatch.delenv(packages.SWITCH, raising=False)
    monkeypatch.setattr(EncoderPackage, "problem", lambda self: "" if self == MULTILINGUAL else "missing")
    monkeypatch.setattr(dense_build, "find_encoders", finder)
    monkeypatch.setattr(dense_build, "purpose_phrases", lambda: PHRASES)
    monkeypatch.setattr(stage.DenseStage.__init__, "__defaults__", (finder, None))


@pytest.mark.usefixtures("semantic")
def test_a_question_in_other_words_finds_its_page_once_there_are_vectors(tmp_path: Path) -> None:
    with open_index(tmp_path / "index") as index:
        index.put([EXPENSES])
    first = find(LocalEngine(tmp_path / "index"), REFUND)
    assert EXPENSES.url not in [passage.url for passage in first.passages]
    complete(tmp_path / "index")
    found = find(LocalEngine(tmp_path / "index"), REFUND)
    similarities = {passage.url: passage.similarity for passage in found.passages}
    assert similarities[EXPENSES.url] > 0.4
    assert found.warnings == ()


@pytest.mark.usefixtures("semantic")
def test_a_phrase_is_searched_by_words_only(tmp_path: Path) -> None:
    complete(tmp_path / "index")
    found = find(LocalEngine(tmp_path / "index"), '"JSON formatted str"')
    assert found.passages
    assert all(passage.similarity == 0 for passage in found.passages)


@pytest.mark.usefixtures("semantic")
def test_damaged_vectors_are_reported_and_words_answer(tmp_path: Path) -> None:
    complete(tmp_path / "index")
    vectors_path(tmp_path / "index", MULTILINGUAL.name).write_bytes(b"damaged")
    found = find(LocalEngine(tmp_path / "index"), "json.dumps")
    assert found.passages
    assert [warning.code for warning in found.warnings] == ["words_only"]
    complete(tmp_path / "index")
    assert find(LocalEngine(tmp_path / "index"), "json.dumps").warnings == ()


@pytest.mark.usefixtures("semantic")
def test_a_build_on_a_full_disk_says_so_and_words_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes, at: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(vector_file, "_write", full)
    with pytest.raises(MeaningUnavailable, match="No space left on device"):
        complete(tmp_path / "index")
    assert find(LocalEngine(tmp_path / "index"), "json.dumps").passages


@pytest.mark.usefixtures("few")
def test_without_the_extra_words_answer_without_a_warning_although_there_are_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(packages.SWITCH, raising=False)
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    complete(tmp_path / "index")
    vectors_path(tmp_path / "index", MULTILINGUAL.name).write_bytes(b"of another time")
    found = find(LocalEngine(tmp_path / "index"), "json.dumps")
    assert found.passages
    assert found.warnings == ()
