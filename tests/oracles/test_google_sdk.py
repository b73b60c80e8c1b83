"""The official google-genai client reads what we write, in both of its languages."""

from __future__ import annotations

import json
from collections.abc import Sequence

import httpx2
import pytest
from google import genai
from google.genai import errors, interactions, types
from google.genai._gaos.lib.compat_errors import APIStatusError

from groundwire.dialects.features import Feature, project
from groundwire.dialects.registry import dialect
from groundwire.model import Answer
from tests.contracts.samples import BROKEN, ORDERS, Order, Sample
from tests.oracles.expected import NAMES, Cited, claims, named, queries, tool_calls
from tests.oracles.wire import BASE, ERRORS, failing, streamed, whole
from tests.reused_models import reuse_models
from tests.unencrypted import ASYNC_CLIENT_ARGS, CLIENT_ARGS

reuse_models()

GEMINI, INTERACTIONS = dialect("gemini"), dialect("gemini_interactions")
ENDS = {
    "stop": types.FinishReason.STOP,
    "length": types.FinishReason.MAX_TOKENS,
    "tool_calls": types.FinishReason.STOP,
}
STATUSES = {"stop": "completed", "length": "incomplete", "tool_calls": "requires_action"}


def client(http: httpx2.Client) -> genai.Client:
    once = types.HttpRetryOptions(attempts=1)
    options = types.HttpOptions(
        base_url=BASE,
        httpx_client=http,
        retry_options=once,
        client_args=CLIENT_ARGS,
        async_client_args=ASYNC_CLIENT_ARGS,
    )
    return genai.Client(api_key="k", http_options=options)


def ask(http: httpx2.Client) -> list[types.GenerateContentResponse]:
    return [client(http).models.generate_content(model="model-1", contents="?")]


def ask_streaming(http: httpx2.Client) -> list[types.GenerateContentResponse]:
    return list(client(http).models.generate_content_stream(model="model-1", contents="?"))


def check(chunks: Sequence[types.GenerateContentResponse], answer: Answer) -> None:
    candidates = [candidate for chunk in chunks for candidate in chunk.candidates or ()]
    parts = [
        part
        for candidate in candidates
        if candidate.content is not None
        for part in candidate.content.parts or ()
    ]
    text = "".join(part.text or "" for part in parts if not part.thought)
    assert text == answer.text
    assert "".join(part.text or "" for part in parts if part.thought) == project(answer, Feature.REASONING)
    calls = [
        (part.function_call.id, part.function_call.name, part.function_call.args or {})
        for part in parts
        if part.function_call is not None
    ]
    assert calls == tool_calls(answer)
    metadata = [item.grounding_metadata for item in candidates if item.grounding_metadata is not None]
    assert _cited(metadata, text) == claims(answer)
    assert {query for item in metadata for query in item.web_search_queries or ()} == queries(answer)
    if answer.finish in ENDS:
        assert candidates[-1].finish_reason == ENDS[answer.finish]
    usage = chunks[-1].usage_metadata
    assert usage is not None
    read = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0)
    written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    assert (read, written) == (answer.usage.input_tokens, answer.usage.output_tokens)


def _cited(metadata: Sequence[types.GroundingMetadata], text: str) -> Cited:
    chunks = [chunk.web for item in metadata for chunk in item.grounding_chunks or ()]
    found: Cited = set()
    for support in (support for item in metadata for support in item.grounding_supports or ()):
        segment = support.segment
        assert segment is not None
        fragment = text.encode()[segment.start_index or 0 : segment.end_index or 0].decode()
        if segment.text:
            assert fragment == segment.text
            addresses = [chunks[index] for index in support.grounding_chunk_indices or ()]
            found |= {(fragment, web.uri or "") for web in addresses if web is not None}
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_answer_is_read(name: str) -> None:
    check(ask(whole(GEMINI, named(name).answer)), named(name).answer)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_streamed_answer_is_read(name: str, order: Order) -> None:
    check(ask_streaming(streamed(GEMINI, named(name).answer, order)), named(name).answer)


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_raises_the_clients_own_exception(case: str) -> None:
    http, status = failing(GEMINI, ERRORS[case])
    with pytest.raises(errors.ClientError if status < 500 else errors.ServerError) as caught:
        ask(http)
    assert caught.value.code == status
    assert ERRORS[case].message.rpartition(": ")[2] in str(caught.value.message)


@pytest.mark.parametrize("sample", BROKEN, ids=lambda sample: sample.name)
def test_an_error_inside_a_stream_raises(sample: Sample) -> None:
    with pytest.raises(errors.APIError):
        ask_streaming(streamed(GEMINI, sample.answer))


class InteractionReply:
    """An interaction as the client reads it, streamed or whole."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        self.notes: list[tuple[int, interactions.Annotation]] = []
        self.queries: set[str] = set()
        self.calls: dict[int, list[str]] = {}
        self.status = ""
        self.usage: interactions.Usage | None = None
        self.failed = False

    def cited(self) -> Cited:
        """Cited texts with their URLs. Offsets count the bytes of their own text."""
        found: Cited = set()
        for index, note in self.notes:
            if isinstance(note, interactions.FileCitation):
                continue  # it has no URL
            assert isinstance(note, interactions.URLCitation)
            fragment = self.texts[index].encode()[note.start_index or 0 : note.end_index or 0].decode()
            if fragment:
                found.add((fragment, note.url or ""))
        return found


def ask_interaction(http: httpx2.Client) -> InteractionReply:
    interaction = client(http).interactions.create(model="model-1", input="?")
    assert isinstance(interaction, interactions.Interaction)
    reply = InteractionReply()
    reply.status, reply.usage = interaction.status or "", interaction.usage
    for step in interaction.steps or ():
        if isinstance(step, interactions.ModelOutputStep):
            for content in step.content or ():
                if isinstance(content, interactions.TextContent):
                    index = len(reply.texts)
                    reply.texts[index] = content.text or ""
                    reply.notes += [(index, note) for note in content.annotations or ()]
        elif isinstance(step, interactions.GoogleSearchCallStep):
            reply.queries |= set(step.arguments.queries or ())
        elif isinstance(step, interactions.FunctionCallStep):
            reply.calls[len(reply.calls)] = [step.id, step.name, json.dumps(step.arguments)]
    return reply


def ask_interaction_streaming(http: httpx2.Client) -> InteractionReply:
    reply = InteractionReply()
    for event in client(http).interactions.create(model="model-1", input="?", stream=True):
        if isinstance(event, interactions.StepStart):
            if isinstance(event.step, interactions.FunctionCallStep):
                reply.calls[event.index] = [event.step.id, event.step.name, ""]
        elif isinstance(event, interactions.StepDelta):
            _take(reply, event.index, event.delta)
        elif isinstance(event, interactions.InteractionCompletedEvent):
            reply.status, reply.usage = str(event.interaction.status), event.interaction.usage
        elif isinstance(event, interactions.ErrorEvent):
            reply.failed = True
    return reply


def _take(reply: InteractionReply, index: int, delta: interactions.StepDeltaData) -> None:
    if isinstance(delta, interactions.TextDelta):
        reply.texts[index] = reply.texts.get(index, "") + delta.text
    elif isinstance(delta, interactions.TextAnnotationDelta):
        reply.notes += [(index, note) for note in delta.annotations or ()]
    elif isinstance(delta, interactions.GoogleSearchCallDelta):
        reply.queries |= set(delta.arguments.queries or ())
    elif isinstance(delta, interactions.ArgumentsDelta):
        reply.calls[index][2] += delta.arguments or ""


def check_interaction(reply: InteractionReply, answer: Answer) -> None:
    assert "".join(reply.texts.values()) == answer.text
    assert reply.cited() == claims(answer)
    assert reply.queries == queries(answer)
    calls = [(call, name, json.loads(arguments or "{}")) for call, name, arguments in reply.calls.values()]
    assert calls == tool_calls(answer)
    assert reply.status == STATUSES.get(answer.finish or "", reply.status)
    assert reply.usage is not None
    read = (reply.usage.total_input_tokens or 0) + (reply.usage.total_tool_use_tokens or 0)
    written = (reply.usage.total_output_tokens or 0) + (reply.usage.total_thought_tokens or 0)
    assert (read, written) == (answer.usage.input_tokens, answer.usage.output_tokens)


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_interaction_is_read(name: str) -> None:
    check_interaction(ask_interaction(whole(INTERACTIONS, named(name).answer)), named(name).answer)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_streamed_interaction_is_read(name: str, order: Order) -> None:
    http = streamed(INTERACTIONS, named(name).answer, order)
    check_interaction(ask_interaction_streaming(http), named(name).answer)


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_of_an_interaction_raises(case: str) -> None:
    http, status = failing(INTERACTIONS, ERRORS[case])
    with pytest.raises(APIStatusError) as caught:
        ask_interaction(http)
    assert caught.value.status_code == status
    assert ERRORS[case].message.rpartition(": ")[2] in str(caught.value)


@pytest.mark.parametrize("sample", BROKEN, ids=lambda sample: sample.name)
def test_an_error_inside_a_streamed_interaction_is_reported(sample: Sample) -> None:
    assert ask_interaction_streaming(streamed(INTERACTIONS, sample.answer)).failed
