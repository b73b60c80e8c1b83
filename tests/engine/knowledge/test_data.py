"""The hand-written tables about Python name what exists, in the form that their readers expect."""

from __future__ import annotations

import builtins
import importlib
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import groundwire.engine.knowledge
from groundwire.engine.data_files import data_lines

FOLDER = Path(groundwire.engine.knowledge.__file__).parent
DOCUMENTATION = Path("/usr/share/doc/python3.11/html")
"""Where Debian's package python3.11-doc puts the documentation whose addresses concepts.txt has."""

PURPOSES = ("purposes", "purposes_de")
PHRASED = (*PURPOSES, "concepts")

OTHER_VERSIONS = frozenset(
    [
        "PythonFinalizationError",
        "annotationlib",
        "asyncio.Queue.shutdown",
        "asyncio.QueueShutDown",
        "base64.z85encode",
        "compression.zstd",
        "concurrent.interpreters",
        "copy.replace",
        "heapq.heappush_max",
        "itertools.batched",
        "math.sumprod",
        "os.process_cpu_count",
        "pathlib.Path.copy",
        "pathlib.Path.move",
        "pathlib.Path.walk",
        "queue.Queue.shutdown",
        "queue.ShutDown",
        "random.binomialvariate",
        "sqlite3.Connection.autocommit",
        "string.templatelib",
        "sys.monitoring",
        "typing.ReadOnly",
        "typing.TypeIs",
        "typing.override",
        "uuid.uuid7",
        "warnings.deprecated",
    ]
)
"""Names that came after Python 3.11."""

OTHER_PLATFORMS = frozenset(("msvcrt", "os.startfile", "winreg", "winsound"))

ONLY_DOCUMENTED = frozenset(("logging.Logger.propagate", "sys.ps1"))
"""Attributes of instances, or of an interactive session."""


@cache
def special_names() -> frozenset[str]:
    """The special methods and attributes of all classes that are loaded."""
    classes, found = [object], set[str]()
    while classes:
        loaded = classes.pop()
        found.update(vars(loaded))
        classes += type.__subclasses__(loaded)
    return frozenset(name for name in found if name.startswith("__"))


def has_path(root: object, path: list[str]) -> bool:
    for name in path:
        if not hasattr(root, name):
            return False
        root = getattr(root, name)
    return True


def exists(name: str) -> bool:
    """Is it a built-in name, a module or a member of a module? Modules that this build lacks pass."""
    parts = name.split(".")
    if parts[0] == "object" and len(parts) == 2:
        return parts[1] in special_names()
    # What the documentation calls asyncio.loop is any event loop.
    if parts[:2] == ["asyncio", "loop"]:
        parts[1] = "AbstractEventLoop"
    if has_path(builtins, parts):
        return True
    for length in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        return has_path(module, parts[length:])
    return parts[0] in sys.stdlib_module_names


def keys(table: str) -> list[str]:
    return [line.partition(": ")[0] for line in data_lines(FOLDER, table)]


@pytest.mark.parametrize("table", PURPOSES)
def test_every_name_with_a_purpose_exists(table: str) -> None:
    known_elsewhere = OTHER_VERSIONS | OTHER_PLATFORMS | ONLY_DOCUMENTED
    assert [name for name in keys(table) if name not in known_elsewhere and not exists(name)] == []


def test_a_misspelt_name_is_noticed() -> None:
    wrong = ("os.path.exsits", "jsno", "str.splitt", "object.__inti__", "collections.Counter.most_comon")
    assert [name for name in wrong if exists(name)] == []


def test_every_name_with_a_german_purpose_has_an_english_one() -> None:
    assert set(keys("purposes_de")) - set(keys("purposes")) == set()


@pytest.mark.parametrize("table", PHRASED)
def test_nothing_has_two_lines(table: str) -> None:
    assert [key for key, count in Counter(keys(table)).items() if count > 1] == []


@pytest.mark.parametrize("table", PHRASED)
def test_every_line_has_phrases_that_differ_and_are_no_sentences(table: str) -> None:
    malformed = []
    for line in data_lines(FOLDER, table):
        key, separator, phrases = line.partition(": ")
        listed = phrases.replace(" | ", "; ").split("; ")
        plain = all(phrase and phrase == phrase.strip() and not phrase.endswith(".") for phrase in listed)
        repeated = any(len(set(part.split("; "))) < len(part.split("; ")) for part in phrases.split(" | "))
        if " " in key or not separator or not plain or repeated:
            malformed.append(line)
    assert malformed == []


def test_every_concept_is_described_in_two_languages() -> None:
    assert [line for line in data_lines(FOLDER, "concepts") if line.count(" | ") != 1] == []


def test_every_page_and_section_of_a_concept_exists() -> None:
    if not DOCUMENTATION.is_dir():
        pytest.skip("Python's documentation is not on this machine: not run")
    missing = []
    for address in keys("concepts"):
        page, _, section = address.partition("#")
        file = DOCUMENTATION / page
        if not file.is_file() or (section and f'id="{section}"' not in file.read_text("utf-8")):
            missing.append(address)
    assert missing == []
