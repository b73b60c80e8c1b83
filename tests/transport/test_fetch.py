"""Fetching under the guard: what is dialled, what is followed, what is sent along."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from groundwire.errors import FetchRefused, GroundwireError, TimedOut, Unreachable
from groundwire.testing.script import Script, ScriptedResponse
from groundwire.transport.fetch import Fetched
from groundwire.transport.safe_fetch import SafeFetcher
from groundwire.transport.ssrf import REFUSED, SsrfPolicy
from tests.transport.bounded import run
from tests.transport.canaries import FORBIDDEN_HOST, Names, Web, page, small_web
from tests.transport.certificates import certificate
from tests.transport.forbidden import FORMS, HOSTS, PRIVATE_ANSWERS

SITE = "www.example.com"
HERE = "127.0.0.1"


def redirect(to: str, status: int = 302, **headers: str) -> ScriptedResponse:
    return ScriptedResponse(status, {"location": to, **headers})


async def refusal(web: Web, url: str) -> GroundwireError:
    with pytest.raises(FetchRefused) as caught:
        await web.fetcher.get(url)
    return caught.value


def test_a_page_comes_back_with_what_its_headers_say() -> None:
    async def main() -> Fetched:
        async with small_web(page("<p>ä</p>", x_what="ever", set_cookie="a=b")) as web:
            fetched = await web.fetcher.get(web.url("/ä?q=1#f"))
            assert fetched.url == web.url("/%C3%A4?q=1")
            assert web.upstream.requests[0].target == "/%C3%A4?q=1"
            return fetched

    fetched = run(main())
    assert (fetched.status, fetched.content_type, fetched.charset) == (200, "text/html", "utf-8")
    assert fetched.body == "<p>ä</p>".encode()
    headers = dict(fetched.headers)
    assert headers["x-what"] == "ever"
    assert "set-cookie" not in headers


def test_a_name_is_dialled_at_the_address_that_was_judged_and_asked_for_by_its_name() -> None:
    async def main() -> None:
        names = Names(www_example_com=[[HERE], [FORBIDDEN_HOST]])
        async with small_web(page(), names) as web:
            fetched = await web.fetcher.get(web.url("/x", SITE))
            assert fetched.url == web.url("/x", SITE)
            assert web.upstream.requests[0].headers["host"] == f"{SITE}:{web.port}"
            assert names.asked == [SITE]  # once: what was judged is what was dialled

    run(main())


def test_none_of_the_addresses_reaches_anybody_and_all_refusals_are_alike() -> None:
    async def main() -> set[str]:
        async with small_web(page()) as web:
            # On the very port where somebody listens, which is allowed, and with the real resolver.
            urls = [f"http://{host}:{web.port}/" for host in HOSTS]
            urls += (url.replace(HERE, f"{HERE}:{web.port}") for url in FORMS)
            rules = SsrfPolicy(ports=frozenset({80, 443, web.port}))
            async with SafeFetcher(rules) as web.fetcher:
                told = {(await refusal(web, url)).message for url in urls}
            assert web.upstream.connections == 0
            return told

    assert run(main()) == {REFUSED}


def test_without_rules_loopback_is_refused_as_everything_else() -> None:
    async def main() -> None:
        async with small_web(page()) as web, SafeFetcher() as fetcher:
            for url in (web.url(), f"http://localhost:{web.port}/", "http://127.0.0.1/"):
                with pytest.raises(FetchRefused, match=REFUSED):
                    await fetcher.get(url)
            assert web.upstream.connections == 0

    run(main())


@pytest.mark.parametrize("answer", PRIVATE_ANSWERS)
def test_a_harmless_name_that_leads_inside_is_refused(answer: str) -> None:
    async def main() -> None:
        for answers in ([answer], [HERE, answer], [answer, HERE]):
            async with small_web(page(), Names(www_example_com=[answers])) as web:
                assert (await refusal(web, web.url("/", SITE))).message == REFUSED
                assert web.upstream.connections == 0

    run(main())


def test_a_name_that_changes_its_mind_is_judged_again_for_each_page() -> None:
    async def main() -> None:
        names = Names(www_example_com=[[HERE], [FORBIDDEN_HOST], ["::1"], [HERE, "::1"], [HERE]])
        async with small_web(page(), names) as web:
            url = web.url("/", SITE)
            assert (await web.fetcher.get(url)).status == 200
            for _ in range(3):
                assert (await refusal(web, url)).message == REFUSED
            assert (await web.fetcher.get(url)).status == 200
            assert len(web.upstream.requests) == 2

    run(main())


def test_a_redirect_to_the_same_name_asks_for_its_address_anew() -> None:
    async def main() -> None:
        names = Names(www_example_com=[[HERE], [FORBIDDEN_HOST]])
        async with small_web(redirect("/again"), names) as web:
            assert (await refusal(web, web.url("/", SITE))).message == REFUSED
            assert names.asked == [SITE, SITE]
            assert len(web.upstream.requests) == 1

    run(main())


CHAINS = {
    "moved permanently": (301, "http://127.0.0.2:{port}/"),
    "found": (302, "http://127.0.0.2:{port}/"),
    "see other": (303, "http://[::1]:{port}/"),
    "temporary": (307, "http://2130706434:{port}/"),
    "permanent": (308, "http://[::ffff:127.0.0.2]:{port}/"),
    "without a scheme": (302, "//127.0.0.2:{port}/"),
    "with a name before the host": (302, "http://www.example.com@127.0.0.2:{port}/"),
    "with a backslash": (302, "http://127.0.0.2:{port}\\@www.example.com/"),
    "to another scheme": (302, "file:///etc/passwd"),
    "to gopher": (302, "gopher://127.0.0.2:{port}/_"),
    "to a script": (302, "javascript:alert(1)"),
    "to another host": (302, "http://inside.example.com:{port}/"),
    "to another port": (302, "http://www.example.com:22/"),
    "to itself for ever": (302, "/"),
}


@pytest.mark.parametrize(("status", "target"), CHAINS.values(), ids=CHAINS)
def test_a_redirect_is_judged_as_an_address_is(status: int, target: str) -> None:
    async def main() -> None:
        names = Names(www_example_com=[[HERE]], inside_example_com=[[FORBIDDEN_HOST]])
        async with small_web(page(), names) as web:
            web.upstream.script = Script((redirect(target.format(port=web.port), status),))
            assert (await refusal(web, web.url("/", SITE))).message == REFUSED

    run(main())


def test_a_page_that_refreshes_itself_elsewhere_is_only_a_page() -> None:
    async def main() -> None:
        async with small_web(page()) as web:
            html = f'<meta http-equiv="refresh" content="0; url=http://127.0.0.2:{web.port}/">'
            web.upstream.script = Script((page(html, refresh=f"0; url=http://127.0.0.2:{web.port}/"),))
            fetched = await web.fetcher.get(web.url())
            assert fetched.body == html.encode()
            assert len(web.upstream.requests) == 1

    run(main())


def hops(count: int) -> Script:
    steps = {f"/{step}": (redirect(f"/{step + 1}"),) for step in range(count)}
    return Script((page("there"),), steps)


def test_five_hops_are_followed_and_six_are_not() -> None:
    async def main() -> None:
        async with small_web(hops(5)) as web:
            fetched = await web.fetcher.get(web.url("/0"))
            assert (fetched.url, fetched.body) == (web.url("/5"), b"there")
        async with small_web(hops(6)) as web:
            assert (await refusal(web, web.url("/0"))).message == REFUSED
            assert len(web.upstream.requests) == 6

    run(main())


def test_a_redirect_to_another_public_host_is_followed_with_nothing_of_the_first() -> None:
    async def main() -> None:
        names = Names(www_example_com=[[HERE]], other_example_net=[[HERE]])
        async with small_web(page(), names) as web:
            target = web.url("/there", "other.example.net")
            first = redirect(target, 301, **{"set-cookie": "id=1", "authorization": "Basic eA=="})
            web.upstream.script = Script((page(),), {"/here": (first,)})
            assert (await web.fetcher.get(web.url("/here", SITE))).url == target
            for seen in web.upstream.requests:
                assert {"cookie", "authorization", "referer"}.isdisjoint(seen.headers)
                assert seen.headers["accept-encoding"] == "gzip, deflate"
            assert web.upstream.requests[1].headers["host"] == f"other.example.net:{web.port}"

    run(main())


def test_a_redirect_without_a_target_is_a_page() -> None:
    async def main() -> int:
        async with small_web(ScriptedResponse(302, {"content-type": "text/html"})) as web:
            return (await web.fetcher.get(web.url())).status

    assert run(main()) == 302


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with small_web(page(), Names(www_example_com=[[HERE]])) as web:
            for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, f"http://127.0.0.2:{web.port}")
            monkeypatch.delenv("no_proxy", raising=False)
            assert (await web.fetcher.get(web.url("/", SITE))).status == 200

    run(main())


def test_a_name_that_nobody_knows_is_unreachable() -> None:
    async def main() -> None:
        async with small_web(page(), Names()) as web:
            with pytest.raises(Unreachable, match=r"nowhere\.example\.com cannot be found"):
                await web.fetcher.get("http://nowhere.example.com/")

    run(main())


def test_the_second_address_of_a_name_is_tried_where_the_first_does_not_answer() -> None:
    async def main() -> None:
        async with small_web(page()) as web:
            closed = "127.0.0.3"
            rules = SsrfPolicy(trusted=frozenset({(SITE, web.port)}))
            names = Names(www_example_com=[[closed, HERE]], silent_example_com=[[closed]])
            async with SafeFetcher(rules, resolve=names) as fetcher:
                assert (await fetcher.get(web.url("/", SITE))).status == 200
            rules = SsrfPolicy(trusted=frozenset({("silent.example.com", web.port)}))
            async with SafeFetcher(rules, resolve=names) as fetcher:
                with pytest.raises(Unreachable, match=r"cannot reach silent\.example\.com"):
                    await fetcher.get(web.url("/", "silent.example.com"))

    run(main())


def test_one_deadline_spans_names_hops_and_bytes() -> None:
    async def never(_: str) -> list[str]:
        await asyncio.sleep(600)
        return []

    async def main() -> None:
        slow = [
            ScriptedResponse(delay=float("inf")),
            ScriptedResponse(headers={"content-type": "text/html"}, body=b"x" * 100, stall_at=10),
            ScriptedResponse(
                headers={"content-type": "text/html"}, framing="chunked", repeat=b"x", every=0.02
            ),
            ScriptedResponse(302, {"location": "/"}, delay=0.1),
        ]
        for response in slow:
            async with small_web(response, seconds=0.3) as web:
                with pytest.raises(TimedOut):
                    await web.fetcher.get(web.url())
                await web.upstream.closed()
        async with SafeFetcher(resolve=never, seconds=0.1) as fetcher:
            with pytest.raises(TimedOut):
                await fetcher.get("http://www.example.com/")

    run(main())


def test_a_caller_who_leaves_closes_the_connection() -> None:
    async def main() -> None:
        async with small_web(ScriptedResponse(delay=float("inf"))) as web:
            task = asyncio.create_task(web.fetcher.get(web.url()))
            await web.upstream.received()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await web.upstream.disconnected()

    run(main())


def test_pages_of_one_host_share_a_connection() -> None:
    async def main() -> None:
        async with small_web(page()) as web:
            for number in range(3):
                await web.fetcher.get(web.url(f"/{number}"))
            assert web.upstream.connections == 1

    run(main())


def test_pages_of_hosts_that_share_an_address_do_not() -> None:
    async def main() -> None:
        names = Names(www_example_com=[[HERE]], other_example_net=[[HERE]])
        async with small_web(page(), names) as web:
            for host in (SITE, "other.example.net", SITE, "other.example.net"):
                await web.fetcher.get(web.url("/", host))
            assert web.upstream.connections == 2, "one could speak for the other"

    run(main())


def test_a_certificate_must_be_for_the_name_though_the_ip_address_is_dialled(tmp_path: Path) -> None:
    serving, trusting = certificate(tmp_path, SITE)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nok")
        await writer.drain()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, HERE, 0, ssl=serving)
        port = server.sockets[0].getsockname()[1]
        rules = SsrfPolicy(ports=frozenset({port}), trusted=frozenset({(HERE, port)}))
        names = Names(www_example_com=[[HERE]], other_example_com=[[HERE]])
        async with server, SafeFetcher(rules, resolve=names, tls=trusting) as fetcher:
            assert (await fetcher.get(f"https://{SITE}:{port}/")).body == b"ok"
            for host in ("other.example.com", HERE):
                with pytest.raises(Unreachable, match="certificate"):
                    await fetcher.get(f"https://{host}:{port}/")
            async with SafeFetcher(rules, resolve=names) as strict:
                with pytest.raises(Unreachable, match="certificate"):
                    await strict.get(f"https://{SITE}:{port}/")
        while len(asyncio.all_tasks()) > 1:  # the server has not yet noticed who hung up on it
            await asyncio.sleep(0)

    run(main())
