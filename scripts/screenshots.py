"""Take screenshots of the chat page.

`python scripts/screenshots.py FOLDER` takes every page, light and dark, wide and narrow. With `--readme`, it
updates the two pictures of the documentation in `docs/images`. Needs Chromium and Playwright. The answer is
scripted, so that the pictures do not depend on a provider.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from playwright.async_api import Browser, Page, async_playwright

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
from groundwire.testing.script import ScriptedResponse
from groundwire.testing.upstream import Upstream, answer

ROOT = Path(__file__).parents[1]
CHROMIUM = "/usr/bin/chromium"
DIALECT = "anthropic_messages"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
QUESTION = "Why does the height of Mont Blanc change?"
BEFORE = ("Which sea lies deepest below the level of the oceans?", "How are glaciers measured?")
TEXT = """Mont Blanc is measured every two years, and never has quite the same height. Its rock ends at \
about **4,792 m**; what lies above it is *ice and snow*.

The cap grows in wet summers, when snow sticks to the summit, and is worn down by winter storms.

| measured | height |
|---|---|
| 2021 | 4,807.81 m |
| 2023 | 4,805.59 m |

A difference of some metres is therefore weather, and says little about the climate.
"""
READING = r"""### The energy of a photon

Its energy is $E = h\nu$; with the wavelength $\lambda$ it is

$$
E = \frac{h c}{\lambda}, \qquad h \approx 6.626 \times 10^{-34}\,\mathrm{J\,s}
$$

```python
def photon_energy(wavelength: float, *, h: float = 6.626e-34, c: float = 2.998e8) -> float:
    \"\"\"Energy in joules.\"\"\"
    return h * c / wavelength  # metres
```

- [x] visible light: about 2 to 3 eV
- [ ] X-rays: not compared here[^1]

> All these fifty years of conscious brooding
> have brought me no nearer to the answer.

| colour | wavelength | energy |
|---|---|---|
| red | 700 nm | 1.77 eV |
| violet | 400 nm | 3.10 eV |

[^1]: They begin at about 100 eV.
""".replace('\\"', '"')
SURVEY = Source(
    "https://survey.example/mont-blanc",
    "The summit, measured anew",
    date="2023-10-05",
    domain="survey.example",
)
SNOW = Source("https://snow.example/summits", "How snow shapes the highest summits", date="2024-02-11")
ROCK = Source("https://rock.example/alps", "Rock and ice of the Alps")
QUOTES = {
    SURVEY.url: "In September 2023 the summit stood at 4,805.59 m, 2.22 m lower than two years before.",
    SNOW.url: "Wet snow of the warm months sticks to the summit; winter winds carry it away.",
    ROCK.url: "The rock itself ends at about 4,792 m, to the west of the top of the ice.",
}


class Look(NamedTuple):
    """The size and the colour scheme of a window."""

    name: str
    width: int
    height: int
    scheme: Literal["light", "dark"]
    scale: float = 1.0
    locale: str = "en-US"


LOOKS = tuple(
    # Phones in the dark are in German.
    Look(
        f"{size}-{scheme}",
        width,
        height,
        scheme,
        locale="de-DE" if (width, scheme) == (390, "dark") else "en-US",
    )
    for size, width, height in (("wide", 1200, 820), ("narrow", 390, 800))
    for scheme in ("light", "dark")
)
PATHS = (
    *("agents", "agents/new", "usage", "find?q=summit", "chat/none", "no-such-page"),
    *("settings", "documents", "compare"),
)
NARROW = 760
README = (Look("chat-light", 1180, 760, "light"), Look("chat-dark", 390, 780, "dark"))


def scripted_events() -> list[Event]:
    """The events of a cited answer."""
    found = (SURVEY, ROCK, SNOW, Source("https://walks.example/alps", "Walking in the Alps"))
    return [
        Started("1", "model-1"),
        SearchCalled(0, SearchCall("s1", ("height of Mont Blanc 2023", "why does its height change"))),
        SearchReturned(1, SearchResult("s1", found)),
        TextDelta(2, TEXT),
        _cited("Mont Blanc is measured every two years, and never has quite the same height.", SURVEY),
        _cited("Its rock ends at about **4,792 m**; what lies above it is *ice and snow*.", ROCK),
        _cited("when snow sticks to the summit, and is worn down by winter storms.", SNOW),
        _cited("| 2023 | 4,805.59 m |", SURVEY),
        _cited("A difference of some metres is therefore weather", SURVEY, SNOW),
        TextSettled(2),
        UsageSeen(Usage(812, 344, searches=2, cost=0.0123)),
        Finished("stop"),
    ]


def _cited(words: str, *sources: Source) -> Cited:
    start = TEXT.index(words)
    evidence = tuple(Evidence(source, QUOTES[source.url]) for source in sources)
    return Cited(Citation(Span(start, start + len(words)), evidence))


async def open_page(browser: Browser, look: Look) -> Page:
    """Open an empty page with the size and colours of a look."""
    context = await browser.new_context(
        color_scheme=look.scheme,
        viewport={"width": look.width, "height": look.height},
        device_scale_factor=look.scale,
        locale=look.locale,
        has_touch=look.width < NARROW,
    )
    return await context.new_page()


async def ask(page: Page, url: str, question: str) -> None:
    """Ask a question in a new session, and wait for the answer."""
    await page.goto(url)
    await page.wait_for_selector("#send:enabled")
    await page.locator("#text").fill(question)
    await page.keyboard.press("Enter")
    await page.wait_for_selector('.answer[data-state="done"]')


async def take_all(browser: Browser, url: str, folder: Path) -> None:
    """Take every page in every look."""
    for look in LOOKS:
        page = await open_page(browser, look)
        await page.goto(url)
        await page.screenshot(path=folder / f"start-{look.name}.png")
        await ask(page, url, QUESTION)
        session = page.url
        await page.locator(".chip").first.hover()
        await page.screenshot(path=folder / f"answer-{look.name}.png")
        await page.mouse.move(1, 1)
        await page.locator(".sources > summary").click()
        await page.screenshot(path=folder / f"sources-{look.name}.png", full_page=True)
        await take_controls(page, session, folder, look)
        for path in PATHS:
            await page.goto(f"{url}/{path}")
            await page.screenshot(path=folder / f"{path.replace('/', '-').partition('?')[0]}-{look.name}.png")
        await page.context.close()


async def take_controls(page: Page, session: str, folder: Path, look: Look) -> None:
    """Take what is opened by a click or a key: menus, drawer, palette, a shared session."""
    await page.goto(session)
    await page.locator("#actions > .pop > summary").last.click()
    await page.screenshot(path=folder / f"menu-{look.name}.png")
    if look.width < NARROW:
        await page.locator("#actions .narrow-only > summary").first.click()
    else:
        await page.locator("#actions > .pop > summary").first.click()
    await page.locator("#actions form[action$=share] button:visible").click()
    link = await page.locator("#shared-link").text_content() or ""
    await page.screenshot(path=folder / f"share-{look.name}.png")
    await page.goto(link)
    await page.screenshot(path=folder / f"shared-{look.name}.png")
    await page.goto(session)
    if look.width < NARROW:
        await page.locator(".menu").click()
        await page.wait_for_timeout(300)
        await page.screenshot(path=folder / f"drawer-{look.name}.png")
    await page.locator(".sessions li").first.hover()
    await page.locator(".item-menu").first.click()
    await page.wait_for_selector("dialog.session-menu[open]")
    await page.screenshot(path=folder / f"session-menu-{look.name}.png")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Control+k")
    await page.wait_for_selector("#palette-session-0")
    await page.screenshot(path=folder / f"palette-{look.name}.png")


async def take_keyless(browser: Browser, url: str, folder: Path) -> None:
    """Take the first minute without a model: the start, an answer of the embedded index, the stored page."""
    for look in LOOKS:
        page = await open_page(browser, look)
        await page.goto(url)
        await page.wait_for_selector("#send:enabled")
        await page.screenshot(path=folder / f"first-{look.name}.png")
        await page.locator(".examples button").first.click()
        # The first question builds the index.
        await page.wait_for_selector('.answer[data-state="done"]', timeout=300_000)
        await page.screenshot(path=folder / f"first-answer-{look.name}.png")
        await page.locator(".sources > summary").click()
        path = await page.locator(".sources .where a").first.get_attribute("href")
        await page.goto(f"{url}{path}")
        await page.screenshot(path=folder / f"stored-page-{look.name}.png")
        await page.context.close()


async def take_reading(browser: Browser, url: str, folder: Path) -> None:
    """Take an answer with code, formulas, a task list, a quotation, a table and a footnote."""
    for look in LOOKS:
        page = await open_page(browser, look)
        await ask(page, url, "What is the energy of a photon?")
        await page.evaluate("scrollTo(0, 0)")
        await page.screenshot(path=folder / f"reading-{look.name}.png", full_page=True)
        await page.context.close()


async def take_trouble(browser: Browser, url: str, folder: Path) -> None:
    """Take an error of a provider, a server that cannot be reached, and a question without a search."""
    for look in LOOKS:
        page = await open_page(browser, look)
        await page.goto(url)
        await page.wait_for_selector("#send:enabled")
        await page.locator("#text").fill(QUESTION)
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".ending.failed")
        await page.screenshot(path=folder / f"error-{look.name}.png")
        await page.route("**/chat/ask", lambda route: route.abort())
        await page.locator("#text").fill(QUESTION)
        await page.locator("#search-state").click()
        await page.locator("#send").click()
        await page.wait_for_selector("#error:not([hidden])")
        await page.screenshot(path=folder / f"unreachable-{look.name}.png")
        await page.context.close()


async def take_readme(browser: Browser, url: str, folder: Path) -> None:
    """Take the pictures of the documentation: an answer with a source card, and a list of sources."""
    for look in README:
        page = await open_page(browser, look)
        for question in (*BEFORE, QUESTION):
            await ask(page, url, question)
        if look.width > 800:
            await page.evaluate("scrollTo(0, 0)")
            await page.locator(".chip").last.hover()
        else:
            await page.locator(".sources > summary").click()
            await page.locator(".sources").scroll_into_view_if_needed()
            await page.evaluate("scrollTo(0, document.querySelector('.sources').offsetTop - 330)")
        await page.screenshot(path=folder / f"{look.name}.png")
        await page.context.close()


NO_CREDIT = (
    b'{"type": "error", "error": {"type": "billing_error", "message": "Your credit balance is too low."}}'
)


@asynccontextmanager
async def served_answer(script: ScriptedResponse) -> AsyncIterator[str]:
    """Serve the chat page with one agent, whose provider always gives the same answer."""
    from tests.faces.gateway.serving import provider_at  # noqa: PLC0415  needs the checkout on sys.path
    from tests.faces.web.serving import running_page  # noqa: PLC0415

    with TemporaryDirectory() as data:
        async with (
            Upstream(script) as upstream,
            running_page(Path(data), {"provider": provider_at(DIALECT, upstream.url)}) as served,
        ):
            researcher = Agent("", {"en": "Researcher", "de": "Rechercheur"}, web_search=True)
            await served.chat.save_agent(researcher, "")
            yield served.url


async def main(arguments: list[str]) -> None:
    """Serve the chat page, and take the pictures."""
    sys.path.insert(0, str(ROOT))
    from tests.faces.web.serving import running_page  # noqa: PLC0415  needs the checkout on sys.path

    is_readme = "--readme" in arguments
    named = [argument for argument in arguments if not argument.startswith("-")]
    folder = ROOT / "docs" / "images" if is_readme else Path(named[0] if named else "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        if is_readme:
            async with served_answer(answer(DIALECT, scripted_events())) as url:
                await take_readme(browser, url, folder)
        else:
            async with served_answer(answer(DIALECT, scripted_events())) as url:
                await take_all(browser, url, folder)
            reading = [Started("1", "model-1"), *_text(READING), Finished("stop")]
            async with served_answer(answer(DIALECT, reading)) as url:
                await take_reading(browser, url, folder)
            async with served_answer(ScriptedResponse(status=402, body=NO_CREDIT)) as url:
                await take_trouble(browser, url, folder)
            with TemporaryDirectory() as data:
                async with running_page(Path(data), {}) as served:
                    await take_keyless(browser, served.url, folder)
        await browser.close()


def _text(text: str) -> list[Event]:
    return [TextDelta(0, text), TextSettled(0)]


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
