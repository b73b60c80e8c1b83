"""Recorded answers of every provider in a real browser, compared with their wire data.

The expectation is read from the raw recordings, without the dialects and without the page.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path

import pytest

from groundwire.model.value import replace
from groundwire.store.base import Agent
from groundwire.testing.script import Dribble, Script, ScriptedResponse
from groundwire.testing.upstream import Upstream
from tests.contracts.recorded.catalogue import (
    READERS,
    Recording,
    find_recording,
    recorded_answer,
    recordings_of,
)
from tests.contracts.recorded.facts import RecordedAnswer, RecordedCitation, find_link
from tests.faces.gateway.matrix import response_of
from tests.faces.gateway.serving import provider_at
from tests.faces.web.browsing import Browsing, Page, watched
from tests.faces.web.reading import ShownAnswer, page_of, read_answer, visible_letters
from tests.faces.web.serving import RunningPage, running_page

pytestmark = pytest.mark.server

DIALECTS = tuple(READERS)
MOST = 1
"""Recordings of each dialect in the short run."""


def citing(dialect: str) -> list[Recording]:
    """Recordings with citations: streams first, then by the number of citations."""
    every = (one for one in recordings_of("stream", "body") if one.dialect == dialect)
    found = [one for one in every if recorded_answer(one).citations]
    return sorted(
        found, key=lambda one: (one.kind != "stream", -len(recorded_answer(one).citations), one.name)
    )


def recording(name: str) -> Recording:
    return next(one for one in recordings_of("stream", "body") if one.name == name)


def in_chunks(one: Recording) -> ScriptedResponse:
    """The recording in a few chunks, so that the page renders partial answers."""
    response = response_of(one)
    return replace(response, dribble=Dribble(len(response.body) // 6 + 1, 0.03))


async def ask(page: Page, here: RunningPage, dialect: str) -> ShownAnswer:
    """Ask in a new session, read the answer, load the page again and find the same elements."""
    await page.goto(f"{here.url}/?agent={dialect}")
    await page.wait_for_selector("#send:enabled")
    await page.locator("#text").fill("What is known?")
    await page.keyboard.press("Enter")
    await page.wait_for_selector(".answer:not([aria-busy])")
    live = await page.evaluate("document.getElementById('log').innerHTML")
    shown = await read_answer(page)
    await page.reload()
    kept = await page.evaluate("document.getElementById('log').innerHTML")
    assert " ".join(kept.split()) == " ".join(live.split())
    return shown


@asynccontextmanager
async def page_with_agents(
    browsing: Browsing, folder: Path
) -> AsyncIterator[tuple[Upstream, RunningPage, Page]]:
    """A page with an agent for each dialect and one scripted upstream; fails on page errors at the end."""
    async with (
        Upstream(Script()) as upstream,
        running_page(folder, {f"my_{name}": provider_at(name, upstream.url) for name in DIALECTS}) as here,
        browsing.browser() as chromium,
    ):
        for dialect in DIALECTS:
            agent = Agent(dialect, {"en": dialect}, provider=f"my_{dialect}", web_search=True)
            await here.chat.save_agent(agent, "")
        page, seen = await watched(await chromium.new_context(locale="en-US"), here.url)
        yield upstream, here, page
        assert (seen.errors, seen.foreign_requests, seen.dialogs) == ([], [], [])


def citations(recorded: RecordedAnswer) -> list[RecordedCitation]:
    """The citations. A citation without a span gets the span of a link to its URL, if there is one."""
    return [
        one._replace(span=find_link(recorded.text, 0, 0, one.url))
        if one.without_span and f"]({one.url})" in recorded.text
        else one
        for one in recorded.citations
    ]


def markers(recorded: RecordedAnswer) -> list[RecordedCitation]:
    """Citations whose span is the link itself, or a number in brackets."""
    return [
        one
        for one in citations(recorded)
        if one.span and _is_marker(recorded.text[one.span[0] : one.span[1]], one.url)
    ]


def _is_marker(fragment: str, url: str) -> bool:
    return f"]({url}" in fragment or re.fullmatch(r"\[\d+\]", fragment) is not None


def expected_chips(recorded: RecordedAnswer) -> set[tuple[str, str]]:
    """The letters before each chip, and the page it leads to."""
    links = markers(recorded)
    spans = sorted({one.span for one in links if one.span})

    def before(point: int) -> str:
        pieces, position = [], 0
        for start, end in spans:
            if start >= point:
                break
            pieces.append(recorded.text[position:start])
            position = end
        return visible_letters("".join([*pieces, recorded.text[position:point]]))

    return {
        (before(one.span[0] if one in links else one.span[1]), page_of(one.url))
        for one in citations(recorded)
        if one.span
    }


def queries_of(recorded: RecordedAnswer) -> list[str]:
    every = recorded.queries
    if every is None:
        every = [query for call in recorded.calls if call.kind == "search" for query in call.subjects]
    return list(dict.fromkeys(" ".join(query.split()) for query in every if query.strip()))


def faults(shown: ShownAnswer, recorded: RecordedAnswer) -> Iterable[str]:
    """Differences between the page and the wire data."""
    chips = {(chip.before, page_of(chip.href)) for chip in shown.chips}
    for letters, page in chips ^ expected_chips(recorded):
        yield f"chip of {page} after …{letters[-40:]}: {'not ' * ((letters, page) not in chips)}shown"
    pages = {page_of(one.url) for one in recorded.citations}
    unplaced = {page_of(one.url) for one in citations(recorded) if not one.span}
    cited = shown.groups.get("Cited", [])
    if {page_of(href) for _, href in cited} != pages or len(cited) != len(pages):
        yield f"cited: {cited}"
    if [number for number, _ in cited] != list(range(1, len(cited) + 1)):
        yield f"numbers: {cited}"
    listed = {number: page_of(href) for number, href in cited}
    wrong = [chip for chip in (*shown.chips, *shown.whole) if listed.get(chip.number) != page_of(chip.href)]
    if wrong:
        yield f"chips that lead elsewhere: {wrong}"
    if {page_of(chip.href) for chip in shown.whole} != unplaced:
        yield f"for the whole: {shown.whole}"
    calls = (call for call in recorded.calls if call.kind != "search")
    opened = {page_of(url) for call in calls for url in call.subjects[:1] if url}
    if {page_of(href) for _, href in shown.groups.get("Opened", [])} != opened - pages:
        yield f"opened: {shown.groups}"
    found = {page_of(url) for url in recorded.found if url}
    if {
        page_of(href) for _, href in shown.groups.get("Found, not cited", []) if href
    } != found - pages - opened:
        yield f"found: {shown.groups}"
    if shown.queries != queries_of(recorded):
        yield f"queries: {shown.queries}"
    if visible_letters(shown.text) != visible_letters(_without(recorded.text, markers(recorded))):
        yield f"text: {shown.text}"


def _without(text: str, links: Iterable[RecordedCitation]) -> str:
    for start, end in sorted({one.span for one in links if one.span}, reverse=True):
        text = text[:start] + text[end:]
    return text


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("most", [MOST, pytest.param(1000, marks=pytest.mark.thorough)])
@pytest.mark.usefixtures("recordings")
def test_recorded_answers_are_shown_as_their_providers_sent_them(
    browsing: Browsing, dialect: str, most: int, tmp_path: Path
) -> None:
    async def run() -> None:
        async with page_with_agents(browsing, tmp_path) as (upstream, here, page):
            found = citing(dialect)
            assert len(found) >= 2
            wrong = {}
            for one in found[:most]:
                upstream.script = Script((in_chunks(one),))
                shown = await ask(page, here, dialect)
                assert shown.state == "done"
                assert shown.chips or shown.whole
                wrong[one.name] = [*faults(shown, recorded_answer(one))]
            assert {name: items for name, items in wrong.items() if items} == {}

    browsing.run(run())


@pytest.mark.usefixtures("recordings")
def test_the_text_of_an_interrupted_stream_is_shown_and_marked(browsing: Browsing, tmp_path: Path) -> None:
    async def run() -> None:
        async with page_with_agents(browsing, tmp_path) as (upstream, here, page):
            whole = recording("anthropic/search-sonnet4.events.jsonl")
            response = response_of(whole)
            cut = response.body.index(b"\n\n", response.body.rindex(b"citations_delta")) + 2
            upstream.script = Script((replace(response, cut_at=cut),))
            shown = await ask(page, here, whole.dialect)
            assert shown.state == "interrupted"
            assert shown.ending.startswith("Interrupted")
            assert visible_letters(recorded_answer(whole).text).startswith(visible_letters(shown.text))
            placed = {(chip.before, page_of(chip.href)) for chip in shown.chips}
            assert len(placed) > 1
            assert placed <= expected_chips(recorded_answer(whole))
            for name in ("responses-stream-error-flat", "responses-stream-failed-rate-limit"):
                one = recording(f"synthetic/{name}.sse")
                upstream.script = Script((in_chunks(one),))
                shown = await ask(page, here, one.dialect)
                assert shown.state == "failed"
                assert len(shown.ending) > len("Failed ")
                assert visible_letters(shown.text) == visible_letters(recorded_answer(one).text)
                assert shown.groups["Found, not cited"]

    browsing.run(run())


@pytest.mark.usefixtures("recordings")
def test_a_refusal_before_any_text_is_shown(browsing: Browsing, tmp_path: Path) -> None:
    async def run() -> None:
        async with page_with_agents(browsing, tmp_path) as (upstream, here, page):
            for name in ("openai-responses/stream-error-insufficient-quota.sse", "anthropic/error-401.json"):
                one = find_recording(name)
                assert one is not None
                status = 401 if one.kind == "error" else 200
                upstream.script = Script((replace(response_of(one), status=status),))
                shown = await ask(page, here, one.dialect)
                assert (shown.state, shown.text.strip(), shown.chips) == ("failed", "", [])
                assert len(shown.ending) > len("Failed ")

    browsing.run(run())


@pytest.mark.usefixtures("recordings")
def test_an_answer_without_evidence_is_marked(browsing: Browsing, tmp_path: Path) -> None:
    async def run() -> None:
        async with page_with_agents(browsing, tmp_path) as (upstream, here, page):
            for name in ("gemini/search-not-used.json", "openai-chat/stream-4o-mini-search-preview.sse"):
                one = recording(name)
                upstream.script = Script((in_chunks(one),))
                shown = await ask(page, here, one.dialect)
                assert (shown.state, shown.ungrounded, shown.chips) == ("done", True, [])
                assert visible_letters(shown.text) == visible_letters(recorded_answer(one).text)
            refused = recording("gemini/blocked-no-candidates.json")
            upstream.script = Script((in_chunks(refused),))
            shown = await ask(page, here, refused.dialect)
            assert shown.text.strip() == ""
            assert "withheld all or part of the answer" in shown.ending

    browsing.run(run())


@pytest.mark.usefixtures("recordings")
def test_searches_that_google_suggests_are_links_to_google_and_nothing_else(
    browsing: Browsing, tmp_path: Path
) -> None:
    async def run() -> None:
        async with page_with_agents(browsing, tmp_path) as (upstream, here, page):
            for name in ("search-stream-2.5-flash-prism.sse", "interactions-google-search.events.jsonl"):
                one = recording(f"gemini/{name}")
                (html,) = recorded_answer(one).suggestions
                wanted = re.findall(r'<a class="chip" href="([^"]*)">([^<]*)</a>', html)
                upstream.script = Script((in_chunks(one),))
                shown = await ask(page, here, one.dialect)
                assert shown.suggestions
                assert shown.suggestions == [(unescape(label), unescape(href)) for href, label in wanted]
                assert (
                    await page.locator(".suggestions img, .suggestions svg, .suggestions style").count() == 0
                )

    browsing.run(run())
