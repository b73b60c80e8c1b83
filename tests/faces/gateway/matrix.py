"""The matrix: every recorded answer, through the gateway, into the official client of every dialect.

A cell is an inbound dialect, a folder of recordings, whether the client streams, and how citations are
rendered. What the client reads is compared with the canonical answer of the recording, as far as the inbound
dialect can express it; in the same dialect, where bytes are passed through, it is compared with what the same
client reads from the provider itself. Each folder of recordings is a row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from groundwire.config.schema import ProviderSettings
from groundwire.dialects.base import Dialect
from groundwire.dialects.features import Feature, project
from groundwire.dialects.registry import dialect
from groundwire.faces.gateway.clients.quirks import HEADER as RENDER
from groundwire.faces.gateway.rendering import Rendering
from groundwire.model import Answer, SearchCall, Span, assemble
from groundwire.model.value import replace
from groundwire.routing.continuation import add_usage
from groundwire.testing.answers import answer_events
from groundwire.testing.script import DOCUMENT, EVENTS, Script, ScriptedResponse, answer
from groundwire.testing.upstream import Upstream
from tests.contracts.amazon_frames import BINARY
from tests.contracts.recorded.catalogue import Recording, answer_of, recordings_of
from tests.contracts.recorded.frames import is_sse
from tests.faces.gateway.sdk_readers import SdkAnswer, SdkClients
from tests.faces.gateway.serving import provider_at, serving
from tests.oracles.expected import claims, claims_by_part, covered
from tests.oracles.rendering import billed, list_faults, listed, rendered_answer

PROVIDERS = ("anthropic_messages", "openai_responses", "openai_chat", "gemini", "gemini_interactions")
"""Every dialect of which there are recordings."""
INBOUND = (*PROVIDERS, "bedrock_converse", "cohere_chat", "mistral_conversations")

_FINISHES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "anthropic_messages": {
        "stop": ("end_turn",),
        "length": ("max_tokens",),
        "filtered": ("refusal",),
        "tool_calls": ("tool_use",),
    },
    "openai_responses": {
        "stop": ("completed",),
        "tool_calls": ("completed",),
        "length": ("max_output_tokens",),
        "filtered": ("content_filter",),
    },
    "openai_chat": {
        "stop": ("stop",),
        "length": ("length",),
        "filtered": ("content_filter",),
        "tool_calls": ("tool_calls",),
    },
    "bedrock_converse": {
        "stop": ("end_turn",),
        "length": ("max_tokens",),
        "filtered": ("content_filtered",),
        "tool_calls": ("tool_use",),
    },
    "cohere_chat": {
        "stop": ("COMPLETE", "STOP_SEQUENCE"),
        "length": ("MAX_TOKENS",),
        "filtered": ("ERROR_TOXIC",),
        "tool_calls": ("TOOL_CALL",),
    },
    # There are no finish reasons.
    "mistral_conversations": dict.fromkeys(("stop", "length", "filtered", "tool_calls"), ("",)),
    # A filtered prompt has feedback, but no candidate with a finish reason.
    "gemini": {
        "stop": ("STOP",),
        "length": ("MAX_TOKENS",),
        "filtered": ("SAFETY", "BLOCKED"),
        "tool_calls": ("STOP",),
    },
    "gemini_interactions": {
        "stop": ("completed",),
        "length": ("incomplete",),
        "filtered": ("failed",),
        "tool_calls": ("requires_action",),
    },
}
MESSAGES = "application/vnd.amazon.eventstream"
VENDOR_KEYS = {
    "AWS_REGION": "us-east-1",
    **dict.fromkeys(
        (
            *("AWS_BEARER_TOKEN_BEDROCK", "CO_API_KEY", "MISTRAL_API_KEY", "DASHSCOPE_API_KEY"),
            *("ZAI_API_KEY", "GROQ_API_KEY", "PERPLEXITY_API_KEY"),
        ),
        "key-of-the-vendor",
    ),
}
Forms: TypeAlias = Literal["own", "other", "both"]
"""Whether a recording is requested as it was recorded (streamed or whole), in the other form, or in both."""
_REST = answer_events("That is all.", model="scripted-1")
"""The continuation of a turn that its provider paused."""


class Row(NamedTuple):
    """A folder of recordings, and the dialect of those in it."""

    folder: str
    dialect: str


class MatrixCell(NamedTuple):
    """The inbound dialect, the recordings, whether the client streams, and the rendering of citations."""

    inbound: str
    row: Row
    stream: bool
    rendering: Rendering = "structured"


@dataclass
class Score:
    """The result of a cell."""

    total: int = 0
    citations: int = 0
    faults: list[str] = field(default_factory=list)
    failed: int = 0

    def __str__(self) -> str:
        return f"{self.total - self.failed}/{self.total} ({self.citations})"


def chosen(recordings: Iterable[Recording], most: int) -> list[Recording]:
    """The richest recordings of each dialect and kind: citations first, then searches, then errors."""
    kept: dict[tuple[str, str], list[Recording]] = {}
    for recording in recordings:
        kept.setdefault((recording.dialect, recording.kind), []).append(recording)
    found: list[Recording] = []
    for group in kept.values():
        group.sort(
            key=lambda item: (len(answer_of(item).citations), len(answer_of(item).parts)), reverse=True
        )
        incomplete = [item for item in group if answer_of(item).error or answer_of(item).finish != "stop"]
        found += dict.fromkeys((*group[: most - 1], *incomplete[:1], *group[:most]))
    return list(dict.fromkeys(found))


def richest(recordings: Iterable[Recording]) -> dict[str, Recording]:
    """The recording with most citations of each kind, all of one dialect."""
    found = sorted(recordings, key=lambda item: (len(answer_of(item).citations), len(answer_of(item).parts)))
    return {recording.kind: recording for recording in found}


def row_of(recording: Recording) -> Row:
    """The row of a recording."""
    return Row(recording.name.partition("/")[0], recording.dialect)


def rows_of(recordings: Iterable[Recording]) -> list[Row]:
    """All rows, sorted by dialect."""
    return sorted({row_of(recording) for recording in recordings}, key=lambda row: (row.dialect, row.folder))


def forms_of(recordings: Iterable[Recording], forms: Forms) -> set[bool]:
    """The values of `stream` that the cells have."""
    return {stream for recording in recordings for stream in _streams(recording, forms)}


def _streams(recording: Recording, forms: Forms) -> tuple[bool, ...]:
    own = recording.kind == "stream"
    return {"own": (own,), "other": (not own,), "both": (False, True)}[forms]


def all_recordings() -> list[Recording]:
    """Every recorded answer."""
    return recordings_of("body", "stream")


def model_of(recording: Recording) -> str:
    """The model that is requested: of Bedrock's, only Nova searches."""
    return "us.amazon.nova-2-lite-v1:0" if recording.vendor == "bedrock" else "model-1"


def response_of(recording: Recording) -> ScriptedResponse:
    """The recording as its provider sent it."""
    if recording.kind == "stream" and recording.dialect in BINARY:
        return ScriptedResponse(headers={"content-type": MESSAGES}, body=recording.data, framing="chunked")
    streams = recording.kind == "stream" and is_sse(recording.data)
    kind = EVENTS if streams else DOCUMENT
    return ScriptedResponse(
        headers={"content-type": kind}, body=recording.data, framing="chunked" if streams else "length"
    )


async def play(
    recordings: Sequence[Recording],
    *,
    forms: Forms = "own",
    renderings: Sequence[Rendering] = ("structured",),
) -> dict[MatrixCell, Score]:
    """Request every recording in every dialect and in these forms."""
    scores: dict[MatrixCell, Score] = {}
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(Upstream(Script()))
        providers = {f"my_{name}": provider_at(name, upstream.url) for name in PROVIDERS}
        vendors = {recording.vendor for recording in recordings if recording.vendor}
        providers |= {name: ProviderSettings(base_url=upstream.url) for name in vendors}
        here = await stack.enter_async_context(serving(providers, env=VENDOR_KEYS))
        direct = await stack.enter_async_context(SdkClients(upstream.url))
        for rendering in renderings:
            through = await stack.enter_async_context(SdkClients(here.url, {RENDER: rendering}))
            for cell, recording in _cells(recordings, rendering, forms):
                score = scores.setdefault(cell, Score())
                await _ask(cell, recording, upstream, (through, direct), score)
    return scores


def _cells(
    recordings: Sequence[Recording], rendering: Rendering, forms: Forms
) -> Iterator[tuple[MatrixCell, Recording]]:
    for recording in recordings:
        for inbound in INBOUND:
            for stream in _streams(recording, forms):
                yield MatrixCell(inbound, row_of(recording), stream, rendering), recording


async def _ask(
    cell: MatrixCell,
    recording: Recording,
    upstream: Upstream,
    clients: tuple[SdkClients, SdkClients],
    score: Score,
) -> None:
    through, direct = clients
    _script(upstream, recording)
    provider = recording.vendor or f"my_{recording.dialect}"
    read = await through.ask(cell.inbound, f"{provider}/{model_of(recording)}", stream=cell.stream)
    native = cell.stream == (recording.kind == "stream") and is_sse(recording.data) == cell.stream
    faults: list[str] = []
    own = SdkAnswer()
    if cell.inbound == recording.dialect and native and not recording.vendor:
        _script(upstream, recording)
        own = await direct.ask(cell.inbound, "model-1", stream=cell.stream)
        faults = list(differences(read, own)) if cell.rendering == "structured" else []
    elif cell.rendering == "structured":
        # Also if the provider ignores `stream`: its own client cannot read such a response.
        faults = list(misses(cell.inbound, read, _expected(recording)))
    if cell.rendering != "structured" and not own.broken:  # a vendor's own client may fail to read the answer
        faults = list(rendering_faults(cell, read, _expected(recording)))
    score.total += 1
    score.failed += bool(faults)
    score.citations += len(
        listed(read.text) if cell.rendering == "markers" else (*read.spans, *read.unplaced)
    )
    score.faults += [f"{recording.name}: {fault}" for fault in faults]


def rendering_faults(cell: MatrixCell, read: SdkAnswer, answer: Answer) -> Iterator[str]:
    """What is wrong with an answer whose citations are rendered into its text."""
    if answer.error is None and not read.error:
        yield from list_faults(answer, read.text)
        answer = rendered_answer(answer, read.text, keep_citations=cell.rendering == "both")
    yield from misses(cell.inbound, read, answer)


def _expected(recording: Recording) -> Answer:
    answer = answer_of(recording)
    answer = _continued(answer) if answer.finish == "pause" else answer
    return replace(answer, usage=replace(answer.usage, searches=billed(answer, recording.dialect)))


def _script(upstream: Upstream, recording: Recording) -> None:
    upstream.script = answer_once(recording, len(upstream.requests))


def answer_once(recording: Recording, requests: int) -> Script:
    """Answer the next request with the recording, and the one after with the rest of a paused turn."""
    rest = answer(recording.dialect, _REST)
    paused = answer_of(recording).finish == "pause"
    responses = (response_of(recording), rest) if paused else (response_of(recording),)
    # Requests are counted for each pattern: a new pattern starts at the first response.
    return Script(paths={"*" * (1 + requests): responses})


def _continued(first: Answer) -> Answer:
    """A paused turn and its rest, as one answer."""
    rest = assemble(_REST)
    usage = add_usage(first.usage, rest.usage)
    return replace(first, parts=(*first.parts, *rest.parts), usage=usage, finish=rest.finish)


def differences(read: SdkAnswer, direct: SdkAnswer) -> Iterator[str]:
    """Differences between two reads of one answer; in the same dialect there must be none."""
    if direct.error:
        if not read.error or (read.broken and not direct.broken):
            yield f"{direct.error[:80]} was not reported"
        return
    for name in ("text", "spans", "unplaced", "queries", "searches", "finish", "tokens", "error"):
        if getattr(read, name) != getattr(direct, name):
            yield f"{name}: {getattr(direct, name)!r} became {getattr(read, name)!r}"


def misses(inbound: str, read: SdkAnswer, answer: Answer) -> Iterator[str]:
    """What the client lost of an answer, and what it has that the answer does not."""
    if answer.error is not None or read.error:
        if answer.error is None or not read.error or read.broken:
            yield f"error: {answer.error} became {read.error[:120]!r}"
        return
    target = dialect(inbound)
    if read.text != answer.text:
        yield f"text: {answer.text!r} became {read.text!r}"
    yield from _citations(target, read, answer)
    yield from _searches(target, read, answer)
    if read.finish not in (finishes := _FINISHES[inbound][answer.finish or ""]):
        yield f"finish: {finishes} became {read.finish}"
    if read.tokens != (answer.usage.input_tokens or 0, answer.usage.output_tokens or 0):
        yield f"tokens: {answer.usage} became {read.tokens}"


def _citations(target: Dialect, read: SdkAnswer, answer: Answer) -> Iterator[str]:
    places = _covered(read.spans)
    expected = covered(answer)
    for url in expected.keys() | places.keys():
        if expected.get(url) != places.get(url):
            yield f"cited: {url}: {_shown(expected.get(url))} became {_shown(places.get(url))}"
    if target.name not in (
        "anthropic_messages",
        "bedrock_converse",
        "mistral_conversations",
    ):  # their citations cover blocks, split where claims begin and end
        words = {(read.text[start:end], url) for start, end, url in read.spans}
        if moved := words - claims(answer) - claims_by_part(answer):
            yield f"claims that were not made: {moved}"
        if target.name in ("gemini", "openai_chat") and (lost := claims(answer) - words):
            yield f"claims lost: {lost}"
    whole = project(answer, Feature.UNPLACED)
    assert isinstance(whole, set)
    # Messages clients find pages without a cited block in the list of results.
    reported = read.unplaced | read.pages if Feature.UNPLACED not in target.losses else _extended(read)
    if missing := whole - reported:
        yield f"unplaced: {missing} lost"
    if invented := read.unplaced - whole:
        yield f"unplaced: {invented} invented"


def _covered(spans: Collection[tuple[int, int, str]]) -> dict[str, set[int]]:
    places: dict[str, set[int]] = {}
    for start, end, url in spans:
        places.setdefault(url, set()).update(range(start, end))
    return places


def _shown(places: set[int] | None) -> str:
    return str([*Span(min(places), max(places) + 1), len(places)]) if places else "nothing"


def _extended(read: SdkAnswer) -> set[str]:
    """URLs of citations without a span: in the field `groundwire`, or as pages that are not cited."""
    sources = read.extension.get("sources")
    return read.pages | ({item["url"] for item in sources} if isinstance(sources, list) else set())


def _searches(target: Dialect, read: SdkAnswer, answer: Answer) -> Iterator[str]:
    calls = [part for part in answer.parts if isinstance(part, SearchCall) and part.kind == "search"]
    queries = [query for call in calls for query in call.queries]
    reported = read.queries
    if Feature.QUERIES in target.losses:
        searches = read.extension.get("searches")
        kept = searches if isinstance(searches, list) else []
        reported = [item["query"] for item in kept if item["kind"] == "search" and item["query"]]
    if sorted(set(reported)) != sorted(set(queries)):
        yield f"queries: {queries} became {reported}"
    elif Feature.SEARCH_CALLS not in target.losses and reported != queries:
        yield f"order of queries: {queries} became {reported}"
    if Feature.SEARCH_COUNT not in target.losses and (read.searches or 0) != (answer.usage.searches or 0):
        yield f"searches: {answer.usage.searches} became {read.searches}"
