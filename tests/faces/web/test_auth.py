"""Logins: limits, CSRF tokens, throttling of wrong keys, and logouts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import time

import aiohttp
import pytest

from groundwire.config.schema import Config, GatewaySettings
from groundwire.faces.web import auth
from groundwire.faces.web.auth import Logouts
from groundwire.server.keys import KeyFile
from tests.faces.web.serving import RunningPage, running_page

pytestmark = pytest.mark.server

PROXY = Config(gateway=GatewaySettings(trusted_proxies=("127.0.0.1",)))


@asynccontextmanager
async def open_page(
    folder: Path, config: Config | None = None
) -> AsyncIterator[tuple[RunningPage, aiohttp.ClientSession]]:
    async with (
        asyncio.timeout(30),
        running_page(folder, {}, config) as here,
        aiohttp.ClientSession(here.url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
    ):
        yield here, browser


async def token_of(browser: aiohttp.ClientSession, path: str = "/login") -> str:
    async with browser.get(path) as page:
        found = re.search(r'name="token" value="([0-9a-f]+)"', await page.text())
    assert found
    return found[1]


async def log_in(browser: aiohttp.ClientSession, key: str, **headers: str) -> aiohttp.ClientResponse:
    data = {"token": await token_of(browser), "key": key}
    async with browser.post("/login", data=data, headers=headers, allow_redirects=False) as response:
        return response


async def test_wrong_logins_do_not_lock_out_a_valid_key(tmp_path: Path) -> None:
    key, _ = KeyFile(str(tmp_path)).create("mine", time())

    async with open_page(tmp_path) as (_, browser):
        found = [await log_in(browser, f"sk-gw-{number}") for number in range(15)]
        assert [response.status for response in found] == [401] * 10 + [429] * 5
        assert int(found[-1].headers["retry-after"]) >= 1
        assert (await log_in(browser, key)).status == 303


@pytest.mark.parametrize(
    ("kind", "cookie", "status"),
    [
        ("application/json", True, 415),
        ("text/plain", True, 415),
        ("application/x-www-form-urlencoded", False, 403),
        ("application/x-www-form-urlencoded", True, 413),
    ],
)
async def test_a_login_is_refused_by_its_headers_before_the_body_is_read(
    kind: str, cookie: bool, status: int, tmp_path: Path
) -> None:
    KeyFile(str(tmp_path)).create("mine", time())

    async with open_page(tmp_path) as (here, browser):
        await token_of(browser)
        jar = browser.cookie_jar.filter_cookies(browser._base_url)  # type: ignore[arg-type]
        host, port = here.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        kept = "; ".join(f"{name}={morsel.value}" for name, morsel in jar.items()) if cookie else ""
        writer.write(
            f"POST /login HTTP/1.1\r\nhost: {host}:{port}\r\ncontent-type: {kind}\r\ncookie: {kept}\r\n"
            "content-length: 2000000\r\n\r\n".encode()
        )
        # No byte of the body was sent.
        assert (await reader.readline()).startswith(b"HTTP/1.1 %d" % status)
        writer.close()


async def test_a_logout_ends_the_login_for_every_copy_of_its_cookie(tmp_path: Path) -> None:
    key, _ = KeyFile(str(tmp_path)).create("mine", time())

    async def run() -> None:
        async with open_page(tmp_path) as (here, browser):
            stolen = (await log_in(browser, key)).cookies["groundwire_login"].value
            other = (await log_in_elsewhere(here, key)).cookies["groundwire_login"].value
            assert await is_logged_in(here, stolen)
            data = {"token": await token_of(browser, "/")}
            async with browser.post("/logout", data=data, allow_redirects=False) as response:
                assert response.status == 303
            assert not await is_logged_in(here, stolen)
            assert await is_logged_in(here, other)
        async with open_page(tmp_path) as (here, _):  # another worker, or after a restart
            assert not await is_logged_in(here, stolen)
            assert await is_logged_in(here, other)

    async def log_in_elsewhere(here: RunningPage, key: str) -> aiohttp.ClientResponse:
        async with aiohttp.ClientSession(here.url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as another:
            return await log_in(another, key)

    async def is_logged_in(here: RunningPage, login: str) -> bool:
        headers = {"cookie": f"groundwire_login={login}"}
        async with (
            aiohttp.ClientSession(here.url) as client,
            client.get("/", headers=headers, allow_redirects=False) as response,
        ):
            return response.status == 200

    await run()


def test_expired_logouts_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "_MAX_LOGOUTS_BYTES", 1000)
    now = [0.0]
    ended = Logouts(str(tmp_path), lambda: now[0])
    for number in range(100):
        now[0] = float(number)
        ended.add(f"{number:032x}", number + 5)
    assert f"{99:032x}" in ended
    assert (tmp_path / auth.LOGOUTS_FILE).stat().st_size < 2000
    assert (tmp_path / auth.LOGOUTS_FILE).stat().st_mode & 0o077 == 0


async def test_cookies_are_secure_if_a_trusted_proxy_reports_https(tmp_path: Path) -> None:
    key, _ = KeyFile(str(tmp_path)).create("mine", time())

    async def secure(config: Config | None, **headers: str) -> bool:
        async with open_page(tmp_path, config) as (_, browser):
            response = await log_in(browser, key, **headers)
            return "; Secure" in response.headers["set-cookie"]

    https = {"X-Forwarded-Proto": "https"}
    assert await secure(PROXY, **https)
    assert not await secure(PROXY, **{"X-Forwarded-Proto": "http"})
    assert not await secure(PROXY)
    assert not await secure(None, **https)
