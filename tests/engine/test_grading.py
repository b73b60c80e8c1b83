"""The grades of single answers."""

from __future__ import annotations

import pytest

from groundwire.engine.compose.answer import Composition
from groundwire.engine.pages import Passage
from groundwire.model import Citation, Evidence, Source
from tests.engine.grading import contains, grade, is_exact, is_right
from tests.engine.question_sets import Question

WALK = Question(
    "list all files below a folder", "how_to", ("library/os.html#os.walk", "library/glob.html"), ("os.walk",)
)
TREE = "https://docs.python.org/3.11/library/os.html#os.walk"
OTHER = "https://docs.python.org/3.11/library/os.html#os.wait"


def citing(*groups: tuple[str, ...], text: str = "Directory tree generator.") -> Composition:
    citations = (Citation(None, tuple(Evidence(Source(url)) for url in group)) for group in groups)
    return Composition(text, tuple(citations), found=True)


@pytest.mark.parametrize(
    ("url", "title", "right"),
    [
        (TREE, "", True),
        (TREE.replace("3.11", "3"), "", True),
        ("https://docs.python.org/3/library/os.html", "", True),
        (OTHER, "", False),
        ("https://docs.python.org/3/library/glob.html#glob.glob", "", True),
        ("https://docs.python.org/3/library/os.path.html", "", False),
        ("https://example.org/3/library/glob.html", "", False),
        ("https://github.com/python/cpython/blob/v3.11.7/Lib/os.py#L282", "os.walk — Lib/os.py", True),
        ("https://github.com/python/cpython/blob/v3.11.7/Lib/os.py#L99", "os.walker — Lib/os.py", False),
        ("local:python/3.11.7/os.walk", "os.walk", True),
        ("local:python/3.11.7/os.walk", "os.walk(top): a generator", True),
        ("local:python/3.11.7/os.walk", "", False),
    ],
)
def test_a_page_is_right_by_its_address_or_by_the_name_in_its_title(
    url: str, title: str, right: bool
) -> None:
    assert is_right(WALK, url, title) is right


def test_a_file_of_the_handbook_is_right_wherever_its_folder_is() -> None:
    question = Question("which printer", "table", files=("it-help.html",))
    assert is_right(question, "file:///srv/handbook/it-help.html#printers", "IT help")
    assert not is_right(question, "file:///srv/handbook/help.html", "IT help")


@pytest.mark.parametrize(
    ("url", "exact"),
    [
        (TREE, True),
        ("https://docs.python.org/3/library/glob.html", True),
        ("https://docs.python.org/3/library/glob.html#examples", True),
        ("https://docs.python.org/3/library/glob.html#glob.escape", False),
        ("https://docs.python.org/3/library/shutil.html", False),
    ],
)
def test_another_object_of_a_right_page_is_not_exact(url: str, exact: bool) -> None:
    assert is_exact(WALK, url, "") is exact


def test_the_first_citation_is_right_if_any_of_its_evidence_is() -> None:
    first = grade(WALK, citing((OTHER, TREE), (OTHER,)))
    later = grade(WALK, citing((OTHER,), (TREE,)))
    assert (first.right_first, first.right_cited) == (True, True)
    assert (later.right_first, later.right_cited) == (False, True)


def test_an_answer_without_citations_is_silent() -> None:
    silent = grade(WALK, Composition("Nothing was found."))
    assert not any(silent)


def test_a_retrieved_page_is_counted_although_nothing_was_composed_from_it() -> None:
    passages = [Passage(OTHER, "os.wait", "", 0), Passage(TREE, "os.walk", "", 0)]
    graded = grade(WALK, Composition("Nothing was found."), passages)
    assert (graded.retrieved_first, graded.retrieved, graded.right_first) == (False, True, False)
    assert not grade(WALK, Composition(""), [passages[0]] * 10 + [passages[1]]).retrieved


def test_an_answer_contains_what_the_question_requires() -> None:
    question = Question("how much", "table", files=("a.md",), must_contain="190 EUR")
    assert grade(question, citing((TREE,), text="At most 190\n eur a night.")).contained
    assert not grade(question, citing((TREE,), text="At most 135 EUR a night.")).contained
    assert grade(WALK, citing((TREE,))).contained


@pytest.mark.parametrize(
    ("text", "wanted", "found"),
    [
        ("3 days", "3", True),
        ("30 days", "3", False),
        ("run a.b(c) now", "a.b(", True),
        ("13:00", "3:00", False),
        ("run\n  tunnel   up --site", "tunnel up --site", True),
    ],
)
def test_required_text_is_found_as_whole_words(text: str, wanted: str, found: bool) -> None:
    assert contains(text, wanted) is found
