"""Small hand-written wire bodies, and the answers they decode to, streamed or whole, split anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from groundwire.dialects.registry import dialect
from groundwire.model import Answer, Event, Failed, Finished, JsonObject, assemble


def answer_of(name: str, body: JsonObject) -> Answer:
    """Decode a whole body into an answer."""
    events = dialect(name).decode_response(json.loads(json.dumps(body)))
    assert_one_terminal(events)
    return assemble(events)


def sse(frames: Iterable[JsonObject | str], *, named: str = "", end: str = "\n") -> bytes:
    """Frames as server-sent events; `named` is the key whose value names the event."""
    blocks = []
    for frame in frames:
        data = frame if isinstance(frame, str) else json.dumps(frame, ensure_ascii=False)
        head = f"event: {frame[named]}{end}" if named and isinstance(frame, dict) else ""
        blocks.append(f"{head}data: {data}{end}{end}")
    return "".join(blocks).encode()


def streamed(name: str, data: bytes) -> Answer:
    """Decode a stream into an answer, whole and byte by byte, with the same result."""
    whole = _events(name, [data])
    assert _events(name, [data[index : index + 1] for index in range(len(data))]) == whole
    return assemble(whole)


def _events(name: str, pieces: Sequence[bytes]) -> list[Event]:
    decoder = dialect(name).decoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    events += decoder.close()
    assert_one_terminal(events)
    return events


def assert_one_terminal(events: Sequence[Event]) -> None:
    """Exactly one event ends the stream, and it is the last."""
    assert [isinstance(event, Finished | Failed) for event in events].count(True) == 1
    assert isinstance(events[-1], Finished | Failed)


def cited(answer: Answer) -> list[tuple[str | None, list[str]]]:
    """The text of each citation and its URLs."""
    return [
        (
            None if item.span is None else answer.text[item.span.start : item.span.end],
            [evidence.source.url for evidence in item.evidence],
        )
        for item in answer.citations
    ]


def spans(answer: Answer) -> list[tuple[int, int] | None]:
    """The spans of the citations."""
    return [None if item.span is None else (item.span.start, item.span.end) for item in answer.citations]


def warned(answer: Answer) -> set[str]:
    """The codes of the warnings."""
    return {warning.code for warning in answer.warnings}


def queries(answer: Answer) -> list[str]:
    """The search queries."""
    return [search.query for search in answer.searches]
