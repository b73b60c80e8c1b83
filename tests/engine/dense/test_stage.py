"""Search by meaning keeps the rules of a search, and chooses the encoder by the languages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest

from groundwire.engine.dense import build
from groundwire.engine.dense.build import complete_vectors
from groundwire.engine.dense.cross_encoder import CrossEncoder
from groundwire.engine.dense.stage import DenseStage, question_language
from groundwire.engine.dense.vector_file import DamagedVectors, vectors_path
from groundwire.engine.index.base import Index
from groundwire.engine.index.location import open_index
from groundwire.engine.knowledge.purposes import purpose_index
from groundwire.engine.pages import Page, Passage
from groundwire.model import SearchOptions
from groundwire.model.value import replace
from tests.engine.dense.fakes import PHRASES, FakeEncoder, fake_encoders

ANY = SearchOptions()
HOLIDAYS = Page(
    "https://team.example/holidays", "Time off", "Everybody has 28 vacation days.", "2024-05-01", "en"
)
EXPENSES = Page(
    "https://team.example/expenses", "Travel", "Send your expenses within a month.", "2022-01-01", "en"
)
URLAUB = Page("https://firma.example/urlaub", "Freizeit", "Alle haben 28 Tage Urlaub.", "", "de")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    monkeypatch.setattr(build, "purpose_phrases", lambda: PHRASES)
    with open_index(tmp_path / "index") as opened:
        yield opened


def stage_of(index: Index, *encoders: FakeEncoder) -> DenseStage:
    """All vectors are computed first."""

    def finder(models: Path) -> list[FakeEncoder]:
        return list(encoders) or fake_encoders(models)

    complete_vectors(index, finder=finder)
    store = index.passage_store()
    assert store is not None
    return DenseStage(store, store.folder, finder)


def urls(stage: DenseStage, query: str, options: SearchOptions = ANY, limit: int = 10) -> list[str]:
    return [passage.url for passage in stage.search(query, options, limit)]


def test_a_page_without_a_word_of_the_question_is_found(index: Index) -> None:
    index.put([EXPENSES, HOLIDAYS])
    stage = stage_of(index)
    assert index.search("Ferien") == []
    found = stage.search("Ferien", ANY, 5)
    assert found[0].url == HOLIDAYS.url
    assert found[0].text == HOLIDAYS.text
    assert found[0].score > 0.5 > found[1].score


def test_passages_that_were_found_by_words_have_the_similarity_that_a_search_would_give_them(
    index: Index,
) -> None:
    index.put([EXPENSES, HOLIDAYS])
    stage = stage_of(index)
    by_words = index.search("vacation days")
    (similarity,) = stage.similarities("Ferien", by_words)
    assert similarity == pytest.approx(stage.search("Ferien", ANY, 1)[0].score)
    unknown = Passage("https://x.example/", "New", "Stored later.", 0)
    assert stage.similarities("Ferien", [unknown]) == [None]


def test_restrictions_hold_also_if_few_pages_meet_them(index: Index) -> None:
    others = [
        Page(f"https://other.example/{n}", f"Vacation {n}", f"Vacation number {n}.") for n in range(2500)
    ]
    index.put([*others, HOLIDAYS, EXPENSES, URLAUB])
    stage = stage_of(index)
    assert len(urls(stage, "vacation")) == 10
    only = SearchOptions(allowed_domains=("team.example",))
    assert urls(stage, "vacation", only) == [HOLIDAYS.url, EXPENSES.url]
    path = SearchOptions(allowed_domains=("team.example/expenses",))
    assert urls(stage, "vacation", path) == [EXPENSES.url]
    assert urls(stage, "vacation", SearchOptions(since="2024-01-01")) == [HOLIDAYS.url]
    assert urls(stage, "vacation", SearchOptions(until="2023-01-01")) == [EXPENSES.url]
    blocked = SearchOptions(blocked_domains=("other.example", "team.example"))
    assert urls(stage, "vacation", blocked) == [URLAUB.url]


def test_the_order_is_by_meaning_and_a_requested_language_comes_first(index: Index) -> None:
    plain = Page("https://plain.example/", "Notes", "Some words about a day without work.")
    index.put([plain, HOLIDAYS, URLAUB])
    stage = stage_of(index)
    assert urls(stage, "vacation days")[0] == HOLIDAYS.url
    assert urls(stage, "vacation days")[-1] == plain.url
    assert urls(stage, "vacation days", SearchOptions(language="de-AT"))[0] == URLAUB.url


def test_at_most_three_passages_of_a_page_and_equal_pages_once(index: Index) -> None:
    texts = "\n\n".join(f"Vacation {n}. " + "Words. " * 100 for n in range(6))
    long = Page("https://a.example/long", "Long", texts)
    copy = Page("https://b.example/copy", "Time off", HOLIDAYS.text)
    index.put([long, HOLIDAYS, copy])
    found = urls(stage_of(index), "vacation")
    assert found.count(long.url) == 3
    assert len({HOLIDAYS.url, copy.url} & set(found)) == 1


def test_removed_and_changed_pages_never_come_back(index: Index) -> None:
    index.put([HOLIDAYS, EXPENSES, URLAUB])
    stage = stage_of(index)
    index.remove(urls=[HOLIDAYS.url])
    index.put([Page(URLAUB.url, "Freizeit", "Passwort vergessen?", language="de")])
    assert urls(stage, "vacation") == [EXPENSES.url]
    complete_vectors(index, finder=fake_encoders)
    assert urls(stage, "login")[0] == URLAUB.url


def test_an_english_question_uses_the_english_encoder_and_finds_other_pages_with_the_multilingual_one(
    index: Index,
) -> None:
    english, multilingual = FakeEncoder("english/1", ("en",)), FakeEncoder("multilingual/1")
    index.put([HOLIDAYS, EXPENSES, URLAUB])
    stage = stage_of(index, english, multilingual)
    assert URLAUB.text not in " ".join(english.encoded)
    english.encoded.clear()
    multilingual.encoded.clear()
    question = "how many vacation days do I have"
    assert set(urls(stage, question)) == {HOLIDAYS.url, EXPENSES.url, URLAUB.url}
    assert english.encoded == multilingual.encoded == [question]
    frage = "Wie viele Ferien habe ich?"
    assert urls(stage, frage)[0] in (HOLIDAYS.url, URLAUB.url)
    assert english.encoded == [question]


@pytest.mark.parametrize("languages", [("en",), ()], ids=["english", "multilingual"])
def test_one_encoder_is_enough(index: Index, languages: tuple[str, ...]) -> None:
    index.put([HOLIDAYS, EXPENSES])
    stage = stage_of(index, FakeEncoder("one/1", languages))
    assert urls(stage, "what about the holiday")[0] == HOLIDAYS.url
    assert bool(urls(stage, "Wie viele Ferien habe ich?")) == (languages == ())


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("how do I read a file", "en"),
        ("sort dict by value", "en"),
        ("Wie lese ich eine Datei?", "de"),
        ("größte Zahl", ""),
        ("comment lire un fichier csv", ""),
        ("como puedo ordenar una lista", ""),
        ("come posso leggere il contenuto di un file", ""),
        ("como eu posso ler um arquivo", ""),
        ("hoe kan ik een bestand lezen", ""),
        ("jak czytac plik csv i jaki jest wynik", ""),
        ("bir dosya nasil okunur", ""),
        ("what is que in a list called la", "en"),
        ("json.dumps un escape", "en"),
    ],
)
def test_a_question_is_english_unless_it_is_seen_not_to_be(query: str, language: str) -> None:
    assert question_language(query) == language


def test_purposes_are_found_by_meaning(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    purposes = [purpose for purpose in purpose_index().purposes if purpose.target == "os.walk"]
    monkeypatch.setattr(build, "purpose_phrases", lambda: [*PHRASES, *(item.phrase for item in purposes)])
    index.put([HOLIDAYS])
    (found,) = stage_of(index).purposes(purposes[0].phrase, 3)[:1]
    assert (found.target, found.phrase) == ("os.walk", purposes[0].phrase)
    assert found.similarity == pytest.approx(1.0, abs=0.02)


def test_a_name_is_close_if_the_phrases_about_it_are_close_in_meaning(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    phrases = [item.phrase for item in purpose_index().purposes if item.target == "os.walk"]
    monkeypatch.setattr(build, "purpose_phrases", lambda: phrases)
    index.put([HOLIDAYS])
    near, without, unknown = stage_of(index).purpose_closeness(
        phrases[0], ["os.walk", "math.sqrt", "no name"]
    )
    assert near is not None
    assert 0 < near <= 1
    assert without is None, "its phrases have no vectors yet"
    assert unknown is None


@pytest.mark.parametrize("is_fast", [True, False])
def test_passages_whose_vectors_are_still_missing_are_encoded_if_that_is_fast(
    index: Index, *, is_fast: bool
) -> None:
    index.put([HOLIDAYS])
    stage = stage_of(index, FakeEncoder(is_fast=is_fast))
    (stored,) = index.search("vacation")
    new = Passage(EXPENSES.url, EXPENSES.title, EXPENSES.text, 0)
    unread = Passage("https://team.example/unread", "Vacation", "", 0)
    known, computed, unknown = stage.similarities("Ferien", [stored, new, unread])
    assert known is not None
    assert unknown is None
    assert (computed is not None and computed < known) == is_fast


def test_damaged_vectors_are_reported_and_computed_again(index: Index) -> None:
    index.put([HOLIDAYS])
    stage = stage_of(index)
    store = index.passage_store()
    assert store is not None
    vectors_path(store.folder, "fake/1").write_bytes(b"no vectors")
    with pytest.raises(DamagedVectors, match="is damaged"):
        stage.search("vacation", ANY, 5)
    assert complete_vectors(index, finder=fake_encoders) == 1
    assert urls(stage, "vacation") == [HOLIDAYS.url]


def test_the_closest_sentence_of_a_passage_is_found(index: Index) -> None:
    text = (
        "Rules for everybody.\n\nLogin names are short. Everyone has 28 days of vacation. Ask the team first."
    )
    stage = stage_of(index, FakeEncoder(is_fast=True))
    passages = [Passage("https://team.example/rules", "Rules", part, 0) for part in (text, "", "Spesen.")]
    found, nothing, expenses = stage.closest_sentences("Ferien", passages)
    assert found is not None
    assert text[found.start : found.end] == "Everyone has 28 days of vacation."
    assert nothing is None
    assert expenses is not None
    assert found.similarity > expenses.similarity


def test_sentences_are_encoded_once_and_only_by_an_encoder_that_is_fast(index: Index) -> None:
    passage = Passage("https://team.example/rules", "Rules", "Everyone has 28 days of vacation.", 0)
    fast, slow = FakeEncoder(is_fast=True), FakeEncoder()
    stage = stage_of(index, fast)
    first = stage.closest_sentences("Ferien", [passage])
    encoded = len(fast.encoded)
    assert stage.closest_sentences("Ferien", [passage]) == first
    assert len(fast.encoded) == encoded
    assert stage_of(index, slow).closest_sentences("Ferien", [passage]) == [None]
    assert passage.text not in slow.encoded


class FakeCrossEncoder:
    """Finds that a passage answers a question if it has its last word."""

    def log_odds(self, question: str, passages: Sequence[str]) -> list[float]:
        word = question.rsplit(maxsplit=1)[-1]
        return [3.0 if word in passage else -3.0 for passage in passages]


def test_question_and_passage_are_read_together_in_english(index: Index) -> None:
    index.put([HOLIDAYS])
    store = index.passage_store()
    assert store is not None
    loaded: list[FakeCrossEncoder] = []

    def load() -> CrossEncoder:
        loaded.append(FakeCrossEncoder())
        return cast("CrossEncoder", loaded[-1])

    stage = DenseStage(store, store.folder, fake_encoders, load)
    pages = [HOLIDAYS, EXPENSES, URLAUB, replace(URLAUB, language="fr")]
    passages = [Passage(page.url, page.title, page.text, 0, language=page.language) for page in pages]
    assert stage.answer_odds("combien de jours de vacances est-ce que j'ai", passages) == [None] * 4
    assert not loaded
    assert stage.answer_odds("what about my expenses", passages) == [-3.0, 3.0, -3.0, None]
    assert stage.answer_odds("how long is the vacation", passages) == [3.0, -3.0, 3.0, None]
    assert stage.answer_odds("wie viele Tage", passages) == [3.0, -3.0, 3.0, None]
    assert len(loaded) == 1
    without = DenseStage(store, store.folder, fake_encoders)
    assert without.answer_odds("how long is the vacation", passages) == [None] * 4
