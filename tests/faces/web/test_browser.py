"""The page in a real browser: the first use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

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
from tests.faces.gateway.serving import provider_at
from tests.faces.web.browsing import AXE, Browsing, Page, watched
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


def test_a_first_time_user_creates_an_agent_sends_a_question_and_finds_it_again(
    browsing: Browsing, tmp_path: Path
) -> None:
    async def run() -> None:
        async with running_page(tmp_path, {}) as here, browsing.browser() as chromium:
            context = await chromium.new_context(locale="en-US")
            page, seen = await watched(context, here.url)
            await page.goto(here.url)
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
            assert await page.locator("#search-state").text_content() == "Web search on"
            await ask(page, "How do I parse JSON in Python?")
            # The first question builds the index of all installed packages.
            await page.wait_for_selector(".answer:not([aria-busy])", timeout=90_000)
            assert await page.locator(".answer").get_attribute("data-state") == "done"
            assert await page.locator(".chip").count() > 0
            assert page.url.startswith(f"{here.url}/chat/")
            live = await log_of(page)
            await check_card_opens(page)
            await page.reload()
            assert await log_of(page) == live
            await page.get_by_role("button", name="Deutsch").click()
            assert await page.locator("html").get_attribute("lang") == "de"
            assert "Quellen" in (await page.locator(".sources summary").first.text_content() or "")
            await check_exports(page)
            assert (seen.errors, seen.foreign_requests, seen.dialogs) == ([], [], [])

    browsing.run(run())


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
            assert [item["content"]["type"] for item in json.loads(text)["messages"]] == ["Message", "Answer"]
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
            assert await page.locator(".sources summary").text_content() == "Sources (2)"
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_accessibility_violations(
    browsing: Browsing, scheme: Literal["light", "dark"], tmp_path: Path
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
            for path in ("/agents", "/agents/finder", "/agents/new", "/usage", "/find?q=said", "/admin"):
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
