"""Ends of streams, as a tolerant client reads them by the standard.

For passthrough: the content of the bytes belongs to the provider, their end to the gateway. Written from the
wire formats; it shares no code with the gateway.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from groundwire.model import Json
from tests.contracts.strict_parser import Violation, need

_LINE = re.compile("\r\n|\n|\r")
_ENDS = {
    "anthropic_messages": ("type", {"message_stop", "error"}),
    "openai_responses": (
        "type",
        {"response.completed", "response.incomplete", "response.failed", "error"},
    ),
    "gemini_interactions": ("event_type", {"interaction.completed", "interaction.complete", "error"}),
}


class StreamEvent(NamedTuple):
    """One event: its JSON body (None if it is not JSON), and whether it is the sentinel."""

    body: Json
    sentinel: bool


def stream_events(data: bytes) -> list[StreamEvent]:
    """Parse all events; the data must be UTF-8 and end with a complete event."""
    try:
        lines = _LINE.split(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Violation(f"not UTF-8: {error}") from None
    found: list[StreamEvent] = []
    pending: list[str] = []
    for line in lines:
        if line.startswith("data:") or line == "data":
            pending.append(line[5:].removeprefix(" "))
        elif not line and pending:
            found.append(_parse_event("\n".join(pending)))
            pending = []
    need(not pending, f"the last event is not closed: {pending}")
    return found


def _parse_event(data: str) -> StreamEvent:
    data = data.strip()
    whole = data in ("", "[DONE]") or (data[:1] == "{" and data[-1:] == "}")
    need(whole, f"not an event: {data[:80]!r}")
    try:
        return StreamEvent(json.loads(data), sentinel=False)
    except (ValueError, RecursionError):
        return StreamEvent(None, data == "[DONE]")


def is_stream_end(dialect: str, body: Json) -> bool:
    """Does this event end a stream of the dialect?"""
    if not isinstance(body, dict):
        return False
    if dialect == "openai_chat":
        return bool(body.get("error"))
    if dialect == "gemini":
        candidates = body.get("candidates")
        first = candidates[0] if isinstance(candidates, list) and candidates else {}
        feedback = body.get("promptFeedback")
        finished = isinstance(first, dict) and bool(first.get("finishReason"))
        return (
            finished or bool(body.get("error")) or (isinstance(feedback, dict) and "blockReason" in feedback)
        )
    key, kinds = _ENDS[dialect]
    return body.get(key) in kinds if isinstance(body.get(key), str) else False


def check_end(dialect: str, data: bytes) -> None:
    """Check that there is one end, followed by nothing but a sentinel; raises `Violation`."""
    events = stream_events(data)
    if dialect == "gemini":
        _check_gemini(events)
        return
    ends = [place for place, event in enumerate(events) if is_stream_end(dialect, event.body)]
    sentinels = [place for place, event in enumerate(events) if event.sentinel]
    last = len(events) - 1
    if sentinels:
        need(sentinels == [last], f"sentinels at {sentinels} of {last}")
        last -= 1
    if dialect == "openai_chat" and sentinels:
        need(ends in ([], [last]), f"errors at {ends} of {last}")
        return
    need(bool(ends) and ends[-1] == last, f"ends at {ends} of {last}")
    if len(ends) > 1:
        kinds = [body.get("type") for place in ends if isinstance(body := events[place].body, dict)]
        need(ends == [last - 1, last] and kinds == ["error", "response.failed"], f"ends at {ends} of {last}")


def _check_gemini(events: list[StreamEvent]) -> None:
    """Gemini streams end with the body: usage may follow the finish reason, and old models repeat it."""
    need(any(is_stream_end("gemini", event.body) for event in events), "no end")
    errors = [
        place
        for place, event in enumerate(events)
        if isinstance(event.body, dict) and event.body.get("error")
    ]
    need(errors in ([], [len(events) - 1]), f"errors at {errors} of {len(events)}")
