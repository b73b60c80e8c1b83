"""Citations written into the text, for clients that would drop them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config.schema import Config, GatewaySettings
from groundwire.faces.gateway.clients.quirks import rendering_for
from groundwire.faces.gateway.rendering import Renderer, Rendering
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    FunctionTool,
    Message,
    Request,
    SearchCall,
    SearchCalled,
    SearchOptions,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    TextSettled,
    ToolCall,
    ToolCallDelta,
    Verbatim,
    assemble,
)
from groundwire.model.value import replace
from groundwire.text.annotate import NumberWriter, annotate_numbers
from tests.faces.gateway.asgi_client import post_json
from tests.faces.gateway.scripted_backend import ScriptedBackend, app_for
from tests.model.strategies import cases

ONE, TWO = Source("https://one.example/", "One"), Source("https://two.example/", "Two")
LIST = "\n\nSources:\n[1] One (https://one.example/)\n[2] Two (https://two.example/)"


def cited(start: int, end: int, *sources: Source) -> Cited:
    return Cited(Citation(Span(start, end), tuple(Evidence(source) for source in sources)))


ANSWER: list[Event] = [
    Started("1", "m"),
    TextDelta(0, "Let me look. "),
    TextSettled(0),
    SearchCalled(1, SearchCall("s", ("q",))),
    SearchReturned(2, SearchResult("s", (ONE, TWO))),
    TextDelta(3, "Snow ☃ fell."),
    cited(13, 25, ONE),
    TextSettled(3),
    TextDelta(4, " Ice melted."),
    cited(26, 37, TWO, ONE),
    TextSettled(4),
    Finished(),
]


def through(events: Sequence[Event], mode: Rendering) -> list[Event]:
    renderer = Renderer(keep_citations=mode == "both")
    return [event for received in events for event in renderer.feed((received,))]


def spans(answer: Answer) -> list[tuple[str, list[str]]]:
    return [
        (
            answer.text[citation.span.start : citation.span.end],
            [item.source.url for item in citation.evidence],
        )
        for citation in answer.citations
        if citation.span
    ]


def test_markers_follow_claims_and_the_text_ends_with_the_sources() -> None:
    answer = assemble(through(ANSWER, "markers"))
    assert answer.text == "Let me look. Snow ☃ fell.[1] Ice melted.[1][2]" + LIST
    assert answer.citations == ()


def test_adjacent_texts_are_one_part() -> None:
    answer = assemble(through(ANSWER, "markers"))
    assert [type(part) for part in answer.parts] == [Text, SearchCall, SearchResult, Text]


def test_the_rendering_both_keeps_citations_with_shifted_spans() -> None:
    answer = assemble(through(ANSWER, "both"))
    assert spans(answer) == [("Snow ☃ fell.", [ONE.url]), ("Ice melted.", [TWO.url, ONE.url])]
    assert answer.text.endswith(LIST)


def test_an_inline_source_link_is_replaced_by_its_number() -> None:
    link = "([One](https://one.example/))"
    citation = Citation(Span(5, 5 + len(link)), (Evidence(ONE),), "marker")
    events: list[Event] = [TextDelta(0, f"Snow {link}."), Cited(citation), Finished()]
    answer = assemble(through(events, "both"))
    assert answer.text.partition("\n")[0] == "Snow [1]."
    assert spans(answer) == [("[1]", [ONE.url])]
    assert answer.citations[0].anchor == "marker"


def test_text_is_buffered_only_until_it_is_settled() -> None:
    events = through(ANSWER[:8], "markers")
    assert events[-1] == TextDelta(3, "Snow ☃ fell.[1]")
    assert TextDelta(3, "Snow ☃ fell.") not in through(ANSWER[:7], "markers")


def test_the_source_list_precedes_client_tool_calls() -> None:
    events = [*ANSWER[:-1], ToolCallDelta(5, "c", "f", "{}"), Finished("tool_calls")]
    answer = assemble(through(events, "markers"))
    assert isinstance(answer.parts[-1], ToolCall)
    assert answer.text.endswith(LIST)


def test_a_source_of_the_whole_answer_is_listed() -> None:
    events: list[Event] = [TextDelta(0, "Yes."), Cited(Citation(None, (Evidence(ONE),))), Finished()]
    answer = assemble(through(events, "both"))
    assert answer.text == "Yes.\n\nSources:\n[1] One (https://one.example/)"
    assert answer.citations == (Citation(None, (Evidence(ONE),)),)


def test_an_answer_that_cites_nothing_has_no_list() -> None:
    assert assemble(through([TextDelta(0, "Yes."), Finished()], "markers")).text == "Yes."


WORDS = st.text(st.sampled_from("ab ☃𝄞.é"), min_size=1, max_size=30)


@cases(100)
@given(
    WORDS,
    st.lists(st.tuples(st.integers(0, 29), st.integers(1, 10), st.sampled_from([ONE, TWO])), max_size=5),
)
def test_every_claim_is_still_cited_for_its_own_words(
    text: str, claims: list[tuple[int, int, Source]]
) -> None:
    citations = tuple(
        Citation(Span(start, min(start + size, len(text))), (Evidence(source),))
        for start, size, source in claims
        if start < len(text)
    )
    numbers = {ONE.url: 1, TWO.url: 2}
    marked = annotate_numbers(text, citations, NumberWriter(lambda source: numbers[source.url], repeat=True))
    for old, new in zip(citations, map(marked.move, citations), strict=True):
        assert old.span is not None
        assert new.span is not None
        words = marked.text[new.span.start : new.span.end]
        assert words.replace("[1]", "").replace("[2]", "") == text[old.span.start : old.span.end]
        following = marked.text[new.span.end :].partition(text[old.span.end : old.span.end + 1] or "\0")[0]
        assert f"[{numbers[new.evidence[0].source.url]}]" in following


SEARCH = Request((Message("user", (Text("q"),)),), search=SearchOptions())
SIDE = replace(SEARCH, messages=(Message("user", (Text("Perform a web search for the query: q"),)),))
TOOLS = replace(SEARCH, tools=(FunctionTool("f"),), stream=True)


@pytest.mark.parametrize(
    ("agent", "dialect", "request_", "mode"),
    [
        ("claude-cli/2.1.325 (external, sdk-cli)", "anthropic_messages", TOOLS, "markers"),
        ("claude-cli/2.1.325 (external, sdk-cli)", "anthropic_messages", SIDE, "structured"),
        ("opencode/1.18.33 ai-sdk/provider-utils/3", "openai_chat", TOOLS, "markers"),
        ("opencode/1.18.33", "gemini", TOOLS, "markers"),
        ("opencode/1.18.33", "anthropic_messages", TOOLS, "both"),
        ("codex_exec/0.166.0 (Debian 12.0.0; x86_64)", "openai_responses", TOOLS, "both"),
        ("GeminiCLI-tui/0.61.0/gemini-3.8-flash (linux; x64)", "gemini", TOOLS, "markers"),
        ("GeminiCLI-tui/0.61.0/gemini-3-flash-preview", "gemini", SEARCH, "structured"),
        ("copilot/1.0.102 (linux)", "openai_chat", TOOLS, "markers"),
        ("copilot/1.0.102 (linux)", "openai_responses", TOOLS, "both"),
        ("AsyncOpenAI/Python 3.49.0", "openai_chat", TOOLS, "structured"),
        ("AsyncAnthropic/Python 2.8.0", "anthropic_messages", TOOLS, "structured"),
        ("", "gemini", TOOLS, "structured"),
    ],
)
def test_a_client_is_recognised_by_its_user_agent(
    agent: str, dialect: str, request_: Request, mode: str
) -> None:
    assert rendering_for({"user-agent": agent}, dialect, request_, "auto") == mode


def test_the_header_overrides_the_settings_and_the_settings_the_default_of_the_client() -> None:
    agent = {"user-agent": "opencode/1"}
    assert (
        rendering_for({**agent, "x-groundwire-render": "both"}, "openai_chat", TOOLS, "structured") == "both"
    )
    assert rendering_for(agent, "openai_chat", TOOLS, "structured") == "structured"
    assert rendering_for(
        {"x-groundwire-render": "markers"}, "gemini", replace(TOOLS, search=None), "auto"
    ) == ("structured")


BODY = {
    "model": "gemini/x",
    "messages": [{"role": "user", "content": "q"}],
    "web_search_options": {},
}


def test_an_unknown_rendering_is_rejected(tmp_path: Path) -> None:
    gateway = app_for(ScriptedBackend(*ANSWER), tmp_path)
    assert post_json(gateway, "/v1/chat/completions", BODY, {"x-groundwire-render": "loud"}).status == 400


def test_a_rendered_answer_lists_its_sources_and_is_not_passed_through(tmp_path: Path) -> None:
    backend = ScriptedBackend(Verbatim(b"{}"), *ANSWER)
    gateway = app_for(backend, tmp_path, Config(gateway=GatewaySettings(render="both")))
    message = post_json(gateway, "/v1/chat/completions", BODY).json["choices"][0]["message"]
    assert message["content"].endswith(LIST)
    citations = [note["url_citation"] for note in message["annotations"]]
    assert {message["content"][span["start_index"] : span["end_index"]] for span in citations} == {
        "Snow ☃ fell.",
        "Ice melted.",
    }
    assert backend.calls[0][2].wire is None


def test_claude_code_reads_one_closing_text_block(tmp_path: Path) -> None:
    body = {
        "model": "gemini/x",
        "max_tokens": 10,
        "messages": [{"role": "user", "content": "q"}],
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
    }
    gateway = app_for(ScriptedBackend(*ANSWER), tmp_path)
    content = post_json(gateway, "/v1/messages", body, {"user-agent": "claude-cli/2.1.325"}).json["content"]
    assert content[-1] == {"type": "text", "text": "Snow ☃ fell.[1] Ice melted.[1][2]" + LIST}
