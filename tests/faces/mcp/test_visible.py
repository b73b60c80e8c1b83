"""Nothing invisible that strangers wrote reaches a model by way of MCP, and citations keep their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.config.load import load
from groundwire.dialects.json import dump_json
from groundwire.dialects.registry import dialect
from groundwire.engine.pages import Page
from groundwire.faces.mcp.calls import FetchAllowList, ToolOutput, run_tool
from groundwire.model import JsonObject, Source, assemble
from groundwire.testing.answers import told
from groundwire.testing.upstream import Upstream, answer
from tests.faces.mcp.served import Library, environment
from tests.transport.bounded import run

HIDDEN = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
HOSTILE = f"\x1b[31m\u202e{HIDDEN}\u200b"
URL = "https://a.example/"
UNSEEN = (HIDDEN[0], "\x1b", "\u202e", "\u200b")


async def called(home: Path, name: str, query: str) -> ToolOutput:
    source = Source(URL, f"Title{HOSTILE}", excerpts=(f"Passage{HOSTILE}",))
    # The number in its own words makes the result say which numbers were put in, and where.
    script = answer("gemini", told(f"A{HOSTILE} claim [1] holds.", source, query="q"))
    async with Upstream([script]) as upstream:
        env = environment(upstream, home)
        library = Library(load(env, str(home), str(home)), env=env)
        async with library:
            library.web = {URL: Page(URL, f"Title{HOSTILE}", f"Text{HOSTILE}")}
            addresses = FetchAllowList(b"secret")
            arguments: JsonObject = {"query": query} if query else {"id": addresses.add(URL)}
            return await run_tool(library, addresses, name, arguments, lambda _: None)


@pytest.mark.parametrize(("name", "query"), [("websearch_gemini", "q"), ("search", "q"), ("fetch", "")])
def test_results_hold_nothing_that_nobody_sees(tmp_path: Path, name: str, query: str) -> None:
    result = run(called(tmp_path, name, query))
    assert not result.failed
    shown = (
        result.text
        + dump_json(result.structured)
        + repr([(link.title, link.passage) for link in result.links])
    )
    assert "Title" in shown
    assert [sign for sign in UNSEEN if sign in shown] == []


def test_the_places_of_citations_move_along(tmp_path: Path) -> None:
    result = run(called(tmp_path, "websearch_gemini", "q"))
    read = assemble(dialect("websearch").decode_response(result.structured))
    assert read.text == "A[31m claim [1] holds."
    assert [citation.span for citation in read.citations] == [(len(read.text), len(read.text))]
