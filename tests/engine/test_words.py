"""Names, languages, fingerprints, and query parsing."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.engine.retrieve.query import ParsedQuery, joined_pairs, parse_query
from groundwire.engine.words import (
    _synonym_lines,
    analyse,
    camel_parts,
    code_names,
    dotted_names,
    fingerprint,
    fingerprint_of_tokens,
    guess_language,
    name_parts,
    query_terms,
    split_words,
    stem_synonyms,
    stem_word,
    synonyms,
    tokenize,
    url_words,
)


def test_a_word_with_two_meanings_has_the_synonyms_of_both() -> None:
    lines = _synonym_lines([("bank", "shore"), ("bank", "branch"), ("branch", "twig")])
    assert lines == ["bank\tshore branch", "branch\tbank twig", "shore\tbank", "twig\tbranch"]


def test_synonyms_are_found_by_word_and_by_stem() -> None:
    assert "delete" in synonyms("remove")
    assert stem_word("delete") in stem_synonyms(stem_word("removing"))
    assert synonyms("xylophone") == stem_synonyms("xylophon") == ()


def test_names_are_taken_apart_at_dots_underscores_and_camel_case() -> None:
    assert name_parts("JSONDecoder.raw_decode") == ["JSON", "Decoder", "raw", "decode"]
    assert name_parts("getUTF8Bytes2") == ["get", "UTF", "8", "Bytes", "2"]
    assert name_parts("größeÄndern") == ["größe", "Ändern"]


def test_names_are_distinguished_from_words() -> None:
    text = "Call json.dumps or raw_decode of a JSONDecoder, e.g. here. See HTTP and 3.11."
    assert code_names(text) == ["json.dumps", "raw_decode", "JSONDecoder", "e.g"]
    assert dotted_names("os.Path.join and x") == ["os.path.join"]
    assert camel_parts("a JSONDecoder of HTTP") == "JSON Decoder"


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
def test_a_url_is_split_into_words(url: str, words: str) -> None:
    assert url_words(url) == words


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
    assert guess_language(text) == language


@given(st.lists(st.text(alphabet="abcÄß9", min_size=1, max_size=6), max_size=12))
def test_the_fingerprint_is_of_the_words_alone(words: list[str]) -> None:
    assert fingerprint(" ".join(words)) == fingerprint("\n* ".join(words).upper() + "!")
    assert fingerprint(" ".join([*words, "more"])) != fingerprint(" ".join(words))


def test_stop_words_are_dropped_unless_the_query_has_no_others() -> None:
    assert parse_query("How do I parse JSON in Python?").words == ("parse", "json", "python")
    assert parse_query("to be or not to be").words == ("to", "be", "or", "not")
    assert parse_query("what does all() do").words == ("all",)
    assert parse_query("the `with` statement").words == ("with", "statement")


def test_a_query_is_parsed_into_words_names_phrases_and_prefixes() -> None:
    parsed = parse_query('json.JSONDecoder "exact words" seri* parse parse')
    assert parsed == ParsedQuery(
        ("json", "jsondecoder", "parse"), ("decoder",), ("json.jsondecoder",), ("exact words",), ("seri",)
    )
    assert not parse_query('"" * ?!')


@given(st.text())
def test_every_query_can_be_read(query: str) -> None:
    parsed = parse_query(query)
    assert len(parsed.words) <= 32
    assert set(parsed.words) <= set(tokenize(query))


def test_with_one_content_word_stop_words_improve_the_ranking() -> None:
    assert parse_query("What does the with statement do?") == ParsedQuery(("statement",), light=("with",))
    assert parse_query("what is a for loop") == ParsedQuery(("loop",), light=("for",))
    assert parse_query("open a file with python").light == ()
    assert parse_query("statement").light == ()


@pytest.mark.parametrize("query", ["how do i sort a list", "loop", "is it", "sort  12 lists "])
def test_plain_words_are_read_as_any_others(query: str) -> None:
    assert parse_query(query) == parse_query(f"{query}?")


def test_adjacent_words_are_joined_into_candidate_names() -> None:
    assert joined_pairs(("current", "date", "time")) == ["currentdate", "datetime"]
    assert joined_pairs(("python", "3")) == []


@given(text=st.text(alphabet="aBcDÄöÿ9_. ", max_size=40))
def test_camel_case_is_detected_at_changes_of_case(text: str) -> None:
    def has_hump(word: str) -> bool:
        pairs = any(one.islower() and other.isupper() for one, other in pairwise(word))
        return pairs or any(
            one.isupper() and two.isupper() and three.islower()
            for one, two, three in zip(word, word[1:], word[2:], strict=False)
        )

    words = re.findall(r"[^\W_]+", text)
    assert camel_parts(text) == " ".join(
        part for word in words if has_hump(word) for part in name_parts(word)
    )


def test_a_whole_question_between_quotation_marks_is_a_question() -> None:
    parsed = parse_query('"When did the first release of the project come out?"')
    assert parsed.phrases == ()
    assert "release" in parsed.words
    assert parse_query('"come out of there"').phrases == ("come out of there",)


@pytest.mark.parametrize(
    "family",
    [
        ("parse", "parses", "parsed", "parsing", "parser", "parsers"),
        ("file", "files"),
        ("copy", "copies", "copying"),
        ("run", "runs", "running"),
        ("day", "days"),
        ("serialize", "serialized", "serialization", "serializing"),
        ("string", "strings"),
        ("datei", "dateien"),
        ("öffnen", "öffne"),
        ("haus", "häuser"),
    ],
)
def test_forms_of_one_word_have_the_same_stem(family: tuple[str, ...]) -> None:
    assert len({stem_word(word) for word in family}) == 1


@pytest.mark.parametrize(
    ("one", "other"), [("string", "strip"), ("data", "date"), ("test", "text"), ("sort", "short")]
)
def test_different_words_have_different_stems(one: str, other: str) -> None:
    assert stem_word(one) != stem_word(other)


def test_names_are_split_at_dots_underscores_and_camel_case() -> None:
    assert split_words("json.dumps read_text ThreadPoolExecutor HTTPServer base64") == (
        ["json", "dumps", "read", "text", "thread", "pool", "executor", "http", "server", "base64"]
    )


def test_chinese_and_japanese_are_compared_in_pairs() -> None:
    assert split_words("東京都 x") == ["東京", "京都", "x"]


def test_stop_words_of_a_question_are_dropped() -> None:
    assert query_terms("How do I parse the JSON file?") == (stem_word("parse"), "json", stem_word("file"))
    assert query_terms("What is it?") == ("what", "is", "it")
    assert query_terms("") == ()


def test_numbers_and_negations_are_separated_from_words() -> None:
    words = analyse("It didn't grow by 1,000 in March 2024, nor 3.5 times.")
    assert words.values == {"1000", "3", "2024", "3.5"}
    assert words.negations == 2
    assert words.stems == {"grow", stem_word("times")}
    assert words.order.count("#") == 4


@pytest.mark.parametrize(
    "forms",
    [
        ("hochladen", "hochgeladen", "hochzuladen"),
        ("ausführen", "ausgeführt", "auszuführen"),
        ("einlesen", "eingelesen", "einzulesen"),
    ],
)
def test_forms_of_a_separable_verb_have_one_stem(forms: tuple[str, ...]) -> None:
    assert len(set(map(stem_word, forms))) == 1


def test_a_mail_address_is_not_read_as_words() -> None:
    assert analyse("Write to people@acme.example today.").stems == analyse("Write to today.").stems


@given(st.text(st.sampled_from("abAB01 _.-–’“…→é")))
def test_camel_case_is_found_alike_in_ascii_and_other_text(text: str) -> None:
    # A letter at the end that is not ASCII does not change the names before it.
    assert camel_parts(f"{text} e") == camel_parts(f"{text} é")


@given(st.text(st.sampled_from("abAB01 _.-–’“…→é")))
def test_typographic_punctuation_separates_words(text: str) -> None:
    spaced = re.sub(r"[^\w]|_", " ", text)
    assert tokenize(text) == spaced.casefold().split()
    assert fingerprint(text) == fingerprint(spaced) == fingerprint_of_tokens(" ".join(tokenize(text)))
