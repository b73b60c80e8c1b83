"""Pictures of the chat page, light and dark, wide and narrow: `python scripts/screenshots.py FOLDER`.

Needs Chromium and Playwright. The answer is scripted, so that the pictures do not depend on anybody.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import Browser, async_playwright

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
    Usage,
    UsageSeen,
)
from groundwire.store.base import Agent
from groundwire.testing.upstream import Upstream, answer

ROOT = Path(__file__).parents[1]
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
TEXT = """The rover **Curiosity** landed in *Gale crater* in August 2012. It found crystals of pure sulphur.

| rover | landed |
|---|---|
| Curiosity | 2012 |
| Perseverance | 2021 |

- as large as a car, see [the mission](https://rovers.example/curiosity)
- still at work
"""
MISSION = Source("https://rovers.example/curiosity", "Curiosity: the mission", date="2024-07-18")
NEWS = Source("https://news.example/sulphur", "A rock of pure sulphur")
QUOTES = {MISSION.url: "Curiosity landed in Gale crater in August 2012.", NEWS.url: "It was pure sulphur."}
SHOTS = (("wide", 1200, 820), ("narrow", 390, 800))


def scripted() -> list[Event]:
    """A cited answer."""
    return [
        Started("1", "model-1"),
        SearchCalled(0, SearchCall("s1", ("curiosity rover findings",))),
        SearchReturned(1, SearchResult("s1", (MISSION, NEWS, Source("https://more.example/", "More")))),
        TextDelta(2, TEXT),
        _cited("The rover **Curiosity** landed in *Gale crater* in August 2012.", MISSION),
        _cited("It found crystals of pure sulphur.", MISSION, NEWS),
        TextSettled(2),
        UsageSeen(Usage(812, 344, searches=1, cost=0.0123)),
        Finished("stop"),
    ]


def _cited(words: str, *sources: Source) -> Cited:
    start = TEXT.index(words)
    evidence = tuple(Evidence(source, QUOTES[source.url]) for source in sources)
    return Cited(Citation(Span(start, start + len(words)), evidence))


async def shoot(browser: Browser, url: str, folder: Path) -> None:
    """Every page in every form."""
    for scheme in ("light", "dark"):
        for name, width, height in SHOTS:
            context = await browser.new_context(
                color_scheme="dark" if scheme == "dark" else "light",
                viewport={"width": width, "height": height},
                locale="en-US",
            )
            page = await context.new_page()
            await page.goto(url)
            await page.screenshot(path=folder / f"start-{name}-{scheme}.png")
            await page.wait_for_selector("#send:enabled")
            await page.locator("#text").fill("What did Curiosity find on Mars?")
            await page.keyboard.press("Enter")
            await page.wait_for_selector('.answer[data-state="done"]')
            await page.locator(".chip").first.hover()
            await page.screenshot(path=folder / f"answer-{name}-{scheme}.png")
            for path in ("agents", "usage"):
                await page.goto(f"{url}/{path}")
                await page.screenshot(path=folder / f"{path}-{name}-{scheme}.png")
            await context.close()


async def main(folder: Path) -> None:
    """Serve the page, and take the pictures."""
    sys.path.insert(0, str(ROOT))
    from tests.faces.gateway.serving import speaking  # noqa: PLC0415  the checkout's own
    from tests.faces.web.serving import serving_page  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as data:
        async with (
            Upstream(answer("openai_responses", scripted())) as upstream,
            serving_page(Path(data), {"p": speaking("openai_responses", upstream.url)}) as here,
            async_playwright() as tool,
        ):
            await here.chat.save_agent(Agent("", {"en": "Researcher", "de": "Rechercheur"}, web_search=True))
            browser = await tool.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            await shoot(browser, here.url, folder)
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots")))
