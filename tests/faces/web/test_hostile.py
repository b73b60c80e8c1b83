"""Text of providers, pages, apps and users stays text: no script, no request, no false host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from urllib.parse import urlencode

import pytest

from groundwire.chat.documents import add_document, address_of, document_name
from groundwire.chat.questions import EXTRAS
from groundwire.config.schema import Config
from groundwire.errors import GroundwireError
from groundwire.faces.web.chat import WINDOW_TURNS
from groundwire.model import (
    Answer,
    Citation,
    Evidence,
    Json,
    JsonObject,
    Message,
    Reasoning,
    SearchCall,
    SearchResult,
    Source,
    Span,
    Text,
    ToolCall,
    Usage,
    Warned,
)
from groundwire.store.base import Agent, Session, Store, StoredMessage, UsageRow
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.serving import provider_at
from tests.faces.web.browsing import Browsing, Page, PageErrors, watched
from tests.faces.web.hostile import hostile_strings
from tests.faces.web.serving import RunningPage, running_page
from tests.figures import Figures

pytestmark = pytest.mark.server

NOW = "2026-03-01T00:00:00.000000+00:00"
PER_PAGE = WINDOW_TURNS
OTHERS = (
    "/",
    "/compare",
    "/agents",
    "/usage?days=90",
    "/find?q=script",
    "/find?q=%3Cscript%3Ealert(1)%3C/script%3E",
)
FIND_FAULTS = """() => {
  const faults = [];
  const every = [...document.querySelectorAll('*')];
  for (const element of every) {
    for (const item of element.attributes)
      if (/^on|^style$|^srcdoc$/.test(item.name)) faults.push(element.outerHTML);
    for (const kind of ['mouseover', 'focus', 'click', 'error', 'load', 'toggle'])
      if (element.tagName !== 'A' && element.tagName !== 'BUTTON' && element.tagName !== 'SUMMARY')
        element.dispatchEvent(new Event(kind, { bubbles: false }));
  }
  const forbidden = 'img, iframe, object, embed, video, audio, style, base, frame, template, ' +
    'math :not(mi, mn, mo, ms, mtext, mspace, mrow, mfrac, msqrt, mroot, mstyle, msub, msup, msubsup), ' +
    'math [href], ' +
    'script:not([src^="/static/"]), link:not([href^="/static/"]), meta[http-equiv]';
  for (const element of document.querySelectorAll(forbidden)) faults.push(element.outerHTML);
  for (const form of document.forms)
    if (new URL(form.action).origin !== location.origin) faults.push(form.outerHTML);
  for (const link of document.querySelectorAll('a[href]')) {
    const to = new URL(link.href);
    if (!['http:', 'https:'].includes(to.protocol) || to.username) faults.push(link.outerHTML);
    if (to.origin === location.origin) continue;
    if (!/noopener.*noreferrer/.test(link.rel)) faults.push(link.outerHTML);
    const around = link.parentElement;
    if (!link.closest('.suggestions') && !around.textContent.includes(to.host))
      faults.push(to.host + ' ' + around.outerHTML);
  }
  return faults.map((fault) => fault.slice(0, 300));
}"""


def answer_with(payload: str) -> Answer:
    """An answer with the string in every field of a provider."""
    page = Source(payload, payload, "cited", (payload,), payload, payload)
    link = Source("https://evil.example/" + payload, payload, "cited", (payload,))
    text = f"{payload}\n\nsome words {payload}"
    line = " ".join(payload.split())
    rich = f"\n\n```{line}\n{payload}\n```\n\n$$\\text{{{line}}} x^2$$\n\n- [x] {line}[^1]\n\n[^1]: {line}"
    suggestions = f'<style>a{{}}</style><a class="chip" href="{payload}">{payload}</a>{payload}'
    return Answer(
        (
            Reasoning(payload),
            SearchCall("s", (payload,)),
            SearchResult("s", (page, Source(payload)), suggestions=suggestions),
            SearchCall("o", (), "open", payload),
            ToolCall("t", payload, payload),
            Text(text + rich),
        ),
        (
            Citation(Span(0, max(1, len(payload) // 2)), (Evidence(page, payload),)),
            Citation(Span(0, len(text)), (Evidence(link, payload),)),
            Citation(None, (Evidence(page),)),
        ),
        Usage(1, 1),
        (Warned("w", payload),),
        None,
        payload,
        GroundwireError(payload),
        model=payload,
        extras={
            EXTRAS: {
                "verification": verification_with(payload),
                "topics": [{"heading": payload, "page": payload}],
            }
        },
    )


def verification_with(payload: str) -> JsonObject:
    """A stored report about the citations with the string in every field that pages and answers fill."""
    statement: JsonObject = {
        **dict.fromkeys(("text", "passage", "claimed", "stated", "note"), payload),
        "verdict": "other_value",
        "missing": [payload],
    }
    facts: list[Json] = [
        {
            "citation": number,
            "url": url,
            "claim": payload,
            "standing": standing,
            "fails": standing == "failed",
            "address": {"verdict": "redirected", "evidence": payload, "target": payload},
            "quote": {"verdict": "nearly", "found": payload, "changes": [[payload, payload]]},
            "claimed": {
                "verdict": "other_value",
                "statements": [statement],
                "model": payload,
                "model_quote": payload,
            },
        }
        for number, url, standing in (
            (0, payload, "failed"),
            (1, "https://evil.example/" + payload, "open"),
            (2, payload, "unchecked"),
        )
    ]
    return {"checked": payload, "citations": facts}


def batches(strings: Sequence[str]) -> Iterator[list[str]]:
    iterator = iter(strings)
    while batch := list(islice(iterator, PER_PAGE)):
        yield batch


def fill(store: Store, strings: Sequence[str]) -> list[str]:
    """Store sessions with the strings in every field; returns their ids."""
    names = []
    for number, batch in enumerate(batches(strings)):
        agent = Agent(
            f"a{number}",
            {"en": batch[0], "de": batch[0]},
            {"en": batch[-1]},
            {"en": batch[0]},
            batch[1],
            batch[2],
        )
        store.put_agent(agent)
        session = Session(f"s{number}", agent.id, "", batch[0], NOW, NOW)
        store.put_session(session)
        names.append(session.id)
        for place, payload in enumerate(batch):
            question = Message(
                "user", (Text(payload),), extras={"chat": {"city": payload, "allowed_domains": [payload]}}
            )
            store.add_message(StoredMessage(f"{number}q{place}", session.id, question, "", NOW))
            store.add_message(
                StoredMessage(f"{number}a{place}", session.id, answer_with(payload), payload, NOW)
            )
        store.add_usage(
            [UsageRow(f"u{number}", NOW, batch[0], batch[1], Usage(5, 5, searches=1, cost=0.1), "")]
        )
    return names


async def faults_at(page: Page, url: str) -> list[str]:
    await page.goto(url)
    faults: list[str] = await page.evaluate(FIND_FAULTS)
    return faults


def harmful_effects(seen: PageErrors) -> tuple[list[str], list[str]]:
    return seen.foreign_requests, seen.dialogs


def test_there_are_enough_hostile_strings() -> None:
    assert len(hostile_strings()) >= 300


@pytest.mark.parametrize(("count", "step"), [(24, 4), pytest.param(10_000, 1, marks=pytest.mark.thorough)])
def test_hostile_strings_are_not_executed_or_fetched(
    browsing: Browsing, count: int, step: int, tmp_path: Path, figures: Figures
) -> None:
    """Sanitising must suffice: with the content security policy enabled, it must not block anything."""
    strings = hostile_strings()
    strings = Random(7).sample(strings, min(count, len(strings)))
    figures.add("S3", "hostile strings", len(strings))

    async def run() -> None:
        async with running_page(tmp_path, {}) as here, browsing.browser() as chromium:
            names = fill(here.store, strings)
            paths = [f"/chat/{name}?at=1" for name in names]
            paths += [*OTHERS, *(f"/agents/a{number}" for number in range(len(names)))]
            for without_csp, visited in ((True, paths), (False, paths[::step])):
                context = await chromium.new_context(locale="en-US", bypass_csp=without_csp)
                page, seen = await watched(context, here.url)
                faults = [fault for path in visited for fault in await faults_at(page, here.url + path)]
                policy = "without" if without_csp else "with"
                figures.add("S3", f"pages with hostile strings, {policy} the policy", len(visited))
                figures.add(
                    "S3", "scripts, dialogs and handlers", len(faults) + len(seen.dialogs), part=policy
                )
                figures.add("S4", "requests to other origins", len(seen.foreign_requests), part=policy)
                assert faults == []
                assert harmful_effects(seen) == ([], [])
                assert [error for error in seen.errors if "Content Security Policy" in error] == []
                assert await page.evaluate("typeof top.hit") == "undefined"
                # The only cookie that scripts can read is the time zone, which they set.
                assert await page.evaluate("document.cookie") in ("", "groundwire_zone=UTC")

    browsing.run(run())


def test_hostile_strings_are_not_executed_or_fetched_during_a_stream(
    browsing: Browsing, tmp_path: Path
) -> None:
    strings = [text for text in hostile_strings() if len(text) < 500 and "\x00" not in text]
    whole = "\n\n".join(strings)

    async def run() -> None:
        source = Source("https://evil.example/page", "<img src=x onerror=alert(1)>", excerpts=(whole[:300],))
        script = answer("anthropic_messages", answer_events(whole, source, query="<script>alert(1)</script>"))
        async with (
            Upstream(script) as upstream,
            running_page(tmp_path, {"p": provider_at("anthropic_messages", upstream.url)}) as here,
            browsing.browser() as chromium,
        ):
            await here.chat.save_agent(Agent("f", {"en": "<script>alert(1)</script>"}, web_search=True), "")
            context = await chromium.new_context(locale="en-US", bypass_csp=True)
            page, seen = await watched(context, here.url)
            await page.goto(here.url)
            await page.wait_for_selector("#send:enabled")
            await page.locator("#text").fill("<img src=x onerror=alert(1)>")
            await page.keyboard.press("Enter")
            await page.wait_for_selector('.answer[data-state="done"]')
            faults: list[str] = await page.evaluate(FIND_FAULTS)
            # Our own script sets the height of text areas and of the last answer.
            own = ("<textarea", '<section class="log" id="log"')
            assert [fault for fault in faults if not fault.startswith(own)] == []
            assert harmful_effects(seen) == ([], [])

    browsing.run(run())


@pytest.mark.parametrize("count", [30, pytest.param(300, marks=pytest.mark.thorough)])
def test_hostile_strings_stay_text_in_lists_shares_exports_documents_and_the_palette(
    browsing: Browsing, count: int, tmp_path: Path
) -> None:
    strings = Random(7).sample(hostile_strings(), count)

    async def run() -> None:
        async with running_page(tmp_path, {}) as here, browsing.browser() as chromium:
            names = fill(here.store, strings)
            for number, text in enumerate(strings):
                await file_session(here, f"t{number}", text)
            shares = [
                await here.chat.shares.create(await here.chat.session("", name), "7d") for name in names[::5]
            ]
            await here.chat.shares.create(await here.chat.session("", "t0"), "7d")
            quotes = add_documents(here.chat.groundwire.config, strings)
            paths = [
                *("/", "/settings", "/documents", f"/chat/{names[0]}/print"),
                *(f"/shared/{token}" for token in shares),
                *(f"/page?{urlencode({'url': url, 'quote': quote})}" for url, quote in quotes),
            ]
            context = await chromium.new_context(locale="en-US", bypass_csp=True)
            value = "%3Cimg%20src=x%20onerror=alert(1)%3E"
            await context.add_cookies([{"name": "groundwire_notice", "value": value, "url": here.url}])
            page, seen = await watched(context, here.url)
            faults = [fault for path in paths for fault in await faults_at(page, here.url + path)]
            assert faults == []
            assert await page.locator(".stored").count() == 1
            await page.keyboard.press("Control+k")
            await page.keyboard.type("script")
            await page.locator("#palette-session-0").wait_for()
            assert await page.evaluate(MARKUP, "#palette") == 0
            await page.goto(f"{here.url}/chat/{names[0]}")
            await page.locator(".item-menu").first.press("Enter")
            await page.locator("dialog.session-menu[open]").wait_for()
            assert await page.evaluate(MARKUP, "dialog.session-menu") == 0
            for name in names[::5]:
                export = await page.request.get(f"{here.url}/chat/{name}/export.html")
                await page.set_content(await export.text())
                assert await page.evaluate(MARKUP, "body") == 0
            assert harmful_effects(seen) == ([], [])
            assert await page.evaluate("typeof top.hit") == "undefined"

    browsing.run(run())


MARKUP = """(selector) => [...document.querySelectorAll(`${selector} *`)]
  .filter((one) => one.matches('script, img, iframe, object, embed, style, base, link') ||
    [...one.attributes].some(({ name }) => /^on|^style$|^srcdoc$/.test(name))).length"""
"""How many elements inside another one could act."""


async def file_session(here: RunningPage, name: str, text: str) -> None:
    """A session with this title, in a folder with this name; some are pinned."""
    here.store.put_session(Session(name, "default", "", f"script {text}", NOW, NOW))
    await here.chat.file("", name, pinned=name.endswith("1"), folder=text)


def add_documents(config: Config, strings: Sequence[str]) -> list[tuple[str, str]]:
    """Documents with the strings as names, headings and text; returns addresses with a quote."""
    bodies = ["\n\n".join(f"# {text}\n\n{text}" for text in strings), *strings[1:3]]
    kept = []
    for text, body in zip(strings, bodies, strict=False):
        name = document_name(f"{text}.md") or "x.md"
        add_document(config, name, f"Some words.\n\n{body}".encode(errors="replace"))
        kept.append((address_of(name), text.encode(errors="replace").decode()))
    return kept


def test_a_hostile_language_is_ignored(browsing: Browsing, tmp_path: Path) -> None:
    async def run() -> None:
        async with running_page(tmp_path, {}) as here, browsing.browser() as chromium:
            context = await chromium.new_context(
                extra_http_headers={"accept-language": '"><script>alert(1)</script>,de;q=0.1'}
            )
            page, seen = await watched(context, here.url)
            assert await faults_at(page, here.url) == []
            assert await page.locator("html").get_attribute("lang") == "de"
            assert harmful_effects(seen) == ([], [])

    browsing.run(run())
