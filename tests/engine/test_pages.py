"""Text is cut into passages without a loss."""

from __future__ import annotations

from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from groundwire.engine.pages import LONGEST_PASSAGE, SHORTEST_PASSAGE, split_passages, strip_passage

_SIGNS = st.sampled_from("aB .!?\n\n\t,;\u2028。東🗼é\x00")
_SENTENCES = st.lists(
    st.text(alphabet="abcdefg hij", min_size=5, max_size=150).map(lambda words: f"The {words.strip()} end.")
)


@given(st.text(max_size=50) | st.lists(st.text(_SIGNS, max_size=900), max_size=8).map("".join))
def test_passages_are_contiguous_and_cover_the_text(text: str) -> None:
    ranges = list(split_passages(text))
    assert "".join(text[start:end] for start, end in ranges) == text
    assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])]
    assert all(end - start <= LONGEST_PASSAGE for start, end in ranges)
    assert all(end - start >= SHORTEST_PASSAGE for start, end in ranges[:-1])


@given(_SENTENCES, st.sampled_from([" ", "\n", "\n\n"]))
def test_sentences_are_not_cut(sentences: list[str], between: str) -> None:
    text = between.join(sentences)
    for start, end in list(split_passages(text))[:-1]:
        assert text[start:end].strip().endswith("end.")


def test_paragraphs_that_fit_are_not_split() -> None:
    text = "\n\n".join("A sentence of some words. " * 26 for _ in range(5))
    assert [text[start:end].count("\n\n") for start, end in split_passages(text)] == [1, 1, 1, 1, 0]


def test_an_abbreviated_name_does_not_end_a_sentence() -> None:
    text = "word " * 130 + "Written by J. R. Smith and others " + "word " * 100
    (_, end), *_ = split_passages(text)
    assert not text[:end].rstrip().endswith(("J.", "R."))


def test_a_text_without_borders_is_cut_anyway() -> None:
    assert list(split_passages("x" * 2500)) == [(0, 1000), (1000, 2000), (2000, 2500)]


@given(st.text())
def test_trimming_returns_the_offset_of_the_first_word(piece: str) -> None:
    before, words = strip_passage(piece)
    assert words == piece.strip()
    assert piece[before : before + len(words)] == words


def test_the_cost_grows_with_the_text_alone() -> None:
    def cost(text: str) -> float:
        start = process_time()
        assert sum(1 for _ in split_passages(text)) > 1
        return process_time() - start

    for character in (" ", "\n", ".", "x", '."', "A. "):
        small, large = min(cost(character * 20_000) for _ in range(3)), cost(character * 400_000)
        assert large < 200 * small + 0.1
