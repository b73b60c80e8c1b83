"""An answer in several windows of a real browser: it goes on after a reload, and is stopped and continued."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.model.value import replace
from groundwire.store.base import Agent
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.serving import provider_at
from tests.faces.web.browsing import Browsing, watched
from tests.faces.web.serving import running_page

pytestmark = pytest.mark.server

WHOLE = answer("openai_chat", answer_events("It was said. And more followed."))
STREAM = WHOLE.stream or b""
STALLED = replace(WHOLE, stall_at=STREAM.index(b"\n\n", STREAM.index(b"followed")) + 2)
RUNNING = '.answer[data-state="running"] .prose p'


def test_windows_follow_an_answer_which_survives_a_reload_and_is_continued(
    browsing: Browsing, tmp_path: Path
) -> None:
    async def run() -> None:
        async with (
            Upstream(Script((STALLED, WHOLE, WHOLE))) as upstream,
            running_page(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as here,
            browsing.browser() as chromium,
        ):
            await here.chat.save_agent(Agent("plain", {"en": "Plain"}), "")
            mine = await chromium.new_context(locale="en-US")
            first, seen = await watched(mine, here.url)
            await first.goto(here.url)
            await first.wait_for_selector("#send:enabled")
            await first.locator("#text").fill("Was it said?")
            await first.keyboard.press("Enter")
            await first.locator(RUNNING).wait_for()
            await first.reload()
            await first.locator(RUNNING).wait_for()
            phone = await chromium.new_context(
                locale="de-DE", viewport={"width": 390, "height": 800}, color_scheme="dark"
            )
            second, seen_too = await watched(phone, here.url)
            await second.goto(first.url)
            await second.locator(RUNNING).wait_for()
            assert len(upstream.requests) == 1
            assert not upstream.requests[0].disconnected
            await second.get_by_role("button", name="Anhalten").wait_for()
            await second.keyboard.press("Escape")
            for page in (first, second):
                await page.locator('.answer[data-state="stopped"]').wait_for()
            await upstream.disconnected()
            # Another tab of the same browser hears of the next question.
            third, _ = await watched(mine, here.url)
            await third.goto(first.url)
            await third.wait_for_selector("#send:enabled")
            await first.get_by_role("button", name="Continue").focus()
            await first.keyboard.press("Enter")
            for page in (first, third):
                await page.locator('.answer[data-state="done"]').wait_for()
                assert await page.locator(".question-text").count() == 2
            assert b"And more followed." in upstream.requests[1].body
            assert (seen.errors, seen.foreign_requests) == ([], [])
            assert (seen_too.errors, seen_too.foreign_requests) == ([], [])
            await first.route("**/chat/ask", lambda route: route.abort())
            await first.locator("#text").fill("And offline?")
            await first.keyboard.press("Enter")
            await first.get_by_role("alert").get_by_text("cannot be reached").wait_for()
            assert await first.locator("#text").input_value() == "And offline?"

    browsing.run(run())
