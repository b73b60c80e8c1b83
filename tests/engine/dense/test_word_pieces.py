"""The WordPiece tokenizer, with a vocabulary of a few pieces."""

from __future__ import annotations

import pytest

from groundwire.engine.dense.word_pieces import Vocabulary, WordPieceTokenizer, split_words

NAMES = ["[UNK]", "[CLS]", "[SEP]", "read", "##ing", "##er", "re", "##ad", "a", ".", "(", "中", "ecole"]


def tokenizer(longest: int) -> WordPieceTokenizer:
    return WordPieceTokenizer(Vocabulary("\n".join(NAMES).encode()), longest)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Reading", "read ##ing"),
        ("reader re", "read ##er re"),
        ("read(a).", "read ( a [UNK] ."),
        ("readx", "[UNK]"),
        ("a\u00ada \t a", "[UNK] a"),
        ("中a中", "中 a 中"),
        ("École e\u0301cole", "ecole ecole"),
        ("a" * 101, "[UNK]"),
        ("", ""),
    ],
)
def test_words_are_cut_into_the_longest_known_pieces(text: str, pieces: str) -> None:
    ids = tokenizer(100).ids(text)
    assert [NAMES[number] for number in ids] == ["[CLS]", *pieces.split(), "[SEP]"]


def test_a_long_text_is_cut_off_and_still_ends_with_its_mark() -> None:
    ids = tokenizer(8).ids("reading " * 50)
    assert [NAMES[number] for number in ids] == ["[CLS]", *["read", "##ing"] * 3, "[SEP]"]


def test_punctuation_of_any_script_is_a_word_of_its_own() -> None:
    assert split_words("„Größe“ – ok…") == ["„", "große", "“", "–", "ok", "…"]


def test_pieces_have_the_same_ids_however_many_are_looked_up() -> None:
    vocabulary = Vocabulary("\n".join([*NAMES, ""]).encode())
    for _ in range(30):  # the first are searched for, the last are in a dictionary
        assert [vocabulary.id_of(name) for name in NAMES] == list(range(len(NAMES)))
        assert [vocabulary.id_of(name) for name in ("rea", "##", "", "中a", "\ud800")] == [None] * 5


def test_a_vocabulary_without_marks_is_not_one() -> None:
    with pytest.raises(ValueError, match="CLS"):
        WordPieceTokenizer(Vocabulary(b"[UNK]\n[SEP]"), 8)
