"""Codecs leave no reference cycles: the memory of a stream is free when it has ended, without the garbage
collector, which a gateway runs rarely."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.json import load_json
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.errors import UpstreamWireError
from groundwire.model import ReasoningDelta, Source, ToolCallDelta, assemble
from groundwire.testing.answers import answer_events, encode_answer


def garbage_of(work: Callable[[], object]) -> int:
    """How many objects only the garbage collector can free, once `work` is done."""
    work()  # caches are filled
    gc.disable()
    gc.freeze()  # what other tests have left is never looked at again: that would take seconds
    try:
        work()
        return gc.collect()
    finally:
        gc.enable()


@pytest.mark.parametrize("name", DIALECTS)
def test_neither_decoding_nor_encoding_an_answer_leaves_reference_cycles(name: str) -> None:
    language = dialect(name)
    start, *rest = answer_events("Yes, it does.", Source("https://a.example/", "A"), query="q")
    events = [start, ReasoningDelta(20, "Hm."), *rest[:-1], ToolCallDelta(21, "c", "f", "{}"), rest[-1]]
    encoded = encode_answer(name, events)
    document = load_json(encoded.whole, UpstreamWireError)
    assert isinstance(document, dict)

    def decode_stream() -> None:
        decoder = language.decoder()
        for start in range(0, len(encoded.stream), 64):
            decoder.feed(encoded.stream[start : start + 64])
        decoder.close()

    def encode_stream() -> None:
        encoder = language.encoder(Reply())
        encoder.feed_all(events)
        encoder.close()

    assert garbage_of(decode_stream) == 0
    assert garbage_of(lambda: language.decode_response(document)) == 0
    assert garbage_of(encode_stream) == 0
    assert garbage_of(lambda: language.encode_response(assemble(events), Reply())) == 0
