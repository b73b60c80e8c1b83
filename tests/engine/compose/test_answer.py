"""The composer: selected sentences, citations, and warnings about the evidence."""

from __future__ import annotations

from collections import Counter
from functools import cache
from textwrap import dedent, indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.engine.compose.answer import NOT_INDEXED, Composition, QuestionPart, compose, compose_parts
from groundwire.engine.compose.clean import clean_sentence, visible
from groundwire.engine.compose.exhibits import INDENT
from groundwire.engine.compose.select import MOST_CHARACTERS, MOST_STATEMENTS
from groundwire.engine.knowledge.addresses import DOCS_URL
from groundwire.engine.pages import ClosestSentence, Passage
from groundwire.engine.words import analyse, query_terms
from groundwire.model import Span
from groundwire.model.value import replace
from tests.engine.compose.passages import check, documentation, passage
from tests.model.strategies import cases, texts

pytestmark = pytest.mark.server

TOWER = "The Eiffel Tower is 330 metres tall."


def cited(composition: Composition) -> list[tuple[str, ...]]:
    """The sites of each citation."""
    return [
        tuple(item.source.url.removeprefix("https://").partition(".")[0] for item in citation.evidence)
        for citation in composition.citations
    ]


def codes(composition: Composition) -> list[str]:
    return [note.code for note in composition.notes]


def test_the_sentence_that_answers_is_the_answer() -> None:
    page = passage("Paris is old. " + TOWER + " Many people come. Tickets cost money.")
    answer = compose("How tall is the Eiffel Tower?", [page])
    assert answer.text == TOWER
    assert answer.citations[0].span == Span(0, len(TOWER))
    assert answer.citations[0].evidence[0].quote == TOWER
    assert answer.citations[0].evidence[0].source.excerpts == (page.text,)
    check(answer, [page])


def test_an_english_question_is_answered_by_the_german_sentence_with_the_detail() -> None:
    page = passage("Alle Räume haben eine Heizung. Der Schlüssel liegt am Empfang. Es ist still im Haus.")
    question = "where is the key kept"
    answer = compose_parts([QuestionPart(question, question, [page], is_answer=True, probability=0.9)])
    assert answer.text == "Der Schlüssel liegt am Empfang."
    check(answer, [page])


def test_our_own_sentences_are_in_the_language_of_the_question_and_not_of_what_was_searched() -> None:
    page = passage("The key is kept at the reception.")
    part = QuestionPart("wo ist der Schlüssel", "key", [page], is_answer=True, probability=0.5)
    answer = compose_parts([part])
    assert answer.text.startswith("Der Index enthält die Antwort vielleicht nicht.")


def test_what_was_new_in_a_version_is_not_quoted_next_to_the_page_about_the_thing() -> None:
    about = Passage(
        f"{DOCS_URL}library/http.html#s",
        "http.server",
        "It has classes for web servers.",
        0,
        1.0,
    )
    news = Passage(
        f"{DOCS_URL}whatsnew/3.7.html#s",
        "http.server — What’s New",
        "The web server accepts the new directory argument on the command line.",
        0,
        0.97,
    )
    question = "web server for a directory on the command line"
    answer = compose_parts([QuestionPart(question, question, [about, news], True, 0.9)])
    assert {item.source.url for citation in answer.citations for item in citation.evidence} == {about.url}
    first = replace(news, score=1.0), replace(about, score=0.97)
    answer = compose_parts([QuestionPart(question, question, first, True, 0.9)])
    assert answer.citations[0].evidence[0].source.url == news.url


def test_the_reply_to_a_question_of_the_documentation_is_quoted_further() -> None:
    heading = "Why are there lists and tuples?"
    reply = "Lists and tuples are used differently. Records have fixed fields. Arrays grow."
    page = Passage(
        f"{DOCS_URL}faq.html#why", f"{heading} — FAQ", f"{heading}\n\n{reply}", 0, 1.0, section=heading
    )
    question = "difference between lists and tuples"
    answer = compose_parts([QuestionPart(question, question, [page], True, 0.9)])
    assert answer.text == reply
    check(answer, [page])
    other = replace(page, title="Lists and tuples", section="Lists and tuples")
    assert compose_parts([QuestionPart(question, question, [other], True, 0.9)]).text != reply


def test_the_quote_is_verbatim_while_the_answer_is_readable() -> None:
    page = passage("Serialize ``obj`` to\n   a JSON formatted\u200b ``str``.")
    answer = compose("serialize obj to JSON", [page])
    assert answer.text == "Serialize `obj` to a JSON formatted `str`."
    assert answer.citations[0].evidence[0].quote == page.text


def test_the_name_that_is_added_to_documentation_is_outside_the_claim() -> None:
    page = passage(
        "json.dumps(obj) -> str\n\nSerialize obj to a string.", title="json.dumps — Python documentation"
    )
    answer = compose("What does json.dumps do?", [page])
    assert answer.text == "json.dumps: Serialize obj to a string."
    assert answer.citations[0].span == Span(len("json.dumps: "), len(answer.text))


def test_a_sentence_that_names_its_subject_needs_no_name_before_it() -> None:
    page = passage(
        "The function heapq.merge joins sorted inputs.", title="heapq.merge — Python documentation"
    )
    assert compose("merge sorted inputs", [page]).text == page.text


def test_a_page_with_many_signatures_names_the_nearest() -> None:
    text = "json.dump(obj, fp)\n\nWrite obj to a file.\n\njson.loads(s)\n\nDeserialize the text to an object."
    answer = compose("deserialize text", [passage(text, title="json — JSON encoder")])
    assert answer.text == "json.loads: Deserialize the text to an object."


def test_a_sentence_that_depends_on_context_follows_the_one_before() -> None:
    page = passage("Widgets are made of tin. This makes widgets cheap and resistant to rust.")
    answer = compose("why are widgets resistant to rust", [page])
    assert answer.text == page.text
    assert len(answer.citations) == 2


def test_a_sentence_without_its_context_is_left_out() -> None:
    assert not compose("resistant to rust", [passage("This makes it resistant to rust.")]).found


def test_all_pages_with_the_same_statement_are_cited() -> None:
    pages = [
        passage(TOWER, "a"),
        passage(f"Facts. {TOWER} More.", "b"),
        passage("The Eiffel Tower is made of iron.", "c"),
    ]
    answer = compose("How tall is the Eiffel Tower?", pages)
    assert cited(answer)[0] == ("a", "b")
    check(answer, pages)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Return True if all elements of the iterable are true.",
            "Return True if any elements of the iterable are true.",
        ),
        ("The cat is faster than the brown dog.", "The brown dog is faster than the cat."),
        ("The maximum size of the buffer is read.", "The minimum size of the buffer is read."),
    ],
)
def test_pages_with_similar_wording_are_not_cited_for_each_other(one: str, other: str) -> None:
    answer = compose(one, [passage(one, "a"), passage(other, "b")])
    assert all(len(sites) == 1 for sites in cited(answer))


def test_the_same_sentence_about_another_subject_is_not_support() -> None:
    text = "Return the number of elements in the list."
    pages = [passage(text, "a", "deque.count — docs"), passage(text, "b", "tuple.count — docs")]
    assert all(len(sites) == 1 for sites in cited(compose("deque count elements", pages)))


@pytest.mark.parametrize(
    ("query", "one", "other"),
    [
        ("How tall is the Eiffel Tower?", TOWER, "The Eiffel Tower is 324 metres tall."),
        (
            "When was the treaty of Foo signed?",
            "The treaty of Foo was signed in May 1920.",
            "The treaty of Foo was signed in June 1920.",
        ),
        (
            "Does Foo support the Bar format?",
            "Foo supports the Bar format today.",
            "Foo does not support the Bar format today.",
        ),
        (
            "Unterstützt Foo das Format Bar?",
            "Foo unterstützt das Format Bar.",
            "Foo unterstützt das Format Bar nicht.",
        ),
    ],
)
def test_contradictory_pages_are_both_quoted_with_a_warning(query: str, one: str, other: str) -> None:
    pages = [passage(one, "a", score=2.0), passage(other, "b")]
    answer = compose(query, pages)
    assert one in answer.text
    assert other in answer.text
    assert cited(answer) == [("a",), ("b",)]
    assert "contradictory_evidence" in codes(answer)
    check(answer, pages)


def test_pages_about_different_subjects_do_not_contradict_each_other() -> None:
    pages = [
        passage("The library Foo has 12 modules in it.", "a"),
        passage("The museum Bar has 40 rooms in it.", "b"),
    ]
    assert "contradictory_evidence" not in codes(compose("How many modules has the library Foo?", pages))


def test_one_page_that_covers_the_question_is_enough_and_one_that_nearly_does_is_thin() -> None:
    assert codes(compose("How tall is the Eiffel Tower?", [passage(TOWER)])) == []
    query = "How tall is the Eiffel Tower antenna?"
    assert codes(compose(query, [passage(TOWER)])) == ["thin_evidence"]
    assert codes(compose(query, [passage(TOWER, "a"), passage(TOWER, "b")])) == []


def test_the_page_of_an_object_is_sufficient_evidence() -> None:
    page = passage("os.walk(top)\n\nDirectory tree generator.", title="os.walk — Python documentation")
    assert codes(compose("walk a directory tree", [page])) == []


def test_the_page_of_an_object_ranks_before_the_page_that_lists_it_and_does_not_corroborate_it() -> None:
    listing = "Routines.\n\n- os.removedirs: Remove a tree.\n- os.walk: Walk over a directory tree."
    pages = [
        Passage("https://docs.example/os.html", "os — docs", listing, 0, 1.1),
        Passage(
            "https://docs.example/os.html#os.walk", "os.walk — docs", "Walk over a directory tree.", 0, 1.0
        ),
    ]
    answer = compose("walk a directory tree", pages)
    assert answer.text == "os.walk: Walk over a directory tree."
    assert [item.source.url for item in answer.citations[0].evidence] == [pages[1].url]


def test_an_object_named_like_the_query_ranks_first() -> None:
    text = "Copy data in the most efficient way."
    titles = ("venv.Builder.link — docs", "shutil.copyfile — docs", "os.copy_file_range — docs")
    pages = [passage(text, site, title) for site, title in zip("abc", titles, strict=True)]
    assert cited(compose("copy a file", pages))[0] == ("b",)


def test_synonyms_are_matched() -> None:
    pages = [passage("Widgets are removed by the clerk.", "a"), passage("Doors stay open all day long.", "b")]
    assert cited(compose("delete widgets", pages)) == [("a",)]


def test_a_detail_about_another_subject_does_not_become_a_second_paragraph() -> None:
    pages = [
        passage("Parse a JSON document.", "a", "json.loads — docs"),
        passage("JSONDecodeError(doc)\n\nRaised on failure.\n\ndoc: The JSON document to parse", "b",
                "json.JSONDecodeError — docs", score=0.9),
    ]  # fmt: skip
    assert compose("parse a JSON document", pages).text == "json.loads: Parse a JSON document."


def test_a_question_that_is_answered_in_part_is_thin_evidence() -> None:
    pages = [passage("The tower is open.", "a"), passage("The tower is open.", "b")]
    answer = compose("tower elevator opening price", pages)
    assert codes(answer) == (["thin_evidence"] if answer.found else [])


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("How do I bake sourdough bread in Python?", "Python is a programming language."),
        ("quantum chromodynamics", "The cat sat on the mat."),
        ("anything", ""),
        ("", TOWER),
        ("Eiffel Tower", ">>> eiffel.tower()"),
    ],
)
def test_an_unanswerable_question_is_reported_and_nothing_is_invented(query: str, text: str) -> None:
    answer = compose(query, [passage(text)])
    assert not answer.found
    assert answer.citations == ()
    assert answer.text == f"Nothing was found for “{query}”."


def test_nothing_found_is_reported_in_the_language_of_the_question() -> None:
    assert compose("Wie backe ich Brot?", []).text == "Zu „Wie backe ich Brot?“ wurde nichts gefunden."


def test_questions_navigation_and_code_are_not_answers() -> None:
    text = (
        "How tall is the Eiffel Tower?\n\nSign in to see how tall the Eiffel Tower is.\n\n"
        f">>> eiffel_tower.tall()\n\n{TOWER}"
    )
    assert compose("how tall is the Eiffel Tower", [passage(text)]).text == TOWER


def test_passages_of_one_page_that_adjoin_are_read_as_one() -> None:
    whole = "Widgets are cheap. Widgets are made of tin from the mines of Cornwall. They rust."
    cut = 40
    pages = [passage(whole[cut:], start=cut), passage(whole[:cut])]
    answer = compose("What are widgets made of?", pages)
    assert "Widgets are made of tin from the mines of Cornwall." in answer.text
    assert all(item.quote in whole for citation in answer.citations for item in citation.evidence)


def test_the_number_of_sources_is_limited() -> None:
    pages = [passage(f"Widgets number {site} are made of tin and {site * 5}.", site) for site in "abcdef"]
    for most in (1, 2, 3):
        answer = compose("What are widgets made of?", pages, max_sources=most)
        assert len({url for sites in cited(answer) for url in sites}) <= most
        assert answer.found


def test_sentences_of_one_page_are_adjacent_and_in_page_order() -> None:
    pages = [
        passage("Widgets are made of tin. The price of widgets is three pounds. Widgets melt at noon.", "a"),
        passage("Widgets in the north are made of lead.", "b", score=0.9),
    ]
    answer = compose("widgets made of tin, price of widgets, melt", pages)
    for paragraph in answer.text.split("\n\n"):
        source = [page for page in pages if paragraph.split(". ")[0].rstrip(".") in page.text]
        assert len(source) == 1
        offsets = [source[0].text.index(claim.rstrip(".")) for claim in paragraph.split(". ")]
        assert offsets == sorted(offsets)


QUESTIONS = (
    *("How do I copy a directory tree?", "What is a namedtuple?", "merge sorted inputs", "json.dumps indent"),
    *("How do I run a command and capture its output?", "Which function returns the median of data?"),
    *("How do I make a temporary file?", "encode bytes with base64", "What does asyncio.gather do?"),
    *("wait for a thread to terminate", "split a string", "escape HTML", "generate a random UUID"),
)


@cache
def _stems(text: str) -> frozenset[str]:
    return analyse(text).stems


def ranked(query: str, pages: list[Passage]) -> list[Passage]:
    """The twenty pages with the most words of the query, shorter ones first."""
    terms = query_terms(query)
    counts = Counter[int]()
    for index, page in enumerate(pages):
        stems = _stems(f"{page.title} {page.text}")
        counts[index] = sum(term in stems for term in terms)
    best = sorted(counts, key=lambda index: (-counts[index], len(pages[index].text)))[:20]
    return [pages[index] for index in best if counts[index]]


def test_answers_from_real_documentation_keep_every_promise() -> None:
    pages = list(documentation())
    for query in QUESTIONS:
        passages = ranked(query, pages)
        answer = compose(query, passages)
        assert answer.found, query
        check(answer, passages)
        assert len(answer.citations) <= MOST_STATEMENTS
        assert len(answer.text) <= MOST_CHARACTERS + 400
        assert compose(query, passages) == answer
        for citation in answer.citations:
            assert citation.span is not None
            claim = answer.text[citation.span.start : citation.span.end]
            quote = citation.evidence[0].quote
            is_code = claim.startswith(INDENT)
            assert claim == (f"{indent(dedent(quote), INDENT)}\n" if is_code else clean_sentence(quote))


@cases(100)
@given(texts(8), st.lists(st.tuples(texts(30), st.sampled_from("abc"), st.integers(0, 50)), max_size=6))
def test_any_passages_give_an_answer_that_keeps_the_promises(
    query: str, drawn: list[tuple[str, str, int]]
) -> None:
    passages = [passage(text, site, start=start) for text, site, start in drawn]
    answer = compose(query, passages)
    spans = [citation.span for citation in answer.citations if citation.span is not None]
    assert spans == sorted(spans)
    assert visible(answer.text) == answer.text
    for citation in answer.citations:
        for item in citation.evidence:
            assert item.quote


def test_a_passage_about_a_small_part_of_a_short_question_is_not_an_answer() -> None:
    page = passage(
        "Check if this path is a mount point.", title="pathlib.Path.is_mount — paths — Documentation"
    )
    assert not compose("how tall is Mount Everest", [page]).found
    assert compose("is this path a mount point", [page]).found


def test_a_page_is_found_by_the_purpose_in_its_title() -> None:
    pages = [
        passage(
            "Return the ceiling of x.", "a", "math.ceil — round up to the next whole number — Documentation"
        ),
        passage(
            "Round a number to a given precision.", "b", "round — round to decimal places — Documentation"
        ),
    ]
    assert cited(compose("round up to the next whole number", pages))[0] == ("a",)
    assert cited(compose("round to two decimal places", pages))[0] == ("b",)


def test_the_purpose_of_a_module_does_not_rank_its_functions() -> None:
    module = "CSV file reading and writing"
    cases = (
        (
            "csv.reader",
            "read a CSV file",
            "The argument is any object that gives lines, such as a file object.",
        ),
        ("csv.get_dialect", module, "Return the dialect instance associated with name."),
        ("csv.list_dialects", module, "Return a list of all known dialect names."),
        ("csv.field_size_limit", module, "Sets an upper limit on parsed fields."),
    )
    pages = [
        Passage(f"https://docs.example/csv#{name}", f"{name} — {aim} — Docs", f"{name}()\n\n{text}", 0, 1.0)
        for name, aim, text in cases
    ]
    assert cited_names(compose("how do I read a csv file", pages)) == {"csv.reader"}


def cited_names(answer: Composition) -> set[str]:
    """The pages at the cited URLs."""
    return {item.source.url.rpartition("#")[2] for one in answer.citations for item in one.evidence}


def test_a_very_short_answer_includes_the_next_sentence() -> None:
    text = "compare(a, b)\n\nReturn 'a == b'. It takes the same time for equal and different secrets."
    page = passage(text, title="hmac.compare — compare secrets — Documentation")
    answer = compose("compare secrets", [page])
    assert answer.text == (
        "hmac.compare: Return 'a == b'. It takes the same time for equal and different secrets."
    )
    check(answer, [page])


def test_a_number_that_no_page_contains_has_little_weight() -> None:
    page = passage("Return a random integer between two bounds.", title="random.randint — Documentation")
    answer = compose("random integer between 17 and 23", [page])
    assert answer.found
    assert not codes(answer)


def test_contradictory_pages_of_one_host_are_named_by_their_urls() -> None:
    pages = [
        Passage("https://a.example/one", "One", TOWER, 0, 2.0),
        Passage("https://a.example/two", "Two", "The Eiffel Tower is 324 metres tall.", 0, 1.0),
    ]
    notes = compose("How tall is the Eiffel Tower?", pages).notes
    assert notes[0].message == "https://a.example/one and https://a.example/two disagree; both are quoted."


SQRT = Passage(
    "local:python/3.11.7/math.sqrt",
    "math.sqrt — square root — Python 3.11.7",
    "Return the square root of x.",
    0,
)


def test_the_documentation_of_a_docstring_is_a_further_link_without_a_quote() -> None:
    first, second = compose("What does math.sqrt do?", [SQRT]).citations[0].evidence
    assert (first.source.url, first.quote) == (SQRT.url, SQRT.text)
    assert second.source.url.endswith("/library/math.html#math.sqrt")
    assert second.quote == ""


def test_a_limit_of_sources_leaves_no_room_for_further_links() -> None:
    composition = compose("What does math.sqrt do?", [SQRT], max_sources=1)
    assert [item.source.url for item in composition.citations[0].evidence] == [SQRT.url]


def test_a_page_of_which_only_the_address_is_known_is_referred_to_and_not_quoted() -> None:
    page = Passage("https://docs.example/glossary#generator", "generator — Python documentation", "", 0, 9.0)
    close = passage("A generator is made by a function with yield.", score=8.0)
    far = passage("A generator makes electricity.", site="b", score=2.0)
    answer = compose_parts(
        [QuestionPart("what is a generator", "what is a generator", [page, close, far], True)]
    )
    assert answer.text.startswith("Python’s documentation explains this under “generator”.\n\n")
    assert [[item.quote for item in citation.evidence] for citation in answer.citations] == [
        [""],
        [close.text],
    ]
    assert answer.citations[0].evidence[0].source.url == page.url
    assert NOT_INDEXED in codes(answer)
    alone = compose_parts(
        [QuestionPart("what is a generator", "what is a generator", [page], True)], max_sources=1
    )
    assert len(alone.citations) == 1
    behind = compose_parts([QuestionPart("what is a generator", "what is a generator", [close, page], True)])
    assert NOT_INDEXED not in codes(behind)


def answer_to(query: str, *passages: Passage) -> Composition:
    """The answer if the engine trusts the order of the passages."""
    return compose_parts([QuestionPart(query, query, passages, is_answer=True, probability=0.9)])


def test_a_sentence_that_means_the_same_in_other_words_opens_the_answer() -> None:
    text = "The hall is heated. Cars may stay in the yard for 18 euros. Bicycles go into the cellar."
    start = text.index("Cars")
    closest = ClosestSentence(start, text.index(" Bicycles"), 0.5)
    parking = replace(passage(text, start=40), closest=closest)
    other = passage("What a vehicle costs is decided by the dealer.", "b", score=0.5)
    answer = answer_to("what does it cost to leave my vehicle here", parking, other)
    assert answer.text.startswith("Cars may stay in the yard for 18 euros.")
    assert answer.citations[0].evidence[0].source.url == parking.url
    check(answer, [parking, other])


def test_the_best_page_opens_the_answer_even_if_it_shares_no_word_with_the_question() -> None:
    best = passage("Ring 4100 at any hour. The porter comes within ten minutes.")
    other = passage("Keys are cut by the locksmith. Keys are numbered.", "b", score=0.4)
    assert cited(answer_to("keys gone", best, other))[0] == ("a",)


def test_a_short_section_of_the_user_is_quoted_as_a_whole() -> None:
    text = "Overtime\n\nOvertime is added to the account. From 40 hours on, it is paid out. Ask payroll."
    section = replace(passage(text), section="Rules\nOvertime")
    assert answer_to("what happens to my overtime", section).text.endswith("paid out. Ask payroll.")
    without_headings = passage(text)
    assert "payroll" not in answer_to("what happens to my overtime", without_headings).text


def test_a_long_section_is_not_quoted_as_a_whole() -> None:
    rest = " ".join(f"Rule number {number} is about something else entirely." for number in range(20))
    section = replace(passage(f"Overtime is added to the account. {rest}"), section="Rules")
    assert len(answer_to("what happens to my overtime", section).text) < MOST_CHARACTERS
