"""Batches: which events are content, and which batches keep the fast path."""

from __future__ import annotations

from groundwire.model import Finished, ReasoningDelta, Started, TextDelta, Warned
from groundwire.model.batch import FastPath, OpeningBatch, is_content, with_path_of


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
