"""Web addresses: which may be shown, which mean the same page, whose they are."""

from __future__ import annotations

import re

# One parser for all: what it calls the host is what is shown and what is compared. A backslash counts as
# a slash, as in browsers, so that no address can show one host and lead to another.
_ADDRESS = re.compile(r"(https?)://([^/?#]*)([^?#]*)(?:\?([^#]*))?", re.IGNORECASE)
_UNSAFE = re.compile(r'[\x00-\x20\x7f-\xa0\u2028\u2029<>"]')
_TRACKING = re.compile(
    r"utm_\w+|fbclid|gclid|gclsrc|dclid|gbraid|wbraid|msclkid|yclid|igshid|mc_[ce]id|_hs(?:enc|mi)|srsltid",
    re.IGNORECASE,
)
_DEFAULT_PORTS = {"http": "80", "https": "443"}


def safe_address(url: str) -> str:
    """The address with what cannot stand in one percent-encoded; empty unless it is http or https.

    Gemini sends raw spaces in the addresses of its weather cards.
    """
    url = url.strip().replace("\\", "/")
    match = _ADDRESS.match(url)
    if match is None or not _host(match):
        return ""
    return _UNSAFE.sub(lambda sign: "".join(f"%{byte:02X}" for byte in sign[0].encode()), url)


def canonical_address(url: str) -> str:
    """A key that is equal for addresses of the same page; not for show."""
    match = _ADDRESS.match(url.strip().replace("\\", "/"))
    if match is None:
        return url
    scheme, _, path, query = match.groups()
    host, _, port = _host(match).partition(":")
    port = "" if port in ("", _DEFAULT_PORTS[scheme.lower()]) else f":{port}"
    fields = [field for field in (query or "").split("&") if field and not _is_tracking(field)]
    return host.removeprefix("www.") + port + path.rstrip("/") + ("?" + "&".join(fields) if fields else "")


def domain_of(url: str) -> str:
    """The host an address leads to, without `www.`; empty if it is no web address."""
    match = _ADDRESS.match(url.strip().replace("\\", "/"))
    return "" if match is None else _host(match).partition(":")[0].removeprefix("www.")


def _host(match: re.Match[str]) -> str:
    return match[2].rpartition("@")[2].lower().rstrip(".")


def _is_tracking(field: str) -> bool:
    return _TRACKING.fullmatch(field.partition("=")[0]) is not None
