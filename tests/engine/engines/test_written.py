"""A model writes the answer from the passages of the embedded engine, over a real connection."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.client import Groundwire
from groundwire.config.load import load
from groundwire.engine.index.location import open_index
from groundwire.engine.knowledge import CORE_EDITION
from groundwire.engine.knowledge.addresses import CONTENTS_URL
from groundwire.engine.pages import Page
from groundwire.model import Answer, Event, Finished, Started, TextDelta
from groundwire.testing.script import Script, ScriptedResponse, answer, json_response
from groundwire.testing.upstream import Upstream
from tests.credentials.builders import write_private
from tests.transport.bounded import run

pytestmark = pytest.mark.server

URL = "https://works.example.com/boiler"
TEXT = "The boiler of the works runs at 3 bar. The whistle is tested on Monday."
QUESTION = "At what pressure does the boiler of the works run?"


def says(text: str) -> ScriptedResponse:
    events: list[Event] = [Started(), TextDelta(0, text), Finished("stop")]
    return answer("openai_chat", events)


def requested(home: Path, response: ScriptedResponse, question: str = QUESTION) -> tuple[Answer, list[str]]:
    """The answer, and the request that the model received."""
    data = home / "data"
    with open_index(data / "index") as index:
        begun = Page(CONTENTS_URL, "Contents", CORE_EDITION)
        index.put([Page(URL, "Boiler", TEXT), begun])

    async def main() -> tuple[Answer, list[str]]:
        async with Upstream(Script(paths={"/v1/chat/completions": (response,)})) as upstream:
            server = f'[providers.house]\ndialect = "openai_chat"\nbase_url = "{upstream.url}/v1"\n'
            config = f'compose = "house/writer"\ndata_dir = "{data}"\n{server}'
            write_private(home / ".config" / "groundwire" / "config.toml", config)
            env = {"HOME": str(home), "GROUNDWIRE_BUILD_INDEX": "0", "GROUNDWIRE_SEMANTIC": "0"}
            async with Groundwire(load(env, str(home), str(home)), env=env) as client:
                found = await client.asearch(question, provider="local")
            return found, [request.body.decode() for request in upstream.requests]

    return run(main())


def quotes(found: Answer) -> list[tuple[str, str]]:
    """Each claim with its quote."""
    return [
        (found.text[slice(*citation.span)], item.quote)
        for citation in found.citations
        if citation.span is not None
        for item in citation.evidence
    ]


def test_only_claims_that_a_passage_supports_are_cited_in_the_answer_of_a_model(tmp_path: Path) -> None:
    found, given = requested(
        tmp_path, says("The boiler runs at 3 bar [1]. It was built by elves in 1850 [1].")
    )
    assert found.text == "The boiler runs at 3 bar. It was built by elves in 1850."
    assert quotes(found) == [("The boiler runs at 3 bar.", "The boiler of the works runs at 3 bar.")]
    assert "unsupported_citation" in [warning.code for warning in found.warnings]
    assert len(given) == 1
    assert TEXT in given[0]
    assert '"writer"' in given[0]


def test_an_answer_of_a_model_without_valid_citations_is_not_used(tmp_path: Path) -> None:
    found, _ = requested(tmp_path, says("The boiler runs at 9 bar [1]."))
    assert found.text.startswith("The boiler of the works runs at 3 bar.")
    assert "9 bar" not in found.text


def test_a_model_that_is_unavailable_is_reported_and_the_pages_answer_themselves(tmp_path: Path) -> None:
    found, _ = requested(tmp_path, json_response({"error": {"message": "no such model"}}, 404))
    assert found.text.startswith("The boiler of the works runs at 3 bar.")
    assert "not_written" in [warning.code for warning in found.warnings]


def test_a_model_may_see_an_answer_where_no_sentence_has_the_words_of_the_question(tmp_path: Path) -> None:
    written = "The whistle is tested on Monday [1]."
    found, _ = requested(
        tmp_path, says(written), "When do they try out the thing of the boiler that makes a noise?"
    )
    assert found.text == "The whistle is tested on Monday."
    assert quotes(found) == [("The whistle is tested on Monday.", "The whistle is tested on Monday.")]
