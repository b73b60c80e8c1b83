"""Use of the page: keyboard, phone, reduced motion, right-to-left text, several tabs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from groundwire.config.schema import Config, GatewaySettings
from groundwire.store.base import Agent
from groundwire.testing.script import Script, ScriptedResponse
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.serving import provider_at, wait_for_open_requests
from tests.faces.web.browsing import Browser, Browsing, Page, watched
from tests.faces.web.rich import OTHER, rich_events
from tests.faces.web.serving import RunningPage, running_page

pytestmark = pytest.mark.server

FINDER = Agent("finder", {"en": "Finder", "de": "Sucher"}, web_search=True)


@asynccontextmanager
async def using(
    browsing: Browsing, folder: Path, script: Script | ScriptedResponse, config: Config | None = None
) -> AsyncIterator[tuple[Upstream, RunningPage, Browser]]:
    async with (
        Upstream(script) as upstream,
        running_page(folder, {"p": provider_at("anthropic_messages", upstream.url)}, config) as here,
        browsing.browser() as chromium,
    ):
        await here.chat.save_agent(FINDER, "")
        yield upstream, here, chromium


async def ask(page: Page, question: str) -> None:
    await page.wait_for_selector("#send:enabled")
    await page.locator("#text").fill(question)
    await page.keyboard.press("Enter")


def test_a_copied_answer_has_its_footnotes(browsing: Browsing, tmp_path: Path) -> None:
    async def run() -> None:
        async with using(browsing, tmp_path, answer("anthropic_messages", rich_events())) as (
            _,
            here,
            chromium,
        ):
            context = await chromium.new_context(locale="en-US")
            await context.grant_permissions(["clipboard-read", "clipboard-write"], origin=here.url)
            page, seen = await watched(context, here.url)
            await page.goto(here.url)
            await ask(page, "Was it said?")
            await page.get_by_role("button", name="Copy", exact=True).click()
            await page.get_by_role("button", name="Copied").wait_for()
            text = await page.evaluate("navigator.clipboard.readText()")
            lines = text.split("\n")
            assert lines[0] == (
                "It was **said**.[^1] It was said [before](https://links.example/), and by others.[^1][^2]"
            )
            assert r"[^1]: The \[first\] page <https://docs.example/page>" in lines
            assert lines[-1].startswith("[^2]: Another page, with a title of many words")
            assert lines[-1].endswith(f"<{OTHER.url}>")
            await page.get_by_role("button", name="Copy", exact=True).wait_for()
            assert (seen.errors, seen.foreign_requests) == ([], [])

    browsing.run(run())


FOCUSED = """() => {
  const element = document.activeElement;
  const style = getComputedStyle(element);
  const box = element.closest('.box');
  const accent = getComputedStyle(document.getElementById('send') ?? element).borderColor;
  const ringed = style.outlineStyle !== 'none' || (box && getComputedStyle(box).borderColor === accent);
  element.dataset.visited = 'yes';
  return element === document.body ? '' : ringed ? 'ring' : element.outerHTML.slice(0, 200);
}"""
UNVISITED = """() => [...document.querySelectorAll('a[href], button, summary, input, select, textarea')]
  .filter((item) => item.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }))
  .filter((item) => item.type !== 'hidden' && item.tabIndex >= 0 && !item.disabled && !item.dataset.visited)
  .map((item) => item.outerHTML.slice(0, 200))"""


async def tab_through(page: Page) -> list[str]:
    """Press Tab through the page and check the focus ring; returns controls that were never focused."""
    await page.locator(".skip").focus()
    for _ in range(80):
        stop = await page.evaluate(FOCUSED)
        assert stop in ("", "ring"), stop
        if not stop:
            break
        await page.keyboard.press("Tab")
    missed: list[str] = await page.evaluate(UNVISITED)
    return missed


def test_every_control_is_usable_by_keyboard(browsing: Browsing, tmp_path: Path) -> None:
    async def run() -> None:
        async with using(browsing, tmp_path, answer("anthropic_messages", rich_events())) as (
            _,
            here,
            chromium,
        ):
            page, seen = await watched(await chromium.new_context(locale="en-US"), here.url)
            await page.goto(here.url)
            assert await tab_through(page) == []
            await ask(page, "Was it said?")
            await page.wait_for_selector('.answer[data-state="done"]')
            for name in (".sources > summary", "#controls > summary"):
                await page.locator(name).focus()
                await page.keyboard.press("Enter")
            assert await page.locator(".sources .list").first.is_visible()
            assert await tab_through(page) == []
            await rename_by_keyboard(page)
            await edit_by_keyboard(page)
            for path in ("/agents", "/agents/new", "/usage", "/settings", "/documents", "/find?q=said"):
                await page.goto(f"{here.url}{path}")
                assert await tab_through(page) == []
            assert (seen.errors, seen.foreign_requests) == ([], [])

    browsing.run(run())


async def rename_by_keyboard(page: Page) -> None:
    await page.locator("#actions > .pop > summary").last.focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Escape")
    assert not await page.locator("#actions .panel").last.is_visible()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Control+A")
    await page.keyboard.type("Renamed")
    await page.keyboard.press("Enter")
    await page.locator("#title", has_text="Renamed").wait_for()
    await page.wait_for_selector("#send:enabled")


async def edit_by_keyboard(page: Page) -> None:
    await page.get_by_role("button", name="Edit").focus()
    await page.keyboard.press("Enter")
    assert await page.locator(".edit textarea").is_visible()
    await page.keyboard.press("Escape")
    assert not await page.locator(".edit").is_visible()
    assert await page.evaluate("document.activeElement.dataset.do") == "edit"
    await page.keyboard.press("Enter")
    await page.keyboard.press("Control+A")
    await page.keyboard.type("Was it really said?")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.locator(".question-text", has_text="Was it really said?").wait_for()
    await page.wait_for_selector('.answer[data-state="done"]')


INSIDE = """(selector) => { const box = document.querySelector(selector).getBoundingClientRect();
  const wide = box.width > 0 && box.left >= 0 && box.right <= innerWidth;
  return wide && box.top >= 0 && box.bottom <= innerHeight; }"""


def test_nothing_overflows_a_narrow_screen(browsing: Browsing, tmp_path: Path) -> None:
    async def run() -> None:
        async with using(browsing, tmp_path, answer("anthropic_messages", rich_events())) as (
            _,
            here,
            chromium,
        ):
            context = await chromium.new_context(
                locale="de-DE", viewport={"width": 320, "height": 640}, has_touch=True
            )
            page, seen = await watched(context, here.url)
            await page.goto(here.url)
            await ask(page, "Wurde es gesagt?")
            await page.wait_for_selector('.answer[data-state="done"]')
            await page.locator(".sources > summary").click()
            assert await page.evaluate("document.documentElement.scrollWidth") <= 320
            for index in range(await page.locator(".chip").count()):
                await page.locator(".chip").nth(index).hover()
                await page.locator(".cite:hover > .card").evaluate("(card) => (card.id = 'now')")
                assert await page.evaluate(INSIDE, "#now")
                await page.locator("#now").evaluate("(card) => card.removeAttribute('id')")
            await page.mouse.move(1, 1)
            for summary in await page.locator(".pop > summary:visible").all():
                await summary.click()
                assert await page.evaluate(INSIDE, ".pop[open] .panel")
            menu = page.get_by_role("button", name="Gespräche")
            assert not await page.locator("#drawer").is_visible()
            await menu.click()
            assert await menu.get_attribute("aria-expanded") == "true"
            for path in (
                "",
                "/agents",
                "/agents/finder",
                "/agents/new",
                "/compare",
                "/usage",
                "/find?q=gesagt",
                "/chat/x",
            ):
                await page.goto(f"{here.url}{path}")
                assert await page.evaluate("document.documentElement.scrollWidth") <= 320, path
            assert (seen.foreign_requests, seen.dialogs) == ([], [])

    browsing.run(run())


def test_text_is_aligned_by_its_direction_and_code_to_the_left(browsing: Browsing, tmp_path: Path) -> None:
    async def run() -> None:
        async with using(browsing, tmp_path, answer("anthropic_messages", rich_events())) as (
            _,
            here,
            chromium,
        ):
            page, _ = await watched(await chromium.new_context(locale="en-US"), here.url)
            await page.goto(here.url)
            await ask(page, "هل قيل ذلك؟")
            await page.wait_for_selector('.answer[data-state="done"]')
            directions = await page.evaluate(
                "[...document.querySelectorAll('.question-text, .block > p, .block pre')]"
                ".map((item) => getComputedStyle(item).direction)"
            )
            assert directions == ["rtl", "ltr", "ltr", "ltr", "ltr", "rtl"]

    browsing.run(run())


def test_nothing_is_animated_with_reduced_motion(browsing: Browsing, tmp_path: Path) -> None:
    look = """() => document.getAnimations()
      .map((item) => item.animationName ?? item.transitionProperty)"""

    async def run() -> None:
        async with using(browsing, tmp_path, ScriptedResponse(delay=60)) as (_, here, chromium):
            found = {}
            for preference in ("no-preference", "reduce"):
                context = await chromium.new_context(
                    locale="en-US", reduced_motion="reduce" if preference == "reduce" else "no-preference"
                )
                page, _ = await watched(context, here.url)
                await page.goto(here.url)
                await ask(page, "Does it move?")
                await page.wait_for_selector(".dots")
                found[preference] = await page.evaluate(look)
                await context.close()
            assert "pulse" in found["no-preference"]
            assert found["reduce"] == []

    browsing.run(run())


def test_an_overloaded_gateway_shows_a_message_and_keeps_the_question(
    browsing: Browsing, tmp_path: Path
) -> None:
    async def run() -> None:
        config = Config(gateway=GatewaySettings(max_requests=1))
        async with using(browsing, tmp_path, ScriptedResponse(delay=60), config) as (
            upstream,
            here,
            chromium,
        ):
            context = await chromium.new_context(locale="de-DE")
            first, _ = await watched(context, here.url)
            await first.goto(here.url)
            await ask(first, "Wer ist zuerst da?")
            await upstream.received()
            page, seen = await watched(context, here.url)
            await page.goto(here.url)
            await ask(page, "Und ich?")
            alert = page.get_by_role("alert")
            await alert.get_by_text("Der Server beantwortet gerade zu viele Fragen.").wait_for()
            assert await page.locator("#text").input_value() == "Und ich?"
            assert await page.locator(".question").count() == 0
            assert len(upstream.requests) == 1
            await first.close()
            upstream.script = Script((answer("anthropic_messages", rich_events()),))
            await wait_for_open_requests(here.gateway, 0)
            await wait_for_open_requests(here.gateway, 0)
            await page.keyboard.press("Enter")
            await page.wait_for_selector('.answer[data-state="done"]')
            assert not await alert.is_visible()
            assert [line for line in seen.errors if "503" not in line] == []

    browsing.run(run())


def test_without_a_model_a_message_offers_to_enable_search_with_one_click(
    browsing: Browsing, tmp_path: Path
) -> None:
    async def run() -> None:
        async with running_page(tmp_path, {}) as here, browsing.browser() as chromium:
            plain = await here.chat.save_agent(Agent("", {"en": "Plain"}), "")
            page, seen = await watched(await chromium.new_context(locale="en-US"), here.url)
            await page.goto(here.url)
            await page.get_by_role("button", name="What does functools.lru_cache do?").click()
            assert await page.get_by_text("no model is configured").is_visible()
            await page.get_by_role("button", name="Turn on web search").click()
            await page.wait_for_url(f"**/?agent={plain.id}")
            assert not await page.get_by_text("no model is configured").is_visible()
            search = page.get_by_role("switch", name="Web search")
            assert await search.get_attribute("aria-checked") == "true"
            assert await page.locator("#text").input_value() == "What does functools.lru_cache do?"
            assert (await here.chat.agent(plain.id, "")).web_search
            await search.press("Space")
            assert await page.get_by_text("no model is configured").is_visible()
            await page.get_by_role("button", name="Turn on web search").click()
            assert await search.get_attribute("aria-checked") == "true"
            assert not await page.get_by_text("no model is configured").is_visible()
            assert (seen.errors, seen.foreign_requests) == ([], [])

    browsing.run(run())
