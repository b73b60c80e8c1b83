"""Recorded bodies with their text repeated after other scripts, and the citations moved to the repetition.

Then no passage and no link is unique, and none is where offsets in another unit would point: the offsets
alone decide. Citations that the file itself does not confirm are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from groundwire.model import Json, JsonObject
from tests.contracts.recorded.lookup import at, count, objects, string

_PREFACE = "Zürich 🇨🇭, 東京 🗼: "


def doubled(body: JsonObject, owner: str) -> JsonObject:
    """The body with all its text doubled and every offset moved along."""
    copy: Json = json.loads(json.dumps(body))
    assert isinstance(copy, dict), "the body is an object"
    _DOUBLERS[owner](copy)
    return copy


def shifted(body: JsonObject, by: int) -> JsonObject:
    """A body in OpenAI's format with wrong offsets, as after characters that a recorder replaced."""
    return {key: _shift(value, by) for key, value in body.items()}


def _shift(value: Json, by: int) -> Json:
    if isinstance(value, list):
        return [_shift(item, by) for item in value]
    if not isinstance(value, dict):
        return value
    moved = {key: _shift(item, by) for key, item in value.items()}
    if "start_index" in moved:
        _move(moved, "start_index", "end_index", by)
    return moved


def _twice(text: str) -> tuple[str, str]:
    """The text before the repetition, and the whole text."""
    before = f"{_PREFACE}{text} "
    return before, before + text


def _move(annotation: JsonObject, start: str, end: str, shift: int) -> None:
    annotation[start] = (count(annotation, start) or 0) + shift
    annotation[end] = (count(annotation, end) or 0) + shift


def _double_links(part: JsonObject, key: str, annotations: list[JsonObject]) -> None:
    text = string(part, key)
    before, part[key] = _twice(text)
    for annotation in annotations:
        start, end = count(annotation, "start_index") or 0, count(annotation, "end_index") or 0
        if end > start and f"]({string(annotation, 'url')})" in text[start:end]:
            _move(annotation, "start_index", "end_index", len(before))
        else:
            annotation["type"] = "left out"


def _double_responses(body: JsonObject) -> None:
    for item in objects(body, "output"):
        for part in objects(item, "content"):
            _double_links(part, "text", objects(part, "annotations"))
            part["annotations"] = [
                *(item for item in objects(part, "annotations") if item["type"] != "left out")
            ]


def _double_chat(body: JsonObject) -> None:
    message = at(body, "choices", 0, "message")
    if isinstance(message, dict):
        annotations = objects(message, "annotations")
        cited = [
            annotation for item in annotations if isinstance(annotation := item.get("url_citation"), dict)
        ]
        _double_links(message, "content", cited)
        message["annotations"] = [
            item for item in annotations if string(item, "url_citation", "type") != "left out"
        ]


def _double_gemini(body: JsonObject) -> None:
    candidate = at(body, "candidates", 0)
    texts = [
        part for part in objects(candidate, "content", "parts") if "text" in part and "thought" not in part
    ]
    if not texts:
        return
    assert len(texts) == 1, "recorded answers have one text"
    text = string(texts[0], "text")
    before, texts[0]["text"] = _twice(text)
    grounding = at(candidate, "groundingMetadata")
    kept: list[Json] = []
    for support in objects(grounding, "groundingSupports"):
        segment = at(support, "segment")
        assert isinstance(segment, dict), "every support has a segment"
        start, end = count(segment, "startIndex") or 0, count(segment, "endIndex") or 0
        if text.encode()[start:end] == string(segment, "text").encode():
            _move(segment, "startIndex", "endIndex", len(before.encode()))
            kept.append(support)
    if isinstance(grounding, dict):
        grounding["groundingSupports"] = kept


def _double_interactions(body: JsonObject) -> None:
    for step in objects(body, "steps"):
        for content in objects(step, "content"):
            before, content["text"] = _twice(string(content, "text"))
            for annotation in objects(content, "annotations"):
                _move(annotation, "start_index", "end_index", len(before.encode()))


_DOUBLERS: dict[str, Callable[[JsonObject], None]] = {
    "openai_responses": _double_responses,
    "openai_chat": _double_chat,
    "gemini": _double_gemini,
    "gemini_interactions": _double_interactions,
}
"""Anthropic has no offsets."""
