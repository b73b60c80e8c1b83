"""The embedded index when its folder is damaged, moved, locked, full or changed by another process."""

from __future__ import annotations

import gc
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
import tantivy

from groundwire.engine.index import embedded, page_table, rebuild
from groundwire.engine.index.location import open_index
from groundwire.engine.index.page_table import FORMAT, STEPS, format_version, upgrade
from groundwire.engine.index.search_index import ANALYSIS_VERSION, PassageWriter, SearchIndex
from groundwire.engine.pages import Page
from groundwire.errors import ConfigError, GroundwireError, TimedOut
from groundwire.files.lock import locked
from groundwire.model.value import replace

pytestmark = pytest.mark.server

PAGES = [
    Page(
        f"https://example.org/{n}", f"Page {n}", f"The tower number{n} stands on a hill, and hill{n} is high."
    )
    for n in range(30)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with open_index(tmp_path / "index") as index:
        index.put(PAGES)
    return tmp_path / "index"


def passages_of(folder: Path) -> Path:
    (found,) = folder.glob("passages-*")
    return found


def assert_whole(folder: Path) -> None:
    with open_index(folder) as index:
        assert [found.url for found in index.search("number17")] == ["https://example.org/17"]
        assert len(index.search("tower", limit=50)) == 30
        assert index.put(PAGES).unchanged == 30


def remove_passages(folder: Path) -> None:
    shutil.rmtree(passages_of(folder))


def empty_passages(folder: Path) -> None:
    for path in passages_of(folder).iterdir():
        path.unlink()


def break_meta(folder: Path) -> None:
    (passages_of(folder) / "meta.json").write_text("{")


def lose_segments(folder: Path) -> None:
    for path in passages_of(folder).glob("*.idx"):
        path.unlink()


def shorten_segments(folder: Path) -> None:
    for path in passages_of(folder).glob("*.*"):
        if path.name != "meta.json":
            os.truncate(path, path.stat().st_size // 2)


def change_analysis(folder: Path) -> None:
    with sqlite3.connect(folder / "pages.sqlite3") as store:
        store.execute("UPDATE state SET analysis = analysis + 1")
    store.close()


def forget_progress(folder: Path) -> None:
    """Simulate a process that ended after making pages searchable and before recording it."""
    with sqlite3.connect(folder / "pages.sqlite3") as store:
        store.execute("UPDATE state SET indexed = 11, passages = 11")
    store.close()


def miscount(folder: Path) -> None:
    """Simulate a folder of passages that was restored from a backup."""
    with sqlite3.connect(folder / "pages.sqlite3") as store:
        store.execute("UPDATE state SET passages = 31")
    store.close()


DAMAGES = [
    remove_passages,
    empty_passages,
    break_meta,
    lose_segments,
    shorten_segments,
    change_analysis,
    forget_progress,
    miscount,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_passages_are_rebuilt_from_the_pages(folder: Path, damage: Callable[[Path], None]) -> None:
    damage(folder)
    assert_whole(folder)
    assert len(list(folder.glob("passages-*"))) == 1


def test_passages_that_vanish_under_an_open_index_are_made_again(folder: Path) -> None:
    with open_index(folder) as index:
        shutil.rmtree(passages_of(folder))
        assert len(index.search("tower", limit=50)) == 30


def test_an_open_index_follows_a_rebuild_by_another_process(folder: Path) -> None:
    with open_index(folder) as reader:
        change_analysis(folder)
        with open_index(folder) as other:
            other.put([Page("https://example.org/new", "New", "Something zealous.")])
        assert [found.url for found in reader.search("zealous")] == ["https://example.org/new"]


def test_files_of_a_killed_writer_do_not_block_the_next_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up, failures = rebuild.catch_up, ['FileAlreadyExists("x.del")']

    def stumble(*arguments: object) -> None:
        if failures:
            raise ValueError(failures.pop())
        catch_up(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(rebuild, "catch_up", stumble)
    with open_index(folder) as index:
        index.put([Page("https://example.org/new", "New", "Something zealous.")])
        assert len(index.search("zealous")) == 1
        assert len(index.search("number3")) == 1
    assert failures == []


def test_pages_stored_by_a_process_that_then_died_are_searchable_when_opened(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with open_index(folder) as index:
        with monkeypatch.context() as patched:
            patched.setattr(embedded, "bring_up_to_date", die)
            with pytest.raises(KeyboardInterrupt):
                index.put([Page("https://example.org/new", "New", "Something zealous.")])
            with pytest.raises(KeyboardInterrupt):
                index.remove(urls=[PAGES[3].url])
        assert index.search("zealous") == []
        assert index.search("number3") == []
    with open_index(folder) as index:
        assert len(index.search("zealous")) == 1
        assert index.search("number3") == []
        assert index.stats().passages == 30


def test_pages_of_one_batch_are_stemmed_by_their_languages(tmp_path: Path) -> None:
    texts = {
        "en": "The generators were running.",
        "de": "Die Rechnungen wurden hochgeladen.",
        "ja": "東京は首都です。",
        "fr": "Les chevaux galopent.",
    }
    pages = [Page(f"https://{code}.example/", code, text, language=code) for code, text in texts.items()]
    # Which language comes first makes no difference.
    for number, order in enumerate((pages, pages[::-1])):
        with open_index(tmp_path / str(number)) as index:
            index.put(order)
            for query in ("generator", "run", "Rechnung", "首都", "chevaux"):
                found = [passage.url for passage in index.search(query)]
                assert len(found) == 1, query
            assert index.search("cheval") == []
            assert index.stats().passages == 4


def test_pages_of_several_batches_are_found_after_one_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_BATCH_PAGES", 12)
    with open_index(tmp_path) as index:
        assert index.put(PAGES).added == 30
        assert index.stats().passages == 30
    assert_whole(tmp_path)
    # A batch is one segment.
    assert len([*passages_of(tmp_path).glob("*.store")]) == 3


def test_garbage_is_collected_again_after_pages_were_stored_or_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no")

    with open_index(folder) as index:
        index.put([replace(PAGES[0], text="The tower was sold.")])
        assert gc.isenabled()
        monkeypatch.setattr(page_table, "add_pages", fail)
        with pytest.raises(GroundwireError):
            index.put(PAGES[:1])
        assert gc.isenabled()


def test_a_dotted_name_is_found_exactly(tmp_path: Path) -> None:
    names = ("json.load", "json.loads", "os.path_join", "os.path.join")
    with open_index(tmp_path) as index:
        index.put(Page(f"https://{n}.example/", name, "Text.", language="en") for n, name in enumerate(names))
        for n, name in enumerate(names):
            first, *others = index.search(name)
            assert first.url == f"https://{n}.example/"
            assert all(other.score < first.score for other in others)


def test_pages_are_searchable_although_the_search_index_failed_while_they_were_stored(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [ValueError("An IO error occurred")]
    add = PassageWriter.add

    def fail_once(writer: PassageWriter, page: page_table.StoredPage) -> None:
        if failures:
            raise failures.pop()
        add(writer, page)

    monkeypatch.setattr(PassageWriter, "add", fail_once)
    with open_index(folder) as index:
        index.put([Page("https://example.org/new", "New", "Something zealous.")])
        assert len(index.search("zealous")) == 1
        assert len(index.search("tower", limit=50)) == 30
    assert failures == []


def test_pages_that_could_not_be_stored_are_not_found_and_do_not_block_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with open_index(folder) as index:
        with monkeypatch.context() as patched:
            patched.setattr(page_table, "_insert_block", fail)
            with pytest.raises(GroundwireError, match="full"):
                index.put([Page("https://example.org/lost", "Lost", "Something zealous.")])
        assert index.search("zealous") == []
        index.put([Page("https://example.org/new", "New", "Something jealous.")])
        assert index.search("zealous") == []
        assert len(index.search("jealous")) == 1
    assert_whole(folder)


def test_a_replaced_store_is_searched_before_long(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_index(folder) as index:
        assert len(index.search("number3")) == 1
        shutil.move(folder, folder.parent / "before")
        with open_index(folder) as other:
            other.put([Page("https://example.org/new", "New", "Something zealous.")])
        later = time.monotonic() + 1
        monkeypatch.setattr(time, "monotonic", lambda: later)
        assert [found.url for found in index.search("zealous")] == ["https://example.org/new"]
        assert index.search("number3") == []


def test_a_search_reads_the_store_only_after_a_write(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[sqlite3.Connection] = []
    gone = page_table.removed_pages

    def noted(store: sqlite3.Connection) -> list[int]:
        reads.append(store)
        return gone(store)

    with open_index(folder) as index, open_index(folder) as other:
        index.search("number3")
        monkeypatch.setattr(page_table, "removed_pages", noted)
        index.search("number4")
        assert reads == []
        other.remove(urls=[PAGES[3].url])
        reads.clear()
        assert index.search("number3") == []
        assert len(reads) == 1


def test_pages_removed_by_a_process_that_died_are_not_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with open_index(folder) as index, open_index(folder) as other:
        assert len(index.search("number3")) == 1
        with monkeypatch.context() as patched:
            patched.setattr(embedded, "bring_up_to_date", die)
            for page in PAGES[3:5]:
                with pytest.raises(KeyboardInterrupt):
                    other.remove(urls=[page.url])
        assert index.search("number3") == index.search("number4") == []
        other.put([Page("https://example.org/new", "New", "Something zealous.")])
        assert len(index.search("zealous")) == 1
        assert index.search("number3") == []


def test_a_snapshot_taken_during_a_write_is_discarded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = page_table.removed_pages

    def removed_meanwhile(store: sqlite3.Connection) -> list[int]:
        found = gone(store)
        monkeypatch.setattr(page_table, "removed_pages", gone)
        other.remove(urls=[PAGES[3].url])
        return found

    with open_index(folder) as index, open_index(folder) as other:
        monkeypatch.setattr(page_table, "removed_pages", removed_meanwhile)
        index.search("number3")
        assert index.search("number3") == []


def test_passages_of_an_earlier_analysis_are_made_again(folder: Path) -> None:
    # Schema and terms of the previous passage format, which stored tokens one by one.
    with sqlite3.connect(folder / "pages.sqlite3") as store:
        store.execute("UPDATE state SET analysis = ?", (ANALYSIS_VERSION - 1,))
    store.close()
    shutil.rmtree(passages_of(folder))
    builder = tantivy.SchemaBuilder().add_text_field("text", tokenizer_name="raw")
    earlier = folder / "passages-1"
    earlier.mkdir()
    tantivy.Index(builder.build(), str(earlier))
    assert_whole(folder)
    assert passages_of(folder) != earlier


def test_updated_and_removed_pages_leave_no_passages(folder: Path) -> None:
    with open_index(folder) as index:
        index.put([replace(page, text=f"Another {page.text}") for page in PAGES[:10]])
        index.remove(urls=[page.url for page in PAGES[5:20]])
    assert SearchIndex(passages_of(folder)).searcher().num_docs == 15


def test_search_results_do_not_need_the_page_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page("https://a.example/", "A\x1ftitle", "Zealous.\x1fAnd \x1f again.", "2024-05-01", "en-GB")
    with open_index(folder) as index:
        index.put([page])
        index.search("zealous")
        monkeypatch.setattr(page_table, "removed_pages", lambda _: [])
        index.close()
        (found,) = index.search("zealous")
    assert found.text == page.text
    assert (found.url, found.title) == (page.url, "A title")
    assert (found.start, found.published, found.language) == (0, page.published, page.language)


def test_a_new_index_has_the_latest_format(folder: Path) -> None:
    with open_index(folder) as index:
        assert index.stats().format == FORMAT == len(STEPS)


def first_format(path: Path) -> None:
    """An index of format 1, without fingerprints."""
    store = page_table.connect(path)
    upgrade(store, STEPS[:1])
    rows = [(1, "a.example", "https://a.example/"), (2, "b.example", "https://b.example/")]
    for number, key, url in rows:
        about = (number, key, url, "Title", "", "en", "old", b"", 27, 2)
        store.execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", about)
        store.execute("INSERT INTO passages VALUES (?, 0, 'A tower. ')", (number << 24,))
        store.execute("INSERT INTO passages VALUES (?, 9, 'And what it sees.')", ((number << 24) + 1,))
    store.close()


def test_an_index_of_the_first_format_is_brought_up_to_date(tmp_path: Path) -> None:
    first_format(tmp_path / "pages.sqlite3")
    with open_index(tmp_path) as index:
        assert index.stats().format == FORMAT
        assert index.page("https://a.example/") == Page(
            "https://a.example/", "Title", "A tower. And what it sees.", "", "en", "old"
        )
        assert len(index.search("tower")) == 1  # the other has the same words
        assert index.put([Page("https://c.example/", "C", "a TOWER and what it sees")]).duplicates == 1


def test_a_failed_upgrade_step_is_rolled_back(tmp_path: Path) -> None:
    def fails(store: sqlite3.Connection) -> None:
        STEPS[1](store)
        raise KeyboardInterrupt

    path = tmp_path / "pages.sqlite3"
    first_format(path)
    store = page_table.connect(path)
    with pytest.raises(KeyboardInterrupt):
        upgrade(store, (STEPS[0], fails))
    assert format_version(store) == 1
    assert "words" not in {row[1] for row in store.execute("PRAGMA table_info(pages)")}
    store.close()
    open_index(tmp_path).close()


def test_an_index_of_a_later_format_is_not_changed(folder: Path) -> None:
    with sqlite3.connect(folder / "pages.sqlite3") as store:
        store.execute(f"PRAGMA user_version = {FORMAT + 1}")
    store.close()
    with pytest.raises(ConfigError, match="Use a newer groundwire"):
        open_index(folder)


def test_opening_without_create_does_not_create_an_index(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no index in"):
        open_index(tmp_path / "nowhere", create=False)
    assert not (tmp_path / "nowhere").exists()


def test_a_file_instead_of_the_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("")
    with pytest.raises(ConfigError, match="cannot be opened for writing"):
        open_index(tmp_path / "index")


@pytest.mark.parametrize(
    "content", [b"not a database, not at all" * 100, b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_a_broken_page_store_is_reported(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "pages.sqlite3").write_bytes(content)
    with pytest.raises(ConfigError, match=r"is not an index, or is damaged|cannot be opened"):
        open_index(tmp_path)


UNPRIVILEGED = """
import os, sys
from pathlib import Path
import groundwire.engine.index.embedded
from groundwire.engine.index.location import open_index
from groundwire.errors import ConfigError
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    open_index(Path(sys.argv[1]))
except ConfigError as error:
    print(error.message)
"""


@pytest.mark.parametrize("name", ["index", "new"])
def test_a_folder_without_write_access_is_reported(folder: Path, name: str) -> None:
    for path in (folder.parent, *folder.rglob("*"), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for above in folder.parents:
        if above.stat().st_uid == os.geteuid() and above not in (Path("/"), Path("/tmp")):  # noqa: S108
            above.chmod(0o555 if above == folder.parent else 0o755)
    command = [sys.executable, "-c", UNPRIVILEGED, str(folder.parent / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    for path in (folder.parent, *folder.rglob("*"), folder):
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert "cannot be opened for writing" in done.stdout or "cannot be locked" in done.stdout
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize("kilobytes", [64, 200])
def test_a_full_disk_is_reported_and_keeps_what_was_stored(folder: Path, kilobytes: int) -> None:
    # A limit on the file size simulates a full disk: the same writes fail.
    rng = random.Random(kilobytes)
    words = [" ".join(rng.randbytes(4).hex() for _ in range(15_000)) for _ in range(4)]
    many = [Page(f"https://example.org/big/{n}", "Big", f"big{n} {text}") for n, text in enumerate(words)]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_index(folder) as index:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, before[1]))
        try:
            with pytest.raises(GroundwireError, match=r"is full|failed"):
                index.put(many)
            assert len(index.search("tower", limit=50)) == 30
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        index.put(many)
        assert len(index.search("big3")) >= 1
    assert_whole(folder)


def test_one_writer_at_a_time_and_the_other_times_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_index(folder) as index, locked(folder / "write.lock", 0):
        monkeypatch.setattr(embedded, "_LOCK_TIMEOUT", 0.05)
        with pytest.raises(TimedOut, match="another process has held"):
            index.put([PAGES[0]])
        assert len(index.search("tower", limit=50)) == 30
        open_index(folder).close()


def test_threads_may_write_and_search_at_once(folder: Path) -> None:
    problems: list[BaseException] = []
    with open_index(folder) as index:

        def work(part: int) -> None:
            try:
                for n in range(5):
                    page = Page(f"https://example.org/{part}/{n}", "T", f"part{part} step{n} text")
                    assert index.put([page]).added == 1
                    assert index.search(f"part{part} step{n}")[0].url == page.url
            except BaseException as error:  # noqa: BLE001  raised again in the test's thread
                problems.append(error)

        threads = [Thread(target=work, args=(part,)) for part in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert problems == []
        assert index.stats().pages == 50


def test_tantivy_is_not_loaded_before_an_index_is_opened() -> None:
    code = "import sys, groundwire.engine.index.location; print('tantivy' in sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    assert done.stdout == "False\n"
