"""The page that compares providers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from xml.etree import ElementTree

import aiohttp
import pytest

from groundwire.model import Json, Source
from groundwire.testing.answers import answer_events
from groundwire.testing.script import ScriptedResponse
from groundwire.testing.upstream import Upstream, answer
from tests.compare.answers import cited_events
from tests.faces.gateway.serving import provider_at
from tests.faces.web.browsing import Browsing, Page, watched
from tests.faces.web.hostile import hostile_strings
from tests.faces.web.serving import RunningPage, running_page
from tests.faces.web.test_browser import violations
from tests.faces.web.test_hostile import FIND_FAULTS
from tests.faces.web.test_pages import token_of

pytestmark = pytest.mark.server

DIALECT = "anthropic_messages"
FLOW = ("It flows north into the Mediterranean Sea.", "https://a.example/flow")
ALPHA = answer(DIALECT, cited_events(("The Nile is 6,650 km long.", "https://a.example/nile"), FLOW))
BETA = answer(DIALECT, cited_events(("The Nile is 6,853 km long.", "https://b.example/nile"), FLOW))
REFUSAL = b'{"type": "error", "error": {"type": "invalid_request_error", "message": "no credit left"}}'
BROKEN = ScriptedResponse(status=400, body=REFUSAL)


@asynccontextmanager
async def comparing(folder: Path, **scripts: ScriptedResponse) -> AsyncIterator[RunningPage]:
    """The page with a scripted provider for each name."""
    async with AsyncExitStack() as stack:
        providers = {}
        for name, script in scripts.items():
            upstream = await stack.enter_async_context(Upstream(script))
            providers[name] = provider_at(DIALECT, upstream.url)
        yield await stack.enter_async_context(running_page(folder, providers))


async def compare(page: Page, url: str, *names: str) -> None:
    await page.goto(f"{url}/compare")
    for box in await page.locator("[name=provider]").all():
        await box.set_checked(await box.get_attribute("value") in names)
    await page.locator("#compare textarea").fill("How long is the Nile?")
    await page.keyboard.press("Enter")


def test_answers_appear_side_by_side_then_what_they_agree_on(browsing: Browsing, tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            comparing(tmp_path, alpha=ALPHA, beta=BETA, broken=BROKEN) as here,
            browsing.browser() as chromium,
        ):
            context = await chromium.new_context(
                locale="en-US", viewport={"width": 390, "height": 800}, bypass_csp=True
            )
            page, seen = await watched(context, here.url)
            await compare(page, here.url, "alpha")
            assert await page.get_by_role("alert").text_content() == "Choose at least two providers."
            await compare(page, here.url, "alpha", "beta", "broken")
            await page.wait_for_selector('[data-do="svg"]')
            columns = [" ".join(text.split()) for text in await page.locator(".column").all_inner_texts()]
            assert [text.split()[0] for text in columns] == ["alpha", "beta", "broken"]
            assert "answered" in columns[0]
            assert "Cost: unknown" in columns[0]
            assert "no credit left" in columns[2]
            titles = await page.locator(".group-title").all_inner_texts()
            assert titles == ["Contradicted (1)", "Agreed (1)"]
            assert await page.locator("mark").all_inner_texts() == ["6,650", "6,853"]
            assert "alpha, beta" in await page.locator("#comparison table").inner_text()
            async with page.expect_download() as download:
                await page.locator('[data-do="svg"]').click()
            picture = Path(await (await download.value).path()).read_text("utf-8")
            assert "6,853" in "".join(ElementTree.fromstring(picture).itertext())  # noqa: S314  our own
            assert await page.evaluate("document.documentElement.scrollWidth") <= 390
            assert await violations(page) == []
            assert (seen.errors, seen.foreign_requests) == ([], [])
            used = {total.provider: total.errors for total in here.store.usage("")}
            assert used == {"alpha": 0, "beta": 0, "broken": 1}

    browsing.run(run())


def test_an_answer_is_shown_while_another_provider_is_silent_and_stop_ends_both(
    browsing: Browsing, tmp_path: Path
) -> None:
    async def run() -> None:
        async with (
            Upstream(ScriptedResponse(delay=60)) as silent,
            Upstream(ALPHA) as fast,
            running_page(
                tmp_path, {"silent": provider_at(DIALECT, silent.url), "fast": provider_at(DIALECT, fast.url)}
            ) as here,
            browsing.browser() as chromium,
        ):
            page, seen = await watched(await chromium.new_context(locale="de-DE"), here.url)
            await compare(page, here.url, "silent", "fast")
            await page.wait_for_selector('.column[data-step="done"] .chip')
            assert await page.locator('.column[data-step="searching"] .state').text_content() == "sucht…"
            await page.get_by_role("button", name="Anhalten").press("Enter")
            await silent.disconnected()
            assert await page.get_by_role("alert").text_content() == "Der Vergleich wurde angehalten."
            assert seen.foreign_requests == []

    browsing.run(run())


def test_hostile_answers_stay_text(browsing: Browsing, tmp_path: Path) -> None:
    strings = [text for text in hostile_strings() if len(text) < 500 and "\x00" not in text][::5]
    page_with_markup = Source("https://evil.example/page", "<img src=x onerror=alert(1)>")
    script = answer(DIALECT, answer_events("\n\n".join(strings), page_with_markup, query="<script>"))
    claims = [
        (f"{text} {number}".replace("\n", " "), "https://evil.example/")
        for number, text in enumerate(strings[::9])
    ]
    other = answer(DIALECT, cited_events(*claims))
    refusal = ScriptedResponse(
        status=400, body=REFUSAL.replace(b"no credit left", b"<img src=x onerror=alert(1)>")
    )

    async def run() -> None:
        async with comparing(tmp_path, a=script, b=other, c=refusal) as here, browsing.browser() as chromium:
            page, seen = await watched(await chromium.new_context(bypass_csp=True), here.url)
            await compare(page, here.url, "a", "b", "c")
            await page.wait_for_selector('[data-do="svg"]')
            faults: list[str] = await page.evaluate(FIND_FAULTS)
            assert faults == []
            assert (seen.foreign_requests, seen.dialogs) == ([], [])

    browsing.run(run())


async def test_a_comparison_needs_two_usable_providers_and_a_question(tmp_path: Path) -> None:
    jar = aiohttp.CookieJar(unsafe=True)
    async with (
        comparing(tmp_path, alpha=ALPHA) as here,
        aiohttp.ClientSession(here.url, cookie_jar=jar) as browser,
    ):
        headers = {"x-groundwire-token": await token_of(browser)}
        bodies: list[Json] = [
            {"text": "q?", "providers": ["alpha"]},
            {"text": "q?", "providers": ["alpha", "alpha", "unknown"]},
            {"text": " ", "providers": ["alpha", "local"]},
            {"text": "q?", "providers": "alpha"},
            [],
        ]
        for body in bodies:
            async with browser.post("/compare/run", json=body, headers=headers) as response:
                assert response.status == 400, body
                assert (await response.json())["message"]
