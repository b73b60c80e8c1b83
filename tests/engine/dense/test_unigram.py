"""The unigram tokenizer, with a vocabulary of a few pieces."""

from __future__ import annotations

import pytest

from groundwire.engine.dense.unigram import BEGIN, END, UNKNOWN, UnigramTokenizer, split_words

PIECES = {"<unk>": 0, "<s>": 1, "</s>": 2, "▁": 3, "▁read": 4, "▁re": 5, "ad": 6, "ing": 7, "▁a": 8, "é": 9}
SCORES = [0.0, 0.0, 0.0, -5.0, -3.0, -2.0, -2.0, -1.0, -1.0, -4.0]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("read", [4]),  # -3 is better than -2 and -2
        ("reading", [4, 7]),
        ("  a \t\n read\u200b", [8, 4]),
        ("e\u0301", [3, 9]),
        ("readx", [4, UNKNOWN]),
        ("", [UNKNOWN]),
    ],
)
def test_the_segmentation_with_the_highest_score_is_chosen(text: str, ids: list[int]) -> None:
    assert UnigramTokenizer(PIECES, SCORES).ids(text) == [BEGIN, *ids, END]


def test_words_are_normalised_and_separated_by_any_white_space() -> None:
    assert split_words("ﬁx\u00a0the\u2028Größe") == ["▁fix", "▁the", "▁Größe"]
    assert split_words(" \n") == []
