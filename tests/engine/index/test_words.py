"""Names, languages, fingerprints, and queries taken apart."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.engine.index.question import Question, joined_neighbours, read_question
from groundwire.engine.index.words import (
    address_words,
    dotted_names,
    fingerprint,
    guessed_language,
    name_parts,
    names_in,
    plain_words,
    split_names,
)


def test_names_are_taken_apart_at_dots_underscores_and_humps() -> None:
    assert name_parts("JSONDecoder.raw_decode") == ["JSON", "Decoder", "raw", "decode"]
    assert name_parts("getUTF8Bytes2") == ["get", "UTF", "8", "Bytes", "2"]
    assert name_parts("größeÄndern") == ["größe", "Ändern"]


def test_names_are_told_from_words() -> None:
    text = "Call json.dumps or raw_decode of a JSONDecoder, e.g. here. See HTTP and 3.11."
    assert names_in(text) == ["json.dumps", "raw_decode", "JSONDecoder", "e.g"]
    assert dotted_names("os.Path.join and x") == ["os.path.join"]
    assert split_names("a JSONDecoder of HTTP") == "JSON Decoder"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (
            "https://docs.python.org/3/library/json.html#json.JSONDecoder",
            "3 library json json JSONDecoder JSON Decoder",
        ),
        ("https://example.org/get%20user_name?id=7", "get user_name user name 7"),
        ("file:///home/a/notes.md", "home a notes"),
        ("", ""),
    ],
)
def test_an_address_is_words(url: str, words: str) -> None:
    assert address_words(url) == words


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The house is on the hill, and it was built by him.", "en"),
        ("Das Haus steht auf dem Hügel, und es wurde von ihm gebaut.", "de"),
        ("La maison est sur la colline.", ""),
        ("x = 1; y = 2", ""),
        ("", ""),
    ],
)
def test_the_language_is_guessed_by_its_small_words(text: str, language: str) -> None:
    assert guessed_language(text) == language


@given(st.lists(st.text(alphabet="abcÄß9", min_size=1, max_size=6), max_size=12))
def test_the_fingerprint_is_of_the_words_alone(words: list[str]) -> None:
    assert fingerprint(" ".join(words)) == fingerprint("\n* ".join(words).upper() + "!")
    assert fingerprint(" ".join([*words, "more"])) != fingerprint(" ".join(words))


def test_small_words_are_left_out_of_a_question_unless_they_are_all_there_is() -> None:
    assert read_question("How do I parse JSON in Python?").words == ("parse", "json", "python")
    assert read_question("to be or not to be").words == ("to", "be", "or", "not")
    assert read_question("what does all() do").words == ("all",)
    assert read_question("the `with` statement").words == ("with", "statement")


def test_a_query_is_taken_apart() -> None:
    asked = read_question('json.JSONDecoder "exact words" seri* parse parse')
    assert asked == Question(
        ("json", "jsondecoder", "parse"), ("decoder",), ("json.jsondecoder",), ("exact words",), ("seri",)
    )
    assert not read_question('"" * ?!')


@given(st.text())
def test_every_query_can_be_read(query: str) -> None:
    asked = read_question(query)
    assert len(asked.words) <= 32
    assert set(asked.words) <= set(plain_words(query))


def test_where_hardly_anything_is_asked_for_small_words_are_welcome() -> None:
    assert read_question("What does the with statement do?") == Question(("statement",), light=("with",))
    assert read_question("what is a for loop") == Question(("loop",), light=("for",))
    assert read_question("open a file with python").light == ()
    assert read_question("statement").light == ()


@pytest.mark.parametrize("query", ["how do i sort a list", "loop", "is it", "sort  12 lists "])
def test_plain_words_are_read_as_any_others(query: str) -> None:
    assert read_question(query) == read_question(f"{query}?")


def test_neighbours_may_be_one_name() -> None:
    assert joined_neighbours(("current", "date", "time")) == ["currentdate", "datetime"]
    assert joined_neighbours(("python", "3")) == []


@given(text=st.text(alphabet="aBcDÄöÿ9_. ", max_size=40))
def test_humps_are_small_letters_before_capitals_or_capitals_before_small_letters(text: str) -> None:
    def has_hump(word: str) -> bool:
        pairs = any(one.islower() and other.isupper() for one, other in pairwise(word))
        return pairs or any(
            one.isupper() and two.isupper() and three.islower()
            for one, two, three in zip(word, word[1:], word[2:], strict=False)
        )

    words = re.findall(r"[^\W_]+", text)
    assert split_names(text) == " ".join(
        part for word in words if has_hump(word) for part in name_parts(word)
    )


def test_a_whole_question_between_quotation_marks_is_a_question() -> None:
    asked = read_question('"When did the first release of the project come out?"')
    assert asked.phrases == ()
    assert "release" in asked.words
    assert read_question('"come out of there"').phrases == ("come out of there",)
