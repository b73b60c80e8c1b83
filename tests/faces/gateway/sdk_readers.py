"""The official clients: each sends one question with web search, and returns what its objects contain.

Everything is read through the types of the client: what it does not find, an application does not get.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import anthropic
import botocore.config
import botocore.exceptions
import botocore.session
import cohere
import httpx
import httpx2
import openai
from anthropic.types import Message, ServerToolUseBlock, TextBlock, WebSearchToolResultBlock
from cohere.core.api_error import ApiError as CohereError
from cohere.core.request_options import RequestOptions
from google import genai
from google.genai import errors, interactions, types
from google.genai._gaos.lib.compat_errors import APIError, APIResponseValidationError
from mistralai.client import Mistral, models
from mistralai.client.errors import MistralError
from openai.types.responses import (
    Response,
    ResponseFunctionWebSearch,
    ResponseOutputMessage,
    ResponseOutputText,
)
from openai.types.responses.response_function_web_search import ActionSearch
from openai.types.responses.response_output_text import AnnotationURLCitation

from tests.reused_models import reuse_models
from tests.unencrypted import ASYNC_CLIENT_ARGS, CLIENT_ARGS, NO_CERTIFICATES

reuse_models()

QUESTION = "What is new?"
FAILURES = (
    anthropic.APIError,
    openai.APIError,
    errors.APIError,
    APIError,
    botocore.exceptions.ClientError,
    botocore.exceptions.HTTPClientError,
    CohereError,
    MistralError,
    httpx2.HTTPError,
    httpx.HTTPError,
)
"""What the clients raise for an error, or for an interrupted answer."""


@cache
def aws_session() -> botocore.session.Session:
    """Shared by all clients: each session reads and parses the descriptions of Amazon's services."""
    return botocore.session.Session()


@dataclass
class SdkAnswer:
    """An answer as a client reads it. Spans are code points of the whole text."""

    text: str = ""
    spans: set[tuple[int, int, str]] = field(default_factory=set)
    unplaced: set[str] = field(default_factory=set)
    pages: set[str] = field(default_factory=set)
    """Pages in the list of results."""
    queries: list[str] = field(default_factory=list)
    searches: int | None = None
    finish: str = ""
    tokens: tuple[int, int] = (0, 0)
    extension: dict[str, object] = field(default_factory=dict)
    """The field `groundwire`, which the clients keep as an unknown field."""
    error: str = ""
    status: int = 0
    """HTTP status of an error response."""
    broken: bool = False
    """Whether the client could not read the response."""

    def cite(self, url: str, start: int, end: int) -> None:
        """Add a citation; an empty span means the whole answer."""
        if start < end:
            self.spans.add((start, end, url))
        else:
            self.unplaced.add(url)


def extra(model: object, name: str) -> object:
    """An unknown field that a client kept."""
    return (getattr(model, "model_extra", None) or {}).get(name)


def _extension(*models: object) -> dict[str, object]:
    found = (extra(model, "groundwire") for model in models if model is not None)
    return next((item for item in found if isinstance(item, dict)), {})


def _read_message(message: Message) -> SdkAnswer:
    read = SdkAnswer(finish=message.stop_reason or "", extension=_extension(message))
    for block in message.content:
        if isinstance(block, TextBlock):
            start, read.text = len(read.text), read.text + block.text
            for citation in block.citations or ():
                assert citation.type == "web_search_result_location"
                read.cite(citation.url, start, len(read.text))
        elif isinstance(block, ServerToolUseBlock) and block.name == "web_search":
            read.queries += _queries(block.input)
        elif isinstance(block, WebSearchToolResultBlock) and isinstance(block.content, list):
            read.pages |= {page.url for page in block.content}
    read.unplaced |= _unplaced(read.extension)
    usage = message.usage
    cached = (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    read.tokens = (usage.input_tokens + cached, usage.output_tokens)
    if usage.server_tool_use is not None:
        read.searches = usage.server_tool_use.web_search_requests
    return read


def _unplaced(extension: dict[str, object]) -> set[str]:
    """URLs that are cited for the whole answer; the list of results does not distinguish them."""
    sources, citations = extension.get("sources"), extension.get("citations")
    if not isinstance(sources, list) or not isinstance(citations, list):
        return set()
    places = [place for item in citations if item["start"] is None for place in item["sources"]]
    return {sources[place]["url"] for place in places}


def _queries(arguments: object) -> list[str]:
    assert isinstance(arguments, dict)
    queries = arguments.get("queries") or [arguments.get("query") or ""]
    return [query for query in queries if query]


def _read_response(response: Response) -> SdkAnswer:
    read = SdkAnswer(finish=response.status or "", extension=_extension(response))
    if response.incomplete_details is not None:
        read.finish = response.incomplete_details.reason or read.finish
    if response.status == "failed":
        read.error = str(response.error)
    for item in response.output:
        if isinstance(item, ResponseFunctionWebSearch) and isinstance(item.action, ActionSearch):
            read.queries += [query for query in item.action.queries or [item.action.query or ""] if query]
        elif isinstance(item, ResponseOutputMessage):
            for part in item.content:
                if isinstance(part, ResponseOutputText):
                    _read_part(read, part)
                else:
                    read.text += part.refusal
    if response.usage is not None:
        read.tokens = (response.usage.input_tokens, response.usage.output_tokens)
    if response.tool_usage is not None and response.tool_usage.web_search is not None:
        read.searches = response.tool_usage.web_search.num_requests
    return read


def _read_part(read: SdkAnswer, part: ResponseOutputText) -> None:
    start, read.text = len(read.text), read.text + part.text
    for note in part.annotations:
        assert isinstance(note, AnnotationURLCitation)
        whole_answer = extra(note, "groundwire") == {"anchor": "answer"}
        first, last = (0, 0) if whole_answer else (note.start_index or 0, note.end_index or 0)
        assert last <= len(part.text)
        read.cite(note.url, start + first, start + last)


def _read_notes(read: SdkAnswer, notes: Iterable[object]) -> None:
    for note in notes:
        assert isinstance(note, dict)
        place = note["url_citation"]
        start, end = place.get("start_index") or 0, place.get("end_index") or 0
        assert end <= len(read.text)
        read.cite(place["url"], start, end)


def _read_chat_usage(read: SdkAnswer, usage: openai.types.CompletionUsage | None) -> None:
    if usage is None:
        return
    read.tokens = (usage.prompt_tokens, usage.completion_tokens)
    details = extra(usage, "server_tool_use_details") or extra(usage, "server_tool_use")
    if isinstance(details, dict):
        read.searches = details.get("web_search_requests")


def _read_chunks(chunks: Sequence[types.GenerateContentResponse]) -> SdkAnswer:
    read = SdkAnswer(extension=_extension(*reversed(chunks)))
    candidates = [item for chunk in chunks for item in chunk.candidates or ()]
    for candidate in candidates:
        for part in (candidate.content.parts or ()) if candidate.content else ():
            read.text += part.text if part.text and not part.thought else ""
        read.finish = candidate.finish_reason.value if candidate.finish_reason else read.finish
    blocked = [chunk.prompt_feedback for chunk in chunks if chunk.prompt_feedback]
    if blocked and not read.finish:
        read.finish = "BLOCKED"
    for grounding in (item.grounding_metadata for item in candidates if item.grounding_metadata):
        queries = (*(grounding.web_search_queries or ()), *(grounding.retrieval_queries or ()))
        read.queries += [query for query in queries if query]
        _read_grounding(read, grounding)
    usage = chunks[-1].usage_metadata
    if usage is not None:
        read.tokens = (
            (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0),
            (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
        )
    return read


def _read_grounding(read: SdkAnswer, grounding: types.GroundingMetadata) -> None:
    pages = [chunk.web or chunk.maps or chunk.retrieved_context for chunk in grounding.grounding_chunks or ()]
    read.pages |= {page.uri or "" for page in pages if page is not None}
    for support in grounding.grounding_supports or ():
        segment = support.segment
        assert segment is not None
        start, end = _points(read.text, segment.start_index or 0, segment.end_index or 0)
        assert read.text[start:end] == segment.text
        for place in support.grounding_chunk_indices or ():
            page = pages[place] if place < len(pages) else None  # providers refer to chunks that do not exist
            if page is not None:
                read.cite(page.uri or "", start, end)


def _points(text: str, start: int, end: int) -> tuple[int, int]:
    """UTF-8 offsets as code points."""
    data = text.encode()
    return len(data[:start].decode()), len(data[:end].decode())


class _Steps:
    """The texts of an interaction, with citations whose offsets count within one text."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        self.notes: list[tuple[int, interactions.Annotation]] = []

    def add_to(self, read: SdkAnswer) -> None:
        """Append the texts and citations to an answer."""
        starts: dict[int, int] = {}
        for place, text in sorted(self.texts.items()):
            starts[place] = len(read.text)
            read.text += text
        for place, note in self.notes:
            assert isinstance(note, interactions.URLCitation)
            start, end = _points(self.texts.get(place, ""), note.start_index or 0, note.end_index or 0)
            read.cite(note.url or "", starts.get(place, 0) + start, starts.get(place, 0) + end)


def _read_interaction(interaction: interactions.Interaction) -> SdkAnswer:
    read = _read_ending(interaction)
    steps = _Steps()
    for step in interaction.steps or ():
        if isinstance(step, interactions.ModelOutputStep):
            for content in step.content or ():
                if isinstance(content, interactions.TextContent):
                    place = len(steps.texts)
                    steps.texts[place] = content.text or ""
                    steps.notes += [(place, note) for note in content.annotations or ()]
        elif isinstance(step, interactions.GoogleSearchCallStep):
            read.queries += [query for query in step.arguments.queries or () if query]
    steps.add_to(read)
    return read


def _read_ending(interaction: object) -> SdkAnswer:
    read = SdkAnswer(finish=str(getattr(interaction, "status", "")), extension=_extension(interaction))
    usage = getattr(interaction, "usage", None)
    if isinstance(usage, interactions.Usage):
        read.tokens = (
            (usage.total_input_tokens or 0) + (usage.total_tool_use_tokens or 0),
            (usage.total_output_tokens or 0) + (usage.total_thought_tokens or 0),
        )
        for item in usage.grounding_tool_count or ():
            read.searches = item.count
    return read


def _whole_converse(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The response that a stream amounts to."""
    blocks: dict[int, dict[str, Any]] = {}
    ending: dict[str, Any] = {}
    for event in events:
        if start := event.get("contentBlockStart"):
            blocks[start["contentBlockIndex"]] = {name: dict(item) for name, item in start["start"].items()}
        elif delta := event.get("contentBlockDelta"):
            _add_converse_delta(blocks.setdefault(delta["contentBlockIndex"], {}), delta["delta"])
        else:
            ending |= event.get("messageStop") or event.get("metadata") or {}
    return {**ending, "output": {"message": {"content": [blocks[index] for index in sorted(blocks)]}}}


def _add_converse_delta(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    cited = block.setdefault("citationsContent", {}) if {"text", "citation"} & set(delta) else {}
    if "text" in delta:
        cited.setdefault("content", []).append({"text": delta["text"]})
    elif "citation" in delta:
        cited.setdefault("citations", []).append(delta["citation"])
    elif "toolUse" in delta:
        call = block["toolUse"]
        call["input"] = call.get("input", "") + delta["toolUse"]["input"]


def _read_converse(response: Mapping[str, Any]) -> SdkAnswer:
    read = SdkAnswer(finish=response["stopReason"])
    before = 0
    for block in response["output"]["message"]["content"]:
        start = len(read.text)
        cited = block.get("citationsContent", {})
        texts = [block["text"]] if "text" in block else [item["text"] for item in cited.get("content", ())]
        read.text += "".join(texts)
        for citation in cited.get("citations", ()):
            read.cite(citation["location"]["web"]["url"], start if texts else before, len(read.text))
        before = start if texts else before
        call = block.get("toolUse", {})
        if call.get("name") == "nova_grounding":
            arguments = call["input"]
            read.queries += _queries(json.loads(arguments) if isinstance(arguments, str) else arguments)
    usage = response["usage"]
    cached = usage.get("cacheReadInputTokens", 0) + usage.get("cacheWriteInputTokens", 0)
    read.tokens = (usage["inputTokens"] + cached, usage["outputTokens"])
    return read


def _read_cohere(
    content: Iterable[tuple[str, str]], citations: Iterable[cohere.Citation], ending: object
) -> SdkAnswer:
    """The blocks of content by kind, the citations, and the object with the finish reason."""
    read = SdkAnswer(finish=str(getattr(ending, "finish_reason", "")))
    starts: list[int] = []
    for kind, text in content:
        starts.append(len(read.text))
        read.text += text if kind == "text" else ""
    for citation in citations:
        start = starts[citation.content_index or 0] if starts else 0
        first, last = start + (citation.start or 0), start + (citation.end or 0)
        assert read.text[first:last] == citation.text
        for source in citation.sources or ():
            assert isinstance(source, cohere.DocumentSource)
            read.cite(str((source.document or {}).get("url", "")), first, last)
    usage = getattr(ending, "usage", None)
    if isinstance(usage, cohere.Usage) and usage.tokens is not None:
        read.tokens = (int(usage.tokens.input_tokens or 0), int(usage.tokens.output_tokens or 0))
        billed = usage.billed_units
        read.searches = int(billed.search_units) if billed and billed.search_units is not None else None
    return read


def _read_conversation(entries: Iterable[object], usage: models.ConversationUsageInfo) -> SdkAnswer:
    """Entries of a response; a reference cites the chunk of text before it."""
    read = SdkAnswer()
    for entry in entries:
        if isinstance(entry, models.ToolExecutionEntry):
            read.queries += _queries(json.loads(entry.arguments))
            results = (entry.info or {}).get("results", ())
            read.pages |= {page.get("url", "") for page in results}
        elif isinstance(entry, models.MessageOutputEntry):
            start = len(read.text)
            for chunk in [entry.content] if isinstance(entry.content, str) else entry.content:
                if isinstance(chunk, str | models.TextChunk):
                    start = len(read.text)
                    read.text += chunk if isinstance(chunk, str) else chunk.text
                elif isinstance(chunk, models.ToolReferenceChunk):
                    read.cite(chunk.url or "", start, len(read.text))
    read.tokens = (
        (usage.prompt_tokens or 0) + (usage.connector_tokens or 0),
        usage.completion_tokens or 0,
    )
    if usage.connectors:
        read.searches = usage.connectors["web_search"]
    return read


class _StreamedEntries:
    """The entries that the events of a conversation amount to."""

    def __init__(self) -> None:
        self._texts: dict[tuple[int, int], Any] = {}
        self._executions: dict[int, models.ToolExecutionEntry] = {}

    def add(self, event: object) -> None:
        """Add an event."""
        match event:
            case models.MessageOutputEvent():
                key = (event.output_index or 0, event.content_index or 0)
                if isinstance(event.content, str):
                    self._texts[key] = self._texts.get(key, "") + event.content
                else:
                    self._texts[key] = event.content
            case models.ToolExecutionStartedEvent():
                self._executions[event.output_index or 0] = models.ToolExecutionEntry(
                    name=event.name, arguments=event.arguments
                )
            case models.ToolExecutionDoneEvent():
                self._executions[event.output_index or 0].info = event.info

    def entries(self) -> list[object]:
        """All entries, in order."""
        found: dict[int, list[Any]] = {}
        for (entry, _), chunk in sorted(self._texts.items(), key=lambda item: item[0]):
            found.setdefault(entry, []).append(
                models.TextChunk(text=chunk) if isinstance(chunk, str) else chunk
            )
        messages = {entry: models.MessageOutputEntry(content=chunks) for entry, chunks in found.items()}
        return [item for _, item in sorted({**messages, **self._executions}.items())]


class SdkClients:
    """One client of each dialect for one base URL, created when it is used first.

    Use as a context manager: the exit closes connections.
    """

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        self._url = url
        self._headers = dict(headers or {})
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> SdkClients:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        self.__dict__.pop("_google", None)  # its destructor closes it again, in a task
        for _round in range(3):
            await asyncio.sleep(0)

    def _http(self, *, with_headers: bool = False) -> httpx2.AsyncClient:
        headers = self._headers if with_headers else {}
        http = httpx2.AsyncClient(verify=NO_CERTIFICATES, headers=headers)
        self._stack.push_async_callback(http.aclose)
        return http

    @cached_property
    def _anthropic(self) -> anthropic.AsyncAnthropic:
        return anthropic.AsyncAnthropic(
            base_url=self._url,
            api_key="k",
            max_retries=0,
            default_headers=self._headers,
            http_client=self._http(),
        )

    @cached_property
    def _openai(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(
            base_url=f"{self._url}/v1",
            api_key="k",
            max_retries=0,
            default_headers=self._headers,
            http_client=self._http(),
        )

    @cached_property
    def _google_http(self) -> httpx2.AsyncClient:
        return self._http()

    @cached_property
    def _google(self) -> genai.Client:
        client = genai.Client(
            api_key="k",
            http_options=types.HttpOptions(
                base_url=self._url,
                retry_options=types.HttpRetryOptions(attempts=1),
                headers=self._headers,
                httpx_async_client=self._google_http,
                client_args=CLIENT_ARGS,
                async_client_args=ASYNC_CLIENT_ARGS,
            ),
        )
        self._stack.callback(client.close)
        return client

    @cached_property
    def _cohere(self) -> cohere.AsyncClientV2:
        http = httpx.AsyncClient(verify=NO_CERTIFICATES, headers=self._headers)
        self._stack.push_async_callback(http.aclose)
        return cohere.AsyncClientV2(base_url=self._url, api_key="k", httpx_client=http)

    @cached_property
    def _mistral(self) -> Mistral:
        unused = httpx2.Client(verify=NO_CERTIFICATES)
        self._stack.callback(unused.close)
        http = self._http(with_headers=True)
        return Mistral(server_url=self._url, api_key="k", client=unused, async_client=http)

    @cached_property
    def _bedrock(self) -> Any:
        client = aws_session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=self._url,
            aws_access_key_id="k",
            aws_secret_access_key="k",  # noqa: S106
            config=botocore.config.Config(retries={"total_max_attempts": 1}),
        )
        client.meta.events.register(
            "before-call.bedrock-runtime", lambda params, **_: params["headers"].update(self._headers)
        )
        self._stack.callback(client.close)
        return client

    async def ask(self, dialect: str, model: str, *, stream: bool) -> SdkAnswer:
        """Send the question; returns the answer or the error as the client reads it."""
        methods: dict[str, Callable[[str, bool], Awaitable[SdkAnswer]]] = {
            "anthropic_messages": self._message,
            "openai_responses": self._response,
            "openai_chat": self._chat,
            "gemini": self._content,
            "gemini_interactions": self._interaction,
            "bedrock_converse": self._converse,
            "cohere_chat": self._cohere_chat,
            "mistral_conversations": self._conversation,
        }
        try:
            return await methods[dialect](model, stream)
        except APIResponseValidationError as error:
            return SdkAnswer(error=str(error), broken=True)
        except FAILURES as error:
            status = getattr(error, "status_code", None) or getattr(error, "code", None)
            message = str(error) or type(error).__name__
            return SdkAnswer(error=message, status=status if isinstance(status, int) else 0)
        except (ValueError, TypeError, AssertionError) as error:
            return SdkAnswer(error=f"{type(error).__name__}: {error}", broken=True)

    async def _message(self, model: str, stream: bool) -> SdkAnswer:
        api = self._anthropic.messages
        question: anthropic.types.MessageParam = {"role": "user", "content": QUESTION}
        tool: anthropic.types.WebSearchTool20250305Param = {
            "type": "web_search_20250305",
            "name": "web_search",
        }
        if not stream:
            return _read_message(
                await api.create(model=model, max_tokens=99, messages=[question], tools=[tool])
            )
        async with api.stream(model=model, max_tokens=99, messages=[question], tools=[tool]) as events:
            # The client yields raw events, and accumulates only the fields that it knows.
            found = [_extension(event) async for event in events if event.type == "message_delta"]
            read = _read_message(await events.get_final_message())
        read.extension = next(filter(None, found), {})
        return read

    async def _response(self, model: str, stream: bool) -> SdkAnswer:
        api = self._openai.responses
        if not stream:
            return _read_response(
                await api.create(model=model, input=QUESTION, tools=[{"type": "web_search"}])
            )
        text, read = "", SdkAnswer(error="no last event")
        async with await api.create(
            model=model, input=QUESTION, tools=[{"type": "web_search"}], stream=True
        ) as events:
            async for event in events:
                if event.type in ("response.output_text.delta", "response.refusal.delta"):
                    text += event.delta
                elif event.type in ("response.completed", "response.incomplete", "response.failed"):
                    read = _read_response(event.response)
        assert read.error or text == read.text
        return read

    async def _chat(self, model: str, stream: bool) -> SdkAnswer:
        api = self._openai.chat.completions
        if not stream:
            completion = await api.create(
                model=model, messages=[{"role": "user", "content": QUESTION}], web_search_options={}
            )
            if not completion.choices:  # an error instead of an answer, which the client does not detect
                return SdkAnswer(error=str(extra(completion, "error")))
            message = completion.choices[0].message
            read = SdkAnswer(
                (message.content or "") + (message.refusal or ""), extension=_extension(completion)
            )
            read.finish = completion.choices[0].finish_reason
            _read_notes(read, (note.model_dump() for note in message.annotations or ()))
            _read_chat_usage(read, completion.usage)
            return read
        return await self._chat_stream(model)

    async def _chat_stream(self, model: str) -> SdkAnswer:
        read, notes = SdkAnswer(), list[object]()
        async with await self._openai.chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": QUESTION}],
            web_search_options={},
            stream=True,
            stream_options={"include_usage": True},
        ) as chunks:
            async for chunk in chunks:
                read.extension = _extension(chunk) or read.extension
                _read_chat_usage(read, chunk.usage)
                for choice in chunk.choices:
                    read.text += (choice.delta.content or "") + (choice.delta.refusal or "")
                    read.finish = choice.finish_reason or read.finish
                    annotations = extra(choice.delta, "annotations")  # the client has no type for these here
                    notes += annotations if isinstance(annotations, list) else []
        _read_notes(read, notes)
        return read

    async def _content(self, model: str, stream: bool) -> SdkAnswer:
        api = self._google.aio.models
        config = types.GenerateContentConfig(tools=[types.Tool(google_search=types.GoogleSearch())])
        if not stream:
            return _read_chunks([await api.generate_content(model=model, contents=QUESTION, config=config)])
        chunks = await api.generate_content_stream(model=model, contents=QUESTION, config=config)
        return _read_chunks([chunk async for chunk in chunks])

    async def _converse(self, model: str, stream: bool) -> SdkAnswer:
        return await asyncio.to_thread(self._converse_blocking, model, stream)

    def _converse_blocking(self, model: str, stream: bool) -> SdkAnswer:
        call = self._bedrock.converse_stream if stream else self._bedrock.converse
        response = call(
            modelId=model,
            messages=[{"role": "user", "content": [{"text": QUESTION}]}],
            toolConfig={"tools": [{"systemTool": {"name": "nova_grounding"}}]},
        )
        if stream:
            with closing(response["stream"]) as events:
                response = _whole_converse(events)
        return _read_converse(response)

    async def _cohere_chat(self, model: str, stream: bool) -> SdkAnswer:
        question = cohere.UserChatMessageV2(content=QUESTION)
        options: RequestOptions = {
            "additional_body_parameters": {"connectors": [{"id": "web-search"}]},
            "max_retries": 0,
        }
        if not stream:
            answer = await self._cohere.chat(model=model, messages=[question], request_options=options)
            blocks = [(block.type, getattr(block, block.type)) for block in answer.message.content or ()]
            read = _read_cohere(blocks, answer.message.citations or (), answer)
            read.extension = _extension(answer)
            return read
        content: dict[int, tuple[str, str]] = {}
        citations: list[cohere.Citation] = []
        read = SdkAnswer(error="no last event")
        stream_events = self._cohere.chat_stream(model=model, messages=[question], request_options=options)
        async for event in stream_events:
            delta: Any = getattr(event, "delta", None)
            match event:
                case cohere.ContentDeltaV2ChatStreamResponse():
                    more = delta.message.content
                    kind = "thinking" if more.text is None else "text"
                    _, text = content.get(event.index or 0, ("", ""))
                    content[event.index or 0] = (kind, text + (more.text or more.thinking or ""))
                case cohere.CitationStartV2ChatStreamResponse():
                    citations.append(delta.message.citations)
                case cohere.MessageEndV2ChatStreamResponse():
                    if delta.error:
                        return SdkAnswer(error=delta.error)
                    known = [content.get(index, ("", "")) for index in range(1 + max(content, default=-1))]
                    read = _read_cohere(known, citations, delta)
                    read.extension = _extension(event)
        return read

    async def _conversation(self, model: str, stream: bool) -> SdkAnswer:
        api = self._mistral.beta.conversations
        search = models.WebSearchTool()
        if not stream:
            response = await api.start_async(model=model, inputs=QUESTION, tools=[search])
            return _read_conversation(response.outputs, response.usage)
        streamed = _StreamedEntries()
        async with await api.start_stream_async(model=model, inputs=QUESTION, tools=[search]) as events:
            async for event in events:
                if isinstance(event.data, models.ResponseErrorEvent):
                    return SdkAnswer(error=event.data.message)
                if isinstance(event.data, models.ResponseDoneEvent):
                    return _read_conversation(streamed.entries(), event.data.usage)
                streamed.add(event.data)
        return SdkAnswer(error="no last event")

    async def _interaction(self, model: str, stream: bool) -> SdkAnswer:
        api = self._google.aio.interactions
        if not stream:
            interaction = await api.create(model=model, input=QUESTION, tools=[{"type": "google_search"}])
            assert isinstance(interaction, interactions.Interaction)
            return _read_interaction(interaction)
        read, steps, queries = SdkAnswer(error="no last event"), _Steps(), list[str]()
        events = await api.create(model=model, input=QUESTION, tools=[{"type": "google_search"}], stream=True)
        assert not isinstance(events, interactions.Interaction)
        async for event in events:
            if isinstance(event, interactions.StepDelta):
                queries += _add_delta(steps, event.index, event.delta)
            elif isinstance(event, interactions.InteractionCompletedEvent):
                read = _read_ending(event.interaction)
            elif isinstance(event, interactions.ErrorEvent):
                read = SdkAnswer(error=str(event.error))
        steps.add_to(read)
        read.queries = queries
        return read


def _add_delta(steps: _Steps, place: int, delta: interactions.StepDeltaData) -> list[str]:
    if isinstance(delta, interactions.TextDelta):
        steps.texts[place] = steps.texts.get(place, "") + delta.text
    elif isinstance(delta, interactions.TextAnnotationDelta):
        steps.notes += [(place, note) for note in delta.annotations or ()]
    elif isinstance(delta, interactions.GoogleSearchCallDelta):
        return [query for query in delta.arguments.queries or () if query]
    return []
