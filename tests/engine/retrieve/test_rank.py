"""Ranking: the page that a question is about comes first, and pages of the user before built-in ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from groundwire.engine.index.base import Index
from groundwire.engine.index.location import open_index
from groundwire.engine.knowledge.addresses import CONTENTS_URL, DOCS_URL, is_built_in, local_address
from groundwire.engine.knowledge.purposes import PurposeMatch
from groundwire.engine.pages import ClosestSentence, Page, Passage
from groundwire.engine.retrieve.rank import RankedPassages, find_passages
from groundwire.model import SearchOptions

PAGES = (
    Page(local_address("os.walk"), "os.walk — Python 3.11.7", "Directory tree generator."),
    Page(
        local_address("os.listdir"), "os.listdir — Python 3.11.7", "Return a list of names in the directory."
    ),
    Page(local_address("KeyError"), "KeyError — Python 3.11.7", "Mapping key not found."),
    Page(local_address("math.sqrt"), "math.sqrt — Python 3.11.7", "Return the square root of x."),
    Page("local:packages/acme/1/acme.walk", "acme.walk — part of acme", "Walk a directory tree on rockets"),
    Page("https://handbook.example/leave", "Leave", "Employees have 30 days of leave in a year."),
)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with open_index(tmp_path) as opened:
        opened.put(PAGES)
        yield opened


def find(index: Index, query: str, options: SearchOptions | None = None) -> RankedPassages:
    return find_passages(index, query, options or SearchOptions(), 5)


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("all files in all subfolders", "os.walk"),
        ("Ordner rekursiv durchsuchen", "os.walk"),
        ("what does math.sqrt do", "math.sqrt"),
        ("KeyError: 'name' what is wrong", "KeyError"),
        ("How many days of leave do I have?", "Leave"),
    ],
    ids=["purpose", "German purpose", "name", "error", "user page"],
)
def test_the_page_that_a_question_is_about_comes_first(index: Index, query: str, title: str) -> None:
    found = find(index, query)
    assert found.passages[0].title.startswith(title)
    assert found.is_answer


@pytest.mark.parametrize(
    ("error", "titles"),
    [
        (
            "ValueError: time data '1.2.' does not match format '%Y'",
            ["datetime.datetime.strptime", "ValueError"],
        ),
        ("ValueError: invalid mode", ["ValueError"]),
        ("RecursionError: maximum recursion depth exceeded", ["RecursionError", "sys.setrecursionlimit"]),
        ("KeyError: 'name'", ["KeyError"]),
    ],
    ids=["message with a page", "message without a page", "class with one cause", "no message"],
)
def test_the_page_about_a_message_comes_before_that_of_a_general_class(
    index: Index, error: str, titles: list[str]
) -> None:
    described = {
        "ValueError": "Inappropriate argument value (of correct type).",
        "RecursionError": "Recursion limit exceeded.",
        "datetime.datetime.strptime": "string, format -> new datetime parsed from a string",
        "sys.setrecursionlimit": "Set the maximum depth of the Python interpreter stack to n.",
    }
    index.put(Page(local_address(name), f"{name} — Python 3.11.7", text) for name, text in described.items())
    found = [passage.title.partition(" ")[0] for passage in find(index, error).passages]
    assert found[: len(titles)] == titles


def test_an_error_of_a_known_class_is_answered_whatever_its_message_says(index: Index) -> None:
    message = "the flux capacitor rejected zebra units"
    assert find(index, f"KeyError: {message}").is_answer
    assert not find(index, f"AcmeError: {message}").is_answer
    assert not find(index, message).is_answer


def test_a_section_about_both_things_comes_before_the_pages_of_either(index: Index) -> None:
    page = f"{DOCS_URL}library/pickle.html"
    both = Page(
        f"{page}#comparison-with-json",
        "Comparison with json — pickle",
        "Comparison with json\n\nThere are differences between pickle and JSON.",
    )
    module = Page(
        f"{page}#module-pickle",
        "pickle — save Python objects",
        "pickle\n\nThe pickle module saves objects; json is safer than pickle.",
    )
    index.put([module, both])
    assert find(index, "json vs pickle").passages[0].url == both.url
    assert find(index, "save objects with pickle").passages[0].url == module.url


def test_a_package_that_the_question_does_not_name_is_not_first(index: Index) -> None:
    titles = [passage.title.partition(" ")[0] for passage in find(index, "walk a directory tree").passages]
    assert titles.index("os.walk") < titles.index("acme.walk")


def test_a_question_that_no_page_answers_is_recognised(index: Index) -> None:
    assert not find(index, "Who won the football match yesterday?").is_answer
    assert not find(index, "xyzzy").is_answer


def test_a_misspelt_question_is_corrected_only_if_that_helps(index: Index) -> None:
    index.put(
        [Page(f"https://handbook.example/{n}", "Roots", f"The square root, part {n}.") for n in range(3)]
    )
    assert find(index, "squaer root").interpretation == ("square root", "corrected")
    assert find(index, "square root").interpretation == ("square root", "typed")


def test_a_german_page_answers_a_german_question_before_english_pages_do(index: Index) -> None:
    german = Page(
        "https://handbook.example/arbeitszeit",
        "Arbeitszeit",
        "Die Wochenarbeitszeit beträgt 38 Stunden. Überstunden werden ausgezahlt.",
        language="de",
    )
    english = Page("https://handbook.example/hours", "Opening hours", "The reception is open all week.")
    index.put([german, english])
    found = find(index, "was passiert mit meinen Überstunden in der Woche")
    assert found.passages[0].url == german.url


def test_a_name_that_does_not_exist_is_not_answered_in_translation(index: Index) -> None:
    assert not find(index, "was macht os.walk_backwards").is_answer
    assert find(index, "was macht os.walk").is_answer


def test_restrictions_apply_to_pages_that_are_found_by_purpose(index: Index) -> None:
    allowed = SearchOptions(allowed_domains=("handbook.example",))
    dated = SearchOptions(since="2020-01-01")
    assert {passage.url for passage in find(index, "go through all folders", allowed).passages} <= {
        PAGES[-1].url
    }
    assert find(index, "go through all folders", dated).passages == ()


def test_the_documentation_of_an_object_replaces_its_docstring(index: Index) -> None:
    link = f"https://docs.python.org/{'.'.join(__import__('sys').version.split('.')[:2])}/library/os.html#os.walk"
    index.put(
        [Page(link, "os.walk — os — documentation", "os.walk(top)\n\nGenerate the file names in a tree.")]
    )
    urls = [passage.url for passage in find(index, "all files in all subfolders").passages]
    assert urls[0] == link
    assert local_address("os.walk") not in urls


def test_a_section_of_the_documentation_that_the_index_lacks_is_known_by_its_address(index: Index) -> None:
    question = "what is a generator"
    assert all(passage.text for passage in find(index, question).passages)
    index.put([Page(CONTENTS_URL, "Contents", "What is known about Python.")])
    found = find(index, question)
    first = found.passages[0]
    assert first.url.startswith(DOCS_URL)
    assert first.text == ""
    assert "generator" in first.title.partition(" — ")[0].lower()
    assert found.is_answer
    elsewhere = SearchOptions(blocked_domains=("docs.python.org",))
    assert all(passage.text for passage in find(index, question, elsewhere).passages)
    index.put([Page(first.url, "Generators", "A generator is a function with yield.")])
    texts = [passage.text for passage in find(index, question).passages if passage.url == first.url]
    assert texts == ["A generator is a function with yield."]


def test_a_section_without_text_of_its_own_is_quoted_from_the_first_object_in_it(index: Index) -> None:
    question = "run a blocking function in a thread in asyncio"
    url = f"{DOCS_URL}library/asyncio-task.html#asyncio.to_thread"
    index.put([Page(CONTENTS_URL, "Contents", "What is known about Python.")])
    heading = f"{DOCS_URL}library/asyncio-task.html#running-in-threads"
    assert find(index, question).passages[0].url == heading
    index.put([Page(url, "asyncio.to_thread — documentation", "Asynchronously run a function elsewhere.")])
    urls = [passage.url for passage in find(index, question).passages]
    assert urls[0] == url
    assert heading not in urls


def test_pages_of_the_user_are_compared_however_many_built_in_pages_share_their_words(index: Index) -> None:
    index.put(
        Page(local_address(f"m{n}.check"), f"m{n}.check — Python 3.11.7", f"Check the list of names {n}.")
        for n in range(90)
    )
    index.put([Page("https://handbook.example/door", "Doors", "Names of guests are on a list at reception.")])
    found = find_passages(index, "check the list of names", SearchOptions(), 60)
    assert "https://handbook.example/door" in [passage.url for passage in found.passages]


class Judge:
    """Search by meaning that only judges passages: those with a word answer the question."""

    def __init__(self, word: str, odds: float = 9.0) -> None:
        self._word = word
        self._odds = odds
        self.judged: list[str] = []

    def search(self, query: str, options: SearchOptions, limit: int) -> list[Passage]:
        return []

    def similarities(self, query: str, passages: Sequence[Passage]) -> list[float | None]:
        return [None] * len(passages)

    def closest_sentences(self, query: str, passages: Sequence[Passage]) -> list[ClosestSentence | None]:
        return [None] * len(passages)

    def answer_odds(self, query: str, passages: Sequence[Passage]) -> list[float | None]:
        self.judged += [passage.url for passage in passages]
        return [self._odds if self._word in passage.text else -self._odds for passage in passages]

    def purposes(self, query: str, limit: int) -> list[PurposeMatch]:
        return []

    def purpose_closeness(self, query: str, targets: Sequence[str]) -> list[float | None]:
        return [None] * len(targets)


def test_a_page_of_the_user_that_lacks_the_detail_is_less_probably_an_answer(index: Index) -> None:
    question = "How many days of leave do I have?"
    has, lacks = (find_passages(index, question, SearchOptions(), 5, Judge(word)) for word in ("30", "xyz"))
    assert lacks.probability < find(index, question).probability <= has.probability
    doubtful = "How many days may I leave early?"
    has, lacks = (find_passages(index, doubtful, SearchOptions(), 5, Judge(word)) for word in ("30", "xyz"))
    assert (has.is_answer, lacks.is_answer) == (True, False)


def test_nothing_is_judged_if_a_built_in_page_is_first(index: Index) -> None:
    judge = Judge("xyz")
    found = find_passages(index, "what does math.sqrt do", SearchOptions(), 5, judge)
    assert found.is_answer
    assert judge.judged == []
    assert found.probability == find(index, "what does math.sqrt do").probability


def test_a_passage_with_the_answer_comes_before_one_that_is_closer_in_words(index: Index) -> None:
    answer, closer = "https://handbook.example/b", "https://handbook.example/a"
    index.put(
        [
            Page(closer, "Bicycles", "Where bicycles are parked at night is a question of the insurance."),
            Page(answer, "Bicycles and scooters", "At night, lock your bicycle in the cellar."),
        ]
    )
    question = "Where are bicycles parked at night?"
    before, after = (
        find_passages(index, question, SearchOptions(), 9, judge).passages
        for judge in (None, Judge("cellar"))
    )
    assert before[0].url == closer
    assert after[0].url == answer
    assert sorted(item.url for item in before) == sorted(item.url for item in after)
    assert [item.score for item in after] == sorted((item.score for item in after), reverse=True)


def test_a_german_question_is_answered_from_the_page_that_has_the_answer_in_either_language(
    index: Index,
) -> None:
    german, english = "https://handbook.example/de", "https://handbook.example/en"
    text = "Wer den Schlüssel verloren hat, ruft die Werkstatt an."
    index.put(
        [
            Page(german, "Türen", text, language="de"),
            Page(english, "Lost keys", "A lost key costs 40 euros. Whoever has lost a key pays for the key."),
        ]
    )
    question = "was tun wenn man den Schlüssel verloren hat"
    judges = (Judge("40", odds=4.0), Judge("ruft", odds=4.0))
    first, second = (find_passages(index, question, SearchOptions(), 9, judge) for judge in judges)
    assert (first.passages[0].url, second.passages[0].url) == (english, german)


def test_an_interpretation_that_is_far_behind_is_not_read(index: Index) -> None:
    text = "Fundsachen: Schlüssel liegen im Büro."
    page = Page("https://handbook.example/de", "Verlorene Schlüssel", text, language="de")
    index.put([page])
    judge = Judge("Büro", odds=4.0)
    found = find_passages(index, "wo liegen verlorene Schlüssel", SearchOptions(), 9, judge)
    assert (found.passages[0].url, found.interpretation.kind) == (page.url, "typed")
    assert judge.judged.count(page.url) == 1


def test_a_page_of_the_user_may_answer_where_a_built_in_one_is_first_but_does_not(index: Index) -> None:
    buses = "Buses leave there every ten minutes until midnight. " * 6
    page = Page("https://handbook.example/s", "Shops", f"The baker is opposite the station. {buses}")
    index.put([page])
    question = "is there a tree generator at the baker, the plumber or the carpenter"
    without = find(index, question)
    assert is_built_in(without.passages[0].url)
    assert not without.is_answer
    found = find_passages(index, question, SearchOptions(), 9, Judge("station"))
    assert found.passages[0].url == page.url
    assert found.probability > without.probability


@pytest.mark.parametrize(("word", "read"), [("night", 3), ("xyz", 8)], ids=["answer", "no answer"])
def test_more_passages_are_read_only_if_one_of_them_may_become_the_first(
    index: Index, word: str, read: int
) -> None:
    first = Page("https://handbook.example/b", "Bicycles", "Lock your bicycle in the cellar at night.")
    others = [
        Page(f"https://handbook.example/b{number}", "Bicycles", f"Lock your bicycle in cellar {number}.")
        for number in range(9)
    ]
    index.put([first, *others])
    judge = Judge(word)
    find_passages(index, "lock my bicycle in the cellar", SearchOptions(), 20, judge)
    assert len(judge.judged) == read
