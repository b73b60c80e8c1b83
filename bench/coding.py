"""Decode + encode of a streamed answer for every pair of dialects.

The unit is the least that any translator must do: parse the JSON of the incoming frames and dump the JSON of
the outgoing frames, with nothing in between. Contenders take turns; the figures are medians of many rounds.

`websearch` is one body, not a stream. Encoding it dumps almost no JSON, so decoding, folding and rendering
are compared with parsing alone. The maximum at the end leaves out its row and column.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from statistics import median
from time import process_time_ns

from sample import REPLY, encode, events

from groundwire.dialects.base import Dialect
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.dialects.sse import FrameReader

ROUNDS = 25
CHUNK = 1400


def chunks(data: bytes) -> list[bytes]:
    return [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]


def translate(source: Dialect, target: Dialect, data: list[bytes]) -> bytes:
    decoder, encoder = source.decoder(), target.encoder(REPLY)
    output = [encoder.feed(event) for chunk in data for event in decoder.feed(chunk)]
    output += [encoder.feed(event) for event in decoder.close()]
    output.append(encoder.close())
    return b"".join(output)


def documents(data: bytes) -> list[bytes]:
    reader = FrameReader()
    return [frame.data for frame in [*reader.feed(data), *reader.close()] if frame.data != b"[DONE]"]


def elapsed(work: Callable[[], object]) -> int:
    start = process_time_ns()
    work()
    return process_time_ns() - start


def ratio(source: Dialect, target: Dialect, data: bytes) -> tuple[float, float]:
    """Cost relative to JSON alone, and microseconds for each incoming frame."""
    data_chunks = chunks(data)
    incoming = documents(data)
    outgoing = [json.loads(text) for text in documents(translate(source, target, data_chunks))]

    def json_alone() -> None:
        for text in incoming:
            json.loads(text)
        for value in outgoing:
            json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    ours, base = [], []
    for _ in range(ROUNDS):
        ours.append(elapsed(lambda: translate(source, target, data_chunks)))
        base.append(elapsed(json_alone))
    return median(ours) / median(base), median(ours) / 1000 / len(incoming)


def main() -> None:
    answer = events()
    print(
        "Decode + encode, as a multiple of parsing and dumping the same JSON (µs for each incoming frame):\n"
    )
    print("| from \\ to |", " | ".join(DIALECTS), "|")
    print("|---" * (len(DIALECTS) + 1) + "|")
    worst = 0.0
    streamed = [name for name in DIALECTS if name != "websearch"]
    for name in DIALECTS:
        source = dialect(name)
        data = encode(source, answer)
        cells = []
        for other in DIALECTS:
            times, cost = ratio(source, dialect(other), data)
            if name in streamed and other in streamed:
                worst = max(worst, times)
            cells.append(f"{times:.2f} ({cost:.1f})")
        print(f"| {name} |", " | ".join(cells), "|")
    print(f"\nThe most expensive pair of streams: {worst:.2f} (at most 3)")


if __name__ == "__main__":
    main()
