"""Fetching cited pages: only what is cited, only public addresses, within limits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from groundwire.engine.pages import Page
from groundwire.engine.read import read
from groundwire.engine.read.document import Document, ReadResult
from groundwire.model import Answer, Citation, Evidence, Source, Span, Text
from groundwire.model.value import replace
from groundwire.testing.script import Dribble, Script, ScriptedResponse
from groundwire.verify import fetch as fetch_module
from groundwire.verify.check import PageOutcome
from groundwire.verify.fetch import CitedPages
from groundwire.verify.policy import VerifyPolicy
from groundwire.verify.verifier import Verifier
from tests.transport.canaries import FORBIDDEN_HOST, FakeResolver, Web, page, small_web

pytestmark = pytest.mark.server

SITE = "www.example.com"
HERE = "127.0.0.1"
TOWER = "<title>Tower</title><p>The tower is 324 metres tall.</p>"


def read_here(document: Document, _: float) -> ReadResult:
    return read(document)


async def nothing(_: str) -> Page | None:
    return None


async def outcomes(web: Web, *urls: str, policy: VerifyPolicy | None = None) -> Mapping[str, PageOutcome]:
    return await CitedPages(web.fetcher, read_here, nothing).outcomes(urls, policy or VerifyPolicy())


async def outcome(web: Web, url: str, policy: VerifyPolicy | None = None) -> PageOutcome:
    return (await outcomes(web, url, policy=policy))[url]


def redirect(to: str, status: int = 302) -> ScriptedResponse:
    return ScriptedResponse(status, {"location": to})


async def test_a_page_is_fetched_once_for_all_its_sections() -> None:
    async with small_web(page(TOWER)) as web:
        found = await outcomes(web, web.url("/a#one"), web.url("/a#two"), web.url("/a"), web.url("/b"))
        assert sorted(request.target for request in web.upstream.requests) == ["/a", "/b"]
        assert {item.address.verdict for item in found.values()} == {"alive"}
        assert found[web.url("/a#one")] is found[web.url("/a")]


async def test_pages_that_ask_not_to_be_indexed_and_hidden_text_are_read() -> None:
    html = (
        f"<meta name=robots content=noindex>{TOWER}<p hidden>The tower moves.</p><footer>Open daily.</footer>"
    )
    async with small_web(page(html)) as web:
        found = (await outcome(web, web.url("/"))).page
        assert found is not None
        assert "324" in found.text
        assert found.hidden == "The tower moves."
        assert "Open daily." in found.aside
        assert "moves" not in found.text + found.aside


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.2:{port}/",
        "http://[::1]:{port}/",
        "http://other.example.net:{port}/",
        "http://inside.example.com:{port}/",
        "//127.0.0.2:{port}/",
        "http://www.example.com@127.0.0.2:{port}/",
        "file:///etc/passwd",
    ],
)
async def test_a_redirect_to_what_is_not_cited_is_not_contacted(status: int, target: str) -> None:
    names = FakeResolver(
        www_example_com=[[HERE]], other_example_net=[[FORBIDDEN_HOST]], inside_example_com=[[FORBIDDEN_HOST]]
    )
    async with small_web(page(), names) as web:
        web.upstream.script = Script((redirect(target.format(port=web.port), status),))
        found = await outcome(web, web.url("/", SITE))
        assert found.page is None
        assert found.address.verdict in ("redirected", "unchecked")
        assert len(web.upstream.requests) == 1
        assert "other.example.net" not in names.lookups
    # The canaries of the small web check that nobody connected to them.


async def test_another_site_is_named_and_followed_only_on_request() -> None:
    names = FakeResolver(www_example_com=[[HERE]], other_example_net=[[HERE]])
    async with small_web(page(TOWER), names) as web:
        target = web.url("/there", "other.example.net")
        web.upstream.script = Script((page(TOWER),), {"/here": (redirect(target),)})
        found = await outcome(web, web.url("/here", SITE))
        assert (found.address.verdict, found.address.target, found.page) == ("redirected", target, None)
        assert [request.target for request in web.upstream.requests] == ["/here"]
        followed = await outcome(web, web.url("/here", SITE), VerifyPolicy(follow=True))
        assert followed.address.verdict == "redirected"
        assert followed.page is not None


async def test_a_redirect_within_the_site_is_followed() -> None:
    names = FakeResolver(www_example_com=[[HERE]], example_com=[[HERE]])
    async with small_web(page(TOWER), names) as web:
        moved = redirect(web.url("/new", "example.com"))
        web.upstream.script = Script((page(TOWER),), {"/old": (moved,)})
        found = await outcome(web, web.url("/old", SITE))
        assert found.address.verdict == "redirected"
        assert found.page is not None


async def test_dns_rebinding_is_refused_and_unknown_names_never_existed() -> None:
    names = FakeResolver(www_example_com=[[FORBIDDEN_HOST]], mixed_example_com=[[HERE, "::1"]])
    async with small_web(page(TOWER), names) as web:
        missing = web.url("/", "nowhere.example.com")
        found = await outcomes(web, web.url("/", SITE), web.url("/", "mixed.example.com"), missing)
        assert found[web.url("/", SITE)].address.verdict == "unchecked"
        assert found[web.url("/", "mixed.example.com")].address.verdict == "unchecked"
        assert found[missing].address.verdict == "no_such_host"
        assert web.upstream.connections == 0


async def test_hosts_are_not_called_missing_where_no_name_is_found() -> None:
    async with small_web(page(TOWER), FakeResolver(www_example_com=[[HERE]])) as web:
        missing = [web.url("/", host) for host in ("one.example.com", "two.example.net")]
        offline = await outcomes(web, *missing)
        assert {found.address.verdict for found in offline.values()} == {"unchecked"}
        assert "offline" in offline[missing[0]].address.evidence
        online = await outcomes(web, *missing, web.url("/", SITE))
        assert [online[url].address.verdict for url in missing] == ["no_such_host", "no_such_host"]


async def test_links_in_the_answer_that_are_no_citations_are_not_contacted() -> None:
    text = f"See http://{FORBIDDEN_HOST}/ and [this](http://127.0.0.2/x). The tower is 324 metres tall."
    async with small_web(page(TOWER)) as web:
        retrieved = Source(web.url("/retrieved"), state="retrieved")
        cited = Evidence(Source(web.url("/cited")))
        answer = Answer((Text(text),), (Citation(Span(len(text) - 29, len(text)), (cited,)),))
        verifier = Verifier(CitedPages(web.fetcher, read_here, nothing))
        report = await verifier.report(answer)
        assert report.facts[0].claimed.verdict == "verbatim"
        assert [request.target for request in web.upstream.requests] == ["/cited"]
        assert retrieved.url not in {fact.url for fact in report.facts}


async def test_a_huge_page_is_cut_and_compared_as_far_as_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_module, "MOST_BYTES", 50_000)
    endless = replace(page(TOWER), repeat=b"<p>More and more words.</p>" * 100, framing="chunked")
    async with small_web(endless) as web:
        found = await outcome(web, web.url("/"))
        assert found.address.is_cut
        assert found.page is not None
        assert "324 metres" in found.page.text


async def test_a_dribbling_page_is_given_up() -> None:
    slow = replace(page(TOWER * 100), dribble=Dribble(1, 0.05))
    async with small_web(slow, seconds=0.3) as web:
        found = await outcome(web, web.url("/"))
        assert (found.address.verdict, found.page) == ("unchecked", None)


async def test_all_pages_together_have_a_time_limit_and_nothing_is_left_running() -> None:
    never = ScriptedResponse(delay=float("inf"))
    async with small_web(Script((page(TOWER),), {"/slow": (never,)})) as web:
        found = await outcomes(web, web.url("/slow"), web.url("/fast"), policy=VerifyPolicy(seconds=0.5))
        assert found[web.url("/fast")].address.verdict == "alive"
        assert found[web.url("/slow")].address.evidence == "there was no time left to fetch it"
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not [task for task in others if "outcome" in repr(task) or "_fetched" in repr(task)]


async def test_statuses_and_walls_are_reported() -> None:
    login = page("<title>Log in</title><form><input type=password></form><p>Please log in.</p>")
    paths = {
        "/gone": (ScriptedResponse(410),),
        "/blocked": (ScriptedResponse(403),),
        "/broken": (ScriptedResponse(502),),
        "/login": (login,),
        "/data": (ScriptedResponse(200, {"content-type": "image/png"}, b"\x89PNG"),),
    }
    async with small_web(Script((page(TOWER),), paths)) as web:
        found = await outcomes(web, *(web.url(path) for path in paths))
        verdicts = [found[web.url(path)].address.verdict for path in paths]
    assert verdicts == ["gone", "blocked", "unchecked", "blocked", "unchecked"]


async def test_offline_only_stored_pages_are_used(tmp_path: Path) -> None:
    async with small_web(page(TOWER)) as web:
        host = f"{HERE}_{web.port}"
        url, other = f"https://{host}/docs/", "https://b.example.com/x"

        async def stored(wanted: str) -> Page | None:
            return Page(wanted, "B", "The tower is red.") if wanted == other else None

        copy = tmp_path / host / "docs" / "index.html"
        copy.parent.mkdir(parents=True)
        copy.write_text(TOWER)
        policy = VerifyPolicy(offline=True, folder=str(tmp_path))
        urls = (url, f"{other}#part", "https://c.example.com/", "local:python/x")
        found = await CitedPages(web.fetcher, read_here, stored).outcomes(urls, policy)
        assert [found[name].address.origin for name in urls] == ["folder", "index", "", ""]
        assert found[urls[2]].address.evidence.startswith("offline")
        assert web.upstream.connections == 0


async def test_a_page_that_cannot_be_reached_is_compared_with_its_stored_copy() -> None:
    async def stored(url: str) -> Page | None:
        return Page(url, "T", "The tower is 324 metres tall.")

    names = FakeResolver(www_example_com=[[FORBIDDEN_HOST]])
    async with small_web(page(TOWER), names) as web:
        url = web.url("/", SITE)
        found = (await CitedPages(web.fetcher, read_here, stored).outcomes([url], VerifyPolicy()))[url]
        assert (found.address.verdict, found.address.origin) == ("unchecked", "index")
        assert found.page is not None


async def test_addresses_that_are_not_allowed_are_not_contacted() -> None:
    async with small_web(page(TOWER)) as web:
        found = await outcome(web, web.url("/"), VerifyPolicy(is_allowed=lambda _: False))
        assert found.address.evidence == "it may not be fetched here"
        assert web.upstream.connections == 0
