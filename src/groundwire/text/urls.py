"""Web addresses: which may be shown, which mean the same page, whose they are."""

from __future__ import annotations

import re

# One parser for all: what it calls the host is what is shown and what is compared. A backslash counts as
# a slash, as in browsers, so that no address can show one host and lead to another.
_ADDRESS = re.compile(r"(https?)://([^/?#]*)([^?#]*)(?:\?([^#]*))?", re.IGNORECASE)
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(?::(.*))?", re.DOTALL)
_RESERVED = frozenset(' <>"')
_TRACKING = re.compile(
    r"utm_\w+|fbclid|gclid|gclsrc|dclid|gbraid|wbraid|msclkid|yclid|igshid|mc_[ce]id|_hs(?:enc|mi)|srsltid",
    re.IGNORECASE,
)
_DEFAULT_PORTS = {"http": "80", "https": "443"}


def safe_url(url: str) -> str:
    """The address with what cannot stand in one percent-encoded; empty unless it is http or https.

    Gemini sends raw spaces in the addresses of its weather cards. Signs that nobody sees, or that turn the
    direction of what follows, are encoded too.
    """
    url = url.strip().replace("\\", "/")
    match = _ADDRESS.match(url)
    if match is None or not _host(match)[0]:
        return ""
    if url.isprintable() and _RESERVED.isdisjoint(url):
        return url
    return "".join(
        sign if sign.isprintable() and sign not in _RESERVED else _percent_encoded(sign) for sign in url
    )


def canonical_url(url: str) -> str:
    """A key that is equal for addresses of the same page; not for show."""
    match = _ADDRESS.match(url.strip().replace("\\", "/"))
    if match is None:
        return url
    scheme, _, path, query = match.groups()
    host, port = _host(match)
    port = "" if port in ("", _DEFAULT_PORTS[scheme.lower()]) else f":{port}"
    fields = [field for field in (query or "").split("&") if field and not _is_tracking(field)]
    return host.removeprefix("www.") + port + path.rstrip("/") + ("?" + "&".join(fields) if fields else "")


def domain_of(url: str) -> str:
    """The host an address leads to, without `www.`; empty if it is no web address."""
    match = _ADDRESS.match(url.strip().replace("\\", "/"))
    return "" if match is None else _host(match)[0].removeprefix("www.")


def _host(match: re.Match[str]) -> tuple[str, str]:
    """Name and port; the colons of an IPv6 address belong to its name."""
    parts = _HOST.match(match[2].rpartition("@")[2].lower())
    return (parts[1].rstrip("."), parts[2] or "") if parts else ("", "")


def _percent_encoded(sign: str) -> str:
    return "".join(f"%{byte:02X}" for byte in sign.encode("utf-8", "replace"))


def _is_tracking(field: str) -> bool:
    return _TRACKING.fullmatch(field.partition("=")[0]) is not None


def is_same_or_subdomain(host: str, domain: str) -> bool:
    """Is a host the domain itself, or a name below it? `evilexample.com` is not one of `example.com`."""
    return host == domain or host.endswith(f".{domain}")
