"""Vectors follow the pages: what is missing is computed, whoever is interrupted, killed or runs twice."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from groundwire.engine.dense import build, vector_file
from groundwire.engine.dense.build import complete_vectors
from groundwire.engine.dense.packages import ENGLISH, MeaningUnavailable
from groundwire.engine.dense.texts import passage_text, vector_key
from groundwire.engine.dense.vector_file import stored_keys, vectors_path
from groundwire.engine.dense.vectors import VectorReader
from groundwire.engine.index.location import open_index
from groundwire.engine.knowledge.addresses import local_address
from groundwire.engine.pages import Page
from tests.engine.dense.fakes import PHRASES, FakeEncoder, fake_encoders

pytestmark = pytest.mark.server

MANY = [Page(f"https://a.example/{n}", f"Page {n}", f"Text {n} about {n % 7}.") for n in range(700)]
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def few_phrases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "purpose_phrases", lambda: PHRASES)


def key_of(page: Page) -> int:
    return vector_key(passage_text(page.title, page.text))


def keys(folder: Path) -> set[int]:
    return stored_keys(vectors_path(folder, "fake/1"), "fake/1")


def test_only_texts_that_are_new_are_computed_the_newest_first(tmp_path: Path) -> None:
    encoder = FakeEncoder()
    with open_index(tmp_path) as index:
        index.put(MANY[:2])
        assert complete_vectors(index, finder=lambda models: [encoder]) == len(PHRASES) + 2
        encoder.encoded.clear()
        moved = Page("https://b.example/new", MANY[0].title, MANY[0].text)
        index.put([moved, MANY[2], MANY[3]])
        seen: list[tuple[int, int]] = []
        assert complete_vectors(index, lambda *state: seen.append(state), finder=lambda _: [encoder]) == 2
        assert encoder.encoded == [passage_text(page.title, page.text) for page in (MANY[3], MANY[2])]
        assert seen[-1] == (len(PHRASES) + 4, len(PHRASES) + 4)
        assert complete_vectors(index, finder=lambda models: [encoder]) == 0


def test_vectors_of_removed_pages_are_removed_once_they_are_many(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        index.put(MANY[:20])
        complete_vectors(index, finder=fake_encoders)
        index.remove(urls=[page.url for page in MANY[:10]])
        complete_vectors(index, finder=fake_encoders)
    assert keys(tmp_path) == {key_of(page) for page in MANY[10:20]}


def test_of_named_pages_only_their_texts_are_computed_and_no_other_vector_is_removed(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        index.put(MANY[:5])
        complete_vectors(index, finder=fake_encoders)
        index.put(MANY[5:9])
        encoder = FakeEncoder()
        named = [MANY[6].url, MANY[0].url, "https://a.example/missing"]
        assert complete_vectors(index, finder=lambda _: [encoder], pages=named) == 1
        assert encoder.encoded == [passage_text(MANY[6].title, MANY[6].text)]
    assert keys(tmp_path) == {key_of(page) for page in (*MANY[:5], MANY[6])}


def test_next_to_a_fast_encoder_a_slow_one_encodes_only_pages_of_the_user(tmp_path: Path) -> None:
    built_in = Page(local_address("os.walk"), "os.walk", "Directory tree generator.")
    texts = [passage_text(page.title, page.text) for page in (MANY[0], built_in)]
    with open_index(tmp_path) as index:
        index.put([built_in, MANY[0]])
        slow, fast = FakeEncoder("slow/1"), FakeEncoder("fast/1", is_fast=True)
        complete_vectors(index, finder=lambda _: [slow, fast])
        assert fast.encoded == [*PHRASES, *texts]
        assert slow.encoded == [*PHRASES, texts[0]]
        alone = FakeEncoder("alone/1")
        complete_vectors(index, finder=lambda _: [alone])
        assert alone.encoded == [*PHRASES, *texts]


def test_an_index_that_was_deleted_and_built_again_keeps_its_vectors(tmp_path: Path) -> None:
    with open_index(tmp_path / "one") as index:
        index.put(MANY[:5])
        complete_vectors(index, finder=fake_encoders)
    with open_index(tmp_path / "two") as index:
        index.put([MANY[4], MANY[3], MANY[5]])
        for path in (tmp_path / "one").glob("*.bin"):
            shutil.copy(path, tmp_path / "two")
        assert complete_vectors(index, finder=fake_encoders) == 1


def test_the_statistics_count_the_passages_with_vectors(tmp_path: Path) -> None:
    name = ENGLISH.name
    with open_index(tmp_path) as index:
        index.put(MANY[:5])
        assert index.stats().vectors == ()
        complete_vectors(index, finder=lambda models: [FakeEncoder(name)])
        index.put([MANY[7]])
        assert index.stats().vectors == ((ENGLISH.package, 5),)


def test_a_build_that_is_told_to_stop_does_so_after_a_batch_and_the_next_one_goes_on(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        index.put(MANY)
        batches: list[int] = []
        stop_after = 2
        done = complete_vectors(
            index, lambda done, _: batches.append(done), lambda: len(batches) > stop_after, fake_encoders
        )
        assert 0 < done < len(MANY)
        assert done + complete_vectors(index, finder=fake_encoders) == len(MANY) + len(PHRASES)


def test_a_full_disk_is_reported_and_the_next_build_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes, at: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with open_index(tmp_path) as index:
        index.put(MANY[:3])
        with monkeypatch.context() as patch:
            patch.setattr(vector_file, "_write", full)
            with pytest.raises(MeaningUnavailable, match="No space left on device"):
                complete_vectors(index, finder=fake_encoders)
        assert complete_vectors(index, finder=fake_encoders) == 3 + len(PHRASES)


def test_without_an_encoder_nothing_is_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDWIRE_SEMANTIC", "0")
    with open_index(tmp_path) as index:
        index.put(MANY[:3])
        assert complete_vectors(index) == 0
        assert list(tmp_path.glob("*.bin")) == []


BUILDER = """
import sys
from pathlib import Path
from groundwire.engine.dense import build
from groundwire.engine.index.location import open_index
from groundwire.engine.knowledge.addresses import local_address
from tests.engine.dense.fakes import PHRASES, fake_encoders

build.purpose_phrases = lambda: PHRASES
with open_index(Path(sys.argv[1])) as index:
    print("up", flush=True)
    build.complete_vectors(index, lambda done, total: print(done, flush=True), finder=fake_encoders)
    print("done", flush=True)
"""


def start_builder(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BUILDER, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)  # noqa: S603


def check_vectors(folder: Path) -> int:
    """Every stored vector is the one of its text; returns their number."""
    encoder = FakeEncoder()
    vectors = VectorReader(vectors_path(folder, encoder.name), encoder).now()
    if vectors is None:
        return 0
    stored = vectors.keys.tolist()
    assert len(stored) == len(set(stored))
    for page in [page for page in MANY if key_of(page) in set(stored)][::29]:
        (vector,) = encoder.encode([passage_text(page.title, page.text)])
        assert vectors.cosines(vector, [key_of(page)]) == [pytest.approx(1.0, abs=0.02)]
    return len(stored)


def test_a_build_that_is_killed_loses_no_reported_batch_and_the_next_one_goes_on(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        index.put(MANY)
    reported = 0
    for batches in (3, 4, 5):
        with start_builder(tmp_path) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
            for _ in range(batches):
                line = process.stdout.readline().strip()
                reported = int(line) if line.isdigit() else reported
            process.kill()
        stored = check_vectors(tmp_path)
        assert stored >= reported - len(PHRASES)
    assert stored > 0
    with open_index(tmp_path) as index:
        assert complete_vectors(index, finder=fake_encoders) == len(MANY) - stored
    assert check_vectors(tmp_path) == len(MANY)


def test_two_processes_that_build_at_once_compute_each_vector_once(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        index.put(MANY)
    running = [start_builder(tmp_path) for _ in range(2)]
    for process in running:
        assert process.communicate(timeout=120)[0].endswith("done\n")
        assert process.returncode == 0
    assert check_vectors(tmp_path) == len(MANY)
