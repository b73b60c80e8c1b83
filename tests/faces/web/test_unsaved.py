"""Leaving an agent form with unsaved changes needs a confirmation."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.store.base import Agent
from tests.faces.web.browsing import Browsing, watched
from tests.faces.web.serving import running_page

pytestmark = pytest.mark.server

AGENT = Agent("finder", {"en": "Finder"}, web_search=True)


def test_leaving_a_changed_agent_form_asks_for_confirmation(browsing: Browsing, tmp_path: Path) -> None:
    async def run() -> None:
        async with running_page(tmp_path, {}) as here, browsing.browser() as chromium:
            await here.chat.save_agent(AGENT, "")
            page, seen = await watched(await chromium.new_context(locale="en-US"), here.url)
            form = f"{here.url}/agents/finder"
            await page.goto(form)
            # Without a change there is no confirmation.
            await page.get_by_role("link", name="Usage").click()
            await page.wait_for_url(f"{here.url}/usage")
            assert seen.dialogs == []
            await page.goto(form)
            await page.locator("[name=model]").fill("another")
            # Dialogs are dismissed here: the browser stays on the page.
            await page.get_by_role("link", name="Usage").click()
            assert seen.dialogs == ["Your changes are not saved. Leave this page?"]
            assert page.url == form
            await page.get_by_role("button", name="Deutsch").click()
            assert len(seen.dialogs) == 2
            assert await page.locator("[name=model]").input_value() == "another"
            # The browser itself asks before closing and reloading.
            await page.evaluate("setTimeout(() => location.reload(), 0)")
            async with page.expect_event("dialog"):
                pass
            assert len(seen.dialogs) == 3
            assert await page.locator("[name=model]").input_value() == "another"
            # After reverting or saving there is nothing to confirm.
            await page.locator("[name=model]").fill("")
            await page.get_by_role("link", name="Agents").click()
            await page.wait_for_url(f"{here.url}/agents")
            await page.goto(form)
            await page.locator("[name=model]").fill("another")
            await page.get_by_role("button", name="Save").click()
            await page.wait_for_url(f"{here.url}/?agent=finder")
            assert len(seen.dialogs) == 3
            assert (await here.chat.agent("finder", "")).model == "another"
            assert seen.errors == []

    browsing.run(run())
