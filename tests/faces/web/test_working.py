"""Working with sessions in a real browser: menus, palette, themes, sharing, ratings, documents, phones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.async_api import FilePayload

from groundwire.chat.documents import address_of
from groundwire.store.base import Session
from tests.faces.web.browsing import Browsing, Page, watched
from tests.faces.web.serving import RunningPage, running_page
from tests.faces.web.test_browser import violations
from tests.faces.web.test_page_use import INSIDE
from tests.faces.web.trust import NOW, store_answer, trust_answer

pytestmark = pytest.mark.server

HOSTILE = '"><script>top.hit=1</script><img src=x onerror=top.hit=1>'


def fill(here: RunningPage) -> None:
    """Two sessions; one has a title that attacks the page."""
    store_answer(here.store, trust_answer())
    here.store.put_session(Session("h", "default", "", HOSTILE, NOW, NOW))


async def notice(page: Page) -> str:
    return await page.locator(".toast").first.text_content() or ""


def test_sessions_are_filed_found_rated_and_shared_by_keyboard(browsing: Browsing, tmp_path: Path) -> None:
    async def run() -> None:
        async with running_page(tmp_path, {}) as here, browsing.browser() as chromium:
            fill(here)
            page, seen = await watched(await chromium.new_context(locale="en-US"), here.url)
            await page.goto(f"{here.url}/chat/s")
            await page.wait_for_selector("#send:enabled")
            assert await page.locator(".sessions h2", has_text="Longer ago").count() == 1
            await file_by_keyboard(page)
            await use_palette(page)
            await rate(page, here)
            await share(page, here)
            assert await page.evaluate("top.hit === undefined")
            assert (seen.errors, seen.foreign_requests) == ([], [])

    browsing.run(run())


async def file_by_keyboard(page: Page) -> None:
    """Pin the attacking session and put the other one into a folder that attacks, from the list."""
    items = page.locator(".sessions li")
    await items.filter(has_text="script").get_by_role("button").focus()
    await page.keyboard.press("Enter")
    await page.locator("dialog.session-menu[open]").wait_for()
    await page.locator("dialog.session-menu").get_by_role("button", name="Pin", exact=True).press("Enter")
    await page.wait_for_url("**/chat/h")
    assert await notice(page) == "Pinned."
    assert await page.locator(".group.pinned .item-title").text_content() == HOSTILE
    await items.filter(has_text="The tower").get_by_role("button").press("Enter")
    await page.locator("dialog.session-menu summary", has_text="Move").press("Enter")
    await page.locator("dialog.session-menu [name=folder]").fill(HOSTILE)
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/chat/s")
    assert HOSTILE[:20] in (await page.locator("details.group[open] summary").text_content() or "")


async def use_palette(page: Page) -> None:
    """Ctrl+K switches the theme, and finds a session by the words of its answer."""
    await page.wait_for_selector("#send:enabled")
    background = "getComputedStyle(document.body).backgroundColor"
    light = await page.evaluate(background)
    await page.keyboard.press("Control+k")
    await page.keyboard.type("dark")
    await page.locator("#palette li[data-theme=dark][aria-selected=true]").wait_for()
    await page.keyboard.press("Enter")
    await page.locator('link[href$="style-dark.css"]').wait_for(state="attached")
    await page.wait_for_selector("#send:enabled")
    assert await page.evaluate(background) != light
    await page.keyboard.press("Control+k")
    await page.keyboard.type("inhabitants")
    await page.locator("#palette-session-0", has_text="The tower").wait_for()
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/chat/s?at=*")


async def rate(page: Page, here: RunningPage) -> None:
    good = page.get_by_role("button", name="Good answer")
    await good.press("Enter")
    await page.locator('[data-rating="good"][aria-pressed="true"]').wait_for()
    await page.reload()
    await page.locator('[data-rating="good"][aria-pressed="true"]').wait_for()
    response = await page.request.get(f"{here.url}/ratings.jsonl")
    (row,) = (json.loads(line) for line in (await response.text()).splitlines())
    assert (row["rating"], row["question"]) == ("good", "How tall is the tower?")


async def share(page: Page, here: RunningPage) -> None:
    """The link shows the session to a browser without cookies, and nothing after it is revoked."""
    await page.locator("#actions summary", has_text="Share").first.click()
    await page.get_by_role("button", name="Create link").first.click()
    await page.locator("#shared-link", has_text="http").wait_for()
    link = await page.locator("#shared-link").text_content() or ""
    assert link.startswith(f"{here.url}/shared/")
    assert link.rpartition("/")[2] not in str(here.store.shares(""))
    context = page.context.browser
    assert context is not None
    reader, seen = await watched(await context.new_context(locale="de-DE"), here.url)
    answer = await reader.goto(link)
    assert answer is not None
    assert "noindex" in answer.headers["x-robots-tag"]
    assert answer.headers["cache-control"] == "no-store"
    assert await reader.locator(".answer .chip").count() > 0
    assert await reader.locator("#composer, .tools, .side, [href^='/chat']").count() == 0
    assert HOSTILE not in await reader.content()
    await page.goto(f"{here.url}/settings")
    await page.get_by_role("button", name="Revoke").click()
    await page.wait_for_selector(".toast")
    gone = await reader.reload()
    assert gone is not None
    assert gone.status == 404
    assert [error for error in seen.errors if "404" not in error] == []


def test_exports_are_named_by_the_title_and_a_pdf_can_be_printed(browsing: Browsing, tmp_path: Path) -> None:
    async def run() -> None:
        async with running_page(tmp_path, {}) as here, browsing.browser() as chromium:
            fill(here)
            await here.chat.rename("", "s", "Höhe: der/Turm?")
            page, seen = await watched(await chromium.new_context(locale="en-US"), here.url)
            await page.goto(f"{here.url}/chat/s")
            await page.locator("#actions summary", has_text="Export").first.click()
            for label, suffix in (("Markdown", "md"), ("HTML", "html"), ("JSON", "json"), ("BibTeX", "bib")):
                async with page.expect_download() as download:
                    await page.locator("#actions .panel a", has_text=label).first.click()
                file = await download.value
                assert file.suggested_filename == f"Höhe der Turm.{suffix}"
                if suffix == "html":
                    page_file = tmp_path / "export.html"
                    await file.save_as(page_file)
            exported = page_file.read_text("utf-8")
            assert "The tower is 330 metres tall." in exported
            assert "<script" not in exported
            assert 'action="' not in exported
            await page.goto(f"{here.url}/chat/s/print")
            assert (await page.pdf()).startswith(b"%PDF")
            assert (seen.errors, seen.foreign_requests) == ([], [])

    browsing.run(run())


def test_documents_are_added_with_progress_and_skipped_with_a_reason(
    browsing: Browsing, tmp_path: Path
) -> None:
    async def run() -> None:
        async with running_page(tmp_path, {}) as here, browsing.browser() as chromium:
            page, seen = await watched(await chromium.new_context(locale="en-US"), here.url)
            await page.goto(f"{here.url}/documents")
            name = "notes <img src=x>.md"
            files: list[FilePayload] = [
                {"name": name, "mimeType": "text/markdown", "buffer": b"# Kestrel\n\nThe kestrel hovers.\n"},
                {"name": "run.exe", "mimeType": "application/octet-stream", "buffer": b"MZ"},
                {"name": "bad.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 nonsense"},
            ]
            await page.locator("#files").set_input_files(files)
            await page.wait_for_selector("#uploads li:nth-child(3)[data-outcome]")
            lines = await page.locator("#uploads li").all_text_contents()
            assert lines[0] == f"{name}added"
            assert lines[1].startswith("run.exeskipped: Files of this kind")
            assert lines[2].startswith("bad.pdfskipped: ")
            stored = await here.chat.groundwire.page(address_of(name), live=False)
            assert "kestrel hovers" in stored.text
            await page.locator("#documents li", has_text="Kestrel").wait_for()
            assert await page.locator("#documents li").count() == 1
            assert (seen.errors, seen.foreign_requests) == ([], [])

    browsing.run(run())


def test_on_a_phone_there_is_a_drawer_a_sheet_and_a_small_composer(
    browsing: Browsing, tmp_path: Path
) -> None:
    async def run() -> None:
        async with running_page(tmp_path, {}) as here, browsing.browser() as chromium:
            fill(here)
            here.store.file_session("h", pinned=False, folder="Ordner")
            context = await chromium.new_context(
                locale="de-DE",
                color_scheme="dark",
                viewport={"width": 390, "height": 800},
                has_touch=True,
                bypass_csp=True,
            )
            page, seen = await watched(context, here.url)
            await page.goto(f"{here.url}/chat/s")
            await page.wait_for_selector("#send:enabled")
            assert await page.locator(".composer .box").evaluate("(one) => one.offsetHeight") < 110
            await page.locator(".chip").first.hover()
            await page.locator(".cite:hover > .card").evaluate("(card) => (card.id = 'now')")
            assert await page.evaluate(INSIDE, "#now")
            bottom = "innerHeight - document.querySelector('#now').getBoundingClientRect().bottom"
            assert await page.evaluate(bottom) < 1
            await page.mouse.move(1, 1)
            menu = page.get_by_role("button", name="Gespräche", exact=True)
            await menu.press("Enter")
            await page.locator("#drawer").get_by_role("link", name="Neues Gespräch").wait_for()
            assert await page.evaluate("document.getElementById('drawer').contains(document.activeElement)")
            found = await violations(page)
            await page.keyboard.press("Escape")
            assert await menu.get_attribute("aria-expanded") == "false"
            assert await page.evaluate("document.activeElement.className") == "quiet menu"
            for path in ("/settings", "/documents", "/usage", "/chat/s/print", "/no/such/page"):
                await page.goto(f"{here.url}{path}")
                assert await page.evaluate("document.documentElement.scrollWidth") <= 390, path
                found += await violations(page)
            assert found == []
            assert seen.foreign_requests == []

    browsing.run(run())
