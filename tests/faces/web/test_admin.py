"""The admin page: who sees it, keys, requests in progress, health, audit log; and owners of several keys."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from time import time
from urllib.parse import urlencode

import aiohttp
import pytest

from groundwire.client import Groundwire
from groundwire.commands.http_app import create_service
from groundwire.config.schema import Config
from groundwire.faces.web.admin import budget_left, provider_rows, shown_requests
from groundwire.faces.web.headers import CSP
from groundwire.model import Usage
from groundwire.model.access import ROLES, KeyLimits, KeyRights, KeyScope, Role, tenant_id
from groundwire.server.app import HttpApp
from groundwire.server.keys import KeyFile
from groundwire.server.live_requests import LiveRequest, live_requests
from groundwire.store.base import Agent, ApiKey, BudgetPeriod, BudgetState, UsageRow
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.faces.gateway.asgi_client import LOCAL, AsgiResponse, send_request
from tests.faces.gateway.serving import provider_at
from tests.faces.web.browsing import Browsing, watched
from tests.faces.web.serving import RunningPage, running_page
from tests.faces.web.test_pages import log_in, stream_of, token_of

pytestmark = pytest.mark.server

FORM = "application/x-www-form-urlencoded"


class Visitor:
    """A browser without a socket, logged in with a key."""

    def __init__(self, app: HttpApp, key: str) -> None:
        self._app = app
        self._key = key
        self._cookies: dict[str, str] = {}
        self.token = ""

    async def send(self, method: str, path: str, form: Mapping[str, str] | None = None) -> AsgiResponse:
        cookies = "; ".join(f"{name}={text}" for name, text in self._cookies.items())
        head = {
            **LOCAL,
            "cookie": cookies,
            "accept-language": "en",
            "content-type": FORM,
            "x-groundwire-token": self.token,
        }
        body = urlencode({"token": self.token, **(form or {})}).encode() if method == "POST" else b""
        return await send_request(self._app, method, path, head, body)

    async def log_in(self) -> None:
        self._cookies = {"groundwire_visit": "0" * 32}
        page = await self.send("GET", "/login")
        found = re.search(r'name="token" value="(\w+)"', page.body.decode())
        assert found
        self.token = found[1]
        entered = await self.send("POST", "/login", {"key": self._key})
        assert entered.status == 303, entered
        name, _, text = entered.headers["set-cookie"].partition(";")[0].partition("=")
        self._cookies[name] = text


@asynccontextmanager
async def service(folder: Path) -> AsyncIterator[HttpApp]:
    """The whole application, without a socket."""
    config = Config(data_dir=str(folder), build_index=False)
    app = create_service(Groundwire(config, env={"HOME": str(folder)}), {})
    try:
        yield app
    finally:
        await app.aclose()


@asynccontextmanager
async def visitor(app: HttpApp, folder: Path, rights: KeyRights) -> AsyncIterator[tuple[Visitor, ApiKey]]:
    key, record = KeyFile(str(folder)).create("visitor", time(), rights)
    here = Visitor(app, key)
    await here.log_in()
    yield here, record


@pytest.mark.parametrize("role", ROLES)
async def test_each_page_opens_for_the_roles_that_its_route_names(tmp_path: Path, role: Role) -> None:
    async with service(tmp_path) as app, visitor(app, tmp_path, KeyRights(role)) as (here, _):
        entrances = ("/login", "/logout")
        pages = [
            route for route in app.routes.routes if route.group == "page" and route.path not in entrances
        ]
        assert {route.role for route in pages} == {"member", "admin"}
        for route in pages:
            _, other = KeyFile(str(tmp_path)).create("other", 0)
            found = await here.send(route.method, route.path.replace("{id}", other.id))
            if ROLES.index(role) < ROLES.index(route.role):
                assert found.status == 404, route.path
            elif route.path == "/documents/upload":
                assert b"the document has no name" in found.body
            elif route.path == "/documents/remove":
                assert b"document" in found.body
            elif route.role == "admin":
                assert found.status in (200, 303), (route.path, found)
            else:
                assert found.status not in (401, 403), (route.path, found)
        assert (b'href="/admin"' in (await here.send("GET", "/usage")).body) is (role != "member")


async def test_a_key_that_is_restricted_to_other_groups_cannot_use_the_page(tmp_path: Path) -> None:
    rights = KeyRights("owner", scope=KeyScope(routes=("messages",)))
    async with service(tmp_path) as app, visitor(app, tmp_path, rights) as (here, _):
        for path in ("/", "/agents", "/usage", "/admin"):
            assert (await here.send("GET", path)).status == 403, path


async def test_without_a_login_the_admin_page_asks_for_one(tmp_path: Path) -> None:
    async with service(tmp_path) as app:
        KeyFile(str(tmp_path)).create("a", 0)
        found = await send_request(app, "GET", "/admin", LOCAL)
        assert (found.status, found.headers["location"]) == (303, "/login")


async def test_keys_are_created_shown_once_changed_and_revoked(tmp_path: Path) -> None:
    async with service(tmp_path) as app, visitor(app, tmp_path, KeyRights("owner")) as (here, _):
        form = {
            "name": "ci <b>",
            "owner": "acme",
            "usd_per_day": "2.50",
            "models": "gemini-*, gpt-5",
            "role": "admin",
        }
        made = await here.send("POST", "/admin/keys", form)
        assert made.status == 200
        assert made.headers["content-security-policy"] == CSP
        assert made.headers["cache-control"] == "no-store"
        shown = re.search(rb"sk-gw-[\w-]{43}", made.body)
        assert shown
        assert b"ci &lt;b&gt;" in made.body
        listed = await here.send("GET", "/admin")
        assert shown[0] not in listed.body
        record = next(key for key in KeyFile(str(tmp_path)).entries() if key.rights.owner == "acme")
        assert record.rights.scope.models == ("gemini-*", "gpt-5")
        edited = await here.send("GET", f"/admin/keys/{record.id}")
        assert b'value="gemini-*, gpt-5"' in edited.body
        assert b'value="2.50"' in edited.body
        changed = await here.send("POST", f"/admin/keys/{record.id}", {"models": "gpt-5", "no_search": "on"})
        assert changed.status == 303
        record = next(key for key in KeyFile(str(tmp_path)).entries() if key.id == record.id)
        assert record.rights == KeyRights(
            "member", "acme", scope=KeyScope(models=("gpt-5",), may_search=False)
        )
        wrong = await here.send("POST", f"/admin/keys/{record.id}", {"usd_per_day": "much"})
        assert wrong.status == 400
        assert b"US dollars" in wrong.body
        assert (await here.send("POST", f"/admin/keys/{record.id}/revoke")).status == 303
        assert next(key for key in KeyFile(str(tmp_path)).entries() if key.id == record.id).revoked
        log = (await here.send("GET", "/admin")).body.decode()
        for text in ("key created", "key changed", "key revoked", "login", record.id):
            assert text in log


async def test_an_admin_of_one_owner_sees_and_makes_only_keys_of_that_owner(tmp_path: Path) -> None:
    rights = KeyRights("admin", "acme", scope=KeyScope(limits=KeyLimits(requests_per_minute=10)))
    async with service(tmp_path) as app, visitor(app, tmp_path, rights) as (here, _):
        _, theirs = KeyFile(str(tmp_path)).create("secret-project", 0, KeyRights("member", "zeta"))
        page = (await here.send("GET", "/admin")).body.decode()
        assert "secret-project" not in page
        assert 'name="owner"' not in page
        for path in (f"/admin/keys/{theirs.id}", f"/admin/keys/{theirs.id}/revoke"):
            assert (await here.send("POST", path)).status == 404
        assert (await here.send("GET", f"/admin/keys/{theirs.id}")).status == 404
        refused = await here.send("POST", "/admin/keys", {"name": "x", "owner": "zeta"})
        assert refused.status == 403
        assert (await here.send("POST", "/admin/keys", {"name": "mine"})).status == 200
        made = KeyFile(str(tmp_path)).entries()[-1]
        assert (made.name, made.rights.owner) == ("mine", "acme")
        assert made.rights.scope.limits.requests_per_minute == 10
        log = (await here.send("GET", "/admin")).body.decode()
        assert theirs.id not in log


async def test_a_form_without_its_token_changes_nothing(tmp_path: Path) -> None:
    async with service(tmp_path) as app, visitor(app, tmp_path, KeyRights("owner")) as (here, record):
        here.token = "0" * 64
        for path in ("/admin/keys", f"/admin/keys/{record.id}", f"/admin/keys/{record.id}/revoke"):
            assert (await here.send("POST", path, {"name": "x"})).status == 403, path
        assert KeyFile(str(tmp_path)).entries() == (record,)


async def test_failed_logins_are_recorded_once_with_the_address(tmp_path: Path) -> None:
    async with service(tmp_path) as app:
        KeyFile(str(tmp_path)).create("a", 0, KeyRights("owner"))
        here = Visitor(app, "wrong")
        with pytest.raises(AssertionError):
            await here.log_in()
        for _ in range(14):
            await here.send("POST", "/login", {"key": "wrong"})
        manager = app.key_manager
        assert manager is not None
        for _ in range(200):
            entries = await asyncio.to_thread(manager.audit.last)
            if entries:
                break
            await asyncio.sleep(0.01)
        assert [entry.action for entry in entries] == ["failed_logins"]


# Several keys of one owner


@asynccontextmanager
async def users(
    folder: Path, *rights: KeyRights
) -> AsyncIterator[tuple[RunningPage, list[aiohttp.ClientSession], list[ApiKey]]]:
    made = [KeyFile(str(folder)).create(f"user {n}", time(), one) for n, one in enumerate(rights)]
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(Upstream(answer("openai_chat", answer_events("Said."))))
        here = await stack.enter_async_context(
            running_page(folder, {"p": provider_at("openai_chat", upstream.url)})
        )
        browsers = []
        for key, _ in made:
            jar = aiohttp.CookieJar(unsafe=True)
            browser = await stack.enter_async_context(aiohttp.ClientSession(here.url, cookie_jar=jar))
            await log_in(browser, key)
            browsers.append(browser)
        yield here, browsers, [record for _, record in made]


async def test_keys_of_one_owner_share_sessions_agents_and_usage_and_no_other_key_sees_them(
    tmp_path: Path,
) -> None:
    acme = KeyRights(owner="acme")
    async with users(tmp_path, acme, acme, KeyRights(owner="zeta")) as (here, browsers, records):
        first, second, stranger = browsers
        agent = await here.chat.save_agent(Agent("", {"en": "Finder"}), tenant_id("", acme))
        token = await token_of(first)
        events = await stream_of(first, token, text="Shared question?", agent=agent.id)
        session = events[0][1]["session"]

        async def status(browser: aiohttp.ClientSession, path: str) -> int:
            async with browser.get(path) as response:
                return response.status

        assert await status(second, f"/chat/{session}") == 200
        assert await status(second, f"/agents/{agent.id}") == 200
        assert await status(stranger, f"/chat/{session}") == 404
        assert await status(stranger, f"/agents/{agent.id}") == 404
        await stream_of(second, await token_of(second), text="Again?", session=str(session))
        assert [total.requests for total in here.store.usage("owner:acme")] == [2]
        assert here.store.usage("owner:zeta") == []
        used = {total.key: total.requests for total in here.store.usage_by_key()}
        assert used == {records[0].fingerprint: 1, records[1].fingerprint: 1}


async def test_the_chat_keeps_to_the_scope_of_the_key(tmp_path: Path) -> None:
    rights = KeyRights(scope=KeyScope(providers=("local",)))
    async with users(tmp_path, rights, KeyRights(scope=KeyScope(may_search=False))) as (here, browsers, _):
        await here.chat.save_agent(Agent("plain", {"en": "Plain"}), "")
        await here.chat.save_agent(Agent("finder", {"en": "Finder"}, provider="p", web_search=True), "")
        for browser, agent in ((browsers[0], "plain"), (browsers[0], "finder"), (browsers[1], "finder")):
            events = await stream_of(browser, await token_of(browser), text="q?", agent=agent)
            assert "Said." not in str(events), (agent, events)
        events = await stream_of(browsers[1], await token_of(browsers[1]), text="q?", agent="plain")
        assert "Said." in str(events)


# What is going on


async def test_requests_in_progress_and_the_health_of_providers_are_shown(tmp_path: Path) -> None:
    async with service(tmp_path) as app, visitor(app, tmp_path, KeyRights("owner", "acme")) as (here, record):
        context = next(iter(app.live_requests), None)
        assert context is None
        seen: list[LiveRequest] = []

        class Observed(set):  # type: ignore[type-arg]
            def discard(self, item: object) -> None:
                seen.extend(shown_requests(live_requests(app.live_requests), "acme"))
                super().discard(item)

        app.live_requests = Observed()
        await here.send("GET", "/usage")
        assert [(one.method, one.path, one.key) for one in seen] == [
            ("GET", "/usage", record.fingerprint[:8])
        ]
        seen.clear()
        await send_request(app, "GET", "/v1/models", LOCAL)
        assert seen == []
        assert "local" in [row.name for row in provider_rows(app)]


async def test_cost_and_what_is_left_of_budgets_are_shown(tmp_path: Path) -> None:
    limits = KeyLimits(usd_per_day=Decimal("2.50"), usd_per_month=Decimal(20))
    rights = KeyRights("owner", scope=KeyScope(limits=limits))
    async with users(tmp_path, rights) as (here, (browser,), (record,)):
        for name, amount in (("settled", 1_000_000_000), ("running", 250_000_000)):
            here.store.reserve_budget(name, record.fingerprint, amount, (None, None), 60)
        here.store.settle_budget("settled", 500_000_000)
        day = datetime.now(UTC).isoformat()
        usage = Usage(5, 5, searches=1, cost=0.5)
        here.store.add_usage([UsageRow("u", day, "p", "m", usage, "", key=record.fingerprint)])
        async with browser.get("/admin", headers={"accept-language": "en"}) as response:
            page = " ".join((await response.text()).split())
        assert "<td>$0.5000</td>" in page
        assert "today: $1.75 of $2.50" in page
        assert "this month: $19.25 of $20.00" in page


def test_a_budget_that_is_exceeded_has_nothing_left() -> None:
    state = BudgetState(0, BudgetPeriod("2026-03-01", 0, 3_000_000_000), BudgetPeriod("2026-03", 0))
    left = budget_left(KeyLimits(usd_per_day=Decimal("2.50")), state)
    assert [(row.period, row.left, row.limit) for row in left] == [("budget_day", "$0.00", "$2.50")]


def test_the_page_in_a_browser(browsing: Browsing, tmp_path: Path) -> None:
    """With a keyboard, in both languages, on a phone, without an error of the content security policy."""

    async def run() -> None:
        key, _ = KeyFile(str(tmp_path)).create("boss", time(), KeyRights("owner"))
        async with running_page(tmp_path, {}) as here, browsing.browser() as chromium:
            context = await chromium.new_context(locale="de-DE", viewport={"width": 390, "height": 800})
            page, seen = await watched(context, here.url)
            await page.goto(f"{here.url}/login")
            await page.locator("input[name=key]").fill(key)
            await page.keyboard.press("Enter")
            await page.wait_for_url(f"{here.url}/")
            await page.goto(f"{here.url}/admin")
            await page.get_by_role("heading", name="API-Schlüssel").wait_for()
            await page.locator("summary").focus()
            await page.keyboard.press("Enter")
            await page.get_by_label("Name", exact=True).fill("Telefon")
            await page.get_by_label("US-Dollar pro Tag").fill("2.50")
            await page.keyboard.press("Enter")
            await page.locator(".created[role=status]").wait_for()
            assert re.fullmatch(r"sk-gw-[\w-]{43}", await page.locator(".created code").inner_text())
            await page.wait_for_function("document.documentElement.scrollWidth <= window.innerWidth")
            await page.get_by_role("link", name="Telefon").click()
            await page.get_by_role("heading", name="Schlüssel ändern: Telefon").wait_for()
            assert (seen.errors, seen.foreign_requests) == ([], [])

    browsing.run(run())
