"""Long sessions are shown one window at a time, and every turn can be reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.faces.web.chat import LAST_WINDOW_TURNS, WINDOW_TURNS, turn_range, window_of
from groundwire.model import Answer, Message, Text
from groundwire.store.base import Agent, Session, Store, StoredMessage
from tests.faces.web.browsing import Browsing, Page, watched
from tests.faces.web.serving import running_page

pytestmark = pytest.mark.server

NOW = "2026-03-01T00:00:00.000000+00:00"


def turns(count: int) -> list[StoredMessage]:
    """This many questions, each with its answer."""
    messages = []
    for number in range(count):
        question = Message("user", (Text(f"Question word{number}end?"),))
        answer = Answer((Text(f"Answer {number}.\n\n" * 4),), finish="stop")
        messages.append(StoredMessage(f"q{number}", "s", question, "", NOW, 2 * number + 1))
        messages.append(StoredMessage(f"a{number}", "s", answer, "p", NOW, 2 * number + 2))
    return messages


def read(messages: list[StoredMessage], at: str) -> tuple[list[str], int, int]:
    """The ids in a window, and the numbers of the windows before and after it."""
    until, limit = turn_range(at)
    kept = [turn for turn in messages if not until or turn.number < until][-limit:]
    window = window_of(kept, turn_range(at))
    return [turn.id for turn in window.turns], window.earlier, window.later


@pytest.mark.parametrize(
    "count",
    [
        0,
        1,
        LAST_WINDOW_TURNS,
        LAST_WINDOW_TURNS + 1,
        WINDOW_TURNS,
        WINDOW_TURNS + LAST_WINDOW_TURNS,
        3 * WINDOW_TURNS,
        500,
    ],
)
def test_every_turn_is_reachable_through_earlier_windows(count: int) -> None:
    messages = turns(count)
    seen: list[str] = []
    at = ""
    for _ in range(count + 1):
        shown, earlier, _ = read(messages, at)
        seen = [name for name in shown if name not in seen] + seen
        at = str(earlier)
        if not earlier:
            break
    assert seen == [turn.id for turn in messages]


@pytest.mark.parametrize("count", [1, WINDOW_TURNS, WINDOW_TURNS + 1, 2 * WINDOW_TURNS + 3])
def test_every_turn_is_reachable_through_later_windows(count: int) -> None:
    messages = turns(count)
    seen: list[str] = []
    at = "1"
    while at != "0":
        shown, _, later = read(messages, at)
        seen += shown
        at = str(later)
    assert seen == [turn.id for turn in messages]


def test_a_window_begins_with_a_question_even_if_an_answer_was_requested() -> None:
    messages = turns(100)
    for at in ("41", "42"):
        shown, earlier, later = read(messages, at)
        assert (shown[0], shown[1], len(shown)) == ("q20", "a20", 2 * WINDOW_TURNS)
        assert (earlier, later) == (41 - 2 * WINDOW_TURNS, 41 + 2 * WINDOW_TURNS)
    assert read(messages, "200")[0] == ["q99", "a99"]


@pytest.mark.parametrize("at", ["", "0", "x", "-1", "1e3", "９", "9" * 40, "1.5"])
def test_an_invalid_number_opens_the_last_window(at: str) -> None:
    shown, _, later = read(turns(50), at)
    assert (shown[-1], len(shown), later) == ("a49", 2 * LAST_WINDOW_TURNS, 0)


def fill(store: Store, count: int) -> None:
    store.put_agent(Agent("finder", {"en": "Finder"}, web_search=False))
    store.put_session(Session("s", "finder", "", "Long", NOW, NOW))
    for turn in turns(count):
        store.add_message(turn)


async def articles(page: Page) -> list[str]:
    names: list[str] = await page.evaluate(
        "[...document.querySelectorAll('#log > article')].map((item) => item.dataset.id)"
    )
    return names


def test_a_long_session_opens_at_its_end_and_loads_earlier_turns_above(
    browsing: Browsing, tmp_path: Path
) -> None:
    count = 2 * WINDOW_TURNS + LAST_WINDOW_TURNS + 3
    whole = [turn.id for turn in turns(count)]

    async def run() -> None:
        async with running_page(tmp_path, {}) as here, browsing.browser() as chromium:
            fill(here.store, count)
            plain = await chromium.new_context(locale="en-US", java_script_enabled=False)
            page, _ = await watched(plain, here.url)
            await page.goto(f"{here.url}/chat/s")
            assert await page.locator("#log > article").count() == 2 * LAST_WINDOW_TURNS
            page, seen = await watched(await chromium.new_context(locale="en-US"), here.url)
            await page.goto(f"{here.url}/chat/s")
            assert (await articles(page))[-1] == whole[-1]
            assert await page.evaluate("scrollY + innerHeight >= document.documentElement.scrollHeight - 2")
            while await page.locator("#earlier").count():
                known = await articles(page)
                await page.evaluate("scrollTo(0, 0)")
                await page.wait_for_selector(f"article:has(~ #m-{known[0]})", state="attached")
            assert await articles(page) == whole
            await page.goto(f"{here.url}/find?q=word3end")
            await page.locator(".found a").first.click()
            await page.locator("#m-q3").wait_for()
            assert (await articles(page))[0] == "q3"
            await page.get_by_role("link", name="Later").click()
            await page.locator(f"#m-q{3 + WINDOW_TURNS}").wait_for()
            await page.get_by_role("link", name="Earlier").click()
            await page.locator("#m-q3").wait_for()
            assert (seen.errors, seen.foreign_requests) == ([], [])

    browsing.run(run())
