"""Long sessions in a real browser: time to the first content, compared with an empty session.

Sessions are opened in turns, so that other load on the machine affects all of them. `first time` means that
no message of the session has been rendered as HTML before. Needs Chromium and Playwright.
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
PAGE = Source("https://docs.example/page", "The page", excerpts=("The page confirms it.",))
TEXT = (
    "It was **times_by_kind**, in many words, and then again. " * 12
    + "\n\n- one\n- two\n\n"
    + "More followed. " * 12
)
PAINTED = """() => new Promise((resolve) => new PerformanceObserver((list, observer) => {
  observer.disconnect();
  resolve(list.getEntriesByName('first-contentful-paint')[0].startTime);
}).observe({ type: 'paint', buffered: true }))"""


def fill(store: Store, name: str, messages: int) -> None:
    """Store a session with so many messages."""
    answer = Answer(
        (SearchCall("s", ("was it times_by_kind",)), SearchResult("s", (PAGE,)), Text(TEXT)),
        (Citation(Span(0, 15), (Evidence(PAGE, "The page confirms"),)),),
        finish="stop",
    )
    question = Message("user", (Text("Was it times_by_kind?"),))
    store.put_session(Session(name, "finder", "", name, NOW, NOW))
    for number in range(messages // 2):
        store.add_message(StoredMessage(f"{name}q{number}", name, question, "", NOW))
        store.add_message(StoredMessage(f"{name}a{number}", name, answer, "p", NOW))


async def load_times(page: Page, url: str) -> tuple[float, float]:
    """Milliseconds until the first content is painted, and until the page is loaded."""
    began = perf_counter()
    await page.goto(url)
    whole = (perf_counter() - began) * 1000
    return await page.evaluate(PAINTED), whole


async def measure(page: Page, url: str, store: Store) -> dict[str, list[tuple[float, float]]]:
    """Open every session in every round, after a few rounds that warm up the browser."""
    times_by_kind: dict[str, list[tuple[float, float]]] = {}
    for _ in range(3):
        await load_times(page, f"{url}/chat/empty")
    for number in range(ROUNDS):
        # Cached HTML is keyed by the agent's name, so a new name makes the first visit render again.
        store.put_agent(Agent("finder", {"en": f"Finder {number}"}, web_search=True))
        kinds = {
            "no messages": "empty",
            "1,000 messages, first time": "long",
            "1,000 messages": "long",
            "10 messages": "short",
        }
        for kind, name in kinds.items():
            times_by_kind.setdefault(kind, []).append(await load_times(page, f"{url}/chat/{name}"))
    return times_by_kind


def print_table(times_by_kind: dict[str, list[tuple[float, float]]]) -> None:
    """Print a table of medians."""
    base = median(painted for painted, _ in times_by_kind["no messages"])
    sys.stdout.write(f"{'a session of':30}{'first content':>16}{'ratio':>8}{'loaded':>12}\n")
    for kind, times in times_by_kind.items():
        painted, whole = median(painted for painted, _ in times), median(whole for _, whole in times)
        sys.stdout.write(f"{kind:30}{painted:13.0f} ms{painted / base:8.2f}{whole:9.0f} ms\n")


async def main() -> None:
    """Fill a store, serve the chat page, and measure."""
    sys.path.insert(0, str(ROOT))
    from tests.faces.web.serving import running_page  # noqa: PLC0415  needs the checkout on sys.path

    with TemporaryDirectory() as folder:
        async with running_page(Path(folder), {}) as served, async_playwright() as playwright:
            for name, messages in {"empty": 0, "short": 10, "long": 1000}.items():
                fill(served.store, name, messages)
            browser = await playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--no-first-run"]
            )
            print_table(await measure(await browser.new_page(), served.url, served.store))
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
