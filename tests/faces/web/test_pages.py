"""Pages over HTTP: headers, static files, forms, logins, and the owner of sessions."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import time

import aiohttp
import pytest

from groundwire.chat.questions import ChatQuestion
from groundwire.faces.web.app import PAGES
from groundwire.faces.web.messages import DETAIL
from groundwire.faces.web.pages import Pages
from groundwire.model.access import KeyLimits, KeyScope
from groundwire.server.auth import AccessControl, AccessKeys
from groundwire.server.keys import KeyFile
from groundwire.store.base import Agent
from groundwire.testing.answers import answer_events
from groundwire.testing.script import ScriptedResponse
from groundwire.testing.upstream import Upstream, answer
from tests.chat.scripted_chat import answered
from tests.faces.gateway.serving import provider_at, wait_for_open_requests
from tests.faces.web.serving import RunningPage, running_page
from tests.figures import Figures

pytestmark = pytest.mark.server

FINDER = Agent("finder", {"en": "Finder"}, web_search=True)


@asynccontextmanager
async def open_page(folder: Path) -> AsyncIterator[tuple[RunningPage, aiohttp.ClientSession]]:
    """The page with one scripted provider, and an HTTP client with cookies."""
    async with (
        Upstream(answer("openai_chat", answer_events("Said."))) as upstream,
        running_page(folder, {"p": provider_at("openai_chat", upstream.url)}) as here,
        aiohttp.ClientSession(here.url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
    ):
        await here.chat.save_agent(FINDER, "")
        yield here, browser


async def token_of(browser: aiohttp.ClientSession, path: str = "/") -> str:
    async with browser.get(path) as page:
        found = re.search(r'(?:data-token|name="token" value)="(\w+)"', await page.text())
    assert found
    return found[1]


async def stream_of(
    browser: aiohttp.ClientSession, token: str, **body: str
) -> list[tuple[str, dict[str, object]]]:
    headers = {"x-groundwire-token": token}
    async with browser.post("/chat/ask", json=body, headers=headers) as response:
        if response.status != 200:
            return [("refused", {"status": response.status, **await response.json()})]
        text = await response.text()
    return read_events(text)


def read_events(text: str) -> list[tuple[str, dict[str, object]]]:
    blocks = [block for block in text.split("\n\n") if block.startswith("event: ")]
    return [(block.split("\n")[0][7:], json.loads(block.split("\n")[1][6:])) for block in blocks]


def test_both_languages_have_the_same_texts() -> None:
    folder = Path(__file__).parents[3] / "src/groundwire/faces/web/locales"
    texts = [json.loads((folder / f"{language}.json").read_text("utf-8")) for language in ("en", "de")]
    english, german = ({key for key in one if not key.startswith(DETAIL)} for one in texts)
    assert english == german
    assert all(text.strip() for one in texts for text in one.values())


def test_every_text_used_in_a_template_exists() -> None:
    pages = Pages()
    folder = Path(__file__).parents[3] / "src/groundwire/faces/web/templates"
    used = {
        name for path in folder.glob("*.html") for name in re.findall(r"\bt\.(\w+)", path.read_text("utf-8"))
    }
    assert used <= pages.texts["en"].keys()
    assert not used & set(dir(dict))


async def test_every_response_has_the_security_headers(tmp_path: Path, figures: Figures) -> None:
    async with open_page(tmp_path) as (here, browser):
        turn = await answered(here.chat, ChatQuestion("What?", ""))
        paths = [page.path.replace("{id}", turn.session.id) for page in PAGES if page.method == "GET"]
        paths += [
            "/static/x/style.css",
            "/static/x/none.css",
            "/agents/finder",
            "/agents/finder/app.json",
        ]
        for path in paths:
            async with browser.get(path, allow_redirects=False) as response:
                policy = response.headers["content-security-policy"]
                assert "default-src 'self'" in policy
                assert "unsafe" not in policy
                assert "frame-ancestors 'none'" in policy
                assert response.headers["x-content-type-options"] == "nosniff"
                for cookie in response.headers.getall("set-cookie", ()):
                    assert "HttpOnly" in cookie
                    assert "SameSite=Strict" in cookie
        figures.add("S17", "pages and files, all with the security headers", len(paths))


async def test_static_files_are_cached_until_they_change(tmp_path: Path) -> None:
    async with open_page(tmp_path) as (_, browser):
        async with browser.get("/") as page:
            link = re.search(r'href="(/static/\w+/style\.css)"', await page.text())
        assert link
        async with browser.get(link[1]) as file:
            assert file.content_type == "text/css"
            assert "immutable" in file.headers["cache-control"]
            tag = file.headers["etag"]
        async with browser.get(link[1], headers={"if-none-match": tag}) as file:
            assert file.status == 304
        for name in ("page.js", "composer.js", "log.js", "stream.js", "cards.js", "forms.js"):
            async with browser.get(f"/static/x/{name}") as file:
                assert file.content_type == "text/javascript"
        for name in ("../pages.py", "%2e%2e/pages.py", "x/../../pages.py", ""):
            async with browser.get(f"/static/x/{name}") as file:
                assert file.status == 404


async def test_forms_of_other_sites_are_rejected(tmp_path: Path) -> None:
    async with open_page(tmp_path) as (here, browser):
        turn = await answered(here.chat, ChatQuestion("Mine?", ""))
        token = await token_of(browser)
        posts = [page.path.replace("{id}", turn.session.id) for page in PAGES if page.method == "POST"]
        for path in posts:
            for wrong in ("", "0" * 64, token[:-1], token.upper() + "x"):
                data = {"token": wrong, "title": "Theirs", "app": "{}", "name_en": "Theirs"}
                async with browser.post(path, data=data, headers={"x-groundwire-token": wrong}) as response:
                    assert response.status == 403
            evil = {"origin": "https://evil.example"}
            async with browser.post(path, data={"token": token}, headers=evil) as response:
                assert response.status == 403
        async with (
            aiohttp.ClientSession(here.url) as without_token,
            without_token.post("/chat/ask", data="{}") as response,
        ):
            assert response.status == 403
        kept = await here.chat.open("", turn.session.id)
        assert kept.session.title == "Mine?"
        assert [agent.id for agent in await here.chat.agents("")] == ["finder"]


async def test_a_stream_begins_with_the_stored_turn_and_ends_with_the_html_of_a_reload(
    tmp_path: Path,
) -> None:
    async with open_page(tmp_path) as (_, browser):
        events = await stream_of(browser, await token_of(browser), text="What?", agent="finder")
        names = [name for name, _ in events]
        assert names[0] == "turn"
        assert names[-1] == "done"
        assert "body" in names
        async with browser.get(f"/chat/{events[0][1]['session']}") as page:
            html = await page.text()
        assert str(events[-1][1]["html"]) in html


@pytest.mark.parametrize(
    "body",
    [
        {"text": " "},
        {"text": "x", "session": "unknown"},
        {"text": "x", "agent": "unknown"},
        {"text": "x", "replaces": "x"},
    ],
)
async def test_an_invalid_question_is_refused_with_a_reason(body: dict[str, str], tmp_path: Path) -> None:
    async with open_page(tmp_path) as (here, browser):
        ((name, data),) = await stream_of(browser, await token_of(browser), **body)
        assert name == "refused"
        assert data["status"] in (400, 404)
        assert data["message"]
        assert await here.chat.sessions("") == []


async def test_a_question_counts_against_the_rate_limit_of_the_key(tmp_path: Path) -> None:
    scope = KeyScope(limits=KeyLimits(requests_per_minute=1, tokens_per_minute=100_000))
    async with open_page(tmp_path) as (here, browser):
        here.gateway.access = AccessControl("127.0.0.1", lambda: AccessKeys(scopes={"": scope}))
        token = await token_of(browser)
        answered = await stream_of(browser, token, text="First?", agent="finder")
        assert "refused" not in dict(answered)
        ((name, refusal),) = await stream_of(browser, token, text="Second?", agent="finder")
        assert (name, refusal["status"]) == ("refused", 429)
        assert "limit" in str(refusal["message"])


async def test_an_answer_goes_on_when_the_page_is_closed_until_it_is_stopped(tmp_path: Path) -> None:
    async with (
        Upstream(ScriptedResponse(delay=60)) as upstream,
        running_page(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as here,
        aiohttp.ClientSession(here.url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
    ):
        await here.chat.save_agent(FINDER, "")
        headers = {"x-groundwire-token": await token_of(browser)}
        response = await browser.post("/chat/ask", json={"text": "Go on?"}, headers=headers)
        await upstream.received()
        response.close()
        await wait_for_open_requests(here.gateway, 0)
        (session,) = await here.chat.sessions("")
        assert "Go on?" in await (await browser.get(f"/chat/{session.id}")).text()
        assert not upstream.requests[0].disconnected
        async with browser.post(f"/chat/{session.id}/stop", json={}) as refused:
            assert refused.status == 403
        async with browser.post(f"/chat/{session.id}/stop", json={}, headers=headers) as stopped:
            assert stopped.status == 200
        await upstream.disconnected()
        # A reader who comes now gets the end.
        async with browser.get(f"/chat/{session.id}/follow") as late:
            events = read_events(await late.text())
        assert (events[0][0], events[-1][0]) == ("turn", "done")
        assert 'data-state="stopped"' in str(events[-1][1]["html"])


async def test_with_keys_a_login_is_required_and_sessions_belong_to_the_key(tmp_path: Path) -> None:
    file = KeyFile(str(tmp_path))
    (mine, _), (theirs, key) = file.create("mine", time()), file.create("theirs", time())

    async with open_page(tmp_path) as (here, browser):
        for page in PAGES:
            path = page.path.replace("{id}", "x").replace("{name}", "x/style.css")
            async with browser.request(page.method, path, allow_redirects=False) as response:
                if not page.is_public:
                    assert (response.status, response.headers["location"]) == (303, "/login")
        await log_in(browser, mine)
        token = await token_of(browser)
        events = await stream_of(browser, token, text="My secret?", agent="finder")
        session = events[0][1]["session"]
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(here.url, cookie_jar=jar) as other:
            await log_in(other, theirs)
            for path in (
                f"/chat/{session}",
                f"/chat/{session}/export.md",
                f"/chat/{session}/export.json",
            ):
                async with other.get(path) as response:
                    assert response.status == 404
            async with other.get("/find?q=secret") as response:
                assert "My secret" not in await response.text()
            data = {"token": await token_of(other), "title": "Theirs"}
            for action in ("rename", "delete"):
                async with other.post(f"/chat/{session}/{action}", data=data) as response:
                    assert response.status == 404
            file.revoke(key.id, time())
            async with other.get("/", allow_redirects=False) as response:
                assert response.headers["location"] == "/login"
        async with browser.get(f"/chat/{session}") as response:
            assert "My secret?" in await response.text()


async def log_in(browser: aiohttp.ClientSession, key: str) -> None:
    token = await token_of(browser, "/login")
    async with browser.post("/login", data={"token": token, "key": key}, allow_redirects=False) as response:
        assert (response.status, response.headers["location"]) == (303, "/")


async def test_keys_cannot_be_guessed_quickly_nor_cookies_forged(tmp_path: Path) -> None:
    KeyFile(str(tmp_path)).create("mine", time())

    async with open_page(tmp_path) as (_, browser):
        token = await token_of(browser, "/login")
        found = []
        for _ in range(12):
            async with browser.post("/login", data={"token": token, "key": "sk-gw-guess"}) as response:
                found.append(response.status)
        assert found == [401] * 10 + [429] * 2
        for forged in ("x", "a.b.c", f"{'0' * 64}.9999999999.{'0' * 64}", "..", "é.1.é"):
            cookie = {"cookie": f"groundwire_login={forged}"}
            async with browser.get("/", headers=cookie, allow_redirects=False) as response:
                assert response.headers["location"] == "/login"


@pytest.mark.parametrize(
    "back", ["//evil.example", "https://evil.example", "/\\evil.example", "/\r\nx: y", "é", ""]
)
async def test_choosing_a_language_does_not_redirect_to_other_sites(back: str, tmp_path: Path) -> None:
    async with open_page(tmp_path) as (_, browser):
        data = {"token": await token_of(browser), "language": "de", "back": back}
        async with browser.post("/language", data=data, allow_redirects=False) as response:
            assert response.headers["location"] == "/"
        async with browser.get("/") as page:
            assert '<html lang="de">' in await page.text()


async def test_apps_are_imported_and_exported_by_the_page(tmp_path: Path) -> None:
    app = {
        "id": "helper",
        "name": {"en": "Helper", "de": "Helfer"},
        "description": {"en": "Helps", "de": "Hilft"},
        "systemPrompt": {"en": "Help.", "de": "Hilf."},
        "models": ["gpt-5"],
        "tools": ["webSearch"],
        "ui": {"theme": "dark"},
    }

    async with open_page(tmp_path) as (_, browser):
        data = {"token": await token_of(browser), "app": json.dumps(app)}
        async with browser.post("/agents/import", data=data) as page:
            assert 'value="Helfer"' in await page.text()
        async with browser.get("/agents/helper/app.json") as file:
            assert await file.json() == app


def test_static_files_refer_to_no_other_site() -> None:
    files = Pages().files
    texts = (file.data for file in files.values() if file.content_type != "image/png")
    text = b"".join(texts).decode()
    assert re.findall(r"https?://(?!www\.w3\.org)", text) == []


async def test_a_second_question_in_a_busy_session_gets_409_with_a_reason(tmp_path: Path) -> None:
    async with (
        Upstream(ScriptedResponse(delay=60)) as upstream,
        running_page(tmp_path, {"p": provider_at("openai_chat", upstream.url)}) as here,
        aiohttp.ClientSession(here.url, cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
    ):
        await here.chat.save_agent(FINDER, "")
        token = await token_of(browser)
        headers = {"x-groundwire-token": token}
        first = await browser.post("/chat/ask", json={"text": "First?"}, headers=headers)
        await upstream.received()
        (session,) = await here.chat.sessions("")
        found = await asyncio.gather(
            *(stream_of(browser, token, text="Second?", session=session.id) for _ in range(5))
        )
        assert [(name, data["status"]) for ((name, data),) in found] == [("refused", 409)] * 5
        assert "being answered" in str(found[0][0][1]["message"])
        assert len(here.store.messages(session.id)) == 2
        first.close()
