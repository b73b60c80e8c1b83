"""The documentation site: complete, without broken links, and usable in a browser with its search."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Literal
from urllib.parse import urldefrag, urljoin

import pytest
from lxml import html

from groundwire.faces.gateway.docs_site.site import DocsSite
from tests.faces.gateway.asgi_client import LOCAL, app_in, send_request
from tests.faces.gateway.serving import serving
from tests.faces.web.browsing import AXE, Browsing, watched

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
BASE = "http://127.0.0.1:8484/docs/"
SCREENS: tuple[tuple[int, Literal["light", "dark"]], ...] = ((1280, "light"), (390, "dark"))


def test_every_page_is_in_the_navigation_once() -> None:
    site = DocsSite(DOCS)
    listed = [entry.path for entries in site.navigation.values() for entry in entries]
    pages = {f"{path.stem}.html" for path in DOCS.glob("*.md") if path.name != "README.md"}
    assert len(listed) == len(set(listed))
    assert set(listed) == {"index.html", *pages}
    assert all(entry.title for entries in site.navigation.values() for entry in entries)


@pytest.mark.parametrize("root", ["", "/docs/"], ids=["folder", "gateway"])
def test_every_link_leads_to_a_file_and_a_heading_of_the_site(root: str) -> None:
    site = DocsSite(DOCS, root)
    pages = {
        urljoin(BASE, path): html.fromstring(site.read(path).data)
        for path in site.paths
        if path.endswith(".html")
    }
    fragments = {address: set(page.xpath("//@id")) for address, page in pages.items()}
    files = {urljoin(BASE, path) for path in site.paths}
    broken = []
    for address, page in pages.items():
        for link in page.xpath("//article//@href | //nav//@href | //header//@href"):
            target, fragment = urldefrag(urljoin(address, link))
            if target.startswith(BASE):
                is_found = target in files and (not fragment or fragment in fragments[target])
                broken += [] if is_found else [(address, link)]
        loaded = page.xpath("//link/@href | //script/@src | //img/@src")
        assert all(urljoin(address, path) in files for path in loaded), loaded
    assert not broken


def test_columns_of_numbers_are_aligned_without_a_style_attribute() -> None:
    page = html.fromstring(DocsSite(DOCS).read("comparison.html").data)
    assert page.xpath("//td[@class='align-right']/text()")
    assert not page.xpath("//@style")


async def test_the_gateway_serves_the_site_and_no_other_file(tmp_path: Path) -> None:
    gateway = app_in(tmp_path)
    for path, kind in (
        ("/docs", "text/html"),
        ("/docs/", "text/html"),
        ("/docs/cli.html", "text/html"),
        ("/docs/cli", "text/html"),
        ("/docs/search-index.js", "text/javascript"),
        ("/docs/images/chat-light.png", "image/png"),
    ):
        response = await send_request(gateway, "GET", path, LOCAL)
        assert (response.status, response.headers["content-type"].partition(";")[0]) == (200, kind)
        assert response.headers["x-content-type-options"] == "nosniff"
    for path in (
        "nothing.html",
        "../pyproject.toml",
        "%2e%2e/README.md",
        "cli.md",
        "images/",
        "navigation.toml",
    ):
        assert (await send_request(gateway, "GET", f"/docs/{path}", LOCAL)).status == 404, path


def test_one_command_writes_the_same_site_to_a_folder(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "docs_site.py", tmp_path], check=True, timeout=60)  # noqa: S603
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert written == set(DocsSite(DOCS).paths)


@pytest.mark.server
def test_the_search_of_the_site_is_used_with_the_keyboard_alone_wide_and_narrow(browsing: Browsing) -> None:
    async def use() -> None:
        async with serving({}) as gateway, browsing.browser() as browser:
            for width, scheme in SCREENS:
                context = await browser.new_context(
                    viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=False
                )
                page, seen = await watched(context, gateway.url)
                await page.goto(f"{gateway.url}/docs/gateway.html")
                assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
                await page.keyboard.press("/")
                await page.keyboard.type("usd-per-day")
                first = page.locator("#results a").first
                await first.wait_for()
                violations = await page.evaluate(
                    f"(async () => {{ {AXE.read_text('utf-8')}; return (await axe.run()).violations.filter("
                    "(item) => ['serious', 'critical'].includes(item.impact)).map((item) => item.id) })()"
                )
                assert violations == []
                await page.keyboard.press("Enter")
                await page.wait_for_url("**/docs/keys.html*")
                assert "usd-per-day" in await page.locator("article").inner_text()
                assert not seen.errors
                assert not seen.foreign_requests
                await context.close()

    browsing.run(use())
