"""Batches: which events are content, and which batches keep the fast path."""

from __future__ import annotations

from groundwire.model import Event, Finished, ReasoningDelta, Started, TextDelta, Warned
from groundwire.model.batch import FastPath, OpeningBatch, TextRun, is_content, join_texts, with_path_of


def test_only_deltas_of_text_and_reasoning_are_content() -> None:
    assert is_content([TextDelta(0, "a"), ReasoningDelta(1, "b")])
    for other in (Started(), Warned("x", "y"), Finished()):
        assert not is_content([TextDelta(0, "a"), other])


def test_a_changed_batch_loses_the_fast_path_unless_it_is_given_on() -> None:
    path = FastPath()
    batch = OpeningBatch([Started()], path)
    kept = with_path_of(batch, [TextDelta(0, "a")])
    assert isinstance(kept, OpeningBatch)
    assert (kept.fast_path, list(kept)) == (path, [TextDelta(0, "a")])
    assert not isinstance(with_path_of([Started()], [Started()]), OpeningBatch)


def test_consecutive_texts_of_a_part_are_joined() -> None:
    events: list[Event | TextRun] = [
        TextDelta(0, "a"),
        TextRun(0, ["b", "c"]),
        ReasoningDelta(0, "d"),
        ReasoningDelta(0, "e"),
    ]
    assert join_texts(events) == [TextDelta(0, "abc"), ReasoningDelta(0, "de")]


def test_texts_of_other_parts_and_phases_and_texts_around_other_events_are_not_joined() -> None:
    events: list[Event] = [
        TextDelta(0, "a"),
        TextDelta(1, "b"),
        TextDelta(1, "c", "commentary"),
        Started(),
        Started(),
    ]
    events += [TextDelta(1, "d", "commentary"), Finished()]
    assert join_texts(events) == events


def test_a_joined_text_has_a_limited_length_however_its_pieces_arrive() -> None:
    texts = ["ab", "cd", "e", "fghijk", "", "l"]
    expected = [TextDelta(0, text) for text in ("abcd", "e", "fghijk", "l")]
    assert join_texts([TextDelta(0, text) for text in texts], 4) == expected
    assert join_texts([TextRun(0, texts)], 4) == expected
    assert join_texts([TextRun(0, texts[:2]), TextRun(0, texts[2:])], 4) == expected
