"""Recorded streams and bodies, compared with slices of their raw JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundwire.dialects.openai_responses import DIALECT
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.model import Answer, Cited, Finished, JsonObject, TextSettled, assemble
from tests.dialects.openai_responses.wire import decode_events, encode_events, items_of, payloads, value_at

FOLDERS = ("openai-responses", "azure-responses", "xai-responses", "codex", "synthetic")


def streams(recordings: Path) -> list[Path]:
    found = [path for folder in FOLDERS for path in (recordings / folder).glob("*.sse")]
    return sorted(path for path in found if b"response.c" in path.read_bytes()[:200])


def bodies(recordings: Path) -> list[JsonObject]:
    found = [path for folder in FOLDERS for path in (recordings / folder).glob("*.json")]
    read = (json.loads(path.read_text()) for path in sorted(found))
    return [body for body in read if isinstance(body, dict) and body.get("object") == "response"]


def last_response(path: Path) -> JsonObject:
    response = payloads(path.read_bytes())[-1].get("response")
    return response if isinstance(response, dict) else {}


def test_a_stream_gives_the_same_events_as_its_final_response(recordings: Path) -> None:
    checked = 0
    for path in streams(recordings):
        decoded_events = decode_events(path.read_bytes())
        if not isinstance(decoded_events[-1], Finished):
            continue
        checked += 1
        answer, expected = assemble(decoded_events), assemble(DIALECT.decode_response(last_response(path)))
        # OpenAI encrypts reasoning anew and may list the sources in another order.
        assert [type(part) for part in answer.parts] == [type(part) for part in expected.parts], path.name
        assert (answer.text, answer.citations) == (expected.text, expected.citations), path.name
        assert (answer.searches, answer.usage) == (expected.searches, expected.usage), path.name
        assert set(map(repr, answer.sources)) == set(map(repr, expected.sources)), path.name
    assert checked > 10


def test_annotations_are_the_links_at_the_received_offsets(recordings: Path) -> None:
    checked = 0
    for body in bodies(recordings):
        answer = assemble(DIALECT.decode_response(body))
        start = 0
        for item in items_of(body, "output"):
            for part in items_of(item, "content") if item["type"] == "message" else ():
                text = str(part["text"])
                for annotation in items_of(part, "annotations"):
                    low, high = (
                        int(str(annotation.get("start_index", 0))),
                        int(str(annotation.get("end_index", 0))),
                    )
                    if f"]({annotation['url']})" not in text[low:high] or text[low] not in "[(":
                        continue
                    checked += 1
                    assert ((start + low, start + high), annotation["url"]) in _cited(answer)
                start += len(text)
        assert len(answer.text) == start
    assert checked > 50


def _cited(answer: Answer) -> set[tuple[tuple[int, int] | None, object]]:
    return {(cited.span, item.source.url) for cited in answer.citations for item in cited.evidence}


def test_every_recorded_answer_survives_encoding_and_decoding(recordings: Path) -> None:
    for body in bodies(recordings):
        events = DIALECT.decode_response(body)
        before, data = assemble(events), encode_events(events)
        after = assemble(decode_events(data))
        assert after.text == before.text
        assert after.searches == before.searches
        assert after.sources == before.sources
        assert _cited(after) == _cited(before)
        last = payloads(data)[-1]
        ids = [item.get("id") for item in items_of(value_at(last, "response"), "output")]
        assert len(ids) == len(set(map(str, ids)))


def test_citations_come_before_their_part_is_settled(recordings: Path) -> None:
    for path in streams(recordings):
        decoded_events = decode_events(path.read_bytes())
        settled = [index for index, event in enumerate(decoded_events) if isinstance(event, TextSettled)]
        cited = [index for index, event in enumerate(decoded_events) if isinstance(event, Cited)]
        assert not cited or max(cited) < max(settled), path.name


@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "websearch"])
def test_an_answer_that_is_sent_back_keeps_every_cited_url_for_the_next_provider(
    recordings: Path, name: str
) -> None:
    question: JsonObject = {"role": "user", "content": "And in Bern?"}
    checked = 0
    for body in bodies(recordings):
        annotations = [
            annotation
            for item in items_of(body, "output")
            if item["type"] == "message"
            for part in items_of(item, "content")
            for annotation in items_of(part, "annotations")
        ]
        request = DIALECT.decode_request({"model": "m", "input": [*items_of(body, "output"), question]})
        encoded = json.dumps(dialect(name).encode_request(request).body, ensure_ascii=False)
        urls = {str(annotation["url"]) for annotation in annotations}
        assert {url for url in urls if url not in encoded} == set()
        checked += len(urls)
    assert checked > 50
