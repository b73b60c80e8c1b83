"""Words: stems that meet, values, denials."""

from __future__ import annotations

import pytest

from groundwire.engine.compose.words import query_words, read_words, split_words, stem_of


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
def test_forms_of_one_word_meet(family: tuple[str, ...]) -> None:
    assert len({stem_of(word) for word in family}) == 1


@pytest.mark.parametrize(
    ("one", "other"), [("string", "strip"), ("data", "date"), ("test", "text"), ("sort", "short")]
)
def test_different_words_do_not_meet(one: str, other: str) -> None:
    assert stem_of(one) != stem_of(other)


def test_names_are_split_at_dots_underscores_and_humps() -> None:
    assert split_words("json.dumps read_text ThreadPoolExecutor HTTPServer base64") == (
        ["json", "dumps", "read", "text", "thread", "pool", "executor", "http", "server", "base64"]
    )


def test_chinese_and_japanese_are_compared_in_pairs() -> None:
    assert split_words("東京都 x") == ["東京", "京都", "x"]


def test_a_question_asks_about_what_carries_meaning() -> None:
    assert query_words("How do I parse the JSON file?") == (stem_of("parse"), "json", stem_of("file"))
    assert query_words("What is it?") == ("what", "is", "it")
    assert query_words("") == ()


def test_values_and_denials_are_kept_apart_from_words() -> None:
    words = read_words("It didn't grow by 1,000 in March 2024, nor 3.5 times.")
    assert words.values == {"1000", "3", "2024", "3.5"}
    assert words.negations == 2
    assert words.stems == {"grow", stem_of("times")}
    assert words.order.count("#") == 4
