"""Long sessions in a real browser: how long until something is seen, beside a session without a word.

Sessions are opened in turns, so that whatever else the machine does falls on all of them. `first time` means
that nothing of the session was written as HTML before. Needs Chromium and Playwright.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from playwright.async_api import Page, async_playwright

from groundwire.model import Answer, Citation, Evidence, Message, SearchCall, SearchResult, Source, Span, Text
from groundwire.store.base import Agent, Session, Store, StoredMessage

ROOT = Path(__file__).parents[1]
CHROMIUM = "/usr/bin/chromium"
ROUNDS = 9
NOW = "2026-03-01T00:00:00.000000+00:00"
PAGE = Source("https://docs.example/page", "The page", excerpts=("It was said on the page.",))
TEXT = (
    "It was **said**, in many words, and then again. " * 12 + "\n\n- one\n- two\n\n" + "More followed. " * 12
)
PAINTED = """() => new Promise((resolve) => new PerformanceObserver((list, observer) => {
  observer.disconnect();
  resolve(list.getEntriesByName('first-contentful-paint')[0].startTime);
}).observe({ type: 'paint', buffered: true }))"""


def fill(store: Store, name: str, messages: int) -> None:
    """A session of so many messages."""
    answer = Answer(
        (SearchCall("s", ("was it said",)), SearchResult("s", (PAGE,)), Text(TEXT)),
        (Citation(Span(0, 15), (Evidence(PAGE, "It was said"),)),),
        finish="stop",
    )
    question = Message("user", (Text("Was it said?"),))
    store.put_session(Session(name, "finder", "", name, NOW, NOW))
    for number in range(messages // 2):
        store.add_message(StoredMessage(f"{name}q{number}", name, question, "", NOW))
        store.add_message(StoredMessage(f"{name}a{number}", name, answer, "p", NOW))


async def seen_after(page: Page, url: str) -> tuple[float, float]:
    """Milliseconds until something is seen, and until everything is there."""
    began = perf_counter()
    await page.goto(url)
    whole = (perf_counter() - began) * 1000
    return await page.evaluate(PAINTED), whole


async def measure(page: Page, url: str, store: Store) -> dict[str, list[tuple[float, float]]]:
    """Every session in every round; the first rounds of all are for the browser to settle."""
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(3):
        await seen_after(page, f"{url}/chat/empty")
    for place in range(ROUNDS):
        # Nothing that was written under another name of the agent's is used again.
        store.put_agent(Agent("finder", {"en": f"Finder {place}"}, web_search=True))
        kinds = {
            "no messages": "empty",
            "1,000 messages, first time": "long",
            "1,000 messages": "long",
            "10 messages": "short",
        }
        for kind, name in kinds.items():
            found.setdefault(kind, []).append(await seen_after(page, f"{url}/chat/{name}"))
    return found


def tell(found: dict[str, list[tuple[float, float]]]) -> None:
    """A table of medians."""
    base = median(seen for seen, _ in found["no messages"])
    sys.stdout.write(f"{'a session of':30}{'first content':>16}{'ratio':>8}{'loaded':>12}\n")
    for kind, times in found.items():
        seen, whole = median(seen for seen, _ in times), median(whole for _, whole in times)
        sys.stdout.write(f"{kind:30}{seen:13.0f} ms{seen / base:8.2f}{whole:9.0f} ms\n")


async def main() -> None:
    """Fill a store, serve it, and look."""
    sys.path.insert(0, str(ROOT))
    from tests.faces.web.serving import running_page  # noqa: PLC0415  the checkout's own

    with TemporaryDirectory() as folder:
        async with running_page(Path(folder), {}) as here, async_playwright() as tool:
            for name, messages in {"empty": 0, "short": 10, "long": 1000}.items():
                fill(here.store, name, messages)
            browser = await tool.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--no-first-run"]
            )
            tell(await measure(await browser.new_page(), here.url, here.store))
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
