"""Behaviour that every kind of index has."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire.engine.index.base import Index, Stored
from groundwire.engine.outline import decode_outline, fits
from groundwire.engine.pages import Page
from groundwire.model import SearchOptions
from groundwire.model.value import replace
from tests.engine.sample_handbook import LEAVE_URL, guide, leave, page_of

pytestmark = pytest.mark.server

DUMPS = Page(
    "https://docs.python.org/3/library/json.html#json.dumps",
    "json.dumps — Python documentation",
    "Serialize obj to a JSON formatted str using this conversion table.\n\nIf indent is given, members are "
    "printed on lines of their own.",
    language="en",
    collection="python",
)
LOADS = Page(
    "https://docs.python.org/3/library/json.html#json.loads",
    "json.loads — Python documentation",
    "Parse a str, bytes or bytearray instance that holds a JSON document, and give a Python object.",
    language="en",
    collection="python",
)
HOUSES = Page(
    "https://stadt.example/haeuser",
    "Häuser der Stadt",
    "Die Häuser der Altstadt wurden nach dem Brand wieder aufgebaut. Viele stehen heute unter Schutz.",
    published="2024-05-01",
    language="de",
    collection="stadt",
)
NEWS = Page(
    "https://news.example.com/fire",
    "Fire in the old town",
    "A fire destroyed several houses in the old town on Wednesday, as the brigade reported.",
    published="2023-02-03T10:30:00+01:00",
    language="en",
    collection="news",
)
ALL = (DUMPS, LOADS, HOUSES, NEWS)


def urls(index: Index, query: str, options: SearchOptions | None = None, limit: int = 20) -> list[str]:
    return [found.url for found in index.search(query, options or SearchOptions(), limit)]


@pytest.fixture
def filled(index: Index) -> Index:
    assert index.put(ALL) == Stored(added=4)
    return index


def test_a_page_is_read_back_unchanged(filled: Index) -> None:
    assert [filled.page(page.url) for page in ALL] == list(ALL)
    assert filled.page("https://docs.python.org/3/library/json.html") is None


def test_pages_survive_reopening_the_index(opener: Callable[[], Index]) -> None:
    with opener() as index:
        index.put(ALL)
    again = opener()
    assert again.page(DUMPS.url) == DUMPS
    assert urls(again, "indent") == [DUMPS.url]


def test_english_words_find_a_german_page_whether_or_not_it_declares_its_language(index: Index) -> None:
    declared = replace(HOUSES, language="de-AT")
    guessed = Page("https://firma.example/urlaub", "Urlaub", "Die Frist für den Antrag ist drei Wochen.")
    index.put([NEWS, declared, guessed])
    assert urls(index, "deadline for the application") == [guessed.url]
    assert urls(index, "houses under protection")[0] == HOUSES.url
    assert urls(index, "Häuser unter Schutz")[0] == HOUSES.url


def test_another_opener_sees_later_changes(opener: Callable[[], Index]) -> None:
    writer, reader = opener(), opener()
    writer.put([DUMPS])
    assert urls(reader, "indent") == [DUMPS.url]
    writer.put([replace(DUMPS, text="Nothing but whitespace is left.")])
    assert urls(reader, "indent") == []
    assert urls(reader, "whitespace") == [DUMPS.url]
    writer.remove(urls=[DUMPS.url])
    assert urls(reader, "whitespace") == []
    assert reader.page(DUMPS.url) is None


def test_a_passage_is_verbatim_page_text(index: Index) -> None:
    text = "\n\n".join(
        f"Paragraph {n} speaks of the 東京 tower, 🗼, and of number{n}. " * 9 for n in range(30)
    )
    index.put([Page("https://example.org/long", "Tower", text, published="2020-01-02")])
    found = index.search("number17")
    assert found
    assert "number17" in found[0].text
    for passage in found:
        assert text[passage.start : passage.start + len(passage.text)] == passage.text
        assert passage.text.strip() == passage.text != ""
        assert (passage.title, passage.published) == ("Tower", "2020-01-02")


def test_scores_decrease_among_passages_with_the_same_number_of_query_words(filled: Index) -> None:
    for query in ("json", "houses fire town json"):
        scores = [passage.score for passage in filled.search(query)]
        assert len(scores) > 1
        assert scores == sorted(scores, reverse=True)
        assert scores[-1] > 0


@pytest.mark.parametrize(
    "query", ["json dumps", "json.dumps", "JSON.dumps()", "dumps", "How to use json.dumps?"]
)
def test_a_dotted_name_is_found_by_its_parts_and_whole(filled: Index, query: str) -> None:
    assert urls(filled, query)[0] == DUMPS.url


@pytest.mark.parametrize("query", ["JSONDecoder", "json decoder", "jsondecoder", "raw_decode", "raw decode"])
def test_camel_and_snake_names_are_found_by_their_parts_and_whole(filled: Index, query: str) -> None:
    page = Page(
        "https://docs.python.org/3/library/json.html#json.JSONDecoder", "json.JSONDecoder", "Has raw_decode."
    )
    filled.put([page])
    assert urls(filled, query)[0] == page.url


def test_a_name_in_the_address_is_found(index: Index) -> None:
    index.put([Page("https://example.org/api/getUserName.html", "Reference", "It returns a string.")])
    assert urls(index, "user name") == ["https://example.org/api/getUserName.html"]


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("How do I parse JSON in Python?", LOADS),
        ("How can I indent what is being serialized?", DUMPS),
        ("Which house was destroyed by fires?", NEWS),
        ("Wann wurde das Haus in der Altstadt aufgebaut?", HOUSES),
    ],
)
def test_a_question_finds_the_page_that_answers_it(filled: Index, query: str, page: Page) -> None:
    assert urls(filled, query)[0] == page.url


def test_a_page_without_a_language_is_stemmed_in_the_detected_language(index: Index) -> None:
    index.put([replace(HOUSES, language=""), replace(NEWS, language="")])
    assert urls(index, "Haus") == [HOUSES.url]
    assert urls(index, "destroying") == [NEWS.url]


def test_a_passage_with_all_words_ranks_before_one_with_many_of_some(index: Index) -> None:
    index.put(
        [
            Page("https://a.example/", "A", "apple apple apple apple apple apple apple apple"),
            Page(
                "https://b.example/",
                "B",
                "An apple, a pear and a plum lay on a table, and a child came to eat.",
            ),
        ]
    )
    assert urls(index, "apple plum") == ["https://b.example/", "https://a.example/"]


def test_quotation_marks_ask_for_a_phrase(filled: Index) -> None:
    assert urls(filled, '"old town"') == [NEWS.url]
    assert urls(filled, '"town old"') == []
    assert urls(filled, '"old town" json') == [NEWS.url]


def test_a_star_makes_a_prefix(filled: Index) -> None:
    assert urls(filled, "serializ*") == [DUMPS.url] == urls(filled, "seri*")
    assert urls(filled, "xyzzy*") == []


def test_one_page_does_not_fill_the_result_list(index: Index) -> None:
    long = "\n\n".join(f"The tower number {n} is high. " * 30 for n in range(20))
    short = Page("https://b.example/", "B", "A tower.")
    index.put([Page("https://a.example/", "Tower tower", long), short])
    found = urls(index, "tower", limit=10)
    assert found.count("https://a.example/") <= 3
    assert short.url in found


def test_the_result_limit_is_enforced(filled: Index) -> None:
    assert len(filled.search("json python houses fire", limit=2)) == 2
    assert filled.search("json", limit=0) == []


@pytest.mark.parametrize("query", ["", " ", "?!", "the", '"', '""', "*", "\x00", "\ud800", "xyzzyplugh"])
def test_a_query_that_means_nothing_finds_nothing(index: Index, query: str) -> None:
    index.put([LOADS])
    assert index.search(query) == []


@given(query=st.text(max_size=60) | st.text(alphabet='ab"*.:^~()[]{}+-&|!\\/ \x00', max_size=40))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_query_text_raises(filled: Index, query: str) -> None:
    assert isinstance(filled.search(query), list)


def test_allowed_domains_include_subdomains(filled: Index) -> None:
    query = "json house Häuser"
    assert set(urls(filled, query, SearchOptions(allowed_domains=("python.org",)))) == {DUMPS.url, LOADS.url}
    assert set(urls(filled, query, SearchOptions(allowed_domains=("WWW.stadt.example.", "example.com")))) == {
        HOUSES.url,
        NEWS.url,
    }
    assert urls(filled, query, SearchOptions(allowed_domains=("hon.org", "docs.python.org.evil"))) == []


def test_blocked_domains_are_left_out(filled: Index) -> None:
    query = "json house Häuser"
    assert set(urls(filled, query, SearchOptions(blocked_domains=("python.org",)))) == {HOUSES.url, NEWS.url}
    both = SearchOptions(allowed_domains=("example.com", "python.org"), blocked_domains=("docs.python.org",))
    assert urls(filled, query, both) == [NEWS.url]


def test_a_domain_entry_may_have_a_path(index: Index) -> None:
    pages = [
        Page(f"https://example.org/{path}", "T", f"tower {path}")
        for path in ("api", "api/v1", "apis", "blog")
    ]
    index.put(pages)
    assert set(urls(index, "tower", SearchOptions(allowed_domains=("example.org/api",)))) == {
        "https://example.org/api",
        "https://example.org/api/v1",
    }
    assert set(urls(index, "tower", SearchOptions(blocked_domains=("example.org/api*",)))) == {
        "https://example.org/blog"
    }


def test_date_limits_are_enforced_and_pages_without_a_date_are_left_out(filled: Index) -> None:
    query = "json house Häuser fire"
    assert set(urls(filled, query, SearchOptions(since="2023-01-01"))) == {HOUSES.url, NEWS.url}
    assert urls(filled, query, SearchOptions(since="2023-02-03T09:30:01Z")) == [HOUSES.url]
    assert urls(filled, query, SearchOptions(until="2023-02-03")) == [NEWS.url]
    assert urls(filled, query, SearchOptions(until="2023-02-03T09:29:59Z")) == []
    assert urls(filled, query, SearchOptions(since="2024-05-01", until="2024-05-01")) == [HOUSES.url]


def test_pages_in_the_requested_language_rank_first(filled: Index) -> None:
    filled.put(
        [replace(NEWS, url="https://b.example/", title="Haus", text="Haus ist ein Wort.", language="de")]
    )
    query = "houses fire old town Haus"
    assert urls(filled, query)[0] == NEWS.url
    in_german = urls(filled, query, SearchOptions(language="de-AT"))
    assert set(in_german[:2]) == {"https://b.example/", HOUSES.url}
    assert in_german[2] == NEWS.url


def test_unchanged_pages_are_not_stored_again(filled: Index) -> None:
    assert filled.put(ALL) == Stored(unchanged=4)
    changed = replace(LOADS, text="Deserialize.")
    assert filled.put([DUMPS, changed]) == Stored(updated=1, unchanged=1)
    assert filled.page(LOADS.url) == changed
    assert filled.stats().pages == 4


def test_addresses_of_one_page_are_one_page_but_fragments_differ(index: Index) -> None:
    index.put([DUMPS, LOADS])
    same = replace(DUMPS, url="http://www.docs.python.org/3/library/json.html?utm_source=x#json.dumps")
    assert index.put([same]) == Stored(updated=1)
    assert index.page(DUMPS.url) == same
    assert index.stats().pages == 2


def test_the_same_words_under_another_address_are_shown_once(filled: Index) -> None:
    mirror = replace(NEWS, url="https://mirror.example/fire", text=NEWS.text.upper().replace(",", " -"))
    assert filled.put([mirror]) == Stored(duplicates=1)
    assert filled.put([mirror]) == Stored(unchanged=1)
    assert len(urls(filled, "brigade reported")) == 1
    assert urls(filled, "brigade reported", SearchOptions(blocked_domains=("example.com",))) == [mirror.url]
    filled.remove(urls=[NEWS.url])
    assert urls(filled, "brigade reported") == [mirror.url]


def test_pages_are_removed_by_address_and_by_collection(filled: Index) -> None:
    assert filled.remove(urls=[NEWS.url, NEWS.url, "https://nowhere.example/"]) == 1
    assert filled.page(NEWS.url) is None
    assert urls(filled, "brigade") == []
    assert filled.remove(collection="python") == 2
    assert urls(filled, "json") == []
    assert filled.remove(collection="python") == 0
    assert [info.url for info in filled.pages()] == [HOUSES.url]


def test_nothing_is_removed_when_nothing_is_named(filled: Index) -> None:
    assert filled.remove() == 0
    assert filled.stats().pages == 4


def test_pages_are_listed_by_address(filled: Index) -> None:
    assert [info.url for info in filled.pages()] == sorted(page.url for page in ALL)
    (news,) = filled.pages(collection="news")
    assert (news.title, news.characters, news.published, news.language) == (
        NEWS.title,
        len(NEWS.text),
        NEWS.published,
        "en",
    )
    assert [info.url for info in filled.pages(prefix="https://docs.")] == [DUMPS.url, LOADS.url]
    assert list(filled.pages(collection="news", prefix="https://docs.")) == []


def test_stats_count_pages_and_passages(filled: Index) -> None:
    stats = filled.stats()
    assert (stats.pages, stats.passages) == (4, 4)
    assert stats.collections == (("news", 1), ("python", 2), ("stadt", 1))
    assert stats.bytes_on_disk > 0
    assert stats.format >= 1


def test_strange_text_is_stored_and_found(index: Index) -> None:
    page = Page("file:///tmp/a b%.txt", "\x00 title", "nul\x00byte and a half \ud800 surrogate, 東京タワー")
    index.put([page])
    kept = index.page(page.url)
    assert kept is not None
    assert (
        kept.text.replace("\ufffd", "?").replace("\x00", "?") == "nul?byte and a half ? surrogate, 東京タワー"
    )
    assert len(kept.text) == len(page.text)
    assert urls(index, "surrogate") == [page.url] == urls(index, "東京")


def test_a_page_without_words_is_stored(index: Index) -> None:
    empty = Page("https://example.org/empty", "Nothing here", "")
    index.put([empty, replace(empty, url="https://example.org/blank", text="  \n ")])
    assert index.page(empty.url) == empty
    assert index.search("nothing here") == []


def test_the_last_of_several_versions_in_one_put_stays(index: Index) -> None:
    index.put([LOADS, replace(LOADS, text="Second."), replace(LOADS, text="Third.")])
    kept = index.page(LOADS.url)
    assert kept is not None
    assert kept.text == "Third."
    assert index.stats().pages == 1


def test_a_question_for_a_heading_finds_its_section(index: Index) -> None:
    index.put([leave(), guide()])
    found = index.search("Krankheit")
    assert found[0].url == f"{LEAVE_URL}#krankheit"
    assert found[0].section == "Krankheit"
    assert [block.kind for block in decode_outline(found[0].outline)] == [
        "heading",
        "paragraph",
        "item",
        "item",
    ]


def test_the_outline_is_stored_and_a_section_leads_to_its_page(index: Index) -> None:
    index.put([leave()])
    page = index.page(f"{LEAVE_URL}#krankheit")
    assert page == leave()
    assert page is not None
    assert fits(page.outline, page.text)
    assert index.put([leave()]).unchanged == 1


def test_a_page_with_another_outline_is_another_version(index: Index) -> None:
    page = leave()
    index.put([replace(page, outline="")])
    assert index.put([page]).updated == 1


def test_the_words_of_a_heading_find_every_passage_of_the_section(index: Index) -> None:
    sentence = "Something is described in a sentence of some words. "
    markup = f"<main><h2 id=zebra>Zebra</h2><p>{sentence * 15}</p><p>{sentence * 15}</p></main>"
    index.put([page_of(markup, "text/html", "https://a.example/long")])
    assert [passage.section for passage in index.search("zebra")] == ["Zebra", "Zebra"]
