"""Proxy settings from the environment: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`.

Lower-case names win over upper-case ones. Loopback is never reached through a proxy. `NO_PROXY` lists
domains, which include their subdomains, addresses, networks (`10.0.0.0/8`), or `*` for all; a port limits an
entry to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from groundwire.errors import ConfigError
from groundwire.text.urls import is_same_or_subdomain

_SUFFIX = "_proxy"
_PORTS = {"http": "80", "https": "443"}


def proxy_for(url: str, env: Mapping[str, str]) -> str | None:
    """The proxy for a URL; None if there is none."""
    return proxy_among(proxies_in(env), url)


def proxy_among(proxies: Mapping[str, str], url: str) -> str | None:
    """The proxy for a URL among parsed settings."""
    scheme = url.partition(":")[0].lower()
    proxy = proxies.get(scheme) or proxies.get("all")
    if not proxy:
        return None
    host, port = host_of(url), _port_of(url) or _PORTS.get(scheme, "")
    if _is_loopback(host) or _is_exempt(host, port, proxies.get("no", "")):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if not proxy.lower().startswith(("http://", "https://")):
        raise ConfigError(
            f"the proxy for {scheme} must be given as an http address; other kinds are not supported"
        )
    return proxy


def host_of(url: str) -> str:
    """The host of a URL, without credentials."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _port_of(url: str) -> str:
    try:
        return str(urlsplit(url).port or "")
    except ValueError:
        return ""


def proxies_in(env: Mapping[str, str]) -> dict[str, str]:
    """Proxies by scheme, with the keys `all` and `no`."""
    found: dict[str, str] = {}
    for name, text in sorted(env.items()):  # upper case sorts first, so lower case overrides it
        if name.lower().endswith(_SUFFIX) and name in (name.lower(), name.upper()):
            found[name.lower().removesuffix(_SUFFIX)] = text.strip()
    if "REQUEST_METHOD" in env and "http_proxy" not in env:
        found.pop("http", None)  # in a CGI program HTTP_PROXY is a header that a client sent
    return found


def _is_exempt(host: str, port: str, entries: str) -> bool:
    return any(_covers(entry.strip().lower(), host, port) for entry in entries.split(","))


def _covers(entry: str, host: str, port: str) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        return _is_within(host, entry)
    name, _, wanted = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
    name = name.removeprefix("*").removeprefix(".").strip("[]")
    return bool(name) and wanted in ("", port) and is_same_or_subdomain(host, name)


def _is_within(host: str, network: str) -> bool:
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    if is_same_or_subdomain(host, "localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
