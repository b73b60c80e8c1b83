"""Writing citation markers into long texts: the cost per citation and per kilobyte must stay constant."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import process_time_ns

from groundwire.model import Citation, Evidence, Source, Span
from groundwire.text.annotate import NumberWriter, annotate_numbers
from groundwire.text.offsets import from_points, to_points

ROUNDS = 5
_SENTENCE = "Kölns Dom wurde 1880 vollendet 🏙️, so heißt es; 東京タワーは1958年。 "


def median_ms(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = process_time_ns()
        work()
        times.append(process_time_ns() - start)
    return median(times) / 1e6


def row(text: str, count: int) -> str:
    """One row of the table."""
    sources = [Source(f"https://example.org/{number}") for number in range(100)]
    numbers = {source.url: number for number, source in enumerate(sources, 1)}
    step = len(text) / count
    spans = [Span(int(n * step), int((n + 0.7) * step)) for n in range(count)]
    cited = [Citation(span, (Evidence(sources[number % 100]),)) for number, span in enumerate(spans)]
    points = [offset for span in spans for offset in span]
    offsets = from_points(text, points, "utf8")
    cells = (
        median_ms(lambda: annotate_numbers(text, cited, NumberWriter(lambda source: numbers[source.url]))),
        median_ms(lambda: to_points(text, offsets, "utf8")),
        median_ms(lambda: from_points(text, points, "utf8")),
        median_ms(lambda: text.encode().decode()),
    )
    costs = " | ".join(f"{cell:.2f}" for cell in cells)
    return f"| {len(text.encode()) // 1000} KB | {count} | {costs} |"


def main() -> None:
    print("| text | citations | write [n] ms | bytes to points ms | points to bytes ms | plain copy ms |")
    print("|--:|--:|--:|--:|--:|--:|")
    for size in (10_000, 100_000, 1_000_000):
        text = _SENTENCE * (size // len(_SENTENCE.encode()) + 1)
        for count in (100, 1_000, 10_000):
            print(row(text, count))


if __name__ == "__main__":
    main()
