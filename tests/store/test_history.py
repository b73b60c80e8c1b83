"""History is searched by words, and cut where somebody asks again."""

from __future__ import annotations

from groundwire.model import Answer, Message, Text
from groundwire.store.base import Session, Store, StoredMessage

NOW = "2026-03-01T00:00:0{}+00:00"


def filled(store: Store) -> None:
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


def found(store: Store, words: str, owner: str = "") -> list[str]:
    return [message.id for message in store.find_messages(words.split(), owner)]


def test_turns_are_found_by_all_their_words_in_any_case_and_script(store: Store) -> None:
    filled(store)
    assert found(store, "strassenbau FERTIG") == ["m0"]
    assert found(store, "nothing fertig") == []
    assert found(store, "日本語") == ["m2"]
    assert found(store, "NOTE") == ["m1"]
    assert found(store, "no") == ["m1"]
    assert found(store, "") == []


def test_signs_of_patterns_are_only_signs(store: Store) -> None:
    filled(store)
    assert found(store, "100%") == ["m0"]
    assert found(store, "%") == ["m3", "m0"]
    assert found(store, "50_50") == ["m2"]
    assert found(store, "_") == ["m2"]
    assert found(store, "!") == ["m3"]
    assert found(store, "' OR 1=1 --") == []


def test_nobody_finds_what_another_said(store: Store) -> None:
    filled(store)
    assert found(store, "fertig", "other") == ["otherm0"]
    assert found(store, "fertig", "third") == []


def test_what_was_renewed_is_found_by_its_new_words(store: Store) -> None:
    filled(store)
    store.add_message(StoredMessage("m1", "s", Answer((Text("something else"),)), created=NOW.format(5)))
    assert found(store, "note") == []
    assert found(store, "else") == ["m1"]


def test_a_session_is_cut_and_goes_on_from_there(store: Store) -> None:
    filled(store)
    store.cut_messages("s", 2)
    assert [message.id for message in store.messages("s")] == ["m0"]
    assert len(store.messages("sother")) == 4
    again = store.add_message(StoredMessage("m9", "s", Answer(), created=NOW.format(6)))
    assert again.number == 2
