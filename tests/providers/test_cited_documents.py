"""An answer that names documents by number is read with the documents of its request in mind."""

from __future__ import annotations

import json

import pytest

from groundwire.model import Message, Opaque, Text
from groundwire.model.value import replace
from groundwire.testing.upstream import ScriptedResponse
from tests.dialects.anthropic_messages.bodies import block, end, sse, start
from tests.dialects.anthropic_messages.test_documents import document, fetch, message, page_location, said
from tests.providers.asking import question, world
from tests.providers.speakers import speaker_named
from tests.transport.bounded import run

CITED = (page_location(0, None), page_location(1, None))


def reply(*, stream: bool) -> ScriptedResponse:
    call, result = fetch(1, title=None, data=None)
    if not stream:
        return ScriptedResponse(body=json.dumps(message(call, result, said(*CITED))).encode())
    deltas = [{"type": "citations_delta", "citation": item} for item in CITED]
    text = {"type": "text_delta", "text": "Twice daily."}
    events = (
        *block(0, call),
        *block(1, result),
        *block(2, {"type": "text", "text": "", "citations": []}, *deltas, text),  # type: ignore[arg-type]
    )
    return ScriptedResponse(headers={"content-type": "text/event-stream"}, body=sse(start(), *events, *end()))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_document_of_the_request_is_not_taken_for_a_page_that_was_fetched(stream: bool) -> None:
    async def main() -> list[tuple[str, str]]:
        async with world(speaker_named("anthropic"), reply(stream=stream)) as here:
            paper = Message("user", (Opaque("anthropic_messages", document("", "")), Text("When?")))
            outcome = await here.ask(replace(question(stream=stream), messages=(paper,)))
            assert outcome.error is None
            citations = outcome.answer.citations
            return [(item.source.url, item.source.title) for cited in citations for item in cited.evidence]

    assert run(main()) == [("", "Document 1"), ("https://a.example/article", "")]
