"""Draw the PNG icons of the web page from its SVG icon. Needs Chromium and Playwright."""

from __future__ import annotations

import asyncio
from pathlib import Path

from playwright.async_api import async_playwright

STATIC = Path(__file__).parents[1] / "src" / "groundwire" / "faces" / "web" / "static"
CHROMIUM = "/usr/bin/chromium"
SIZES = (192, 512)


async def main() -> None:
    """Write an icon of every size."""
    # Systems cut icons into their own shape, so the background reaches the edge.
    svg = (STATIC / "icon.svg").read_text("utf-8").replace(' rx="5"', "")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for size in SIZES:
            page = await browser.new_page(viewport={"width": size, "height": size})
            await page.set_content(f"<style>body{{margin:0}}svg{{display:block;width:{size}px}}</style>{svg}")
            await page.screenshot(path=STATIC / f"icon-{size}.png")
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
