"""Domain lists: what an entry may look like, and which pages it covers.

An entry is a host, which covers what lies below it, or a host and a path, in which `*` stands for anything;
`docs.example.com/api` covers `/api` and `/api/v1`, not `/apis`. `www.` and case do not count, and a name in
another script equals its `xn--` form. Where a redirect hides the page, its provider may tell the domain; the
path is then unknown, and what cannot be seen counts against the page.
"""

from __future__ import annotations

import re

from groundwire.model import SearchOptions, Source
from groundwire.text.urls import canonical_url, domain_of, is_same_or_subdomain

_ENTRY = re.compile(r"(?:\*\.)?[^\W_](?:[\w-]*[^\W_])?(?:\.[\w-]*[^\W_])*\.?(?:/[^\s\"'<>\\]*)?")


def is_domain_entry(entry: str) -> bool:
    """Is this a bare host, perhaps with a path?"""
    return _ENTRY.fullmatch(entry) is not None


def admits(options: SearchOptions, source: Source) -> bool:
    """Do the domain lists allow this source?"""
    host, path = normalise_host(display_domain(source)), _path_of(source)
    if any(_covers(entry, host, path, unseen=True) for entry in options.blocked_domains):
        return False
    allowed = options.allowed_domains
    return not allowed or any(_covers(entry, host, path, unseen=False) for entry in allowed)


def covers_entry(outer: str, inner: str) -> bool:
    """Does one entry cover all that another one covers?"""
    host, _, path = inner.partition("/")
    return _covers(outer, normalise_host(host), path.rstrip("*"), unseen=False)


def display_domain(source: Source) -> str:
    """Whose page a source is, as its reader will see it."""
    # A redirect hides its target: then the provider's own word for the domain counts.
    return (source.domain or domain_of(source.url)).lower().removeprefix("www.")


def normalise_host(host: str) -> str:
    """A host as it is compared."""
    host = host.lower().rstrip(".").removeprefix("www.")
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


def entry_parts(entry: str) -> tuple[str, str]:
    """The host of an entry as it is compared, and its path; empty where the host is all it says."""
    host, _, path = entry.partition("/")
    return normalise_host(host.removeprefix("*.")), path if path.rstrip("*") else ""


def _path_of(source: Source) -> str | None:
    """The path without its first slash; None where the address does not show it."""
    if source.domain and normalise_host(source.domain) != normalise_host(domain_of(source.url)):
        return None
    path = canonical_url(source.url).partition("?")[0].partition("/")[2]
    return None if ".." in path.lower().replace("%2e", ".").split("/") else path


def _covers(entry: str, host: str, path: str | None, *, unseen: bool) -> bool:
    domain, prefix = entry_parts(entry)
    if not is_same_or_subdomain(host, domain):
        return False
    if not prefix:
        return True
    return unseen if path is None else _fits(prefix, path)


def _fits(prefix: str, path: str) -> bool:
    """Does a path begin so? It must go on at a slash, or end, unless the prefix says otherwise."""
    first, *others = prefix.split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for piece in others[:-1]:
        at = path.find(piece, at) + len(piece)
        if at < len(piece):
            return False
    if prefix.endswith(("*", "/")):
        return not others or path.find(others[-1], at) >= 0
    if not others:
        return path[at : at + 1] in ("", "/")
    while (at := path.find(others[-1], at) + len(others[-1])) >= len(others[-1]):
        if path[at : at + 1] in ("", "/"):
            return True
    return False
