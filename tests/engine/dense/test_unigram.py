"""The unigram tokenizer, with a vocabulary of a few pieces."""

from __future__ import annotations

import pytest

from groundwire.engine.dense.unigram import BEGIN, END, UNKNOWN, UnigramTokenizer, encode_pieces, split_words

np = pytest.importorskip("numpy")

PIECES = ("<unk>", "<s>", "</s>", "▁", "▁read", "▁re", "ad", "ing", "▁a", "é")
SCORES = np.array([0.0, 0.0, 0.0, -5.0, -3.0, -2.0, -2.0, -1.0, -1.0, -4.0], np.float32)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("read", [4]),  # -3 is better than -2 and -2
        ("reading", [4, 7]),
        ("  a \t\n read\u200b", [8, 4]),
        ("e\u0301", [3, 9]),
        ("readx", [4, UNKNOWN]),
        ("", [UNKNOWN]),
        ("a\ud800", [8, UNKNOWN]),
    ],
)
def test_the_segmentation_with_the_highest_score_is_chosen(text: str, ids: list[int]) -> None:
    assert UnigramTokenizer(encode_pieces(PIECES), SCORES).ids(text) == [BEGIN, *ids, END]


def test_words_are_normalised_and_separated_by_any_white_space() -> None:
    assert split_words("ﬁx\u00a0the\u2028Größe") == ["▁fix", "▁the", "▁Größe"]
    assert split_words(" \n") == []
