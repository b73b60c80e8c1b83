"""Items and content parts, both ways: a search, a reasoning, a function call, a picture, a text.

A search and what it found are one item here and two parts in the model; what it searched for is read in
`server_tools`. Its sources have addresses; feeds of weather and sports have only names. Titles, snippets and
dates of what was found are in `results`. What the model has no field for is kept as it came, beside the part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groundwire.dialects.extras import FIELD
from groundwire.dialects.fields import Fields
from groundwire.dialects.openai_responses.server_tools import read_act
from groundwire.dialects.openai_responses.wire import NAME, native
from groundwire.model import (
    NO_EXTRAS,
    Extras,
    Image,
    Json,
    JsonObject,
    Reasoning,
    SearchCall,
    SearchResult,
    Source,
    Text,
    ToolCall,
)
from groundwire.model.source_merge import SourceMerge
from groundwire.text.urls import safe_url

_TROUBLE = {"failed": "unavailable", "incomplete": "unavailable"}
_TEXT_FIELDS = ("type", "text", "refusal", "annotations", "logprobs")
_MESSAGE_FIELDS = ("id", "status", "type", "role", "content", "phase")
_BESIDE_TEXT = ("id", "status", "item", "annotations", "logprobs")


def decode_search(item: Fields, call_id: str) -> tuple[SearchCall | None, SearchResult | None]:
    """A search and what it found, if it has returned. Azure says `searching` on a finished item.

    Results of which nobody told the search, which some dialects have, are marked by us.
    """
    act = read_act(item)
    call: SearchCall | None = None
    if not item.obj(FIELD).flag("uncalled"):
        # What was found is kept by the result, where the speaker lists it as an item of its own.
        listed = ("results",) if item.text("type").endswith("_results") else ()
        extras = {NAME: item.rest("id", FIELD, *listed)}
        call = SearchCall(call_id, act.queries, act.kind, act.url, act.pattern, extras=extras)
    status = item.text("status")
    if status == "in_progress":
        return call, None
    sources = tuple(_decode_sources(item, opened=act.kind != "search"))
    others: list[Json] = [found.raw for found in item.objs("results") if not _is_text(found)]
    kept: JsonObject = {"results": others} if others else {}
    return call, SearchResult(call_id, sources, _TROUBLE.get(status, ""), extras={NAME: kept})


def decode_numbers(item: Fields) -> dict[str, Source]:
    """The pages of a search by their numbers, which Perplexity writes into its text."""
    if not item.text("type").endswith("_results"):
        return {}
    found = ((result, result.integer("id")) for result in item.objs("results"))
    return {
        str(number): Source(safe_url(result.text("url")), result.text("title"), "cited")
        for result, number in found
        if number is not None and safe_url(result.text("url"))
    }


def decode_fetch(url: str, call_id: str) -> SearchCall:
    """A page of Perplexity's `fetch_url_results`."""
    return SearchCall(call_id, kind="open", url=safe_url(url), extras={NAME: {"type": "fetch_url_results"}})


def decode_fetched(content: Fields, call_id: str) -> SearchResult:
    """What Perplexity read on a page."""
    snippet = content.text("snippet")
    url, title = safe_url(content.text("url")), content.text("title")
    source = Source(url, title, "opened", (snippet,) if snippet else ())
    return SearchResult(call_id, (source,) if url or title else (), extras={NAME: {}})


def encode_search(item_id: str, call: SearchCall | None, result: SearchResult | None) -> JsonObject:
    """A search and what it found as one item."""
    item: JsonObject = {
        "id": item_id,
        "type": "web_search_call",
        "status": "in_progress",
        "action": encode_action(call, result),
    }
    if result is None:
        return item
    item["status"] = "failed" if result.error else "completed"
    others = native(result.extras).get("results")
    results: list[Json] = list(_encode_results(call, result))
    results += others if isinstance(others, list) else []
    if results:
        item["results"] = results
    if call is None:
        item[FIELD] = {"uncalled": True}
    return item


def encode_action(call: SearchCall | None, result: SearchResult | None) -> JsonObject:
    """What a search item does; its sources are known when it has returned."""
    if call is not None and call.kind == "open":
        return {"type": "open_page", "url": call.url or None}
    if call is not None and call.kind == "find":
        return {"type": "find_in_page", "url": call.url, "pattern": call.pattern}
    action: JsonObject = {"type": "search"}
    if call is not None and call.queries:
        action["query"] = call.queries[0]
        action["queries"] = list(call.queries)
    if result is not None and result.sources:
        action["sources"] = [_encode_source(source) for source in result.sources]
    return action


def replay_search(call: SearchCall | None, result: SearchResult | None) -> JsonObject:
    """The item of an earlier turn, word for word."""
    if call is not None and "type" in native(call.extras):
        return {"id": call.id, **native(call.extras)}
    call_id = call.id if call is not None else result.call_id if result is not None else ""
    item = encode_search(call_id, call, result)
    return {key: value for key, value in item.items() if key not in ("results", FIELD)}


def _decode_sources(item: Fields, *, opened: bool) -> Iterator[Source]:
    found: dict[str, SourceMerge] = {}
    listed = item.obj("action").objs("sources")
    for fields in (*listed, *(result for result in item.objs("results") if _is_text(result))):
        url = safe_url(fields.text("url"))
        title = fields.text("title") or fields.text("name")
        snippet = fields.text("snippet")
        source = Source(
            url,
            title,
            "opened" if opened else "retrieved",
            (snippet,) if snippet else (),
            fields.text("date"),
        )
        known = found.get(url or title)
        if known is not None:
            known.add(source)
        elif url or title:
            found[url or title] = SourceMerge(source)
    yield from (merge.source() for merge in found.values())


def _encode_source(source: Source) -> JsonObject:
    return {"type": "url", "url": source.url} if source.url else {"type": "api", "name": source.title}


def _encode_results(call: SearchCall | None, result: SearchResult) -> Iterator[JsonObject]:
    """What the sources of an action cannot say, and those of actions that have none."""
    listed = call is None or call.kind == "search"
    for source in result.sources:
        if listed and not (source.url and (source.title or source.excerpts or source.date)):
            continue
        for snippet in source.excerpts or ("",):
            found: JsonObject = {
                "type": "text_result",
                "url": source.url,
                "title": source.title,
                "snippet": snippet,
            }
            if source.date:
                found["date"] = source.date
            yield found


def _is_text(found: Fields) -> bool:
    return found.text("type", "text_result") == "text_result"


def reasoning_texts(item: Fields) -> list[tuple[str, int, str]]:
    """What a reasoning item shows: its summaries, then its open text, each with its kind and index."""
    return [
        (kind, index, part.text("text"))
        for kind in ("summary", "content")
        for index, part in enumerate(item.objs(kind))
    ]


def reasoning_extras(item: Fields) -> Extras:
    """What belongs to a reasoning besides its words: id, encrypted form, and how the words were divided."""
    texts = reasoning_texts(item)
    divided = len(texts) > 1 or any(kind == "content" or not text for kind, _, text in texts)
    return {NAME: item.rest("type") if divided else item.rest("type", "summary")}


def encode_reasoning(part: Reasoning) -> JsonObject:
    """A reasoning item."""
    summary: list[Json] = [{"type": "summary_text", "text": part.text}] if part.text else []
    return {"type": "reasoning", "summary": summary, **native(part.extras)}


def decode_call(item: Fields) -> ToolCall:
    """A function call."""
    arguments = item.text("arguments") or "{}"
    return ToolCall(item.text("call_id") or item.text("id"), item.text("name"), arguments, call_extras(item))


def call_extras(item: Fields) -> Extras:
    """What belongs to a function call besides: id, status, and Codex' namespace."""
    return {NAME: item.rest("type", "call_id", "name", "arguments")}


def encode_call(part: ToolCall) -> JsonObject:
    """A function call item."""
    return {
        "type": "function_call",
        "call_id": part.id,
        "name": part.name,
        "arguments": part.arguments,
        **native(part.extras),
    }


def decode_picture(item: Fields) -> Image:
    """A picture that the provider made."""
    media_type = f"image/{item.text('output_format', 'png')}"
    return Image(media_type, item.text("result"), extras={NAME: item.rest("type", "result")})


def encode_picture(part: Image) -> JsonObject:
    """The item of a picture that comes inline."""
    return {
        "type": "image_generation_call",
        "status": "completed",
        "output_format": part.media_type.removeprefix("image/") or "png",
        "result": part.data,
        **native(part.extras),
    }


def message_extras(item: Fields) -> Extras:
    """What belongs to a message besides its content: id and status."""
    kept: JsonObject = {key: item.raw[key] for key in ("id", "status") if item.has(key)}
    beside = item.rest(*_MESSAGE_FIELDS)
    if beside:
        kept["item"] = beside
    return {NAME: kept} if kept else NO_EXTRAS


def part_extras(part: Fields, others: Iterable[Json]) -> Extras:
    """What belongs to a text besides its web citations: annotations of other kinds, probabilities."""
    kept = part.rest(*_TEXT_FIELDS)
    annotations = list(others)
    if annotations:
        kept["annotations"] = annotations
    if part.items("logprobs"):
        kept["logprobs"] = part.items("logprobs")
    return {NAME: kept} if kept else NO_EXTRAS


def encode_text(part: Text, annotations: list[JsonObject]) -> JsonObject:
    """A content part of an assistant's message."""
    kept = native(part.extras)
    beside = {key: value for key, value in kept.items() if key not in _BESIDE_TEXT}
    if part.phase == "refusal":
        return {"type": "refusal", "refusal": part.text, **beside}
    others, logprobs = kept.get("annotations"), kept.get("logprobs")
    return {
        "type": "output_text",
        "text": part.text,
        "annotations": [*annotations, *(others if isinstance(others, list) else ())],
        "logprobs": logprobs if isinstance(logprobs, list) else [],
        **beside,
    }
