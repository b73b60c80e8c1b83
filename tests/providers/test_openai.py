"""The ChatGPT Codex backend: required and rejected fields."""

from __future__ import annotations

import pytest

from groundwire.credentials.secret import Credential, Secret
from groundwire.errors import UnsupportedFeature
from groundwire.model import (
    FunctionTool,
    JsonObject,
    Limits,
    Message,
    ReasoningOptions,
    Request,
    Source,
    Text,
    ToolChoice,
    Warned,
)
from groundwire.model.value import replace
from groundwire.providers.openai import OPENAI_OAUTH, adjust_for_codex, oauth_headers
from groundwire.testing.answers import answer_events
from groundwire.testing.script import answer
from tests.providers.harness import ProviderOutcome, case_named, question, world
from tests.transport.bounded import run

pytestmark = pytest.mark.server

CODEX = case_named("openai_oauth")
EVENTS = answer_events("Long.", Source("https://alpha.example/"), query="nile")


def sent_body(request: Request) -> tuple[JsonObject, ProviderOutcome]:
    async def main() -> tuple[JsonObject, ProviderOutcome]:
        async with world(CODEX, answer(CODEX.dialect, EVENTS)) as here:
            outcome = await here.ask(request)
            body = here.upstream.requests[0].json
            assert isinstance(body, dict)
            return body, outcome

    return run(main())


def test_required_fields_are_always_sent() -> None:
    body, _ = sent_body(question())
    assert body["stream"] is True
    assert body["store"] is False
    assert body["instructions"]
    assert isinstance(body["input"], list)


def test_instructions_of_the_callers_own_are_kept() -> None:
    body, _ = sent_body(replace(question(), system=(Text("Be terse."),)))
    assert body["instructions"] == "Be terse."


def test_rejected_fields_are_omitted_with_a_warning() -> None:
    limits = Limits(max_output_tokens=100, temperature=0.5, top_p=0.9)
    body, outcome = sent_body(replace(question(), limits=limits))
    assert not {"max_output_tokens", "temperature", "top_p", "max_tool_calls"} & body.keys()
    told_of = {event.message for event in outcome.events if isinstance(event, Warned)}
    assert told_of == {
        f"openai_oauth has no {name}" for name in ("max_output_tokens", "temperature", "top_p")
    }


def test_the_lowest_effort_is_raised_to_one_it_knows() -> None:
    body, _ = sent_body(replace(question(), reasoning=ReasoningOptions("minimal")))
    assert body["reasoning"] == {"effort": "low"}


def test_a_model_is_called_by_its_bare_name() -> None:
    body, _ = sent_body(replace(question(), model="openai/gpt-5.4"))
    assert body["model"] == "gpt-5.4"


@pytest.mark.parametrize(
    ("request_", "choice"),
    [
        (question(), {"type": "web_search"}),
        (replace(question(), tool_choice=ToolChoice("auto")), "auto"),
        (replace(question(), tools=(FunctionTool("f"),)), None),
        (replace(question(), search=None), None),
    ],
    ids=["search alone", "caller chose", "with functions", "no search"],
)
def test_a_search_is_forced_if_it_is_the_only_tool(request_: Request, choice: object) -> None:
    body, _ = sent_body(request_)
    assert body.get("tool_choice") == choice


def test_items_lose_their_ids_and_system_messages_become_developer_messages() -> None:
    items: list[object] = [
        {"type": "message", "role": "system", "content": "s", "id": "msg_1"},
        {"type": "item_reference", "id": "msg_0"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1"},
    ]
    body = adjust_for_codex({"input": items}, question())  # type: ignore[dict-item]
    assert body["input"] == [
        {"type": "message", "role": "developer", "content": "s"},
        {"type": "function_call", "call_id": "c1"},
    ]


def test_a_bare_question_becomes_a_list_of_items() -> None:
    body = adjust_for_codex({"input": "why?"}, question())
    content = [{"type": "input_text", "text": "why?"}]
    assert body["input"] == [{"type": "message", "role": "user", "content": content}]


def test_system_messages_in_a_conversation_are_sent_as_developer_messages() -> None:
    messages = (Message("system", (Text("be kind"),)), Message("user", (Text("why?"),)))
    body, _ = sent_body(replace(question(), messages=messages))
    assert isinstance(body["input"], list)
    roles = [item["role"] for item in body["input"] if isinstance(item, dict)]
    assert roles == ["developer", "user"]


async def test_a_conversation_stored_by_the_provider_cannot_be_continued_and_nothing_is_sent() -> None:
    async with world(CODEX, answer(CODEX.dialect, EVENTS)) as here:
        outcome = await here.ask(replace(question(), previous_id="resp_1"))
        assert isinstance(outcome.raised, UnsupportedFeature)
        assert here.upstream.connections == 0


def test_an_unknown_account_is_left_out_rather_than_sent_empty() -> None:
    shown = oauth_headers(Credential(Secret("token-token"), "oauth", "a test"))
    assert "chatgpt-account-id" not in shown
    assert oauth_headers(None) == {}
    assert OPENAI_OAUTH.always_streams
