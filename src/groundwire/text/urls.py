"""URLs: sanitising for display, canonical form, domain."""

from __future__ import annotations

import re

from groundwire.text.lazy_pattern import lazy_pattern

# One parser for everything: the host that is displayed is the host that is compared. A backslash counts as a
# slash, as in browsers, so that a URL cannot show one host and lead to another.
_URL = lazy_pattern(r"(https?)://([^/?#]*)([^?#]*)(?:\?([^#]*))?", re.IGNORECASE)
# URLs that need no change: all of them lower-case hosts, and no character that is invisible or encoded.
_PLAIN_URL = lazy_pattern(r"https?://[a-z0-9.-]*[a-z0-9](?::[0-9]+)?(?:[/?#][!#-;=?-\[\]-~]*)?")
_HOST = lazy_pattern(r"(\[[^\]]*\]|[^:]*)(?::(.*))?", re.DOTALL)
_RESERVED = frozenset(' <>"')
_TRACKING = lazy_pattern(
    r"utm_\w+|fbclid|gclid|gclsrc|dclid|gbraid|wbraid|msclkid|yclid|igshid|mc_[ce]id|_hs(?:enc|mi)|srsltid",
    re.IGNORECASE,
)
_LOCAL_SCHEMES = ("local:", "file:///")
"""Addresses of the embedded index: built-in pages, and files that were added without a base URL."""
_DEFAULT_PORTS = {"http": "80", "https": "443"}


def safe_url(url: str) -> str:
    """The URL with invalid characters percent-encoded; empty unless it is http or https.

    Gemini sends raw spaces in the URLs of its weather cards. Invisible characters and those that change the
    direction of text are encoded too.
    """
    if _PLAIN_URL.fullmatch(url):
        return url
    url = url.strip().replace("\\", "/")
    match = _URL.match(url)
    return "" if match is None or not _host(match)[0] else _printable(url)


def shown_address(url: str) -> str:
    """The address of a source as text: a web URL, or a page that only this machine has, which is no link.

    Other addresses are not shown: they may be scripts or commands."""
    return safe_url(url) or (_printable(url) if url.startswith(_LOCAL_SCHEMES) else "")


def _printable(url: str) -> str:
    if url.isprintable() and _RESERVED.isdisjoint(url):
        return url
    return "".join(
        char if char.isprintable() and char not in _RESERVED else _percent_encoded(char) for char in url
    )


def canonical_url(url: str) -> str:
    """A key that is equal for URLs of the same page; not for display."""
    match = _URL.match(url.strip().replace("\\", "/"))
    if match is None:
        return url
    scheme, _, path, query = match.groups()
    host, port = _host(match)
    port = "" if port in ("", _DEFAULT_PORTS[scheme.lower()]) else f":{port}"
    fields = [field for field in (query or "").split("&") if field and not _is_tracking(field)]
    return host.removeprefix("www.") + port + path.rstrip("/") + ("?" + "&".join(fields) if fields else "")


def canonical_section(url: str) -> str:
    """A key that is equal for URLs of the same section of a page: the page and the fragment, without the
    directives that highlight words (`#:~:text=…`)."""
    fragment = url.partition("#")[2].partition(":~:")[0].strip()
    page = canonical_url(url)
    return f"{page.partition('#')[0]}#{fragment}" if fragment else page


def domain_of(url: str) -> str:
    """The host of a URL, without `www.`; empty if it is not http or https."""
    match = _URL.match(url.strip().replace("\\", "/"))
    return "" if match is None else _host(match)[0].removeprefix("www.")


def _host(match: re.Match[str]) -> tuple[str, str]:
    """Host and port; the colons of an IPv6 address belong to the host."""
    parts = _HOST.match(match[2].rpartition("@")[2].lower())
    return (parts[1].rstrip("."), parts[2] or "") if parts else ("", "")


def _percent_encoded(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))


def _is_tracking(field: str) -> bool:
    return _TRACKING.fullmatch(field.partition("=")[0]) is not None


def is_same_or_subdomain(host: str, domain: str) -> bool:
    """Is a host the domain itself or a subdomain? `evilexample.com` is not a subdomain of `example.com`."""
    return host == domain or host.endswith(f".{domain}")
