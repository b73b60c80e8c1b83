"""Decodes and encodes whole responses.

A body is decoded by the stream decoder, as the last event of a stream. An encoded response echoes the request
(tools with their defaults, limits, format), because clients read it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from groundwire.dialects.base import Reply
from groundwire.dialects.extras import FIELD, VERSION, add_extension
from groundwire.dialects.features import Feature
from groundwire.dialects.fields import Fields, as_object
from groundwire.dialects.openai_responses.decoder import Decoder
from groundwire.dialects.openai_responses.errors import (
    INCOMPLETE_REASONS,
    KNOWN_REASONS,
    encode_response_error,
)
from groundwire.dialects.openai_responses.history import (
    MAX_EXTRA_SLICES,
    AnnotationList,
    SearchPairs,
    encode_assistant_message,
    encode_generated_image,
    encode_reasoning_item,
    encode_text,
    group_runs,
    is_item,
    slice_span,
    text_bounds,
)
from groundwire.dialects.openai_responses.request import encode_reasoning_options, encode_text_options
from groundwire.dialects.openai_responses.search import encode_search_item, own_extras, own_id
from groundwire.dialects.openai_responses.tools import encode_call, encode_echoed_choice, encode_echoed_tools
from groundwire.dialects.openai_responses.usage import encode_tool_usage, encode_usage
from groundwire.errors import UpstreamWireError
from groundwire.model import (
    Answer,
    Citation,
    Event,
    Image,
    JsonObject,
    Opaque,
    Part,
    Reasoning,
    Request,
    SearchCall,
    SearchResult,
    Text,
    ToolCall,
)

LOSSES: dict[Feature, str] = {
    Feature.CONFIDENCE: "`groundwire.citations`",
    Feature.SEARCH_ERRORS: "the status `failed`, and why in `groundwire.searches`",
    Feature.SUGGESTIONS: "`groundwire.suggestions`",
    Feature.CALLERS: "nowhere",
    Feature.PAUSE: "nowhere",
    Feature.TOOL_TOKENS: "nowhere",
}
_ECHOED_FIELDS: JsonObject = {
    "background": False,
    "frequency_penalty": 0,
    "metadata": {},
    "parallel_tool_calls": True,
    "presence_penalty": 0,
    "prompt_cache_key": None,
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "top_logprobs": 0,
    "truncation": "disabled",
    "user": None,
}
"""Fields of the request that a response echoes, with their defaults. Open Responses requires all of them."""


def decode_response(body: JsonObject) -> list[Event]:
    """Decode a whole response into events."""
    fields = Fields.of(body, UpstreamWireError)
    if not any(fields.has(key) for key in ("output", "outputs", "status", "error", "detail")):
        raise fields.fault("expected a list of items", "output")
    decoder = Decoder()
    decoder.audit(body)
    decoder.read_response(fields)
    return decoder.feed(b"")


def encode_response(answer: Answer, reply: Reply) -> JsonObject:
    """Encode an answer as a response body, which is also the last event of a stream."""
    status, reason = _status(answer)
    output = encode_output(answer, reply.id)
    if status != "completed" and output and output[-1]["type"] in ("message", "function_call"):
        output[-1]["status"] = "incomplete"
    body: JsonObject = {**encode_head(answer, reply), "status": status, "output": [*output]}
    body["incomplete_details"] = {"reason": reason} if reason else None
    body["error"] = encode_response_error(answer.error) if answer.error else None
    body["usage"] = encode_usage(answer.usage)
    if tool_usage := encode_tool_usage(answer.usage):
        body["tool_usage"] = tool_usage
    return _add_response_extensions(body, answer)


def encode_head(answer: Answer, reply: Reply) -> JsonObject:
    """Encode a response that has just begun."""
    request = reply.request
    limits = request.limits
    extras = own_extras(request.extras)
    reasoning = encode_reasoning_options(request)
    return {
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": reply.created,
        "completed_at": None,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": "\n\n".join(part.text for part in request.system) or None,
        "max_output_tokens": limits.max_output_tokens,
        "max_tool_calls": extras.get("max_tool_calls", _max_searches(request)),
        "model": reply.model or answer.model,
        "output": [],
        "previous_response_id": request.previous_id or None,
        "reasoning": {"effort": reasoning.get("effort"), "summary": reasoning.get("summary")},
        "temperature": 1.0 if limits.temperature is None else limits.temperature,
        "text": {"format": {"type": "text"}, **encode_text_options(request)},
        "tool_choice": encode_echoed_choice(request),
        "tools": encode_echoed_tools(request),
        "top_p": 1.0 if limits.top_p is None else limits.top_p,
        "usage": None,
        **{key: extras.get(key, default) for key, default in _ECHOED_FIELDS.items()},
    }


def _max_searches(request: Request) -> int | None:
    return None if request.search is None else request.search.max_uses


def _status(answer: Answer) -> tuple[str, str]:
    """Status of the response, and the reason if it is incomplete."""
    if answer.error is not None:
        return "failed", ""
    reason = INCOMPLETE_REASONS.get(answer.finish, "")
    if answer.finish in ("length", "filtered", "other") and answer.detail in KNOWN_REASONS:
        reason = answer.detail
    return ("incomplete", reason) if reason else ("completed", "")


def add_citations_extension(body: JsonObject, answer: Answer) -> JsonObject:
    """Add all citations as an extension, whether or not the output has them."""
    return add_extension(body, answer, {*LOSSES, Feature.CITATIONS})


def _add_response_extensions(body: JsonObject, answer: Answer) -> JsonObject:
    # Without text there is no part to attach an annotation to.
    body = add_extension(body, answer, LOSSES if answer.text else {*LOSSES, Feature.UNPLACED})
    has_searched = any(isinstance(part, SearchCall | SearchResult) for part in answer.parts)
    if has_searched and not answer.citations and "](http" in answer.text:
        # Otherwise a reader would take the links of the text for citations, as with the Codex backend.
        body[FIELD] = {"version": VERSION, **as_object(body.get(FIELD)), "citations": []}
    return body


def encode_output(answer: Answer, reply_id: str) -> list[JsonObject]:
    """Encode the items of an answer."""
    ids = ItemIds(reply_id)
    texts = [part for part in answer.parts if isinstance(part, Text) and part.text]
    annotations = iter(encode_annotations(texts, answer.citations))
    searches = SearchPairs(answer.parts)
    items: list[JsonObject] = []
    for run in group_runs(part for part in answer.parts if is_item(part, searches) and not is_fragment(part)):
        if isinstance(run, list):
            contents = [encode_text(text, next(annotations)) for text in run]
            items.append(encode_assistant_message(ids.take("msg", own_id(run[0].extras)), run, contents))
        else:
            items.extend(_encode_item(run, ids, searches))
    if answer.finish == "refused" and not any(text.phase == "refusal" for text in texts):
        _append_refusal(items, ids)
    return items


def _append_refusal(items: list[JsonObject], ids: ItemIds) -> None:
    """Append an empty refusal, for a model that refused without a refusal text."""
    refusal = encode_text(Text("", "refusal"), [])
    if items and items[-1]["type"] == "message":
        content = items[-1]["content"]
        items[-1]["content"] = [*(content if isinstance(content, list) else ()), refusal]
    else:
        items.append(encode_assistant_message(ids.take("msg"), [], [refusal]))


def _encode_item(part: Part, ids: ItemIds, searches: SearchPairs) -> Iterator[JsonObject]:
    match part:
        case Reasoning():
            yield {**encode_reasoning_item(part), "id": ids.take("rs", own_id(part.extras))}
        case ToolCall():
            call = encode_call(part)
            call["call_id"] = ids.take("call", part.id)
            yield {"status": "completed", **call, "id": ids.take("fc", own_id(part.extras))}
        case SearchCall():
            yield encode_search_item(search_item_id(ids, part.id), part, searches.result_of(part))
        case SearchResult():
            yield encode_search_item(search_item_id(ids, part.call_id), None, part)
        case Image():
            yield {**encode_generated_image(part), "id": ids.take("ig", own_id(part.extras))}
        case Opaque():
            yield encode_opaque(part, ids)


def encode_opaque(part: Opaque, ids: ItemIds) -> JsonObject:
    """Encode an item that is specific to this dialect; it needs an id like every item."""
    item_id = part.data.get("id")
    return {**part.data, "id": ids.take("item", item_id if isinstance(item_id, str) else "")}


def search_item_id(ids: ItemIds, call_id: str) -> str:
    """Id of a search item: the call id if this dialect made it."""
    return ids.take("ws", call_id if call_id.startswith("ws_") else "")


def is_fragment(part: Part) -> bool:
    """Whether a part is an unknown content part, which is kept for the history but has no events."""
    return isinstance(part, Opaque) and part.data.get("type") == "message"


def encode_annotations(texts: Sequence[Text], citations: Iterable[Citation]) -> list[list[JsonObject]]:
    """Encode the annotations of each text part.

    Those without a span go to the last part that is not a refusal.
    """
    bounds = text_bounds(texts)
    lists = [AnnotationList() for _ in texts]
    citable = [index for index, part in enumerate(texts) if part.phase != "refusal"]
    unplaced: list[Citation] = []
    extra_slices = MAX_EXTRA_SLICES
    for citation in citations:
        found = slice_span(citation.span, bounds) if citation.span else iter(())
        slices = list(
            islice((item for item in found if texts[item.part].phase != "refusal"), extra_slices + 1)
        )
        extra_slices -= max(len(slices) - 1, 0)
        for index, start, end in slices:
            lists[index].add(citation, start, end, texts[index].text[start:end])
        if not slices:
            unplaced.append(citation)
    for citation in unplaced if citable else ():
        lists[citable[-1]].add_unplaced(citation)
    return [list(annotations) for annotations in lists]


class ItemIds:
    """Allocates the item ids of one reply: the provider's id if it is known and free, else a numbered one.

    An item keeps the id of its provider, because encrypted reasoning is bound to it and stored turns are
    found by it. Official clients reject a stream in which the id of an item changes, so an id is chosen once,
    when the item begins.
    """

    __slots__ = ("_counts", "_reply_id", "_used")

    def __init__(self, reply_id: str) -> None:
        self._reply_id = reply_id
        self._counts: dict[str, int] = {}
        self._used: set[tuple[str, str]] = set()

    def take(self, prefix: str, preferred: str = "") -> str:
        """Allocate an unused id."""
        number = self._counts.get(prefix, 0)
        self._counts[prefix] = number + 1
        # Call ids are separate from item ids, and some servers use the same value for both.
        space = "call" if prefix == "call" else "item"
        is_free = preferred and (space, preferred) not in self._used
        item_id = preferred if is_free else f"{prefix}_{self._reply_id}_{number}"
        while (space, item_id) in self._used:
            number += 1
            item_id = f"{prefix}_{self._reply_id}_{number}"
        self._used.add((space, item_id))
        return item_id
