"""Domain lists: the syntax of entries, and the pages they match.

An entry is a host, which includes its subdomains, or a host and a path, in which `*` matches anything;
`docs.example.com/api` matches `/api` and `/api/v1`, not `/apis`. `www.` and case are ignored, and an
internationalised name equals its `xn--` form. Where a redirect hides the page, the provider may give the
domain; the path is then unknown, and an entry with a path counts against the page.
"""

from __future__ import annotations

from groundwire.model import SearchOptions, Source
from groundwire.text.lazy_pattern import lazy_pattern
from groundwire.text.urls import canonical_url, domain_of, is_same_or_subdomain

_ENTRY = lazy_pattern(r"(?:\*\.)?[^\W_](?:[\w-]*[^\W_])?(?:\.[\w-]*[^\W_])*\.?(?:/[^\s\"'<>\\]*)?")


def is_domain_entry(entry: str) -> bool:
    """Is this a host name, optionally with a path?"""
    return _ENTRY.fullmatch(entry) is not None


def admits(options: SearchOptions, source: Source) -> bool:
    """Do the domain lists allow this source?"""
    host, path = normalise_host(display_domain(source)), _path_of(source)
    if any(_covers(entry, host, path, if_unknown=True) for entry in options.blocked_domains):
        return False
    allowed = options.allowed_domains
    return not allowed or any(_covers(entry, host, path, if_unknown=False) for entry in allowed)


def covers_entry(outer: str, inner: str) -> bool:
    """Does one entry include everything that another one matches?"""
    host, _, path = inner.partition("/")
    # A `*` of the inner entry is an ordinary character here: only a `*` of the outer one matches it.
    return _covers(outer, normalise_host(host), path, if_unknown=False)


def display_domain(source: Source) -> str:
    """The domain of a source for display."""
    # A redirect hides its target: then the provider gives the domain.
    return (source.domain or domain_of(source.url)).lower().removeprefix("www.")


def normalise_host(host: str) -> str:
    """A host name in the form in which it is compared."""
    host = host.lower().rstrip(".").removeprefix("www.")
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


def entry_parts(entry: str) -> tuple[str, str]:
    """The normalised host of an entry, and its path; empty for a host alone."""
    host, _, path = entry.partition("/")
    return normalise_host(host.removeprefix("*.")), path if path.rstrip("*") else ""


def _path_of(source: Source) -> str | None:
    """The path without its first slash; None if the URL does not show it."""
    if source.domain and normalise_host(source.domain) != normalise_host(domain_of(source.url)):
        return None
    path = canonical_url(source.url).partition("?")[0].partition("/")[2]
    return None if ".." in path.lower().replace("%2e", ".").split("/") else path


def _covers(entry: str, host: str, path: str | None, *, if_unknown: bool) -> bool:
    domain, prefix = entry_parts(entry)
    if not is_same_or_subdomain(host, domain):
        return False
    if not prefix:
        return True
    return if_unknown if path is None else _path_matches(prefix, path)


def _path_matches(prefix: str, path: str) -> bool:
    """Does a path begin with a pattern? The match must end at a slash or at the end of the path."""
    first, *rest = prefix.split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for piece in rest[:-1]:
        at = path.find(piece, at) + len(piece)
        if at < len(piece):
            return False
    if prefix.endswith(("*", "/")):
        return not rest or path.find(rest[-1], at) >= 0
    if not rest:
        return path[at : at + 1] in ("", "/")
    while (at := path.find(rest[-1], at) + len(rest[-1])) >= len(rest[-1]):
        if path[at : at + 1] in ("", "/"):
            return True
    return False
