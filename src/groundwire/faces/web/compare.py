"""The page that compares providers: one question, the answers side by side, then what they agree on.

The stream has server-sent events with HTML that is rendered here: `started` with a column for each provider,
`column` when one of them has changed (the first `keep` blocks stay) or is complete, and `done` with the
comparison and its picture. A comparison is not stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from typing import Literal, Protocol, TypeAlias
from uuid import uuid4

from groundwire.chat.answers import WebLink, web_link
from groundwire.chat.turns import timestamp
from groundwire.client import search_request
from groundwire.compare.comparison import Agreement, ClaimGroup, Comparison, Contribution
from groundwire.compare.picture import draw_comparison
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.errors import ClientWireError, GroundwireError, InvalidArguments
from groundwire.faces.web.answers import AnswerView, changed_blocks
from groundwire.faces.web.auth import MAX_FORM_BYTES, check_token
from groundwire.faces.web.headers import (
    PRIVATE,
    SECURITY,
    STREAM_HEADERS,
    TOKEN_HEADER,
    send_error,
    sse_event,
)
from groundwire.faces.web.pages import PageRequest, PageRoute, WebApp
from groundwire.model import Answer, Assembler, Event, Failed, Json, Request
from groundwire.model.value import value
from groundwire.server.asgi import cancel_on_disconnect
from groundwire.server.response_writer import StreamingResponse
from groundwire.store.base import StoredMessage, UsageRow

Step: TypeAlias = Literal["searching", "answering", "done"]


class CompareAnswers(Protocol):
    """`groundwire.compare.run.compare_answers`."""

    def __call__(
        self,
        request: Request,
        providers: Sequence[str],
        stream: Callable[[Request, str], AsyncGenerator[Event, None]],
        *,
        report: Callable[[str, Step], None],
    ) -> Coroutine[None, None, Comparison]: ...


_MOST_PROVIDERS = 8
_UPDATE_INTERVAL = 0.1
"""Shortest time in seconds between two updates of the page."""
_RENDER_PAUSE = 4.0
"""Seconds of pause for each second of rendering."""
_SHOWN_SOURCES = 30
_ORDER: tuple[Agreement, ...] = ("contradicted", "agreed", "single")


@value
class ColumnView:
    """One provider on the page: its answer, and how far it is."""

    provider: str
    view: AnswerView
    step: str
    """Name of a text, without its prefix: a step, or the outcome."""
    reason: str = ""
    """Why there is no answer, in the visitor's language."""
    seconds: float | None = None


@value
class ClaimSideView:
    """What one provider says, with links to its sources."""

    provider: str
    text: str
    links: tuple[WebLink, ...]


@value
class ClaimView:
    """A claim with all who make it or contradict it."""

    sides: tuple[ClaimSideView, ...]
    differences: tuple[tuple[str, str], ...] = ()
    """Providers, and the words in which they differ."""


@value
class MergedSourceView:
    """A source of the comparison, and who used it."""

    title: str
    link: WebLink | None
    domain: str
    cited_by: tuple[str, ...]
    found_by: tuple[str, ...]


class _Column:
    """The answer of one provider while it arrives."""

    def __init__(self, index: int, provider: str) -> None:
        self.index = index
        self.provider = provider
        self.step: Literal["waiting", "searching", "answering", "done"] = "waiting"
        self.assembler = Assembler()
        self.error: GroundwireError | None = None
        self.began = self.ended = 0.0
        self.is_changed = False
        self.sent: AnswerView | None = None

    def feed(self, event: Event) -> None:
        """Add an event to the answer."""
        if isinstance(event, Failed):
            self.error = event.error
        self.assembler.feed(event)

    def message(self) -> StoredMessage:
        """The answer so far, as if it were stored."""
        return _as_message(self.index, self.provider, self.assembler.answer())


class _LiveComparison:
    """All answers while they arrive."""

    def __init__(self, request: PageRequest, providers: Sequence[str]) -> None:
        self._app = request.app
        self._clock = asyncio.get_running_loop().time
        self.columns = {name: _Column(index, name) for index, name in enumerate(providers)}
        self.changed = asyncio.Event()

    async def stream(self, request: Request, name: str) -> AsyncGenerator[Event, None]:
        """Ask a provider."""
        column = self.columns[name]
        column.began = self._clock()
        try:
            target = self._app.groundwire.resolve("", provider=name)
            async with aclosing(self._app.batches(request, target)) as batches:
                async for batch in batches:
                    for event in batch:
                        column.feed(event)
                        yield event
                    self._mark(column)
        except GroundwireError as error:
            column.error = error
            raise
        finally:
            column.ended = self._clock()

    def report(self, name: str, step: Step) -> None:
        """A provider begins to search or to answer, or is done."""
        self.columns[name].step = step
        self._mark(self.columns[name])

    def _mark(self, column: _Column) -> None:
        column.is_changed = True
        self.changed.set()

    def usage_rows(self, request: PageRequest, now: float) -> list[UsageRow]:
        """The usage of every provider that was asked."""
        visitor = request.visitor
        asked = [(column, column.assembler.answer()) for column in self.columns.values() if column.began]
        return [
            UsageRow(
                uuid4().hex,
                timestamp(now),
                column.provider,
                answer.model,
                answer.usage,
                visitor.owner,
                "compare",
                column.error.code if column.error is not None else "",
                max(0.0, column.ended - column.began),
                visitor.key,
            )
            for column, answer in asked
        ]


def _as_message(index: int, provider: str, answer: Answer) -> StoredMessage:
    return StoredMessage(f"c{index}", "", answer, provider)


async def show_compare(web: WebApp, request: PageRequest) -> None:
    """The form: a question, and the providers that can be asked."""
    await web.send(request, "compare", providers=_usable(request), section="compare")


def _usable(request: PageRequest) -> list[tuple[str, str]]:
    client = request.app.groundwire
    return [
        (status.name, status.title)
        for status in client.providers()
        if status.usable and client.can_search(status.name)
    ]


async def run_comparison(web: WebApp, request: PageRequest) -> None:
    """Ask the providers, and stream what they answer until the comparison is complete."""
    try:
        check_token(request.visitor, request.exchange.headers.get(TOKEN_HEADER, ""))
        request.app.check_capacity()
        body = load_json(await request.exchange.read_json(MAX_FORM_BYTES), ClientWireError)
        fields = Fields.of(body, ClientWireError)
        question = search_request(fields.text("text"), request.app.groundwire.config.search)
        providers = _chosen(request, fields.texts("providers"))
        for _ in providers:  # each of them is asked
            await request.app.check_rate(request.context, MAX_FORM_BYTES)
    except GroundwireError as error:
        request.context.outcome = error.code
        await send_error(request.exchange, error, web.error_text(request, error))
        return
    if not await cancel_on_disconnect(request.exchange, _send_stream(web, request, question, providers)):
        request.context.outcome = "left"


def _chosen(request: PageRequest, names: Sequence[str]) -> list[str]:
    usable = {name for name, _ in _usable(request)}
    chosen = [name for name in dict.fromkeys(names) if name in usable]
    if not 2 <= len(chosen) <= _MOST_PROVIDERS:
        raise InvalidArguments(f"choose 2 to {_MOST_PROVIDERS} providers that can be used")
    return chosen


async def _send_stream(
    web: WebApp, request: PageRequest, question: Request, providers: Sequence[str]
) -> None:
    headers = (*STREAM_HEADERS, *SECURITY, *PRIVATE)
    with StreamingResponse(
        request.exchange, lambda: headers, lambda: b": \n\n", request.app.timeouts
    ) as response:
        async with aclosing(_comparison_events(web, request, question, providers)) as chunks:
            async for chunk in chunks:
                await response.write(chunk)
        await response.write(b"", more=False)


async def _comparison_events(
    web: WebApp, request: PageRequest, question: Request, providers: Sequence[str]
) -> AsyncGenerator[bytes, None]:
    live = _LiveComparison(request, providers)
    yield sse_event("started", {"html": _render_columns(web, request, live)})
    compare_answers = await asyncio.to_thread(_load_comparing)
    comparing = asyncio.create_task(compare_answers(question, providers, live.stream, report=live.report))
    comparing.add_done_callback(lambda _: live.changed.set())
    clock = asyncio.get_running_loop().time
    try:
        while not comparing.done():
            await live.changed.wait()
            live.changed.clear()
            began = clock()
            for column in live.columns.values():
                if column.is_changed:
                    column.is_changed = False
                    yield await asyncio.to_thread(_column_event, web, request, column)
            await asyncio.sleep(max(_UPDATE_INTERVAL, (clock() - began) * _RENDER_PAUSE))
        comparison = comparing.result()
        yield await asyncio.to_thread(_done_event, web, request, comparison, live)
    finally:
        comparing.cancel()
        await asyncio.wait([comparing])
        # Also if the browser has disconnected: what was asked was used.
        with suppress(GroundwireError):
            await asyncio.shield(web.chat.record_usage(live.usage_rows(request, web.clock())))


def _load_comparing() -> CompareAnswers:
    """The function that compares; blocks while it is imported."""
    from groundwire.compare.run import compare_answers  # noqa: PLC0415  a server starts faster without it

    return compare_answers


def _render_columns(web: WebApp, request: PageRequest, live: _LiveComparison) -> str:
    columns = [
        ColumnView(column.provider, web.pages.view(request.visitor, column.message()), column.step)
        for column in live.columns.values()
    ]
    return web.pages.render("columns", request.visitor, columns=columns)


def _column_event(web: WebApp, request: PageRequest, column: _Column) -> bytes:
    """What has changed in a column; blocks."""
    view = web.pages.view(request.visitor, column.message())
    status = web.pages.texts[request.visitor.language][f"compare_{column.step}"]
    change = changed_blocks(column.sent.blocks if column.sent else (), view.blocks)
    column.sent = view
    body: dict[str, Json] = {"index": column.index, "step": column.step, "status": status, "change": change}
    return sse_event("column", body)


def _done_event(web: WebApp, request: PageRequest, comparison: Comparison, live: _LiveComparison) -> bytes:
    """The whole comparison; blocks."""
    columns = [
        _contribution_view(web, request, live.columns[item.provider], item)
        for item in comparison.contributions
    ]
    groups = [
        (kind, [_claim(group) for group in comparison.claims if group.agreement == kind]) for kind in _ORDER
    ]
    html = web.pages.render(
        "comparison",
        request.visitor,
        columns=columns,
        groups=[(kind, found) for kind, found in groups if found],
        sources=_sources(comparison)[:_SHOWN_SOURCES],
        left_out=max(0, len(comparison.sources) - _SHOWN_SOURCES),
    )
    return sse_event("done", {"html": html, "svg": draw_comparison(comparison)})


def _contribution_view(web: WebApp, request: PageRequest, column: _Column, item: Contribution) -> ColumnView:
    view = web.pages.view(request.visitor, _as_message(column.index, item.provider, item.answer))
    reason = web.error_text(request, column.error) if column.error is not None else ""
    return ColumnView(item.provider, view, item.outcome, reason, item.seconds)


def _claim(group: ClaimGroup) -> ClaimView:
    sides = tuple(
        ClaimSideView(side.provider, side.text, tuple(filter(None, map(web_link, side.urls))))
        for side in group.sides
    )
    differences = (
        pair
        for item in group.differences
        for pair in ((item.one, item.one_says), (item.other, item.other_says))
        if pair[1]
    )
    return ClaimView(sides, tuple(dict.fromkeys(differences)))


def _sources(comparison: Comparison) -> list[MergedSourceView]:
    return [
        MergedSourceView(
            source.title or source.url,
            web_link(source.url),
            source.domain,
            source.cited_by,
            tuple(name for name, _ in source.ranks if name not in source.cited_by),
        )
        for source in comparison.sources
    ]


PAGES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/compare", show_compare, about="The page that compares providers."),
    PageRoute("POST", "/compare/run", run_comparison, about="Compares providers, and streams their answers."),
)
