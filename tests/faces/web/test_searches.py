"""Searches and sources on the page, during the answer and afterwards."""

from __future__ import annotations

import re
from pathlib import Path

import aiohttp
import pytest

from groundwire.chat.export import footnoted
from groundwire.faces.web.answers import SearchView, view_of
from groundwire.faces.web.pages import Pages
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    TextSettled,
)
from groundwire.model.value import replace
from groundwire.store.base import Agent, StoredMessage
from groundwire.testing.upstream import Upstream, answer
from groundwire.text.sources import label_of
from tests.faces.gateway.serving import provider_at
from tests.faces.web.browsing import Browsing, watched
from tests.faces.web.serving import running_page
from tests.faces.web.test_pages import stream_of, token_of

pytestmark = pytest.mark.server

FINDER = Agent("finder", {"en": "Finder", "de": "Sucher"}, web_search=True)
TEXTS = Pages().texts
PAGE = Source("https://www.docs.example/page", "The page")
OTHER = Source("https://www.other.example/")


def failing(code: str) -> list[Event]:
    return [
        Started("1", "model-1"),
        SearchCalled(0, SearchCall("s1", ("was it said",))),
        SearchReturned(1, SearchResult("s1", error=code)),
        TextDelta(2, "Nothing could be looked up."),
        TextSettled(2),
        Finished("stop"),
    ]


def finding() -> list[Event]:
    return [
        Started("1", "model-1"),
        SearchCalled(0, SearchCall("s1", ("was it said",))),
        SearchReturned(1, SearchResult("s1", (PAGE, OTHER))),
        TextDelta(2, "It was said."),
        Cited(Citation(Span(0, 12), (Evidence(PAGE),))),
        TextSettled(2),
        Finished("stop"),
    ]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("max_uses_exceeded", "the limit of searches was reached"),
        ("too_many_requests", "rate limit was reached"),
        ("query_too_long", "the query was too long"),
        ("unavailable", "was not available"),
    ],
)
async def test_a_failed_search_is_shown_with_its_reason_live_and_after_a_reload(
    code: str, reason: str, tmp_path: Path
) -> None:
    async with (
        Upstream(answer("anthropic_messages", failing(code))) as upstream,
        running_page(tmp_path, {"p": provider_at("anthropic_messages", upstream.url)}) as here,
        aiohttp.ClientSession(here.url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
    ):
        await here.chat.save_agent(FINDER, "")
        events = await stream_of(browser, await token_of(browser), text="Was it said?")
        live = [str(data["html"]) for name, data in events if name == "progress"]
        assert any(reason in html and "was it said" in html for html in live)
        async with browser.get(f"/chat/{events[0][1]['session']}") as page:
            html = await page.text()
        line = re.search(r'<p class="queries">.*?</p>', html)
        assert line
        assert "was it said" in line[0]
        assert reason in line[0]


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_search_failure_is_shown_whatever_its_code(language: str) -> None:
    texts = TEXTS[language]
    parts = (
        SearchCall("s1", ("one", "two")),
        SearchResult("s1", error="teapot <b>"),
        SearchCall("s2", kind="open", url="https://docs.example/"),
        SearchResult("s2", error="unavailable"),
        SearchCall("s3", kind="open", url="https://docs.example/"),
        SearchResult("s3"),
        SearchCall("s4"),
        SearchResult("s4", error="unavailable"),
        SearchResult("s5", error="query_too_long"),
    )
    message = StoredMessage("m", "s", Answer(parts, finish="stop"))
    strange = f"{texts['search_failed']} (teapot <b>)"
    assert view_of(message, texts).searches_made == (
        SearchView("one", strange),
        SearchView("two", strange),
        SearchView("https://docs.example/", texts["search_unavailable"]),
        SearchView(texts["search"], texts["search_unavailable"]),
        SearchView(texts["search"], texts["search_query_too_long"]),
    )


def test_found_pages_are_shown_before_the_answer_arrives(browsing: Browsing, tmp_path: Path) -> None:
    whole = answer("anthropic_messages", finding())
    stream = whole.stream or b""
    before_text = stream.rindex(b"event:", 0, stream.index(b"text_delta"))

    async def run() -> None:
        async with (
            Upstream(replace(whole, stall_at=before_text)) as upstream,
            running_page(tmp_path, {"p": provider_at("anthropic_messages", upstream.url)}) as here,
            browsing.browser() as chromium,
        ):
            await here.chat.save_agent(FINDER, "")
            page, seen = await watched(await chromium.new_context(locale="en-US"), here.url)
            await page.goto(here.url)
            await page.locator("#text").fill("Was it said?")
            await page.get_by_role("button", name="Send").click()
            await page.wait_for_selector(".answer[aria-busy] .strip li")
            assert await page.locator(".prose").text_content() == ""
            tiles = [await page.locator(f".tile-{part}").all_text_contents() for part in ("title", "host")]
            assert tiles == [["The page", "other.example"], ["docs.example", "other.example"]]
            links = [await one.get_attribute("href") for one in await page.locator(".strip a").all()]
            assert links == [PAGE.url, OTHER.url]
            # Another window that opens the session shows the same.
            second, _ = await watched(await chromium.new_context(locale="en-US"), here.url)
            (session,) = await here.chat.sessions("")
            await second.goto(f"{here.url}/chat/{session.id}")
            await second.locator(".strip li").nth(1).wait_for()
            await page.get_by_role("button", name="Stop").click()
            await page.wait_for_selector('.answer[data-state="stopped"] .sources')
            await second.wait_for_selector('.answer[data-state="stopped"] .sources')
            assert await page.locator(".strip").count() == 0
            assert await page.locator(".sources summary").text_content() == "Found, not cited (2)"
            assert (seen.errors, seen.foreign_requests, seen.dialogs) == ([], [], [])

    browsing.run(run())


def test_domains_are_shown_without_www_and_urls_are_unchanged() -> None:
    redirect = Source("https://redirect.example/x", domain="www.Target.example")
    sources = (PAGE, OTHER, redirect)
    cited = tuple(Citation(None, (Evidence(source),)) for source in sources)
    content = Answer((Text("So."),), cited, finish="stop")
    view = view_of(StoredMessage("m", "s", content), TEXTS["en"])
    assert [(one.title, one.host, one.domain) for one in view.cited] == [
        ("The page", "docs.example", ""),
        ("other.example", "other.example", ""),
        ("target.example", "redirect.example", "target.example"),
    ]
    assert [one.href for one in view.cited] == [source.url for source in sources]
    assert [label_of(source) for source in sources[1:]] == ["other.example", "target.example"]
    exported = footnoted(content)
    assert "www.target" not in exported.lower()
    assert all(f"<{source.url}>" in exported for source in sources)


def test_pages_that_are_only_found_are_not_counted_as_sources() -> None:
    found = (SearchCall("s1", ("so",)), SearchResult("s1", (PAGE, OTHER)))
    content = Answer((*found, Text("So.")), (Citation(None, (Evidence(PAGE),)),), finish="stop")
    view = view_of(StoredMessage("m", "s", content), TEXTS["en"])
    assert ([one.href for one in view.cited], view.others, view.count) == ([PAGE.url], 1, 2)
