"""Offsets are read in the unit their wire counts in, also where nothing else tells the place."""

from __future__ import annotations

import pytest

from groundwire.dialects.registry import dialect
from groundwire.model import JsonObject, assemble
from tests.contracts.recorded.catalogue import READERS, Recording, body_of, recordings_of, told_by
from tests.contracts.recorded.doubling import doubled, shifted
from tests.contracts.recorded.told import Told

PLACED = [
    recording
    for recording in recordings_of("body", "stream")
    if recording.dialect != "anthropic_messages"
    and any(mention.place is not None for mention in told_by(recording).mentions)
]
LINKED = [recording for recording in PLACED if recording.dialect.startswith("openai")]


def _check(body: JsonObject, owner: str, told: Told) -> None:
    answer = assemble(dialect(owner).decode_response(body))
    cited = {(citation.span, item.source.url) for citation in answer.citations for item in citation.evidence}
    assert answer.text == told.text
    assert not told.mentions or cited == {(mention.place, mention.url) for mention in told.mentions}


@pytest.mark.parametrize("recording", PLACED, ids=lambda recording: recording.name)
def test_offsets_alone_find_the_place_in_a_text_that_says_all_twice(recording: Recording) -> None:
    body = doubled(body_of(recording), recording.dialect)
    _check(body, recording.dialect, READERS[recording.dialect].read(body))


@pytest.mark.parametrize("recording", LINKED, ids=lambda recording: recording.name)
@pytest.mark.parametrize("by", [-3, 3])
def test_offsets_that_cut_a_link_in_two_mean_the_link(recording: Recording, by: int) -> None:
    _check(shifted(body_of(recording), by), recording.dialect, told_by(recording))
