"""An answer as it comes in, chunk by chunk; a whole body is an answer of one chunk.

Nothing says that a chunk is the last: usage may follow the finish reason. So searches, citations and the end
are told when there are no more chunks, or when something breaks. Without server tool parts a search shows
only in the metadata, and its parts come after the text. Only the first candidate is read.
"""

from __future__ import annotations

from collections.abc import Callable

from groundwire.dialects.fields import Fields
from groundwire.dialects.gemini.errors import FINISH_REASONS, error_in, read_error
from groundwire.dialects.gemini.grounding import PAGE_STATUS, Grounding, grow
from groundwire.dialects.gemini.proto import NAME, either_spelling, extras_of, many
from groundwire.dialects.gemini.turns import TurnReader
from groundwire.dialects.gemini.usage import decode_usage
from groundwire.errors import Interrupted
from groundwire.model import (
    Event,
    Failed,
    Finished,
    FinishReason,
    JsonObject,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Started,
    TextSettled,
    Usage,
    UsageSeen,
)
from groundwire.model.value import replace
from groundwire.text.urls import safe_url

_UNSPECIFIED = "FINISH_REASON_UNSPECIFIED"


class AnswerReader:
    """Takes chunks, tells events."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._turn = TurnReader(emit)
        self._grounding = Grounding()
        self._pages: list[tuple[str, str]] = []
        self._opened: set[str] = set()
        self._counted: Fields | None = None
        self._finish = ""
        self._candidate: JsonObject = {}
        self._feedback: JsonObject = {}
        self._started = self._answered = self._settled = self._failed = False

    def read(self, body: Fields) -> None:
        """One chunk, or the whole body."""
        if "error" in body.raw:
            error = error_in(body.raw)
            if error is not None:
                self._fail(error)
                return
        if not self._started:
            self._started = True
            self._turn.response_id = body.text("responseId")
            self._emit(Started(self._turn.response_id, body.text("modelVersion")))
        for key in body.raw:
            if read := _BODY.get(key):
                read(self, body)

    def _read_candidates(self, body: Fields) -> None:
        for candidate in body.objs("candidates"):
            if not candidate.integer("index"):
                self._answered = True
                for key, value in candidate.raw.items():
                    if read := _CANDIDATE.get(key):
                        read(self, candidate)
                    elif key != "index":
                        self._candidate[key] = value
                return

    def _read_usage(self, body: Fields) -> None:
        self._counted = body  # every chunk counts, the last one holds: nothing is read before the end

    def _read_feedback(self, body: Fields) -> None:
        self._feedback = body.obj("promptFeedback").raw

    def _read_content(self, candidate: Fields) -> None:
        self._turn.read(candidate.obj("content"))

    def _read_finish(self, candidate: Fields) -> None:
        finish = candidate.text("finishReason")
        if finish != _UNSPECIFIED:
            self._finish = finish or self._finish

    def _read_grounding(self, candidate: Fields) -> None:
        if candidate.get("groundingMetadata"):  # empty in every chunk of Gemini 2 but the last
            self._grounding.add(candidate.obj("groundingMetadata"))

    def _read_pages(self, candidate: Fields) -> None:
        pages = many(candidate.obj("urlContextMetadata"), "urlMetadata")
        told = [(page.text("retrievedUrl"), page.text("urlRetrievalStatus")) for page in pages]
        grow(self._pages, told)

    def settle(self) -> None:
        """Tell what only the whole text bears out. More text will not come."""
        if self._settled or not self._started:
            return
        self._settled = True
        self._tell_searches()
        for event in self._grounding.tell(self._turn.text, self._turn.part_starts):
            self._emit(event)
        for part in self._turn.text_parts:
            self._emit(TextSettled(part))
        usage = decode_usage(self._counted.obj("usageMetadata")) if self._counted else Usage()
        if usage != Usage():
            self._emit(UsageSeen(usage))

    def end(self, *, whole: bool = False) -> None:
        """There are no more chunks. A whole body has an end even if it names none; a stream may be cut."""
        if self._failed:
            return
        self.settle()
        block = self._feedback.get("blockReason")
        if not self._answered and isinstance(block, str):
            self._emit(Finished("filtered", block, {NAME: {"promptFeedback": self._feedback}}))
        elif self._finish or (whole and self._answered):
            self._tell_finish()
        elif whole:
            self._emit(Failed(Interrupted("the answer holds no candidate")))

    def _fail(self, error: JsonObject) -> None:
        self.settle()
        self._failed = True
        self._emit(Failed(read_error(error, None, {})))

    def _tell_finish(self) -> None:
        reason: FinishReason = FINISH_REASONS.get(self._finish, "other")
        detail = "" if self._finish in ("STOP", "MAX_TOKENS") else self._finish
        if reason == "stop" and self._turn.called:
            reason = "tool_calls"
        self._emit(Finished(reason, detail, extras_of(self._verbatim())))

    def _verbatim(self) -> JsonObject:
        """What the answer keeps as the wire has it: fields without a canonical form, and its grounding."""
        kept: JsonObject = {"candidate": self._candidate, "groundingMetadata": self._grounding.raw}
        return {key: value for key, value in kept.items() if value}

    def _tell_searches(self) -> None:
        """Pages opened, then the search, which has whatever was found besides; then results left over."""
        untold = [call for call in self._turn.calls if call.kind == "open"]
        for retrieved, status in self._pages:
            url = safe_url(retrieved)
            call = next((call for call in untold if call.url == url), None)
            if call is None:
                call = self._call(SearchCall("", kind="open", url=url))
            else:
                untold.remove(call)
            self._tell_page(call, status.removeprefix(PAGE_STATUS).lower())
        self._tell_search()
        for number, result in self._turn.results:
            self._emit(SearchReturned(number, result))

    def _tell_page(self, call: SearchCall, status: str) -> None:
        if status == "unspecified":
            return
        error = "" if status in ("", "success") else status
        known = next((source for source in self._grounding.sources if source.url == call.url), None)
        page = replace(known or Source(call.url), state="opened")
        if not error and call.url:
            self._opened.add(call.url)
        self._return(call, SearchResult(call.id, () if error else (page,), error))

    def _tell_search(self) -> None:
        grounding = self._grounding
        found = tuple(
            source
            for source in grounding.sources
            if (source.url or source.title) and source.url not in self._opened
        )
        told = [result.suggestions for _, result in self._turn.results]
        suggestions = "" if grounding.suggestions in told else grounding.suggestions
        searches = [call for call in self._turn.calls if call.kind == "search"]
        if not searches and not (found or suggestions or grounding.queries):
            return
        call = searches[-1] if searches else self._call(SearchCall("", tuple(grounding.queries)))
        if found or suggestions or grounding.extras or not searches:
            self._return(call, SearchResult(call.id, found, "", suggestions, extras={NAME: grounding.extras}))

    def _call(self, call: SearchCall) -> SearchCall:
        """Tell a call that no server tool part told."""
        call = replace(call, id=f"search_{len(self._turn.calls)}", extras={NAME: {}})
        self._turn.calls.append(call)
        self._emit(SearchCalled(self._turn.next_part(), call))
        return call

    def _return(self, call: SearchCall, result: SearchResult) -> None:
        """Tell a result, in the place of the server tool's if there is one."""
        results = self._turn.results
        known = next((item for item in results if item[1].call_id == call.id), None)
        if known is None:
            extras = {NAME: result.extras.get(NAME, {})}
            self._emit(SearchReturned(self._turn.next_part(), replace(result, extras=extras)))
            return
        results.remove(known)
        number, told = known
        suggestions = "\n".join(text for text in (told.suggestions, result.suggestions) if text)
        extras = {NAME: {**told.extras[NAME], **result.extras.get(NAME, {})}}
        self._emit(SearchReturned(number, replace(result, suggestions=suggestions, extras=extras)))


_BODY = either_spelling(
    {
        "candidates": AnswerReader._read_candidates,
        "usageMetadata": AnswerReader._read_usage,
        "promptFeedback": AnswerReader._read_feedback,
    }
)
_CANDIDATE = either_spelling(
    {
        "content": AnswerReader._read_content,
        "finishReason": AnswerReader._read_finish,
        "groundingMetadata": AnswerReader._read_grounding,
        "urlContextMetadata": AnswerReader._read_pages,
    }
)
