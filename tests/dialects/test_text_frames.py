"""Frames of text are decoded alike, whether msgspec reads them in one form or the standard library reads
them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.dialects.json import STANDARD, JsonLibrary, msgspec_library, use_library
from groundwire.dialects.registry import dialect
from groundwire.model import Event

MSGSPEC = msgspec_library()

CHUNK = {
    "candidates": [{"content": {"parts": [{"text": "b"}], "role": "model"}, "index": 0}],
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2},
    "modelVersion": "m",
    "responseId": "r",
}
DELTA = {
    "type": "response.output_text.delta",
    "item_id": "m1",
    "output_index": 0,
    "content_index": 0,
    "delta": "b",
    "logprobs": [],
    "sequence_number": 7,
}
OPENED: list[Mapping[str, object]] = [
    {"type": "response.created", "response": {"id": "r", "model": "m"}},
    {"type": "response.output_item.added", "output_index": 0, "item": {"id": "m1", "type": "message"}},
    {
        "type": "response.content_part.added",
        "output_index": 0,
        "content_index": 0,
        "part": {"type": "output_text"},
    },
    DELTA,
]
STREAMS: Mapping[str, tuple[Sequence[Mapping[str, object]], Mapping[str, object]]] = {
    "gemini": ([CHUNK], CHUNK),
    "openai_responses": (OPENED, DELTA),
}

ODD = st.sampled_from(
    [
        *("null", "true", "0", "1", "0.0", "1.5", "1000000000000000000000000000000", "-1", '""', "[]", "{}"),
        *("[{}]", '{"text":"x"}', '"\\ud800"', '"ä\u2028\U0001f600"'),
    ]
)
"""JSON texts."""
CHANGES = st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["set", "drop", "add"]), ODD), max_size=3)


@contextmanager
def using(library: JsonLibrary) -> Iterator[None]:
    use_library(library)
    try:
        yield
    finally:
        use_library(MSGSPEC)


def places(value: object) -> Iterator[tuple[dict[str, object] | list[object], str | int]]:
    """Every object and list in a document, with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key  # type: ignore[misc]
        yield from places(item)


def changed(document: Mapping[str, object], changes: list[tuple[int, str, str]]) -> object:
    copy = json.loads(json.dumps(document))
    for number, how, odd in changes:
        found = list(places(copy))
        if not found:
            break
        holder, key = found[number % len(found)]
        if how == "set":
            holder[key] = json.loads(odd)  # type: ignore[index]
        elif how == "drop":
            del holder[key]  # type: ignore[arg-type]
        elif isinstance(holder, dict):
            holder["new"] = json.loads(odd)
    return copy


def decoded(name: str, documents: list[object], library: JsonLibrary) -> list[Event]:
    data = b"".join(b"data: %s\n\n" % json.dumps(document).encode() for document in documents)
    with using(library):
        decoder = dialect(name).decoder()
        return [*decoder.feed(data), *decoder.close()]


@pytest.mark.parametrize("name", STREAMS)
@given(CHANGES, CHANGES)
def test_a_text_frame_in_any_shape_is_decoded_as_the_standard_library_reads_it(
    name: str, first: list[tuple[int, str, str]], second: list[tuple[int, str, str]]
) -> None:
    opening, frame = STREAMS[name]
    documents = [*opening, changed(frame, first), frame, changed(frame, second)]
    ours, theirs = decoded(name, documents, MSGSPEC), decoded(name, documents, STANDARD)
    assert repr(ours) == repr(theirs)


def test_a_stream_of_another_form_is_not_tried_again_and_again() -> None:
    other = changed(CHUNK, [(0, "add", "1")])
    documents = [CHUNK, *([other] * 20), CHUNK]
    assert repr(decoded("gemini", documents, MSGSPEC)) == repr(decoded("gemini", documents, STANDARD))
