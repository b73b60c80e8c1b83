"""SSRF-safe fetch: which addresses are connected to, which redirects followed, which headers sent."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from pathlib import Path

import pytest

from groundwire.errors import FetchRefused, GroundwireError, TimedOut, Unreachable, UpstreamWireError
from groundwire.testing.script import Script, ScriptedResponse
from groundwire.transport.decoders import BodyDecoder
from groundwire.transport.fetch import Fetched, fetch_all
from groundwire.transport.safe_fetch import SafeFetcher
from groundwire.transport.ssrf import REFUSED, SsrfPolicy
from tests.figures import Figures
from tests.transport.canaries import FORBIDDEN_HOST, FakeResolver, Web, page, small_web
from tests.transport.certificates import certificate
from tests.transport.forbidden import FORMS, HOSTS, PRIVATE_ANSWERS

pytestmark = pytest.mark.server

SITE = "www.example.com"
HERE = "127.0.0.1"


def redirect(to: str, status: int = 302, **headers: str) -> ScriptedResponse:
    return ScriptedResponse(status, {"location": to, **headers})


async def refusal(web: Web, url: str) -> GroundwireError:
    with pytest.raises(FetchRefused) as caught:
        await web.fetcher.get(url)
    return caught.value


async def test_a_page_is_returned_with_its_headers() -> None:
    async def main() -> Fetched:
        async with small_web(page("<p>ä</p>", x_what="ever", set_cookie="a=b")) as web:
            fetched = await web.fetcher.get(web.url("/ä?q=1#f"))
            assert fetched.url == web.url("/%C3%A4?q=1")
            assert web.upstream.requests[0].target == "/%C3%A4?q=1"
            return fetched

    fetched = await main()
    assert (fetched.status, fetched.content_type, fetched.charset) == (200, "text/html", "utf-8")
    assert fetched.body == "<p>ä</p>".encode()
    headers = dict(fetched.headers)
    assert headers["x-what"] == "ever"
    assert "set-cookie" not in headers


async def test_a_connection_goes_to_the_checked_address_and_the_request_names_the_host() -> None:
    names = FakeResolver(www_example_com=[[HERE], [FORBIDDEN_HOST]])
    async with small_web(page(), names) as web:
        fetched = await web.fetcher.get(web.url("/x", SITE))
        assert fetched.url == web.url("/x", SITE)
        assert web.upstream.requests[0].headers["host"] == f"{SITE}:{web.port}"
        assert names.lookups == [SITE]  # once: the address that was checked is the one connected to


async def test_no_forbidden_address_is_connected_to_and_all_refusals_are_equal(figures: Figures) -> None:
    async def main() -> set[str]:
        async with small_web(page()) as web:
            # On the port of a real listener, which is allowed, and with the real resolver.
            urls = [f"http://{host}:{web.port}/" for host in HOSTS]
            urls += (url.replace(HERE, f"{HERE}:{web.port}") for url in FORMS)
            rules = SsrfPolicy(ports=frozenset({80, 443, web.port}))
            async with SafeFetcher(rules) as web.fetcher:
                messages = {(await refusal(web, url)).message for url in urls}
            figures.add("S1", "forbidden URLs", len(urls))
            figures.add("S1", "connections to their addresses", web.upstream.connections)
            assert web.upstream.connections == 0
            return messages

    assert await main() == {REFUSED}


async def test_without_rules_loopback_is_refused_as_everything_else() -> None:
    async with small_web(page()) as web, SafeFetcher() as fetcher:
        for url in (web.url(), f"http://localhost:{web.port}/", "http://127.0.0.1/"):
            with pytest.raises(FetchRefused, match=REFUSED):
                await fetcher.get(url)
        assert web.upstream.connections == 0


@pytest.mark.parametrize("answer", PRIVATE_ANSWERS)
async def test_a_public_name_that_resolves_to_a_private_address_is_refused(answer: str) -> None:
    for answers in ([answer], [HERE, answer], [answer, HERE]):
        async with small_web(page(), FakeResolver(www_example_com=[answers])) as web:
            assert (await refusal(web, web.url("/", SITE))).message == REFUSED
            assert web.upstream.connections == 0


async def test_dns_rebinding_is_checked_again_for_each_page() -> None:
    names = FakeResolver(www_example_com=[[HERE], [FORBIDDEN_HOST], ["::1"], [HERE, "::1"], [HERE]])
    async with small_web(page(), names) as web:
        url = web.url("/", SITE)
        assert (await web.fetcher.get(url)).status == 200
        for _ in range(3):
            assert (await refusal(web, url)).message == REFUSED
        assert (await web.fetcher.get(url)).status == 200
        assert len(web.upstream.requests) == 2


async def test_a_redirect_to_the_same_name_resolves_it_again() -> None:
    names = FakeResolver(www_example_com=[[HERE], [FORBIDDEN_HOST]])
    async with small_web(redirect("/again"), names) as web:
        assert (await refusal(web, web.url("/", SITE))).message == REFUSED
        assert names.lookups == [SITE, SITE]
        assert len(web.upstream.requests) == 1


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
async def test_a_redirect_is_checked_like_a_url(status: int, target: str, figures: Figures) -> None:
    names = FakeResolver(www_example_com=[[HERE]], inside_example_com=[[FORBIDDEN_HOST]])
    async with small_web(page(), names) as web:
        web.upstream.script = Script((redirect(target.format(port=web.port), status),))
        assert (await refusal(web, web.url("/", SITE))).message == REFUSED
    figures.add("S1", "redirects to forbidden addresses, all refused", 1, part=f"{status} {target}")


async def test_a_page_that_refreshes_itself_elsewhere_is_only_a_page() -> None:
    async with small_web(page()) as web:
        html = f'<meta http-equiv="refresh" content="0; url=http://127.0.0.2:{web.port}/">'
        web.upstream.script = Script((page(html, refresh=f"0; url=http://127.0.0.2:{web.port}/"),))
        fetched = await web.fetcher.get(web.url())
        assert fetched.body == html.encode()
        assert len(web.upstream.requests) == 1


def hops(count: int) -> Script:
    steps = {f"/{step}": (redirect(f"/{step + 1}"),) for step in range(count)}
    return Script((page("there"),), steps)


async def test_five_hops_are_followed_and_six_are_not() -> None:
    async with small_web(hops(5)) as web:
        fetched = await web.fetcher.get(web.url("/0"))
        assert (fetched.url, fetched.body) == (web.url("/5"), b"there")
    async with small_web(hops(6)) as web:
        assert (await refusal(web, web.url("/0"))).message == REFUSED
        assert len(web.upstream.requests) == 6


async def test_a_redirect_to_another_public_host_is_followed_with_nothing_of_the_first() -> None:
    names = FakeResolver(www_example_com=[[HERE]], other_example_net=[[HERE]])
    async with small_web(page(), names) as web:
        target = web.url("/there", "other.example.net")
        first = redirect(target, 301, **{"set-cookie": "id=1", "authorization": "Basic eA=="})
        web.upstream.script = Script((page(),), {"/here": (first,)})
        assert (await web.fetcher.get(web.url("/here", SITE))).url == target
        for seen in web.upstream.requests:
            assert {"cookie", "authorization", "referer"}.isdisjoint(seen.headers)
            assert seen.headers["accept-encoding"] == "gzip, deflate"
        assert web.upstream.requests[1].headers["host"] == f"other.example.net:{web.port}"


async def test_a_redirect_without_a_target_is_a_page() -> None:
    async def main() -> int:
        async with small_web(ScriptedResponse(302, {"content-type": "text/html"})) as web:
            return (await web.fetcher.get(web.url())).status

    assert await main() == 302


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with small_web(page(), FakeResolver(www_example_com=[[HERE]])) as web:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.2:{web.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        assert (await web.fetcher.get(web.url("/", SITE))).status == 200


async def test_an_unknown_name_is_unreachable() -> None:
    async with small_web(page(), FakeResolver()) as web:
        with pytest.raises(Unreachable, match=r"nowhere\.example\.com cannot be found"):
            await web.fetcher.get("http://nowhere.example.com/")


async def test_the_second_address_of_a_name_is_tried_if_the_first_does_not_answer() -> None:
    async with small_web(page()) as web:
        closed = "127.0.0.3"
        rules = SsrfPolicy(trusted=frozenset({(SITE, web.port)}))
        names = FakeResolver(www_example_com=[[closed, HERE]], silent_example_com=[[closed]])
        async with SafeFetcher(rules, resolve=names) as fetcher:
            assert (await fetcher.get(web.url("/", SITE))).status == 200
        rules = SsrfPolicy(trusted=frozenset({("silent.example.com", web.port)}))
        async with SafeFetcher(rules, resolve=names) as fetcher:
            with pytest.raises(Unreachable, match=r"cannot reach silent\.example\.com"):
                await fetcher.get(web.url("/", "silent.example.com"))


async def test_one_deadline_spans_names_hops_and_bytes() -> None:
    async def never(_: str) -> list[str]:
        await asyncio.sleep(600)
        return []

    slow = [
        ScriptedResponse(delay=float("inf")),
        ScriptedResponse(headers={"content-type": "text/html"}, body=b"x" * 100, stall_at=10),
        ScriptedResponse(headers={"content-type": "text/html"}, framing="chunked", repeat=b"x", every=0.02),
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


async def test_a_cancelled_caller_closes_the_connection() -> None:
    async with small_web(ScriptedResponse(delay=float("inf"))) as web:
        task = asyncio.create_task(web.fetcher.get(web.url()))
        await web.upstream.received()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await web.upstream.disconnected()


async def test_pages_of_one_host_share_a_connection() -> None:
    async with small_web(page()) as web:
        for number in range(3):
            await web.fetcher.get(web.url(f"/{number}"))
        assert web.upstream.connections == 1


async def test_pages_of_hosts_that_share_an_address_do_not() -> None:
    names = FakeResolver(www_example_com=[[HERE]], other_example_net=[[HERE]])
    async with small_web(page(), names) as web:
        for host in (SITE, "other.example.net", SITE, "other.example.net"):
            await web.fetcher.get(web.url("/", host))
        assert web.upstream.connections == 2, "one could speak for the other"


async def test_a_certificate_must_match_the_name_although_the_connection_is_to_the_ip_address(
    tmp_path: Path,
) -> None:
    serving, trusting = certificate(tmp_path, SITE)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nok")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, HERE, 0, ssl=serving)
    port = server.sockets[0].getsockname()[1]
    rules = SsrfPolicy(ports=frozenset({port}), trusted=frozenset({(HERE, port)}))
    names = FakeResolver(www_example_com=[[HERE]], other_example_com=[[HERE]])
    async with server, SafeFetcher(rules, resolve=names, tls=trusting) as fetcher:
        assert (await fetcher.get(f"https://{SITE}:{port}/")).body == b"ok"
        for host in ("other.example.com", HERE):
            with pytest.raises(Unreachable, match="certificate"):
                await fetcher.get(f"https://{host}:{port}/")
        async with SafeFetcher(rules, resolve=names) as strict:
            with pytest.raises(Unreachable, match="certificate"):
                await strict.get(f"https://{SITE}:{port}/")
    while len(asyncio.all_tasks()) > 1:  # the server has not yet noticed the disconnect
        await asyncio.sleep(0)


TEXT = b"Hello, world. " * 100
RAW = zlib.compressobj(wbits=-15)
BARE_DEFLATE = RAW.compress(TEXT) + RAW.flush()


def html(body: bytes, encoding: str = "", **more: object) -> ScriptedResponse:
    packed = {"content-encoding": encoding} if encoding else {}
    return ScriptedResponse(headers={"content-type": "text/html", **packed}, body=body, **more)  # type: ignore[arg-type]  # fields of a response


async def fetch_page(
    response: ScriptedResponse, accept: str = "text/html", limit: int = 2_000_000
) -> Fetched:
    async with small_web(response) as web:
        return await web.fetcher.get(web.url(), accept=accept, limit=limit)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("", TEXT),
        ("identity", TEXT),
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("X-GZip", gzip.compress(TEXT[:99], mtime=0) + gzip.compress(TEXT[99:], mtime=0)),
        ("gzip", gzip.compress(TEXT, mtime=0) + b"\0" * 8),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", BARE_DEFLATE),
    ],
)
async def test_a_body_is_decompressed(encoding: str, body: bytes) -> None:
    assert (await fetch_page(html(body, encoding))).body == TEXT
    assert (await fetch_page(html(body, encoding, framing="chunked"))).body == TEXT


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_compressed_body_may_arrive_in_chunks(size: int) -> None:
    for packed, encoding, expected in (
        (gzip.compress(TEXT, mtime=0) * 2, "gzip", TEXT * 2),
        (BARE_DEFLATE, "deflate", TEXT),
    ):
        unpacker = BodyDecoder(encoding, 10_000)
        for at in range(0, len(packed), size):
            unpacker.feed(packed[at : at + size])
        assert unpacker.close() == expected


@pytest.mark.parametrize(
    "response",
    [
        html(b"x", "br"),
        html(b"x", "gzip, gzip"),
        html(b"this is not packed", "gzip"),
        html(gzip.compress(TEXT, mtime=0)[:-9], "gzip"),
        html(b"x" * 1001),
        html(b"x" * 1001, framing="chunked"),
        html(gzip.compress(b"x" * 1001, mtime=0), "gzip"),
        html(zlib.compress(b"x" * 1001), "deflate"),
        ScriptedResponse(headers={"content-type": "application/pdf"}, body=b"%PDF"),
        ScriptedResponse(body=b"typeless"),
        ScriptedResponse(raw=b"SSH-2.0-OpenSSH_9.2\r\n"),
        ScriptedResponse(raw=b"HTTP/1.1 204 No\r\ncontent-type: text/html\r\ncontent-length: five\r\n\r\n"),
        ScriptedResponse(raw=b"HTTP/1.1 200 OK\r\n" + b"x-long: " + b"y" * 100_000 + b"\r\n\r\n"),
    ],
)
async def test_a_body_that_is_too_large_broken_or_of_another_type_is_an_error(
    response: ScriptedResponse,
) -> None:
    with pytest.raises(UpstreamWireError):
        await fetch_page(response, limit=1000)


async def test_a_truncated_body_is_an_error() -> None:
    with pytest.raises(Unreachable):
        await fetch_page(html(TEXT, cut_at=50))
    with pytest.raises(Unreachable):
        await fetch_page(html(TEXT, cut_at=50, cut="rst"))


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_decompression_bomb_is_refused_before_it_fills_the_memory(encoding: str) -> None:
    machine = zlib.compressobj(9, wbits=31 if encoding == "gzip" else 15)
    block = b"\0" * 1_000_000
    bomb = b"".join([machine.compress(block) for _ in range(100)] + [machine.flush()])
    assert len(bomb) < 110_000
    tracemalloc.start()
    try:
        with pytest.raises(UpstreamWireError, match="larger than 2000000 bytes"):
            await fetch_page(html(bomb, encoding))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_compressed_data_that_decodes_to_nothing_is_bounded_too() -> None:
    unpacker = BodyDecoder("gzip", 100_000)
    with pytest.raises(UpstreamWireError, match="larger"):  # noqa: PT012
        for _ in range(100_000):
            unpacker.feed(gzip.compress(b"", mtime=0))


@pytest.mark.parametrize("accept", ["text/*", "*/*", "application/xml, TEXT/Plain;q=0.5"])
async def test_several_types_can_be_accepted(accept: str) -> None:
    response = ScriptedResponse(headers={"content-type": "Text/Plain; charset=latin-1"}, body=b"\xe4")
    fetched = await fetch_page(response, accept)
    assert (fetched.content_type, fetched.charset, fetched.body) == ("text/plain", "latin-1", b"\xe4")


async def test_an_error_page_of_another_type_is_reported_by_its_status_alone() -> None:
    fetched = await fetch_page(ScriptedResponse(404, {"content-type": "text/html"}, b"gone"), "text/plain")
    assert (fetched.status, fetched.body) == (404, b"")
    fetched = await fetch_page(ScriptedResponse(404, {"content-type": "text/plain"}, b"gone"), "text/plain")
    assert (fetched.status, fetched.body) == (404, b"gone")


async def test_many_pages_are_returned_in_order_each_with_its_own_outcome() -> None:
    script = Script((page(),), {"/slow": (ScriptedResponse(delay=float("inf")),), "/late": (page(),)})
    async with small_web(script, seconds=600) as web:
        urls = [web.url("/slow"), web.url("/a"), "http://10.0.0.1/", web.url("/late"), web.url("/a")]
        outcomes = await fetch_all(web.fetcher, urls, at_once=2, within=1.5)
        assert list(outcomes) == urls[:4]
        slow, first, inside, late = outcomes.values()
        assert isinstance(slow, TimedOut)
        assert isinstance(first, Fetched)
        assert isinstance(inside, FetchRefused)
        assert isinstance(late, Fetched)
        await web.upstream.disconnected()


async def test_no_more_pages_are_fetched_at_once_than_allowed() -> None:
    async with small_web(ScriptedResponse(delay=float("inf"))) as web:
        urls = [web.url(f"/{number}") for number in range(9)]
        outcomes = await fetch_all(web.fetcher, urls, at_once=3, within=1.0)
        assert all(isinstance(outcome, TimedOut) for outcome in outcomes.values())
        assert len(web.upstream.requests) == 3
        await web.upstream.closed()


async def test_cancelling_many_fetches_leaves_nothing_open() -> None:
    async with small_web(ScriptedResponse(delay=float("inf"))) as web:
        urls = [web.url(f"/{number}") for number in range(4)]
        task = asyncio.create_task(fetch_all(web.fetcher, urls, within=10))
        await web.upstream.received(4)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() - {asyncio.current_task()} <= set(web.upstream._open)
        await web.upstream.closed()


async def test_an_empty_list_of_urls_returns_at_once() -> None:
    async def main() -> dict[str, object]:
        async with small_web(page()) as web:
            return dict(await fetch_all(web.fetcher, []))

    assert await main() == {}
