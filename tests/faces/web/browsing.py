"""A real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

# The same browser without windows, toolbars and profiles takes two thirds of the time.
WITHOUT_WINDOWS = Path("/usr/lib/chromium/chromium-headless-shell")
CHROMIUM = WITHOUT_WINDOWS if WITHOUT_WINDOWS.exists() else Path("/usr/bin/chromium")
AXE = Path(__file__).parents[3] / ".venv" / "axe-core" / "package" / "axe.min.js"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # Requests to other hosts than loopback fail in the browser.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
UNUSED_FEATURES = (
    # The address bar is a web page of its own, in a process of its own for each context.
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"),
    # A process for the next page, which most contexts do not have.
    "SpareRendererForSitePerProcess",
    # What Playwright disables, and would not if a flag names other features.
    *("AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync"),
    *("DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay"),
    *("MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "PreconnectToSearch"),
    "ThirdPartyStoragePartitioning",
)
FLAGS.append(f"--disable-features={','.join(UNUSED_FEATURES)}")
TIMEOUT_MS = 60_000

if not CHROMIUM.exists():
    raise RuntimeError("Chromium is missing: apt-get install chromium")

from playwright.async_api import (  # noqa: E402
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    async_playwright,
)

__all__ = ["AXE", "Browser", "BrowserContext", "Browsing", "Page", "watched"]


class Browsing:
    """One Chromium for all tests of a process, and its event loop; starting it is slow."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self._browser: Browser | None = None

    def run(self, main: Coroutine[None, None, None]) -> None:
        """Run a coroutine in that loop."""
        self._runner.run(main)

    @asynccontextmanager
    async def browser(self) -> AsyncIterator[Browser]:
        """Headless Chromium; its contexts are closed at the end."""
        if self._browser is None:
            tool = await self._stack.enter_async_context(async_playwright())
            self._browser = await tool.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
            self._stack.push_async_callback(self._browser.close)
        try:
            yield self._browser
        finally:
            for context in self._browser.contexts:
                await context.close()

    def close(self) -> None:
        """Close the browser and the loop."""
        self._runner.run(self._stack.aclose())
        self._runner.close()


class PageErrors:
    """Errors, dialogs and requests to other sites."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.foreign_requests: list[str] = []
        self.dialogs: list[str] = []


async def watched(context: BrowserContext, home: str) -> tuple[Page, PageErrors]:
    """A page that records errors, dialogs and requests to other sites.

    No request is intercepted: that would disable the cache of the browser and double the cost of a page.
    """
    page = await context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    seen = PageErrors()

    def record(request: Request) -> None:
        if not request.url.startswith((home, "data:", "blob:")):
            seen.foreign_requests.append(request.url)

    async def close(dialog: Dialog) -> None:
        seen.dialogs.append(dialog.message)
        await dialog.dismiss()

    context.on("request", record)
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("console", lambda line: seen.errors.append(_described(line)) if line.type == "error" else None)
    page.on("dialog", close)
    return page, seen


def _described(line: ConsoleMessage) -> str:
    return f"{line.text} ({line.location['url']})"
