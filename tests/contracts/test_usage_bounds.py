"""Implausible token counts break neither an answer nor the accounting."""

from __future__ import annotations

import json

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.model import Finished, JsonObject, Started, TextDelta, Usage, UsageSeen, assemble
from tests.contracts.amazon_frames import BINARY, as_binary, as_sse

HUGE = 2**63
COUNTS = (900_001, 900_002, 900_003)
NAMES = [name for name in DIALECTS if name != "websearch"]


def wire(name: str, number: str) -> bytes:
    """An answer as the dialect writes it, with other numbers of tokens."""
    encoder = dialect(name).encoder(Reply())
    usage = UsageSeen(Usage(*COUNTS))
    events = (Started("id", "model"), TextDelta(0, "Yes."), usage, Finished())
    data = b"".join(encoder.feed(event) for event in events)
    data = as_sse(data) if name in BINARY else data
    derived = (*COUNTS, COUNTS[0] - COUNTS[2], COUNTS[0] + COUNTS[1])
    for count in derived:
        data = data.replace(str(count).encode(), number.encode())
    return as_binary(data) if name in BINARY else data


@pytest.mark.parametrize("number", [str(HUGE), str(10**300), "-1", "1e300"])
@pytest.mark.parametrize("name", NAMES)
def test_an_answer_with_impossible_counts_ends_well_and_its_counts_fit_a_database(
    name: str, number: str
) -> None:
    data = wire(name, number)
    assert number.encode() in data
    decoder = dialect(name).decoder()
    answer = assemble([*decoder.feed(data), *decoder.close()])
    assert (answer.text, answer.finish, answer.error) == ("Yes.", "stop", None)
    counts = [answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.cached_tokens]
    assert all(count is None or 0 <= count < HUGE for count in counts)


@pytest.mark.parametrize("number", [HUGE, -1])
@pytest.mark.parametrize("name", NAMES)
def test_the_usage_of_a_whole_answer_has_the_same_bounds(name: str, number: int) -> None:
    events = (Started("id", "model"), TextDelta(0, "Yes."), UsageSeen(Usage(*COUNTS)), Finished())
    text = json.dumps(dialect(name).encode_response(assemble(events), Reply()))
    for count in COUNTS:
        text = text.replace(str(count), str(number))
    usage = dialect(name).usage_of(json.loads(text))
    assert usage is None or all(
        count is None or 0 <= count < HUGE for count in (usage.input_tokens, usage.output_tokens)
    )


def test_google_writes_whole_numbers_as_strings_too() -> None:
    body: JsonObject = {
        "candidates": [],
        "usageMetadata": {"promptTokenCount": str(HUGE), "candidatesTokenCount": "7"},
    }
    assert dialect("gemini").usage_of(body) == Usage(output_tokens=7)
