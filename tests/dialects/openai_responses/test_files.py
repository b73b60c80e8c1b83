"""Citations of files have no address: none is invented, and nobody loses them in silence."""

from __future__ import annotations

import pytest

from groundwire.dialects.openai_responses import DIALECT
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.model import Answer, JsonObject, assemble
from tests.dialects.openai_responses.wire import (
    REPLY,
    at,
    citation,
    completed,
    created,
    decode,
    items_of,
    message,
    sse,
    text_events,
    text_part,
    whole,
)

TEXT = "It is in the report. So it is."
FILES: list[JsonObject] = [
    {"type": "file_citation", "file_id": "file_1", "filename": "report.pdf", "index": 20},
    {
        "type": "container_file_citation",
        "container_id": "cntr_1",
        "file_id": "cfile_1",
        "filename": "plot.png",
        "start_index": 0,
        "end_index": 5,
    },
    {"type": "file_path", "file_id": "file_2", "index": 3},
]
NAMES = ("report.pdf", "plot.png", "file_2")


def streamed() -> Answer:
    events = [created(), *text_events([TEXT], FILES), completed(message(text_part(TEXT, *FILES)))]
    return assemble(decode(sse(events)))


@pytest.mark.parametrize(
    "answer", [whole(message(text_part(TEXT, *FILES))), streamed()], ids=["whole", "stream"]
)
def test_a_file_is_warned_of_once_and_cited_without_a_url(answer: Answer) -> None:
    assert [warning.code for warning in answer.warnings] == ["file_citation"] * 3
    assert all(name in warning.message for name, warning in zip(NAMES, answer.warnings, strict=True))
    assert answer.citations == ()


def test_clients_of_responses_get_file_citations_verbatim() -> None:
    page = "https://example.org/a"
    web = citation(0, 2, page, groundwire={"anchor": "claim"})
    body = DIALECT.encode_response(whole(message(text_part(TEXT, *FILES, web))), REPLY)
    assert at(body, "output", 0, "content", 0, "annotations") == [web, *FILES]


@pytest.mark.parametrize("name", [name for name in DIALECTS if name not in ("openai_responses", "websearch")])
def test_other_clients_find_file_citations_in_the_extension(name: str) -> None:
    body = dialect(name).encode_response(whole(message(text_part(TEXT, *FILES))), REPLY)
    assert items_of(body["groundwire"], "files") == FILES


def test_the_next_turn_has_file_citations_too() -> None:
    turn = message(text_part(TEXT, *FILES))
    request = DIALECT.decode_request({"model": "m", "input": [turn]})
    assert items_of(DIALECT.encode_request(request).body, "input") == [turn]
