"""Who visits the page: their language, whose sessions they see, and that forms are theirs.

Where keys are needed, somebody who showed one gets a signed cookie that names its fingerprint; it holds as
long as the key does. Every browser gets a cookie with a random number besides, and every form repeats a
token made of it, so that nobody else can send one.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from groundwire.chat.agents import LANGUAGES, preferred
from groundwire.errors import TurnedAway
from groundwire.faces.gateway.asgi import Headers, Inbound
from groundwire.faces.web.logouts import Logouts
from groundwire.model.value import value

if TYPE_CHECKING:
    from groundwire.faces.gateway.app import Gateway

VISIT = "groundwire_visit"
LOGIN = "groundwire_login"
LANGUAGE = "groundwire_language"
HOLDS = 30 * 24 * 3600
"""Seconds until somebody has to show their key again."""
LARGEST = 2 * 2**20
FORM = "application/x-www-form-urlencoded"
_FLAGS = "; Path=/; HttpOnly; SameSite=Strict"


@value
class Visit:
    """One request of somebody's browser."""

    owner: str
    """The fingerprint of their key; empty where none is needed."""
    language: str
    token: str
    """What their forms must repeat."""
    is_known: bool
    """May they see anything?"""
    keyed: bool
    """Are keys needed here?"""
    cookies: Headers = ()
    """What their browser is to keep."""


class Desk:
    """Tells who visits."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ended: Logouts | None = None

    def visit(self, gateway: Gateway, inbound: Inbound) -> Visit:
        """Who sent a request."""
        kept = _cookies(inbound)
        number = kept.get(VISIT, "")
        cookies: Headers = ()
        if len(number) != 32 or not number.isalnum():
            number = secrets.token_hex(16)
            cookies = (_cookie(VISIT, number, inbound),)
        said = kept.get(LANGUAGE, "")
        language = said if said in LANGUAGES else preferred(inbound.headers.get("accept-language", ""))
        is_open = gateway.access.is_open()
        owner = "" if is_open else self._owner(gateway, kept.get(LOGIN, ""))
        token = _sign(gateway, f"form {number}")
        return Visit(owner, language, token, is_open or bool(owner), not is_open, cookies)

    def log_in(self, gateway: Gateway, inbound: Inbound, key: str) -> Headers:
        """The cookie of somebody who shows a key; raises `TurnedAway` for one that does not hold."""
        shown = gateway.access.check_login(inbound, key.strip())
        body = f"{shown}.{int(self._clock()) + HOLDS}.{secrets.token_hex(16)}"
        return (_cookie(LOGIN, f"{body}.{_sign(gateway, body)}", inbound, HOLDS),)

    def _owner(self, gateway: Gateway, cookie: str) -> str:
        body, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(_sign(gateway, body).encode(), signature.encode("utf-8", "replace")):
            return ""
        shown, until, session = (*body.split("."), "", "")[:3]
        if not session or float(until) <= self._clock() or not gateway.access.holds(shown):
            return ""
        return "" if self._logouts(gateway).holds(session) else shown

    def log_out(self, gateway: Gateway, inbound: Inbound) -> Headers:
        """End the login of a browser: its cookie is not accepted any more, whoever has a copy."""
        cookie = _cookies(inbound).get(LOGIN, "")
        if self._owner(gateway, cookie):
            _, until, session, _ = cookie.split(".")
            self._logouts(gateway).add(session, int(until))
        return (_cookie(LOGIN, "", inbound, 0),)

    def _logouts(self, gateway: Gateway) -> Logouts:
        if self._ended is None:
            self._ended = Logouts(gateway.groundwire.config.data_dir, self._clock)
        return self._ended


def keep_language(inbound: Inbound, language: str) -> Headers:
    """The cookie of a chosen language."""
    return (_cookie(LANGUAGE, language, inbound, 365 * 24 * 3600),) if language in LANGUAGES else ()


def check_token(visit: Visit, given: str) -> None:
    """Refuse a form that is not of the visitor's own page."""
    if not hmac.compare_digest(visit.token.encode(), given.encode("utf-8", "replace")):
        raise TurnedAway(
            status=403, message="this form is out of date; load the page again", code="STALE_FORM"
        )


async def read_form(visit: Visit, inbound: Inbound, largest: int = LARGEST) -> Mapping[str, str]:
    """The fields of a form of the visitor's."""
    kind = inbound.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM:
        raise TurnedAway(status=415, message=f"a form is sent as {FORM}")
    if visit.cookies:  # without the cookie of its page no form can be valid
        check_token(visit, "")
    data = await inbound.form(largest)
    fields = dict(parse_qsl(data.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=200))
    check_token(visit, fields.get("token", ""))
    return fields


def _cookies(inbound: Inbound) -> Mapping[str, str]:
    pairs = (pair.partition("=") for pair in inbound.headers.get("cookie", "").split(";"))
    return {name.strip(): text.strip() for name, _, text in pairs}


def _cookie(name: str, text: str, inbound: Inbound, seconds: int | None = None) -> tuple[str, str]:
    secure = "; Secure" if inbound.scope.get("scheme") == "https" else ""
    age = "" if seconds is None else f"; Max-Age={seconds}"
    return "set-cookie", f"{name}={text}{_FLAGS}{secure}{age}"


def _sign(gateway: Gateway, text: str) -> str:
    return hmac.new(gateway.secret, f"groundwire page {text}".encode("utf-8", "replace"), sha256).hexdigest()
