"""The history is searched by words, and truncated when a question is asked again."""

from __future__ import annotations

import pytest

from groundwire.model import Answer, Message, Text
from groundwire.store.base import Session, Store, StoredMessage

pytestmark = pytest.mark.server

NOW = "2026-03-01T00:00:0{}+00:00"


def fill(store: Store) -> None:
    texts = [
        "Der Straßenbau 100% fertig",
        "nothing of note",
        "日本語の本 and 50_50",
        "a % sign and an ! mark",
    ]
    for owner in ("", "other"):
        store.put_session(Session(f"s{owner}", "a", owner, "t", NOW.format(0), NOW.format(0)))
        for number, text in enumerate(texts):
            content = Message("user", (Text(text),)) if number % 2 == 0 else Answer((Text(text),))
            name = f"{owner}m{number}"
            store.add_message(StoredMessage(name, f"s{owner}", content, created=NOW.format(number)))


def find(store: Store, words: str, owner: str = "") -> list[str]:
    return [message.id for message in store.find_messages(words, owner)]


def test_messages_are_found_by_all_query_words_in_any_case_and_script(store: Store) -> None:
    fill(store)
    assert find(store, "strassenbau FERTIG") == ["m0"]
    assert find(store, "nothing fertig") == []
    assert find(store, "日本語") == ["m2"]
    assert find(store, "NOTE") == ["m1"]
    assert find(store, "no") == ["m1"]
    assert find(store, "") == []


def test_the_last_query_word_may_be_a_prefix_and_the_others_are_whole_words(store: Store) -> None:
    fill(store)
    assert find(store, "strassenbau fert") == ["m0"]
    assert find(store, "strass fertig") == []
    assert find(store, "of not") == ["m1"]


def test_words_between_quotation_marks_are_a_phrase(store: Store) -> None:
    fill(store)
    assert find(store, '"100% fertig"') == ["m0"]
    assert find(store, '"fertig 100%"') == []
    assert find(store, '"der Straßenbau" „100 % fertig“') == ["m0"]
    assert find(store, '"strassenbau 100" "der fertig"') == []
    assert find(store, '"nothing of" no') == ["m1"]
    assert find(store, '"nothing of no') == ["m1"]
    assert find(store, '"nothing of no"') == []


@pytest.mark.parametrize("query", ["strasse über", "STRASSE UBER", "straße u\u0308ber", "Ｓtraße über"])
def test_accents_and_unicode_forms_are_ignored(query: str, store: Store) -> None:
    store.put_session(Session("s", "a", "", "t", NOW.format(0), NOW.format(0)))
    texts = ("Die Straße führt über Köln", "Die STRASSE FÜHRT U\u0308BER KÖLN")
    for number, text in enumerate(texts):
        store.add_message(StoredMessage(f"m{number}", "s", Message("user", (Text(text),))))
    assert find(store, query) == ["m1", "m0"]
    assert find(store, '"fuhrt uber" köl') == ["m1", "m0"]


@pytest.mark.parametrize(
    "text",
    ["\U00010570\U00010571", "हिन्दी में", "ไทยแลนด์", "한국어 텍스트", "カタカナ", "naïve café", "½ m²", "𝕏 ٣٤"],
)
def test_words_of_every_script_are_found(text: str, store: Store) -> None:
    store.put_session(Session("s", "a", "", "t", NOW.format(0), NOW.format(0)))
    store.add_message(StoredMessage("m", "s", Message("user", (Text(f"It says {text} there"),))))
    store.add_message(StoredMessage("n", "s", Message("user", (Text("It says nothing there"),))))
    assert find(store, text) == ["m"]
    assert find(store, f'"says {text} there"') == ["m"]


@pytest.mark.parametrize(
    "query",
    [
        "% _ !",
        "' OR 1=1 --",
        '" OR words : "',
        "owner : *",
        "nothing AND NOT fertig",
        "a & !b | (c",
        "x:*",
        "\x00\ud800",
        "'",
        '"',
        "NEAR(nothing note, 1)",
    ],
)
def test_operators_of_query_languages_are_plain_characters(query: str, store: Store) -> None:
    fill(store)
    assert find(store, query) == []


def test_many_hits_are_ordered_newest_first_and_phrases_are_found_among_all_of_them(store: Store) -> None:
    store.put_session(Session("s", "a", "", "t", NOW.format(0), NOW.format(0)))
    for number in range(60):
        text = "one two" if number == 3 else "two one"
        store.add_message(StoredMessage(f"m{number}", "s", Message("user", (Text(text),))))
    assert [message.id for message in store.find_messages("one two", "", limit=3)] == ["m59", "m58", "m57"]
    assert [message.id for message in store.find_messages('"one two"', "", limit=3)] == ["m3"]
    assert [message.id for message in store.find_messages('"two one" "one two"', "", limit=3)] == []


def test_a_message_of_any_length_is_stored_and_found_by_its_first_words(store: Store) -> None:
    store.put_session(Session("s", "a", "", "t", NOW.format(0), NOW.format(0)))
    text = "beginning " + " ".join(f"wörtlich{number}" for number in range(120_000)) + " " + "x" * 5000
    store.add_message(StoredMessage("m", "s", Message("user", (Text(text),))))
    assert find(store, "beginning wortlich77") == ["m"]
    assert store.messages("s")[0].content.text == text


def test_removed_messages_are_not_found(store: Store) -> None:
    fill(store)
    store.cut_messages("s", 3)
    assert find(store, "日本語") == []
    assert find(store, "fertig") == ["m0"]
    store.remove_session("s")
    assert find(store, "fertig") == []
    assert find(store, "fertig", "other") == ["otherm0"]


def test_messages_of_other_owners_are_not_found(store: Store) -> None:
    fill(store)
    assert find(store, "fertig", "other") == ["otherm0"]
    assert find(store, "fertig", "third") == []


def test_an_updated_message_is_found_by_its_new_words(store: Store) -> None:
    fill(store)
    store.add_message(StoredMessage("m1", "s", Answer((Text("something else"),)), created=NOW.format(5)))
    assert find(store, "note") == []
    assert find(store, "else") == ["m1"]


def test_a_truncated_session_continues_after_its_last_message(store: Store) -> None:
    fill(store)
    store.cut_messages("s", 2)
    assert [message.id for message in store.messages("s")] == ["m0"]
    assert len(store.messages("sother")) == 4
    again = store.add_message(StoredMessage("m9", "s", Answer(), created=NOW.format(6)))
    assert again.number == 2
