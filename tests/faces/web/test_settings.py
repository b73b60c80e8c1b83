"""Settings, languages, usage and unknown addresses over HTTP."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from time import time

import aiohttp
import pytest

from groundwire.chat.questions import controls_of
from groundwire.faces.web.headers import download_headers, file_name
from groundwire.faces.web.locales import FOLDER, load_locales
from groundwire.faces.web.messages import DETAIL, translated, warning_message
from groundwire.model import Message, Usage, Warned
from groundwire.server.diagnostics import data_checks, extras
from groundwire.server.keys import KeyFile
from groundwire.store.base import UsageRow
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.serving import provider_at
from tests.faces.web.serving import running_page
from tests.faces.web.test_messages import calls_of, modules_with
from tests.faces.web.test_pages import log_in, open_page, stream_of, token_of

pytestmark = pytest.mark.server

HTML = {"accept": "text/html,*/*;q=0.8"}
PROVIDERS_WORDS = {"upstream_step_error", "citation_failed"}
"""Codes whose message is made of the words of a provider or a page."""


async def test_unknown_addresses_are_a_page_for_browsers_and_json_for_others(tmp_path: Path) -> None:
    async with open_page(tmp_path) as (_, browser):
        async with browser.get("/no/such/page", headers={**HTML, "accept-language": "de"}) as response:
            assert response.status == 404
            assert response.content_type == "text/html"
            assert "Hier ist nichts" in await response.text()
            assert "default-src" in response.headers["content-security-policy"]
        async with browser.get("/logout", headers=HTML) as response:
            assert (response.status, response.content_type) == (405, "text/html")
        for headers in ({}, {"accept": "application/json"}, {"x-api-key": "k", "accept": "*/*"}):
            async with browser.get("/v1/no-such-path", headers=headers) as response:
                assert (response.status, response.content_type) == (404, "application/json")
        async with browser.post("/no/such/page", headers=HTML) as response:
            assert (response.status, response.content_type) == (404, "application/json")


async def test_settings_show_no_secret_and_members_see_no_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-open-sesame")
    async with open_page(tmp_path) as (here, browser):
        async with browser.get("/settings", headers={"accept-language": "en"}) as response:
            text = await response.text()
        assert "groundwire login" in text
        assert str(tmp_path) in text
        assert "open-sesame" not in text
        key = KeyFile(str(tmp_path)).create("member", time())[0]
        await log_in(browser, key)
        async with browser.get("/settings") as response:
            assert str(tmp_path) not in await response.text()
        async with browser.get("/documents", headers=HTML) as response:
            assert response.status == 404
        token = await token_of(browser)
        headers = {"x-groundwire-token": token}
        async with browser.post("/documents/upload?name=a.md", data=b"# A", headers=headers) as response:
            assert response.status == 404
        assert here.chat.groundwire.config.data_dir == str(tmp_path)


async def test_the_settings_page_is_german_in_german(tmp_path: Path) -> None:
    german = load_locales()["de"]
    async with open_page(tmp_path) as (here, browser):
        async with browser.get("/settings", headers={"accept-language": "de"}) as response:
            text = await response.text()
        said = [status.reason for status in here.chat.groundwire.providers()]
        said += [check.detail for check in extras("")]
        said += [check.detail for check in data_checks(here.chat.groundwire.config, {})]
    assert [message for message in said if translated(message, german) == message] == []
    assert "braucht keinen Schlüssel" in text
    for english in ("needs no key", "not there", "writable", "embedded index"):
        assert english not in text


async def test_a_language_is_added_by_one_file(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    toy = {"language_name": "Toki <b>", "new_chat": "toki sin", "menu_of": "{title.__class__}", "ask": "x"}
    (folder / "tok.json").write_text(json.dumps(toy))
    (folder / "xx.json").write_text("[]")
    jar = aiohttp.CookieJar(unsafe=True)
    async with (
        running_page(tmp_path, {}) as here,
        aiohttp.ClientSession(here.url, cookie_jar=jar) as browser,
    ):
        async with browser.get("/", headers={"accept-language": "tok"}) as response:
            text = await response.text()
        assert '<html lang="tok">' in text
        assert ">toki sin<" in text
        assert "Toki &lt;b&gt;" in text
        assert "Ask something" in text
        async with browser.get("/agents/new", headers={"accept-language": "tok"}) as response:
            assert 'name="name_tok"' in await response.text()
        data = {"token": await token_of(browser), "language": "tok", "back": "/settings"}
        async with browser.post("/language", data=data) as response:
            assert '<html lang="tok">' in await response.text()
    assert list(load_locales(str(tmp_path))) == ["en", "de", "tok"]


async def test_the_usage_page_names_everything_and_exports_csv(tmp_path: Path) -> None:
    async with open_page(tmp_path) as (here, browser):
        today = datetime.now(UTC).date().isoformat()
        here.store.add_usage(
            [
                UsageRow(
                    "1",
                    f"{today}T01:00:00Z",
                    "gemini",
                    "=cmd|x",
                    Usage(10, 5, 4, searches=2, cost=0.5),
                    "",
                    seconds=2.0,
                ),
                UsageRow("2", f"{today}T01:00:00Z", "gemini", "=cmd|x", Usage(), "", cache_hit=True),
                UsageRow("3", f"{today}T01:00:00Z", "local", "", Usage(searches=1), "", seconds=1.0),
                UsageRow("4", f"{today}T01:00:00Z", "", "", Usage(), "", outcome="ALL_TARGETS_FAILED"),
            ]
        )
        async with browser.get("/usage", headers={"accept-language": "en"}) as response:
            text = re.sub(r"<[^>]+>", " ", await response.text())
        words = " ".join(text.split())
        assert "gemini =cmd|x 2 0 1 2.0 s 2 per query 15 (Cached tokens: 4) $0.5000" in words
        assert "local search without a model 1 0 0 1.0 s 1 per query 0 –" in words
        assert "no provider – 1 1 0 0.0 s 0 0 –" in words
        async with browser.get("/usage.csv") as response:
            rows = list(csv.DictReader(io.StringIO(await response.text())))
        assert [(row["provider"], row["model"]) for row in rows] == [
            ("", ""),
            ("gemini", "'=cmd|x"),
            ("local", ""),
        ]
        assert (rows[1]["cache_hits"], rows[1]["search_rule"], rows[1]["cost_usd"]) == ("1", "query", "0.5")


async def test_a_question_chooses_who_answers_it(tmp_path: Path) -> None:
    jar = aiohttp.CookieJar(unsafe=True)
    async with (
        Upstream(answer("openai_chat", answer_events("Said."))) as upstream,
        running_page(
            tmp_path, {name: provider_at("openai_chat", upstream.url) for name in ("p", "q")}
        ) as here,
        aiohttp.ClientSession(here.url, cookie_jar=jar) as browser,
    ):
        token = await token_of(browser)
        events = await stream_of(browser, token, text="What?", provider="q", model="model-9")
        session = str(events[0][1]["session"])
        question, said = here.store.messages(session)
        assert said.provider == "q"
        assert isinstance(question.content, Message)
        assert controls_of(question.content).model == "model-9"
        async with browser.get(f"/chat/{session}") as response:
            assert re.search(r'<option value="q"[^>]* selected', await response.text())
        events = await stream_of(browser, token, text="", session=session, replaces=question.id, provider="p")
        assert [turn.provider for turn in here.store.messages(session)] == ["", "p"]


def test_names_of_downloads_are_safe() -> None:
    assert file_name("Höhe: der/Turm?", ".md") == "Höhe der Turm.md"
    assert file_name('..\\"\r\n', ".md") == "session.md"
    head = dict(download_headers('a"b\u2028ü.md', "text/markdown"))["content-disposition"]
    assert head.startswith('attachment; filename="a_b')
    assert head.isascii()
    assert "\n" not in head


def template_of(node: ast.expr, names: dict[str, list[str]]) -> list[str]:
    """The texts that an expression may be, with `{0}`, `{1}` for what is only known at run time."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in values]
            return [numbered("".join(map(str, parts)))]
        case ast.Name(id=name):
            return names.get(name, [])
        case ast.Call(func=ast.Attribute(value=value, attr="format")):
            return [numbered(text) for text in template_of(value, names)]
    return []


def numbered(text: str) -> str:
    count = iter(range(10))
    return re.sub(r"\{\w*\}", lambda _: f"{{{next(count)}}}", text)


def test_every_message_of_a_warning_has_a_german_text() -> None:
    german = load_locales()["de"]
    missing = []
    for tree in modules_with("Warned"):
        names: dict[str, list[str]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                names.setdefault(node.targets[0].id, []).extend(template_of(node.value, {}))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Warned":
                code = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
                texts = template_of(node.args[1], names) if len(node.args) > 1 else []
                if code and code not in PROVIDERS_WORDS:
                    missing += [
                        text
                        for text in texts
                        if warning_message(Warned(str(code), text), german).detail
                        and f"{DETAIL}{text}" not in german
                    ]
    assert missing == []
    assert translated("gemini has no live: it was not used", german).startswith(
        "gemini unterstützt live nicht"
    )
    assert translated("words of a provider", german) == "words of a provider"
    assert len(list(calls_of("Warned"))) > 40
