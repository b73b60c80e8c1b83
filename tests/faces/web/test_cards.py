"""The card of a citation is visible, wherever its chip is and whatever the screen size."""

from __future__ import annotations

from pathlib import Path

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
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
)
from groundwire.store.base import Agent
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.serving import provider_at
from tests.faces.web.browsing import Browsing, Page, watched
from tests.faces.web.serving import running_page

pytestmark = pytest.mark.server

FINDER = Agent("finder", {"en": "Finder"}, web_search=True)
TITLE = "A title of many words that runs over several lines of a card, and then goes on " * 3
QUOTE = "A passage that is as long as a passage may be, and fills its card from edge to edge. " * 8
PAGES = tuple(Source(f"https://www.site{n}.example/{'path/' * 9}", TITLE) for n in range(12))
SENTENCES = tuple(
    f"Sentence {n} says something that is worth a citation at its very end. " for n in range(12)
)

OUTSIDE = """() => [...document.querySelectorAll('.card')].filter((card) => card.checkVisibility())
  .map((card) => card.getBoundingClientRect())
  .map((box) => [Math.round(box.left), Math.round(box.top), Math.round(box.right), Math.round(box.bottom)])
  .map((box) => [...box, innerWidth, innerHeight])"""

POINT = """(chip, block) => {
  chip.scrollIntoView({ block });
  const box = chip.getBoundingClientRect();
  const point = [box.left + box.width / 2, box.top + box.height / 2];
  return document.elementFromPoint(...point) === chip ? point : null;
}"""


def events() -> list[Event]:
    text = "".join(SENTENCES)
    cited = []
    for page, sentence in zip(PAGES, SENTENCES, strict=True):
        start = text.index(sentence)
        cited.append(Cited(Citation(Span(start, start + len(sentence) - 1), (Evidence(page, QUOTE),))))
    return [
        Started("1", "model-1"),
        SearchCalled(0, SearchCall("s1", ("worth a citation",))),
        SearchReturned(1, SearchResult("s1", PAGES)),
        TextDelta(2, text),
        *cited,
        TextSettled(2),
        Finished("stop"),
    ]


FRAME = "() => new Promise((done) => requestAnimationFrame(() => done(null)))"
MOST_FRAMES = 120


async def check_card(page: Page, what: str) -> None:
    """One card is shown, and all of it is on the screen; the browser may need some frames for that."""
    found: list[list[int]] = []
    for _ in range(MOST_FRAMES):
        found = await page.evaluate(OUTSIDE)
        if len(found) == 1 and _is_inside(*found[0]):
            return
        await page.evaluate(FRAME)
    pytest.fail(f"{what}: {found}")


def _is_inside(left: int, top: int, right: int, bottom: int, width: int, height: int) -> bool:
    return left >= 0 and top >= 0 and right <= width and bottom <= height


SIZES = [(320, 480), (844, 390)]
MORE_SIZES = [pytest.param(*size, marks=pytest.mark.thorough) for size in [(390, 844), (390, 420)]]


@pytest.mark.parametrize(("width", "height"), [*SIZES, *MORE_SIZES])
def test_a_card_is_on_the_screen_wherever_its_chip_is(
    browsing: Browsing, width: int, height: int, tmp_path: Path
) -> None:
    async def run() -> None:
        async with (
            Upstream(answer("anthropic_messages", events())) as upstream,
            running_page(tmp_path, {"p": provider_at("anthropic_messages", upstream.url)}) as here,
            browsing.browser() as chromium,
        ):
            await here.chat.save_agent(FINDER, "")
            context = await chromium.new_context(locale="en-US", viewport={"width": width, "height": height})
            page, seen = await watched(context, here.url)
            await page.goto(here.url)
            await page.locator("#text").fill("What is worth a citation?")
            await page.keyboard.press("Enter")
            await page.wait_for_selector('.answer[data-state="done"] .chip')
            chips = await page.locator(".chip").all()
            assert len(chips) == len(PAGES)
            hovered = 0
            for number, chip in enumerate(chips):
                for block in ("start", "center", "end"):
                    await page.mouse.move(0, 0)
                    point = await chip.evaluate(POINT, block)
                    if point is not None:  # else the header or the composer covers it
                        await page.mouse.move(*point)
                        await check_card(page, f"chip {number} hovered at {block}")
                        hovered += 1
            await page.mouse.move(0, 0)
            assert hovered >= len(chips)
            # Focused by keyboard; then the screen is rotated while the card is open.
            await page.locator(".reasoning, .prose").first.evaluate("(one) => one.scrollIntoView()")
            await chips[0].focus()
            await page.keyboard.press("Tab")
            await check_card(page, "focused")
            await page.set_viewport_size({"width": height, "height": width})
            await check_card(page, "rotated")
            assert (seen.foreign_requests, seen.dialogs) == ([], [])

    browsing.run(run())


def test_a_card_under_a_resting_pointer_is_on_the_screen_after_the_answer_is_replaced(
    browsing: Browsing, tmp_path: Path
) -> None:
    async def run() -> None:
        async with (
            Upstream(answer("anthropic_messages", events())) as upstream,
            running_page(tmp_path, {"p": provider_at("anthropic_messages", upstream.url)}) as here,
            browsing.browser() as chromium,
        ):
            await here.chat.save_agent(FINDER, "")
            context = await chromium.new_context(locale="en-US", viewport={"width": 390, "height": 700})
            page, _ = await watched(context, here.url)
            await page.goto(here.url)
            await page.locator("#text").fill("What is worth a citation?")
            await page.keyboard.press("Enter")
            await page.wait_for_selector('.answer[data-state="done"] .chip')
            chip = page.locator(".chip").nth(9)
            await chip.hover()
            # Replace the article, as at the end of an answer, while the pointer rests.
            await page.evaluate(
                "(() => { const all = document.querySelector('.answer'); all.outerHTML = all.outerHTML; })()"
            )
            await page.wait_for_function("document.querySelector('.cite:hover')")
            await page.wait_for_function(
                "[...document.querySelectorAll('.card')].some((card) => card.checkVisibility())"
            )
            await check_card(page, "replaced")

    browsing.run(run())
