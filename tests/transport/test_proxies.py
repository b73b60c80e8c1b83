"""Which way a call takes, as the environment says."""

from __future__ import annotations

import pytest

from groundwire.errors import ConfigError, Unreachable
from groundwire.testing.script import Script, ScriptedResponse, json_response
from groundwire.testing.upstream import Upstream
from groundwire.transport.http import Deadlines, Http, HttpRequest
from groundwire.transport.proxies import proxy_for
from tests.transport.bounded import run

P = "http://proxy.example:3128"
Q = "http://other.example:3128"
API = "https://api.example/v1"


@pytest.mark.parametrize(
    ("url", "env", "expected"),
    [
        (API, {}, None),
        (API, {"HTTPS_PROXY": P}, P),
        (API, {"https_proxy": P}, P),
        (API, {"HTTPS_PROXY": P, "https_proxy": Q}, Q),
        (API, {"HTTPS_PROXY": P, "https_proxy": ""}, None),
        (API, {"HTTP_PROXY": P}, None),
        (API, {"ALL_PROXY": P}, P),
        (API, {"ALL_PROXY": P, "HTTPS_PROXY": Q}, Q),
        (API, {"Https_Proxy": P}, None),
        ("http://api.example/", {"HTTP_PROXY": P}, P),
        ("http://api.example/", {"HTTP_PROXY": P, "REQUEST_METHOD": "GET"}, None),
        ("http://api.example/", {"http_proxy": P, "REQUEST_METHOD": "GET"}, P),
        (API, {"HTTPS_PROXY": "proxy.example:3128"}, P),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "api.example"}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "example"}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": ".example"}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "*.example"}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "*"}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "a.test, API.Example "}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "pi.example"}, P),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "xample"}, P),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": ""}, P),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": ","}, P),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "api.example:443"}, None),
        (API, {"HTTPS_PROXY": P, "NO_PROXY": "api.example:8443"}, P),
        ("https://10.1.2.3/", {"HTTPS_PROXY": P, "NO_PROXY": "10.0.0.0/8"}, None),
        ("https://11.1.2.3/", {"HTTPS_PROXY": P, "NO_PROXY": "10.0.0.0/8"}, P),
        ("https://[2001:db8::1]/", {"HTTPS_PROXY": P, "NO_PROXY": "2001:db8::1"}, None),
        ("http://localhost:11434/v1", {"HTTP_PROXY": P}, None),
        ("http://127.0.0.1:11434/v1", {"ALL_PROXY": P}, None),
        ("http://[::1]:11434/v1", {"ALL_PROXY": P}, None),
        ("https://user:pass@api.example/", {"HTTPS_PROXY": P, "NO_PROXY": "api.example"}, None),
    ],
)
def test_the_environment_names_the_proxy(url: str, env: dict[str, str], expected: str | None) -> None:
    assert proxy_for(url, env) == expected


def test_a_proxy_that_cannot_be_used_is_told_without_its_password() -> None:
    with pytest.raises(ConfigError, match="must be given as an http address") as caught:
        proxy_for(API, {"ALL_PROXY": "socks5://user:hunter2hunter2@proxy.example"})
    assert "hunter2" not in caught.value.message


def test_a_call_goes_through_the_proxy_with_its_credentials_and_nothing_else_does() -> None:
    async def main() -> None:
        async with Upstream(json_response({"ok": 1})) as proxy:
            port = proxy.url.rpartition(":")[2]
            env = {"HTTP_PROXY": f"http://me:sesame@127.0.0.1:{port}"}
            async with Http(env) as http:
                for url in ("http://provider.example/v1/x?y=1", f"{proxy.url}/direct"):
                    async with http.open(
                        HttpRequest("POST", url, {"x-key": "k"}, b"{}"), Deadlines()
                    ) as exchange:
                        assert await exchange.body() == b'{"ok":1}'
            through, direct = proxy.requests
            assert through.target == "http://provider.example/v1/x?y=1"
            assert through.headers["proxy-authorization"] == "Basic bWU6c2VzYW1l"
            assert through.headers["host"] == "provider.example"
            assert direct.target == "/direct"
            assert "proxy-authorization" not in direct.headers

    run(main())


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (Script((ScriptedResponse(407),)), "the proxy does not lead to provider.example: HTTP 407"),
        (Script(door="closed"), "cannot reach the proxy for provider.example"),
    ],
)
def test_a_proxy_that_fails_is_told_as_such(script: Script, words: str) -> None:
    async def main() -> None:
        async with Upstream(script) as proxy:
            env = {"HTTPS_PROXY": proxy.url.replace("http://", "http://me:sesame1234@")}
            async with Http(env) as http:
                with pytest.raises(Unreachable, match=words) as caught:
                    async with http.open(HttpRequest("POST", "https://provider.example/", {}), Deadlines()):
                        pass
            assert "sesame" not in str(caught.value)

    run(main())
