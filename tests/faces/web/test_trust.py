"""Verdicts on citations, costs and bibliographies under an answer, in the browser and over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import aiohttp
import pytest

from groundwire.chat.questions import EXTRAS
from groundwire.chat.verification import checked_at, with_verification
from groundwire.client import Groundwire
from groundwire.config.schema import Config, GatewaySettings
from groundwire.dialects.extras import FIELD
from groundwire.faces.web.answers import view_of
from groundwire.faces.web.pages import Pages, usd
from groundwire.faces.web.verdicts import read_verification
from groundwire.model import Answer, Citation, Evidence, JsonObject, Span, Text, Usage
from groundwire.model.value import replace
from groundwire.store.base import StoredMessage
from groundwire.transport.safe_fetch import SafeFetcher
from groundwire.transport.ssrf import SsrfPolicy
from groundwire.verify.check import PageOutcome, check_answer
from groundwire.verify.encode import encode_report
from groundwire.verify.facts import MEANINGS
from groundwire.verify.pages import PageText
from tests.faces.web.browsing import Browsing, Page, watched
from tests.faces.web.serving import RunningPage, running_page
from tests.faces.web.test_browser import violations
from tests.faces.web.test_pages import token_of
from tests.faces.web.trust import (
    ALIVE,
    BLOCKED,
    CITY,
    GONE,
    PAGES,
    TOWER,
    real_pages,
    store_answer,
    trust_answer,
    verify_with,
)

pytestmark = pytest.mark.server

TEXTS = Pages().texts
STANDINGS = ["failed", "supported", "failed", "unchecked", "open"]


def verified(answer: Answer) -> Answer:
    return with_verification(answer, check_answer(answer, PAGES), "2026-03-01T10:00:00+00:00")


def use_pages(here: RunningPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(here.chat.groundwire, "averify", verify_with())


async def chip_standings(page: Page) -> list[str]:
    classes = await page.locator(".prose .chip").evaluate_all("(all) => all.map((one) => one.className)")
    return [name.removeprefix("chip").strip() for name in classes]


def allow_pages(here: RunningPage, port: int) -> None:
    """Let the guard of the fetcher accept one address of this machine."""
    client = here.chat.groundwire
    assert isinstance(client, Groundwire)
    rules = SsrfPolicy(ports=frozenset({port}), trusted=frozenset({("127.0.0.1", port)}))
    client._engine_factory._fetcher = SafeFetcher(rules)


def test_verdicts_appear_on_chips_and_sources_and_survive_a_reload(
    browsing: Browsing, tmp_path: Path
) -> None:
    async def run() -> None:
        async with (
            real_pages() as port,
            running_page(tmp_path, {}) as here,
            browsing.browser() as chromium,
        ):
            store_answer(here.store, trust_answer(host=f"127.0.0.1:{port}"))
            allow_pages(here, port)
            context = await chromium.new_context(locale="en-US", viewport={"width": 390, "height": 800})
            page, seen = await watched(context, here.url)
            await page.goto(f"{here.url}/chat/s")
            assert await chip_standings(page) == [""] * 5
            await page.get_by_role("button", name="Verify citations").focus()
            await page.keyboard.press("Enter")
            await page.wait_for_selector(".verified")
            for _ in range(2):
                assert await chip_standings(page) == STANDINGS
                summary = await page.locator(".verified").inner_text()
                assert [name in summary for name in ("supported: 1", "open: 1", "failed: 2")] == [True] * 3
                label = await page.locator(".chip").first.get_attribute("aria-label")
                assert label == "Source 1, failed: The tower"
                await page.locator(".chip").first.hover()
                card = await page.locator(".card").first.inner_text()
                assert "another number" in card
                assert "330 metres" in card
                assert "324 metres" in card
                await page.mouse.move(0, 0)
                listed = await page.locator("#source-sa-1").text_content() or ""
                assert "Quote: in the page, with other words" in listed
                assert await page.locator("#source-sa-1 .sides").first.locator("dd").all_text_contents() == [
                    *("The tower is 320 metres tall.", "320", "The tower is 324 metres tall", "324")
                ]
                await page.reload()
            await page.get_by_role("button", name="Verify again").wait_for()
            assert await page.evaluate("document.documentElement.scrollWidth") <= 390
            assert (seen.errors, seen.foreign_requests, seen.dialogs) == ([], [], [])

    browsing.run(run())


def test_a_verification_that_fails_leaves_the_answer_and_says_why(browsing: Browsing, tmp_path: Path) -> None:
    async def run() -> None:
        settings = Config(gateway=GatewaySettings(verify="off"))
        async with running_page(tmp_path, {}, settings) as here, browsing.browser() as chromium:
            store_answer(here.store, trust_answer())
            page, _ = await watched(await chromium.new_context(locale="de-DE"), here.url)
            await page.goto(f"{here.url}/chat/s")
            assert await page.locator('[data-do="verify"]').count() == 0
            # A page that was opened before verification was switched off.
            await page.locator('[data-do="copy"]').evaluate("(one) => (one.dataset.do = 'verify')")
            await page.locator('[data-do="verify"]').click()
            await page.get_by_role("alert").wait_for()
            assert TEXTS["de"]["error_NOT_FOUND"] in (await page.get_by_role("alert").text_content() or "")
            assert await chip_standings(page) == [""] * 5

    browsing.run(run())


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 390)])
def test_axe_finds_no_serious_violations_of_verdicts_and_menus(
    browsing: Browsing, scheme: Literal["light", "dark"], width: int, tmp_path: Path
) -> None:
    async def run() -> None:
        async with running_page(tmp_path, {}) as here, browsing.browser() as chromium:
            store_answer(here.store, verified(trust_answer()))
            context = await chromium.new_context(
                locale="en-US",
                color_scheme=scheme,
                viewport={"width": width, "height": 800},
                bypass_csp=True,
            )
            page, _ = await watched(context, here.url)
            await page.goto(f"{here.url}/chat/s")
            await page.locator(".sources summary").click()
            await page.locator(".tools .pop summary").click()
            await page.locator(".chip").first.focus()
            found = await violations(page)
            await page.goto(f"{here.url}/compare")
            assert found + await violations(page) == []

    browsing.run(run())


def test_sources_are_copied_and_downloaded_with_the_keyboard(browsing: Browsing, tmp_path: Path) -> None:
    async def run() -> None:
        async with running_page(tmp_path, {}) as here, browsing.browser() as chromium:
            store_answer(here.store, trust_answer())
            context = await chromium.new_context(
                locale="en-US", permissions=["clipboard-read", "clipboard-write"]
            )
            page, seen = await watched(context, here.url)
            await page.goto(f"{here.url}/chat/s")
            await page.locator(".tools .pop summary").focus()
            await page.keyboard.press("Enter")
            await page.get_by_role("button", name="Copy: BibTeX").press("Enter")
            await page.get_by_text("Copied").wait_for()
            copied = await page.evaluate("navigator.clipboard.readText()")
            assert copied.count("@misc{") == 4
            async with page.expect_download() as download:
                await page.get_by_role("link", name="Download: RIS").click()
            assert (await download.value).suggested_filename == "The tower.ris"
            assert (seen.errors, seen.foreign_requests) == ([], [])

    browsing.run(run())


async def test_bibliographies_have_each_page_once_and_the_day_of_the_answer(tmp_path: Path) -> None:
    async with running_page(tmp_path, {}) as here, aiohttp.ClientSession(here.url) as browser:
        message = store_answer(here.store, trust_answer())
        here.store.add_message(StoredMessage("b", "s", trust_answer(), "p", "2026-03-02T00:00:00+00:00"))
        for query, day in (("", 2), (f"&answer={message.number}", 1)):
            async with browser.get(f"/chat/s/sources?format=csl-json{query}") as response:
                items = json.loads(await response.text())
            assert [item["URL"] for item in items] == [TOWER.url, CITY.url, GONE.url, BLOCKED.url]
            assert items[0]["accessed"] == {"date-parts": [[2026, 3, day]]}
        for number in ("1", "99", "x"):
            async with browser.get(f"/chat/s/sources?answer={number}") as response:
                assert response.status == 404


async def test_only_the_owner_verifies_and_downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = aiohttp.CookieJar(unsafe=True)
    async with running_page(tmp_path, {}) as here, aiohttp.ClientSession(here.url, cookie_jar=jar) as browser:
        use_pages(here, monkeypatch)
        message = store_answer(here.store, trust_answer(), "other")
        headers = {"x-groundwire-token": await token_of(browser)}
        async with browser.post(
            "/chat/s/verify", json={"answer": message.number}, headers=headers
        ) as response:
            assert response.status == 404
        async with browser.get("/chat/s/sources") as response:
            assert response.status == 404


async def test_verdicts_are_not_stored_while_the_session_is_answered(tmp_path: Path) -> None:
    async with running_page(tmp_path, {}) as here:
        message = store_answer(here.store, trust_answer())
        report = check_answer(trust_answer(), PAGES)
        assert here.store.take_lease("s", "another process", 60)
        shown, is_stored = await here.chat.store_report("", "s", message.number, report)
        assert isinstance(shown.content, Answer)
        assert checked_at(shown.content)
        assert not is_stored
        here.store.release_lease("s", "another process")
        _, is_stored = await here.chat.store_report("", "s", message.number, report)
        assert is_stored
        kept = here.store.messages("s")[-1].content
        assert isinstance(kept, Answer)
        assert checked_at(kept)


def test_a_report_of_the_provider_is_not_shown_as_ours() -> None:
    answer = trust_answer()
    report = encode_report(check_answer(answer, PAGES))
    forged = replace(answer, extras={FIELD: {"verification": report}})
    assert read_verification(forged, TEXTS["en"]).verdicts == ()


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_verdict_has_a_text(language: str) -> None:
    assert {f"verdict_{name}" for name in MEANINGS} <= TEXTS[language].keys()


def test_a_page_that_lacks_a_claim_that_another_source_has_is_open() -> None:
    claim = "The tower is 324 metres tall."
    evidence = (Evidence(TOWER), Evidence(CITY))
    answer = Answer((Text(claim),), (Citation(Span(0, len(claim)), evidence),), finish="stop")
    report = check_answer(answer, {**PAGES, CITY.url: PageOutcome(ALIVE, PageText("Boats are for hire."))})
    found = read_verification(with_verification(answer, report, "now"), TEXTS["en"])
    assert [verdict.standing for verdict in found.verdicts] == ["supported", "open"]
    assert found.verdicts[1].findings[0].sentence == TEXTS["en"]["verify_other_source"]


@pytest.mark.parametrize(
    "damage",
    [
        {"citations": "none"},
        {"citations": [{"standing": "good"}]},
        {"citations": [{"standing": "open", "address": {"verdict": "<b>"}}]},
        {"citations": [{"standing": "open", "citation": 99, "address": []}]},
    ],
)
def test_a_damaged_report_counts_as_none(damage: JsonObject) -> None:
    answer = replace(trust_answer(), extras={EXTRAS: {"verification": damage}})
    view = view_of(StoredMessage("m", "s", answer), TEXTS["en"])
    assert view.verification.verdicts == ()


def test_cost_and_grounding_of_an_answer() -> None:
    assert [usd(amount, "free") for amount in (0, 0.00001, 0.0123, 12)] == [
        "free",
        "<$0.0001",
        "$0.0123",
        "$12.0000",
    ]
    plain = Answer((Text("It is so."),), usage=Usage(searches=1), finish="stop")
    for extras, expected in (({FIELD: {"grounded": False}}, True), ({}, False)):
        message = StoredMessage("m", "s", replace(plain, extras=extras))
        assert view_of(message, TEXTS["en"]).ungrounded is expected
