"""Building the index: a quick first part, completion, resumption, and removal of old pages."""

from __future__ import annotations

import pytest

from groundwire.engine.knowledge import (
    DOCUMENTATION,
    EDITION,
    BuildProgress,
    add_core,
    build,
    has_core,
    has_everything,
    is_complete,
    python_docs,
    refresh,
)
from groundwire.engine.knowledge.addresses import CONTENTS_URL, titled_name
from groundwire.engine.knowledge.packages import InstalledPackage, installed
from groundwire.engine.pages import Page
from groundwire.errors import ConfigError
from groundwire.model.value import replace
from tests.engine.knowledge.memory import MemoryIndex


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library of a few modules and packages, which makes the tests fast."""
    some = [item for item in installed() if item.key in ("pytest", "pluggy", "iniconfig")]
    monkeypatch.setattr(
        build, "DOCUMENTED_MODULES", ("builtins", "json", "glob", "decimal", "textwrap", "nosuchmodule")
    )
    monkeypatch.setattr(build, "CORE_MODULES", ("builtins", "json", "decimal"))
    monkeypatch.setattr(build, "installed", lambda: some)
    monkeypatch.setattr(build, "BATCH", 100)


def test_the_core_pages_are_stored_in_one_write() -> None:
    index = MemoryIndex()
    assert not has_core(index)
    stored = add_core(index)
    assert index.puts == [stored.added]
    assert has_core(index)
    assert not is_complete(index)
    names = {titled_name(page.title) for page in index.stored.values()}
    assert "json.dumps" in names
    assert "textwrap" not in names


def test_everything_is_built_and_then_nothing_is_new() -> None:
    index = MemoryIndex()
    begun = add_core(index)
    stored = refresh(index)
    # The table of contents of the core is replaced by that of everything.
    assert stored.unchanged == begun.added - 1
    assert stored.updated == 1
    assert stored.added == len(index.stored) - begun.added
    assert is_complete(index)
    again = refresh(index)
    assert (again.added, again.updated, again.unchanged) == (0, 0, len(index.stored))


def test_progress_runs_from_the_first_step_to_the_last() -> None:
    seen: list[BuildProgress] = []
    refresh(MemoryIndex(), seen.append)
    assert [item.done for item in seen] == list(range(1, seen[0].total + 1))
    assert {item.total for item in seen} == {len(seen)}
    assert {"json", "pytest", "language"} <= {item.what for item in seen}


def test_an_interrupted_build_is_incomplete_and_is_resumed() -> None:
    index = MemoryIndex()
    index.fails_after = 3
    with pytest.raises(ConfigError):
        refresh(index)
    kept = len(index.stored)
    assert kept == 300
    assert not is_complete(index)
    index.fails_after = 1000
    stored = refresh(index)
    assert stored.unchanged == kept
    assert is_complete(index)


def test_obsolete_pages_are_removed_and_user_pages_are_kept() -> None:
    index = MemoryIndex()
    gone = Page("https://docs.python.org/3/library/gone.html", "gone", "Gone.", collection="python")
    own = Page("https://team.example/handbook", "Handbook", "Ours.", collection="team")
    index.put([gone, own])
    refresh(index)
    assert index.page(gone.url) is None
    assert index.page(own.url) == own


def test_a_new_version_of_a_package_or_of_python_makes_it_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    index = MemoryIndex()
    refresh(index)
    assert is_complete(index)
    more = [item for item in installed() if item.key in ("pytest", "pluggy", "iniconfig", "mypy")]
    monkeypatch.setattr(build, "installed", lambda: more)
    assert not is_complete(index)
    refresh(index)
    assert is_complete(index)
    monkeypatch.setattr(python_docs, "PYTHON_VERSION", "9.9.9")
    assert not is_complete(index)


def of_an_earlier_edition() -> MemoryIndex:
    index = MemoryIndex()
    refresh(index)
    contents = index.stored[CONTENTS_URL]
    earlier = contents.text.replace(f"edition {EDITION} ", f"edition {EDITION - 1} ")
    assert earlier != contents.text
    index.put([replace(contents, text=earlier)])
    return index


def test_what_an_earlier_edition_built_is_incomplete_and_built_again() -> None:
    index = of_an_earlier_edition()
    assert not build.is_current(index)
    assert refresh(index).updated == 1
    assert build.is_current(index)


def test_pages_of_an_earlier_edition_are_removed_with_the_first_search() -> None:
    index = of_an_earlier_edition()
    old = Page(
        "https://docs.python.org/3/library/json.html#json.dumps", "json.dumps", "x", collection="python"
    )
    own = Page("https://team.example/handbook", "Handbook", "Ours.", collection="team")
    index.put([old, own])
    assert not has_core(index)
    add_core(index)
    assert has_core(index)
    assert not has_everything(index)
    assert index.page(old.url) is None
    assert index.page(own.url) == own


def test_documentation_replaces_docstrings_about_the_same_name() -> None:
    index = MemoryIndex()
    add_core(index)
    real = Page(
        "https://docs.python.org/3.11/library/json.html#json.dumps",
        "json.dumps — Python 3.11 documentation",
        "Serialize obj.",
        collection=DOCUMENTATION,
    )
    index.put([real])
    build.remove_documented(index)

    def about(name: str) -> list[str]:
        return [page.url for page in index.stored.values() if titled_name(page.title) == name]

    assert about("json.dumps") == [real.url]
    assert len(about("json.loads")) == 1
    refresh(index)
    assert about("json.dumps") == [real.url]


def test_titles_name_the_version() -> None:
    package = next(item for item in installed() if item.key == "pytest")
    assert isinstance(package, InstalledPackage)
    assert package.title == f"pytest {pytest.__version__} — Python package"
