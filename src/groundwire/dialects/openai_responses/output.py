"""The list of items: the `output` of an answer, and an earlier turn in an `input`.

Consecutive texts are content parts of one message, as long as neither the phase nor the message of the
provider changes. A search and its result are one item, at the place of the search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from groundwire.dialects.fields import as_object
from groundwire.dialects.openai_responses.citations import annotate, replay
from groundwire.dialects.openai_responses.parts import (
    encode_call,
    encode_picture,
    encode_reasoning,
    encode_search,
    encode_text,
    replay_search,
)
from groundwire.dialects.openai_responses.wire import NAME, Names, native, native_id
from groundwire.model import (
    Answer,
    Citation,
    Image,
    JsonObject,
    Opaque,
    Part,
    Reasoning,
    SearchCall,
    SearchResult,
    Text,
    ToolCall,
)

Run: TypeAlias = "list[Text] | Part"


def encode_output(answer: Answer, reply_id: str) -> list[JsonObject]:
    """The items of an answer."""
    names = Names(reply_id)
    texts = [part for part in answer.parts if isinstance(part, Text) and part.text]
    annotations = iter(annotate(texts, answer.citations))
    searches = _Searches(answer.parts)
    items: list[JsonObject] = []
    for run in _runs(part for part in answer.parts if _is_item(part, searches) and not is_fragment(part)):
        if isinstance(run, list):
            contents = [encode_text(text, next(annotations)) for text in run]
            items.append(encode_message(names.take("msg", native_id(run[0].extras)), run, contents))
        else:
            items.extend(_encode_item(run, names, searches))
    if answer.finish == "refused" and not any(text.phase == "refusal" for text in texts):
        _refuse(items, names)
    return items


def encode_message(item_id: str, texts: Sequence[Text], contents: Sequence[JsonObject]) -> JsonObject:
    """A message of the assistant's."""
    item: JsonObject = {
        "id": item_id,
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": list(contents),
    }
    phase = next((text.phase for text in texts if text.phase not in ("", "refusal")), "")
    if phase:
        item["phase"] = phase
    beside = as_object(native(texts[0].extras).get("item")) if texts else {}
    return {**item, **beside}


def _refuse(items: list[JsonObject], names: Names) -> None:
    """A model that refused without words of refusal says so with an empty refusal."""
    refusal = encode_text(Text("", "refusal"), [])
    if items and items[-1]["type"] == "message":
        content = items[-1]["content"]
        items[-1]["content"] = [*(content if isinstance(content, list) else ()), refusal]
    else:
        items.append(encode_message(names.take("msg"), [], [refusal]))


def _encode_item(part: Part, names: Names, searches: _Searches) -> Iterator[JsonObject]:
    match part:
        case Reasoning():
            yield {**encode_reasoning(part), "id": names.take("rs", native_id(part.extras))}
        case ToolCall():
            call = encode_call(part)
            call["call_id"] = names.take("call", part.id)
            yield {"status": "completed", **call, "id": names.take("fc", native_id(part.extras))}
        case SearchCall():
            yield encode_search(search_id(names, part.id), part, searches.result_of(part))
        case SearchResult():
            yield encode_search(search_id(names, part.call_id), None, part)
        case Image():
            yield {**encode_picture(part), "id": names.take("ig", native_id(part.extras))}
        case Opaque():
            yield encode_opaque(part, names)


def encode_opaque(part: Opaque, names: Names) -> JsonObject:
    """An item of this dialect's alone, which needs an id like any other."""
    item_id = part.data.get("id")
    return {**part.data, "id": names.take("item", item_id if isinstance(item_id, str) else "")}


def search_id(names: Names, call_id: str) -> str:
    """The id of a search item: that of the call, if it is one of this dialect's."""
    return names.take("ws", call_id if call_id.startswith("ws_") else "")


def replay_items(parts: Sequence[Part], citations: Iterable[Citation]) -> list[JsonObject]:
    """The items of an earlier turn, word for word where this dialect made them."""
    texts = [part for part in parts if isinstance(part, Text) and part.text]
    annotations = iter(replay(texts, citations))
    searches = _Searches(parts)
    items: list[JsonObject] = []
    for run in _runs(part for part in parts if _is_item(part, searches)):
        if isinstance(run, list):
            contents = [encode_text(text, next(annotations)) for text in run]
            items.append(_replay_message(run, contents))
        else:
            items.extend(_replay_item(run, searches))
    return items


def _replay_message(texts: Sequence[Text], contents: Sequence[JsonObject]) -> JsonObject:
    item = encode_message(native_id(texts[0].extras), texts, contents)
    kept = native(texts[0].extras)
    for key in ("id", "status"):
        if key in kept:
            item[key] = kept[key]
        else:
            del item[key]
    return item


def _replay_item(part: Part, searches: _Searches) -> Iterator[JsonObject]:
    match part:
        case Reasoning() if NAME in part.extras:
            # OpenAI refuses the `status` that it gave with a reasoning.
            yield {key: value for key, value in encode_reasoning(part).items() if key != "status"}
        case ToolCall():
            yield encode_call(part)
        case SearchCall():
            yield replay_search(part, searches.result_of(part))
        case SearchResult():
            yield replay_search(None, part)
        case Image() if NAME in part.extras:
            yield encode_picture(part)
        case Opaque():
            yield part.data


def _is_item(part: Part, searches: _Searches) -> bool:
    """Does a part show in the list at all? What does not show does not divide a message either."""
    match part:
        case Text():
            return bool(part.text)
        case SearchResult():
            return searches.is_alone(part)
        case Image():
            return bool(part.data)
        case Opaque():
            return part.dialect == NAME
        case _:
            return True


def is_fragment(part: Part) -> bool:
    """Is it a content part of an unknown kind? It is kept for the history, but has no events of its own."""
    return isinstance(part, Opaque) and part.data.get("type") == "message"


def _runs(parts: Iterable[Part]) -> Iterator[Run]:
    """The parts, with the texts of one message together."""
    texts: list[Text] = []
    for part in parts:
        if isinstance(part, Text) and texts and joins(texts, part):
            texts.append(part)
            continue
        if texts:
            yield texts
        texts = [part] if isinstance(part, Text) else []
        if not texts:
            yield part
    if texts:
        yield texts


def joins(texts: Sequence[Text], part: Text) -> bool:
    """Does a text go on the message that these have begun?"""
    if native_id(texts[0].extras) != native_id(part.extras):
        return False
    phase = next((text.phase for text in texts if text.phase != "refusal"), "")
    return part.phase in ("refusal", phase)


class _Searches:
    """Which result belongs to which call."""

    def __init__(self, parts: Iterable[Part]) -> None:
        parts = tuple(parts)
        self._results = {part.call_id: part for part in parts if isinstance(part, SearchResult)}
        self._calls = {part.id for part in parts if isinstance(part, SearchCall)}

    def result_of(self, call: SearchCall) -> SearchResult | None:
        return self._results.get(call.id)

    def is_alone(self, result: SearchResult) -> bool:
        return result.call_id not in self._calls
