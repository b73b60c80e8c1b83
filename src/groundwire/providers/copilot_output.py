"""Reading what the Copilot CLI writes: JSON lines, or the bare answer.

With `--output-format json` every line is an event. The result of the tool `web_search` stands in
`tool.execution_complete`, and is worth more than what the model makes of it, so it is told at once, and the
rest need not be waited for. Without it, the last message counts, and an answer without any search is told as
not grounded. Lines that are no events are text: an older CLI, or one that was started with `-s`.

Unknown events are passed over; nothing of what a line says is believed beyond its own field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.errors import UpstreamWireError
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Failed,
    Finished,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Span,
    Started,
    TextDelta,
    Warned,
)
from groundwire.model.value import replace
from groundwire.providers.copilot_failures import failure
from groundwire.providers.copilot_result import Found, clean_line, message, retold, tool_result

_SEARCH = re.compile(r"(?:.*[/.-])?web_search")  # `github-mcp-server/web_search` in some versions
_TIMELINE = ("●", "│", "└", "  │", "  └")
_BETWEEN = "\n\n"
_INVENTED = "the answer was not looked up on the web: Copilot made no search"
_UNCITED = "Copilot searched the web, but its answer names no source"


class Output:
    """Lines in, events out. `close` tells the end."""

    def __init__(self, query: str) -> None:
        self._query = query
        self._parts = 0
        self._said = 0
        self._asked: dict[str, tuple[int, str]] = {}
        self._pending: set[str] = set()
        self._told = self._is_wire = self._has_searched = False
        self._message: Found | None = None
        self._error: tuple[str, int | None] | None = None
        self._code = 0
        self._lines: list[str] = []
        self._model = self._native = ""

    @property
    def is_complete(self) -> bool:
        """Has the tool answered? Then nothing that follows is needed."""
        return self._told and not self._pending

    def feed(self, line: bytes) -> list[Event]:
        """The events that this line means."""
        event = _event(line)
        if event is None:
            self._lines.append(line.decode("utf-8", "replace"))
            return []
        self._is_wire = True
        handle = _HANDLERS.get(event.text("type"))
        try:
            return list(handle(self, event)) if handle else []
        except UpstreamWireError:
            return []  # a field of an unknown shape: as if the event were unknown

    def close(self, code: int, errors: bytes) -> list[Event]:
        """What the end of the output means; the last event is terminal."""
        code = code or self._code
        if self._told:
            return [Finished()]
        found = self._message or (None if self._is_wire else self._bare())
        if found is None or code:
            text, status = self._error or (errors.decode("utf-8", "replace"), None)
            return [Failed(failure(code, text, status))]
        return [*self._tell(self._native, found), Finished()]

    def _bare(self) -> Found | None:
        """The answer of an output that is only text. Who searched there cannot be seen: sources decide."""
        text = "\n".join(line for line in self._lines if not line.startswith(_TIMELINE)).strip()
        found = retold(text, self._query)
        if found is not None:
            return replace(found, searched=bool(found.sources))
        return message(text, None, self._query) if text else None

    def _tell(self, call_id: str, found: Found) -> Iterator[Event]:
        if not found.searched:
            yield Warned("not_grounded", _INVENTED)
        elif found.text and not found.citations:
            yield Warned("not_grounded", _UNCITED)
        if found.searched:
            yield from self._tell_search(call_id, found)
        if found.unplaced:
            yield Warned("citation_unplaced", f"{found.unplaced} citations stand for the answer as a whole")
        if not found.text:
            return
        text = f"{_BETWEEN}{found.text}" if self._said else found.text
        base = self._said + len(text) - len(found.text)
        self._said += len(text)
        yield TextDelta(self._next(), text)
        for citation in found.citations if found.searched else ():
            yield Cited(_moved(citation, base))

    def _tell_search(self, call_id: str, found: Found, error: str = "") -> Iterator[Event]:
        part, asked = self._asked.get(call_id, (-1, ""))
        queries = found.queries or ((asked,) if asked else (clean_line(self._query),))
        if part < 0:
            part = self._next()
        call_id = call_id or f"search_{part}"
        yield SearchCalled(part, SearchCall(call_id, queries))
        yield SearchReturned(self._next(), SearchResult(call_id, found.sources, error))

    def _next(self) -> int:
        self._parts += 1
        return self._parts - 1

    def _on_call(self, event: Fields) -> Iterator[Event]:
        model = clean_line(event.obj("data").text("model"))
        if model and not self._model:
            self._model = model
            yield Started(model=model)

    def _on_tool_start(self, event: Fields) -> Iterator[Event]:
        data = event.obj("data")
        name, call_id = data.text("toolName"), data.text("toolCallId")
        if not _SEARCH.fullmatch(name):
            yield Warned("unexpected_tool", f"the Copilot CLI used the tool {clean_line(name)[:80]!r}")
        elif call_id not in self._asked:
            arguments = data.get("arguments")
            query = arguments.get("query") if isinstance(arguments, dict) else ""
            self._pending.add(call_id)
            yield self._start(call_id, clean_line(query) if isinstance(query, str) else "")

    def _on_progress(self, event: Fields) -> Iterator[Event]:
        if event.obj("data").text("kind") == "web_search" and not self._native:
            self._native = "search"
            yield self._start(self._native, "")

    def _start(self, call_id: str, query: str) -> SearchStarted:
        part = self._next()
        self._asked[call_id] = (part, query)
        return SearchStarted(part, call_id)

    def _on_tool_end(self, event: Fields) -> Iterator[Event]:
        data = event.obj("data")
        call_id = data.text("toolCallId")
        if call_id not in self._pending:
            return
        self._pending.discard(call_id)
        result = data.obj("result")
        contents = (result.text("content"), result.text("detailedContent"))
        found = next((found for text in contents if (found := tool_result(text)) is not None), None)
        if data.flag("success") is False:
            yield from self._tell_search(call_id, Found(""), "unavailable")
        elif found is not None:
            self._told = True
            yield from self._tell(call_id, found)
        else:
            self._has_searched = True

    def _on_message(self, event: Fields) -> Iterator[Event]:
        data = event.obj("data")
        content = data.text("content")
        if content.strip():
            found = message(content, data.get("citations"), self._query)
            if self._has_searched and not found.searched:
                # The tool ran, and its result is in no form that we know: then the retelling counts.
                found = retold(content, self._query) or replace(found, searched=True)
            self._message = found
        yield from ()

    def _on_error(self, event: Fields) -> Iterator[Event]:
        data = event.obj("data")
        self._error = (f"{data.text('message')}\n{data.text('errorType')}", data.integer("statusCode"))
        yield from ()

    def _on_result(self, event: Fields) -> Iterator[Event]:
        self._code = event.integer("exitCode") or 0
        yield from ()


def _event(line: bytes) -> Fields | None:
    try:
        event = Fields.of(load_json(line, UpstreamWireError), UpstreamWireError)
        is_event = event.text("type") == "result" or isinstance(event.get("data"), dict)
    except UpstreamWireError:
        return None
    return event if is_event else None


def _moved(citation: Citation, by: int) -> Citation:
    span = citation.span
    return citation if span is None else replace(citation, span=Span(span.start + by, span.end + by))


_HANDLERS: Mapping[str, Callable[[Output, Fields], Iterator[Event]]] = {
    "model.call_start": Output._on_call,
    "tool.execution_start": Output._on_tool_start,
    "tool.execution_complete": Output._on_tool_end,
    "assistant.message": Output._on_message,
    "assistant.server_tool_progress": Output._on_progress,
    "session.error": Output._on_error,
    "result": Output._on_result,
}
