"""The number of searches of an answer, for providers that do not report it.

The vendors bill by different rules (`Capabilities.billing`). A count that the provider reports is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.model import (
    Cited,
    Event,
    Failed,
    Finished,
    SearchCalled,
    SearchReturned,
    Started,
    Usage,
    UsageSeen,
)
from groundwire.model.value import replace
from groundwire.providers.capabilities import Capabilities

_TERMINAL = (Finished, Failed)
_WATCHED = frozenset({Started, UsageSeen, SearchCalled, SearchReturned, Cited, Finished, Failed})


class SearchCounter:
    """Watches the events of one answer, and adds the number of searches to its usage before its end."""

    __slots__ = ("_calls", "_capabilities", "_found", "_model", "_queries", "_usage")

    def __init__(self, capabilities: Capabilities, model: str) -> None:
        self._capabilities = capabilities
        self._model = model
        self._usage = Usage()
        self._calls: set[str] = set()
        self._queries: set[str] = set()
        self._found = False

    def feed(self, batch: Sequence[Event]) -> Sequence[Event]:
        """The same events; one more where the answer ends and its searches were not counted."""
        for place, event in enumerate(batch):
            if type(event) not in _WATCHED:
                continue
            if isinstance(event, _TERMINAL):
                usage = self._complete_usage()
                return batch if usage is None else [*batch[:place], UsageSeen(usage), *batch[place:]]
            self._note(event)
        return batch

    def _note(self, event: Event) -> None:
        match event:
            case Started(model=model) if model:
                self._model = model  # an alias is billed as the model that it leads to
            case UsageSeen(usage):
                self._usage = usage
            case SearchCalled(call=call) if call.kind == "search":
                self._calls.add(call.id)
                self._queries.update(query for text in call.queries if (query := text.strip()))
            case SearchReturned(result=result):
                self._found = self._found or any(source.url for source in result.sources)
            case Cited(citation):
                self._found = self._found or any(item.source.url for item in citation.evidence)

    def _complete_usage(self) -> Usage | None:
        if self._usage.searches is not None:
            return None
        match self._capabilities.billing_for(self._model):
            case "prompt":
                count = int(self._found)
            case "query":
                # A search that reports pages and no query was made all the same.
                count = len(self._queries) or int(bool(self._calls) and self._found)
            case "call":
                count = len(self._calls)
        return replace(self._usage, searches=count) if count else None
