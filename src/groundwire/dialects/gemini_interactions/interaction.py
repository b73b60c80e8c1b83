"""The interaction object: its head, and the steps of messages and answers.

Neighbouring texts become one step, as the provider itself would have sent them: its clients show each step
as a paragraph. A citation belongs to the text in which its claim ends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import groupby

from groundwire.dialects.base import Reply
from groundwire.dialects.gemini_interactions.citations import encode_annotations, ends_within
from groundwire.dialects.gemini_interactions.parts import NAME, encode_image, own
from groundwire.dialects.gemini_interactions.searches import encode_call, encode_result
from groundwire.dialects.json import load_json
from groundwire.errors import ClientWireError, WireError
from groundwire.model import (
    Citation,
    Image,
    Json,
    JsonObject,
    Opaque,
    Part,
    Reasoning,
    SearchCall,
    SearchResult,
    Text,
    ToolCall,
)


def encode_head(reply: Reply, status: str) -> JsonObject:
    """What every form of an interaction begins with."""
    return {"id": f"v1_{reply.id}", "status": status, "object": "interaction", "model": reply.model}


def encode_times(reply: Reply) -> JsonObject:
    """When it was made."""
    time = timestamp(reply.created)
    return {"created": time, "updated": time}


def encode_steps(parts: Iterable[Part], citations: Iterable[Citation]) -> list[JsonObject]:
    """The steps of a turn, each citation in the text where its claim ends."""
    groups = list(_grouped(parts))
    texts = [group for group in groups if isinstance(group, str)]
    shares = iter(_shared_out(texts, citations))
    calls: dict[str, SearchCall] = {}
    steps: list[JsonObject] = []
    position = 0
    for group in groups:
        if isinstance(group, str):
            steps.append(encode_output(group, encode_annotations(next(shares), group, position)))
            position += len(group)
        elif step := encode_part(group, calls):
            steps.append(step)
    annotations = encode_annotations(next(shares), "", position)
    if annotations:
        steps.append(encode_output("", annotations))
    return steps


def encode_output(text: str, annotations: list[JsonObject]) -> JsonObject:
    """A step of text."""
    block: JsonObject = {"type": "text", "text": text}
    if annotations:
        block["annotations"] = list[Json](annotations)
    return {"type": "model_output", "content": [block]}


def encode_part(part: Part, calls: dict[str, SearchCall]) -> JsonObject | None:
    """The step of any other part, if there is one; `calls` remembers what results answer."""
    match part:
        case Reasoning():
            return encode_thought(part)
        case ToolCall():
            step: JsonObject = {"type": "function_call", "id": part.id, "name": part.name}
            return step | {"arguments": decode_arguments(part.arguments)} | own(part.extras)
        case SearchCall():
            calls[part.id] = part
            return encode_call(part)
        case SearchResult():
            return encode_result(part, calls.get(part.call_id))
        case Image():
            return {"type": "model_output", "content": [encode_image(part)]}
        case Opaque(dialect, data) if dialect == NAME:
            return data
        case _:
            return None


def encode_thought(part: Reasoning) -> JsonObject:
    """A thought, signed if it was."""
    step: JsonObject = {"type": "thought"}
    if part.text:
        step["summary"] = [{"type": "text", "text": part.text}]
    return step | own(part.extras)


def decode_arguments(arguments: str) -> JsonObject:
    """Arguments as the object the dialect wants; anything else is wrapped in one."""
    try:
        value = load_json(arguments, ClientWireError)
    except WireError:
        value = arguments
    return value if isinstance(value, dict) else {"value": value}


def timestamp(seconds: int) -> str:
    """Seconds since the epoch as `2026-05-15T18:52:36Z`, by the calendar alone."""
    days, rest = divmod(seconds, 86400)
    era, day_of_era = divmod(days + 719468, 146097)  # days since 1 March of year 0; eras of 400 years
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    year = year_of_era + era * 400 + (month <= 2)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{year:04}-{month:02}-{day:02}T{clock}Z"


def _grouped(parts: Iterable[Part]) -> Iterator[str | Part]:
    """Parts, with neighbouring texts of one phase joined."""
    for phase, group in groupby(parts, lambda part: part.phase if isinstance(part, Text) else None):
        if phase is None:
            yield from group
        else:
            text = "".join(part.text for part in group if isinstance(part, Text))
            if text:
                yield text


def _shared_out(texts: list[str], citations: Iterable[Citation]) -> list[list[Citation]]:
    """The citations of each text, and last those that have no text to go with.

    One without a place goes with the last text, for it speaks for all of it.
    """
    starts, end = [], 0
    for text in texts:
        starts.append(end)
        end += len(text)
    shares: list[list[Citation]] = [[] for _ in range(len(texts) + 1)]
    for citation in citations:
        if citation.span is not None and texts and ends_within(citation, 0, end):
            shares[max(bisect_left(starts, citation.span.end) - 1, 0)].append(citation)
        else:
            shares[max(len(texts) - 1, 0)].append(Citation(None, citation.evidence))
    return shares
