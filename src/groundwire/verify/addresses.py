"""What a response says about an address: a page, a redirect, nothing any more, or a wall in front of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

from groundwire.errors import FetchRefused, GroundwireError, Unreachable
from groundwire.text.urls import canonical_url, domain_of, is_same_or_subdomain, safe_url
from groundwire.transport.fetch import NO_SUCH_HOST, Fetched
from groundwire.verify.facts import AddressFact, AddressVerdict

_STATUSES: Mapping[int, AddressVerdict] = {
    **dict.fromkeys((404, 410), "gone"),
    **dict.fromkeys((401, 402, 403, 407, 429, 451), "blocked"),
}
_REDIRECTS = range(300, 400)
_FEW_WORDS = 250
"""Words of a page below which a form or a notice is all that it has. Chosen by hand."""
_LOGIN_PATH = re.compile(
    r"/(?:log-?in|sign-?in|signon|sso|auth|oauth2?|anmelden|anmeldung|account/login)(?:[/.]|$)", re.IGNORECASE
)
_PASSWORD = re.compile(rb"<input[^>]{0,300}type\s*=\s*[\"']?password", re.IGNORECASE)
_CHALLENGE_HEADERS = (("cf-mitigated", "challenge"), ("x-datadome", "protected"))
_CHALLENGE = re.compile(
    r"just a moment|attention required|verify (?:that )?you are (?:a )?human|are you a robot|not a robot"
    r"|captcha|access denied|zugriff verweigert|checking your browser|bist du ein mensch",
    re.IGNORECASE,
)
_LOGIN_TITLE = re.compile(
    r"^\W*(?:log ?in|sign ?in|anmelden|anmeldung|einloggen|subscribe to (?:read|continue))\b", re.IGNORECASE
)
_MISSING_TITLE = re.compile(
    r"\b(?:page|seite|file) (?:was |wurde |konnte )?(?:not|nicht) (?:be )?(?:found|gefunden)"
    r"|^\W*(?:error )?404\b|^\W*not found\W*$|^\W*nicht gefunden\W*$",
    re.IGNORECASE,
)
_SCRIPTED = 4
"""Scripts from which a page with next to no text is written by them."""
_NEXT_TO_NOTHING = 40


def follows(url: str, target: str) -> bool:
    """Is a redirect followed? Only within the site: other sites are not cited."""
    one, other = domain_of(url), domain_of(target)
    return bool(one and other) and (is_same_or_subdomain(one, other) or is_same_or_subdomain(other, one))


def follows_all(_: str, __: str) -> bool:
    """Is a redirect followed? Every one that the SSRF policy allows."""
    return True


def error_fact(error: GroundwireError) -> AddressFact:
    """The fact for a page that could not be fetched."""
    if isinstance(error, Unreachable) and error.upstream_code == NO_SUCH_HOST:
        return AddressFact("no_such_host", error.message)
    if isinstance(error, FetchRefused):
        return AddressFact("unchecked", "it is not an address of the public web")
    return AddressFact("unchecked", error.message)


def response_fact(url: str, fetched: Fetched) -> AddressFact:
    """The fact for a response, before its text is read."""
    status = fetched.status
    if status in _REDIRECTS:
        target = redirect_target(fetched)
        return AddressFact("redirected" if target else "unchecked", f"HTTP {status}", target)
    target = fetched.url if canonical_url(fetched.url) != canonical_url(url) else ""
    headers = dict(fetched.headers)
    if any(headers.get(name, "").lower().startswith(value) for name, value in _CHALLENGE_HEADERS):
        return AddressFact("blocked", f"HTTP {status}, the site checks for robots", target)
    if status in _STATUSES:
        return AddressFact(_STATUSES[status], f"HTTP {status}", target)
    if not 200 <= status < 300:
        return AddressFact("unchecked", f"HTTP {status}", target)
    return AddressFact(
        "redirected" if target else "alive", f"HTTP {status}", target, "web", is_cut=fetched.is_cut
    )


def redirect_target(fetched: Fetched) -> str:
    """The absolute target of a redirect; empty if it is not a web address."""
    location = dict(fetched.headers).get("location", "")
    try:
        return safe_url(urljoin(fetched.url, location)) if location else ""
    except ValueError:
        return ""


def page_fact(known: AddressFact, fetched: Fetched, title: str, text: str) -> AddressFact:
    """The fact for a page that was read: a login, a challenge and a polite 404 have the status 200 too."""
    words = len(text.split())
    if words < _FEW_WORDS:
        if _MISSING_TITLE.search(title):
            return _changed(known, "gone", f"HTTP {fetched.status}, but its title is {title!r}")
        if _CHALLENGE.search(title):
            return _changed(known, "blocked", f"the site checks for robots: {title!r}")
        if _PASSWORD.search(fetched.body) or _LOGIN_TITLE.search(title):
            return _changed(known, "blocked", "it is a login page")
    if known.target and _LOGIN_PATH.search(urlsplit(known.target).path):
        return _changed(known, "blocked", f"it leads to a login page: {known.target}")
    return known


def is_written_by_scripts(fetched: Fetched, text: str) -> bool:
    """Does a page show next to nothing unless its scripts run?"""
    body = fetched.body.lower()
    return len(text.split()) < _NEXT_TO_NOTHING and body.count(b"<script") >= _SCRIPTED


def _changed(known: AddressFact, verdict: AddressVerdict, evidence: str) -> AddressFact:
    return AddressFact(verdict, evidence, known.target)
