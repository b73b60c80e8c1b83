"""The page in a real browser: the first use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest

from groundwire.engine.knowledge import build
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
    Usage,
    UsageSeen,
)
from groundwire.model.value import replace
from groundwire.store.base import Agent
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script
from groundwire.testing.upstream import Upstream, answer
from tests.engine.knowledge.few_pages import few_own_pages, few_topic_pages
from tests.faces.gateway.serving import provider_at
from tests.faces.web.browsing import AXE, BrowserContext, Browsing, Page, watched
from tests.faces.web.rich import rich_events
from tests.faces.web.serving import running_page

pytestmark = pytest.mark.server

FINDER = Agent("finder", {"en": "Finder", "de": "Sucher"}, web_search=True)
QUOTE = "It was said on the page."
PAGE = Source("https://docs.example/page", "The page", excerpts=(QUOTE,), date="2026-03-01")
OTHER = Source("https://other.example/", "Another page")
TEXT = "It was **said**. And more of it followed, in many words."


def events() -> list[Event]:
    claim = Citation(Span(0, 16), (Evidence(PAGE, QUOTE),))
    return [
        Started("1", "model-1"),
        SearchStarted(0, "s1"),
        SearchCalled(0, SearchCall("s1", ("was it said",))),
        SearchReturned(1, SearchResult("s1", (PAGE, OTHER))),
        TextDelta(2, TEXT[:20]),
        TextDelta(2, TEXT[20:]),
        Cited(claim),
        TextSettled(2),
        UsageSeen(Usage(10, 20, searches=1)),
        Finished("stop"),
    ]


async def log_of(page: Page) -> str:
    html: str = await page.evaluate("document.getElementById('log').innerHTML")
    return " ".join(html.split())


def test_a_first_time_user_gets_an_answer_by_one_click_asks_on_and_creates_an_agent(
    browsing: Browsing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "CORE_MODULES", ("json", "csv", "pathlib"))
    monkeypatch.setattr(build, "own_pages", few_own_pages)
    monkeypatch.setattr(build, "topic_pages", few_topic_pages)

    async def run() -> None:
        async with running_page(tmp_path, {}) as here, browsing.browser() as chromium:
            context = await chromium.new_context(locale="en-US")
            page, seen = await watched(context, here.url)
            await page.goto(here.url)
            line = await page.locator(".answering").text_content() or ""
            assert "no key, no cost" in line
            assert "groundwire login" in line
            assert await page.locator(".answering a").get_attribute("href") == "/settings"
            await page.wait_for_selector("#send:enabled")
            assert not await page.locator(".error:visible").count()
            await page.get_by_role("button", name="How do I read a JSON file in Python?").click()
            # The first question builds the index.
            await page.wait_for_selector(".answer:not([aria-busy])", timeout=90_000)
            assert await page.locator(".answer").get_attribute("data-state") == "done"
            assert await page.locator(".strip a").count() > 0
            assert page.url.startswith(f"{here.url}/chat/")
            live = await log_of(page)
            await page.reload()
            assert await log_of(page) == live
            await check_card_opens(page)
            await check_follow_ups(page)
            await check_viewer(page, await chromium.new_context(bypass_csp=True))
            await check_exports(page)
            await create_agent(page)
            assert (seen.errors, seen.foreign_requests, seen.dialogs) == ([], [], [])

    browsing.run(run())


TOP = "(one) => one.getBoundingClientRect().top"


async def check_follow_ups(page: Page) -> None:
    """A question that only makes sense after the one before, and a suggested one."""
    await ask(page, "And how do I write one?")
    await page.locator('.answer[data-state="done"]').nth(1).wait_for(timeout=60_000)
    assert "json.dump" in (await page.locator(".prose").nth(1).text_content() or "")
    # The question is at the top, with its answer below it from the beginning.
    assert 0 <= await page.locator(".question").nth(1).evaluate(TOP) < 100
    assert await page.locator(".follow-ups:visible").count() == 1
    suggested = page.locator(".answer").nth(1).locator(".follow-ups button")
    assert await suggested.count() == 3
    question = await suggested.first.text_content()
    await suggested.first.focus()
    await page.keyboard.press("Enter")
    await page.locator('.answer[data-state="done"]').nth(2).wait_for(timeout=60_000)
    assert await page.locator(".question-text").nth(2).text_content() == question


async def check_viewer(page: Page, context: BrowserContext) -> None:
    """The stored page shows the cited passage, on a phone and in the dark too."""
    await page.locator(".sources summary").first.click()
    path = await page.locator(".sources .where a").first.get_attribute("href") or ""
    quote = parse_qs(urlsplit(path).query)["quote"][0]
    viewer, seen = await watched(context, page.url.partition("/chat/")[0])
    await viewer.set_viewport_size({"width": 390, "height": 800})
    found: list[str] = []
    for scheme in ("light", "dark"):
        await viewer.emulate_media(color_scheme=scheme)
        await viewer.goto(urljoin(page.url, path))
        marked = viewer.locator("mark#quote")
        assert " ".join((await marked.text_content() or "").split()) == " ".join(quote.split())
        assert await marked.evaluate("(mark) => mark.getBoundingClientRect().top < innerHeight")
        assert await viewer.evaluate("document.documentElement.scrollWidth") <= 390
        found += await violations(viewer)
    await viewer.goto(urljoin(page.url, path.replace("quote=", "quote=Never+written+")))
    await viewer.get_by_text("is not in the stored text").wait_for()
    assert (found, seen.errors, seen.foreign_requests) == ([], [], [])


async def create_agent(page: Page) -> None:
    await page.get_by_role("link", name="Agents").click()
    await page.get_by_role("link", name="New agent").click()
    switch = page.get_by_role("switch", name="Web search")
    assert not await switch.is_checked()
    assert "charge" in (await page.locator("#cost-hint").text_content() or "")
    await page.locator("[name=name_en]").fill("Finder")
    await page.get_by_text("Texts in German").click()
    await page.locator("[name=name_de]").fill("Sucher")
    await page.locator("[name=provider]").select_option("local")
    await switch.check()
    await page.get_by_role("button", name="Save").click()
    assert await page.get_by_role("switch", name="Web search").get_attribute("aria-checked") == "true"
    await ask(page, "How do I parse JSON in Python?")
    await page.wait_for_selector('.answer[data-state="done"] .chip', timeout=60_000)
    await page.get_by_role("button", name="Deutsch").click()
    assert await page.locator("html").get_attribute("lang") == "de"
    assert "Quellen" in (await page.locator(".sources summary").first.text_content() or "")
    suggested = await page.locator(".follow-ups button").first.text_content() or ""
    assert suggested.startswith("Was macht json.")


async def ask(page: Page, question: str) -> None:
    await page.wait_for_selector("#send:enabled")
    await page.locator("#text").fill(question)
    await page.keyboard.press("Enter")


async def check_card_opens(page: Page) -> None:
    chip, card = page.locator(".chip").first, page.locator(".card").first
    assert not await card.is_visible()
    await chip.hover()
    assert await card.is_visible()
    assert await card.locator(".card-title").text_content()
    await page.mouse.move(1, 1)
    await page.locator("#text").focus()
    assert not await card.is_visible()
    for _ in range(60):
        await page.keyboard.press("Shift+Tab")
        if await card.is_visible():
            break
    assert await card.is_visible()
    described = await chip.get_attribute("aria-describedby")
    assert await card.get_attribute("id") == described
    await page.keyboard.press("Escape")
    assert not await card.is_visible()
    await page.locator("#text").focus()


async def check_exports(page: Page) -> None:
    await page.locator(".pop summary").nth(1).click()
    for name, link in (("md", "Markdown"), ("json", "JSON")):
        async with page.expect_download() as download:
            await page.get_by_role("link", name=link, exact=True).click()
        text = Path(await (await download.value).path()).read_text("utf-8")
        if name == "json":
            kinds = [item["content"]["type"] for item in json.loads(text)["messages"]]
            assert kinds == ["Message", "Answer"] * 3
        else:
            assert "[^2-1]:" in text


def test_the_indicator_names_the_query_and_text_appears_before_the_answer_is_complete(
    browsing: Browsing, tmp_path: Path
) -> None:
    whole = answer("anthropic_messages", events())
    stream = whole.stream or b""
    searching = stream.index(b"web_search_tool_result")
    searching = stream.rindex(b"event:", 0, searching)
    text_start = stream.index(b"\n\n", stream.index(b"text_delta")) + 2

    async def run() -> None:
        script = Script((replace(whole, stall_at=searching), replace(whole, stall_at=text_start), whole))
        async with (
            Upstream(script) as upstream,
            running_page(tmp_path, {"p": provider_at("anthropic_messages", upstream.url)}) as here,
            browsing.browser() as chromium,
        ):
            await here.chat.save_agent(FINDER, "")
            page, seen = await watched(await chromium.new_context(locale="en-US"), here.url)
            await page.goto(here.url)
            await page.locator("#text").fill("Was it said?")
            await page.get_by_role("button", name="Send").click()
            await page.get_by_text("Searching: was it said…").wait_for()
            await page.get_by_role("button", name="Stop").click()
            await page.wait_for_selector('.answer[data-state="stopped"]')
            await upstream.disconnected()
            await page.get_by_role("button", name="Ask again").click()
            await page.wait_for_selector(".answer[aria-busy] .prose strong")
            await page.get_by_role("button", name="Stop").click()
            await page.wait_for_selector('.answer[data-state="stopped"] .prose strong')
            stopped = await log_of(page)
            await page.reload()
            assert await log_of(page) == stopped
            await page.get_by_role("button", name="Edit").click()
            await page.locator(".edit textarea").fill("Was it really said?")
            await page.get_by_role("button", name="Send again").click()
            await page.wait_for_selector('.answer[data-state="done"] .chip')
            assert await page.locator(".question-text").all_text_contents() == ["Was it really said?"]
            assert await page.locator(".sources summary").text_content() == "Sources (1) · 1 more found"
            assert (seen.foreign_requests, seen.dialogs) == ([], [])

    browsing.run(run())


def test_an_answer_without_sources_is_marked_and_an_error_has_advice(
    browsing: Browsing, tmp_path: Path
) -> None:
    async def run() -> None:
        async with (
            Upstream(answer("openai_chat", answer_events("It is unknown."))) as upstream,
            running_page(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as here,
            browsing.browser() as chromium,
        ):
            await here.chat.save_agent(FINDER, "")
            page, seen = await watched(await chromium.new_context(locale="de-DE"), here.url)
            await page.goto(here.url)
            await ask(page, "Wer weiß es?")
            assert "Nicht belegt" in (await page.locator(".ungrounded").text_content() or "")
            await page.locator("#controls summary").click()
            await page.locator("[name=allowed_domains]").fill("not a domain!")
            await page.locator("#text").fill("Und jetzt?")
            await page.get_by_role("button", name="Senden").click()
            alert = await page.get_by_role("alert").text_content() or ""
            assert alert.startswith("„domain!“ ist keine Domain.")
            assert "Werkzeug" not in alert
            assert await page.locator("#text").input_value() == "Und jetzt?"
            # Chromium logs the refused request itself; there are no other errors.
            assert all("status of 400" in error for error in seen.errors)
            assert seen.foreign_requests == []

    browsing.run(run())


PATHS = ("/agents", "/agents/finder", "/usage", "/find?q=said", "/admin", "/agents/new")


# The schemes differ in their colours only, which all pages share.
@pytest.mark.parametrize(
    ("scheme", "paths"),
    [
        pytest.param("light", PATHS, id="light"),
        pytest.param("dark", PATHS[-1:], id="dark"),
        pytest.param("dark", PATHS, id="dark everywhere", marks=pytest.mark.thorough),
    ],
)
def test_axe_finds_no_serious_accessibility_violations(
    browsing: Browsing, scheme: Literal["light", "dark"], paths: tuple[str, ...], tmp_path: Path
) -> None:
    if not AXE.exists():
        pytest.fail("axe-core is missing: make .venv/.axe")

    async def run() -> None:
        async with (
            Upstream(answer("anthropic_messages", rich_events())) as upstream,
            running_page(tmp_path, {"p": provider_at("anthropic_messages", upstream.url)}) as here,
            browsing.browser() as chromium,
        ):
            await here.chat.save_agent(FINDER, "")
            context = await chromium.new_context(locale="en-US", color_scheme=scheme, bypass_csp=True)
            page, _ = await watched(context, here.url)
            await page.goto(here.url)
            found = await violations(page)
            await ask(page, "Was it said?")
            await page.wait_for_selector('.answer[data-state="done"]')
            await page.locator(".sources summary").click()
            await page.locator(".chip").first.focus()
            found += await violations(page)
            await page.set_viewport_size({"width": 360, "height": 700})
            found += await violations(page)
            width = await page.evaluate("document.documentElement.scrollWidth")
            assert width <= 360
            for path in paths:
                await page.goto(f"{here.url}{path}")
                found += await violations(page)
            assert found == []

    browsing.run(run())


async def violations(page: Page) -> list[str]:
    await page.add_script_tag(path=str(AXE))
    result = await page.evaluate("axe.run({ resultTypes: ['violations'] })")
    return [
        f"{page.url}: {item['id']}: {item['nodes'][0]['html'][:200]}"
        for item in result["violations"]
        if item["impact"] in ("serious", "critical")
    ]
