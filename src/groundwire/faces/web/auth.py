"""Logins, CSRF tokens and languages of visitors of the web page.

Where keys are required, a login with a key sets a signed cookie with the fingerprint of the key; it is valid
as long as the key is. Every browser also gets a cookie with a random number, and every form contains a token
derived from it, against cross-site request forgery.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import re
import secrets
from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from groundwire.chat.agents import LANGUAGES, preferred
from groundwire.errors import TurnedAway
from groundwire.files.text_file import PRIVATE, write_private
from groundwire.model.access import Role
from groundwire.model.value import value
from groundwire.server.asgi import Headers, HttpExchange

if TYPE_CHECKING:
    from groundwire.server.app import EndedLogins, HttpApp


LOGOUTS_FILE = "page-logouts"
_MAX_LOGOUTS_BYTES = 256 * 1024
"""Size in bytes from which expired lines are removed."""


class Logouts:
    """Logins that were ended before they expired, shared by all workers.

    One file in the data directory has a line for each: the id of the login, and when it would have expired.
    Every worker checks the file for changes before it accepts a cookie. Only a valid login can add a line.
    """

    def __init__(self, data_dir: str, clock: Callable[[], float]) -> None:
        self._path = Path(data_dir) / LOGOUTS_FILE
        self._clock = clock
        self._version: tuple[int, ...] = ()
        self._ended: dict[str, int] = {}

    def add(self, login: str, expires: int) -> None:
        """End a login."""
        descriptor = os.open(
            self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE
        )
        try:
            os.write(descriptor, f"{login} {expires}\n".encode())
        finally:
            os.close(descriptor)
        if self._path.stat().st_size > _MAX_LOGOUTS_BYTES:
            self._read()
            write_private(str(self._path), "".join(f"{id_} {end}\n" for id_, end in self._ended.items()))

    def __contains__(self, login: str) -> bool:
        """Has this login been ended?"""
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return False
        version = (status.st_mtime_ns, status.st_ino, status.st_size)
        if version != self._version:
            self._read()
            self._version = version
        return login in self._ended

    def _read(self) -> None:
        now = self._clock()
        pairs = (line.split(" ") for line in self._path.read_text("ascii").splitlines())
        self._ended = {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and int(pair[1]) > now}


BROWSER_COOKIE = "groundwire_visit"
LOGIN_COOKIE = "groundwire_login"
LANGUAGE_COOKIE = "groundwire_language"
THEME_COOKIE = "groundwire_theme"
NOTICE_COOKIE = "groundwire_notice"
"""What the last form did: the page that is shown next says so once."""
ZONE_COOKIE = "groundwire_zone"
"""The IANA name of the browser's time zone. The script of the page sets it."""
THEMES = ("system", "light", "dark")
LOGIN_SECONDS = 30 * 24 * 3600
"""Lifetime of a login."""
MAX_FORM_BYTES = 2 * 2**20
MAX_FORM_FIELDS = 200
FORM_TYPE = "application/x-www-form-urlencoded"
_FLAGS = "; Path=/; HttpOnly; SameSite=Strict"
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+/-]{0,63}")
_NOTICE = re.compile(r"[a-z_]{1,40}")
_YEAR = 365 * 24 * 3600


@value
class WebVisitor:
    """The visitor who sent a request."""

    owner: str
    """The owner of the visitor's sessions, agents and usage; empty where no key is needed."""
    language: str
    token: str
    """CSRF token that forms must contain."""
    is_logged_in: bool
    """True also where no key is needed."""
    keyed: bool
    """Are keys required?"""
    cookies: Headers = ()
    """`Set-Cookie` headers for the response."""
    key: str = ""
    """Fingerprint of the visitor's key; empty where no key is needed."""
    role: Role = "member"
    theme: str = THEMES[0]
    zone: str = "UTC"
    notice: str = ""
    """The key of the text to show once."""

    @property
    def is_manager(self) -> bool:
        """May the visitor see the admin page?"""
        return self.is_logged_in and self.role != "member"


class VisitorAuth:
    """Identifies visitors by their cookies."""

    def __init__(self, clock: Callable[[], float], languages: Collection[str] = LANGUAGES) -> None:
        self._clock = clock
        self._languages = languages
        self._logout_file: Logouts | None = None

    def visitor(self, app: HttpApp, exchange: HttpExchange) -> WebVisitor:
        """The visitor who sent a request."""
        cookies_sent = _cookies(exchange)
        browser_id = cookies_sent.get(BROWSER_COOKIE, "")
        cookies: Headers = ()
        if len(browser_id) != 32 or not browser_id.isalnum():
            browser_id = secrets.token_hex(16)
            cookies = (_cookie(BROWSER_COOKIE, browser_id, exchange),)
        chosen = cookies_sent.get(LANGUAGE_COOKIE, "")
        accepted = exchange.headers.get("accept-language", "")
        language = chosen if chosen in self._languages else preferred(accepted, self._languages)
        is_open = app.access.is_open()
        key = "" if is_open else self._key(app, cookies_sent.get(LOGIN_COOKIE, ""))
        token = _sign(app, f"form {browser_id}")
        return WebVisitor(
            app.access.owner(key),
            language,
            token,
            is_open or bool(key),
            not is_open,
            cookies,
            key,
            app.access.rights(key).role,
            *_preferences(cookies_sent),
        )

    def log_in(self, app: HttpApp, exchange: HttpExchange, key: str) -> Headers:
        """Log in with a key; returns the cookie. Raises `TurnedAway` if the key is not valid."""
        digest = app.access.check_login(exchange, key.strip())
        body = f"{digest}.{int(self._clock()) + LOGIN_SECONDS}.{secrets.token_hex(16)}"
        return (_cookie(LOGIN_COOKIE, f"{body}.{_sign(app, body)}", exchange, LOGIN_SECONDS),)

    def _key(self, app: HttpApp, cookie: str) -> str:
        """The fingerprint of the key that the cookie was given for; empty if the login is not valid."""
        body, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(_sign(app, body).encode(), signature.encode("utf-8", "replace")):
            return ""
        key_fingerprint, expires, login = (*body.split("."), "", "")[:3]
        if not login or float(expires) <= self._clock() or not app.access.is_valid(key_fingerprint):
            return ""
        return "" if login in self._logouts(app) else key_fingerprint

    async def log_out(self, app: HttpApp, exchange: HttpExchange) -> Headers:
        """Log out: the cookie is not accepted any more, not even a copy of it."""
        cookie = _cookies(exchange).get(LOGIN_COOKIE, "")
        if self._key(app, cookie):
            _, expires, login, _ = cookie.split(".")
            await asyncio.to_thread(self._logouts(app).add, login, int(expires))
        return (_cookie(LOGIN_COOKIE, "", exchange, 0),)

    def _logouts(self, app: HttpApp) -> EndedLogins:
        if app.ended_logins is not None:
            return app.ended_logins
        if self._logout_file is None:
            self._logout_file = Logouts(app.groundwire.config.data_dir, self._clock)
        return self._logout_file


def _preferences(cookies: Mapping[str, str]) -> tuple[str, str, str]:
    """Theme, time zone and notice."""
    theme, zone, notice = (cookies.get(name, "") for name in (THEME_COOKIE, ZONE_COOKIE, NOTICE_COOKIE))
    return (
        theme if theme in THEMES else THEMES[0],
        zone if _ZONE.fullmatch(zone) else "UTC",
        notice if _NOTICE.fullmatch(notice) else "",
    )


def preference_cookie(exchange: HttpExchange, name: str, chosen: str) -> Headers:
    """The cookie that stores a chosen language or theme."""
    return (_cookie(name, chosen, exchange, _YEAR),)


def notice_cookie(exchange: HttpExchange, notice: str) -> Headers:
    """The cookie of a notice; an empty one removes it."""
    return (_cookie(NOTICE_COOKIE, notice, exchange, 60 if notice else 0),)


def check_token(visitor: WebVisitor, given: str) -> None:
    """Check a CSRF token; raises 403."""
    if not hmac.compare_digest(visitor.token.encode(), given.encode("utf-8", "replace")):
        raise TurnedAway(status=403, message="this form is out of date; reload the page", code="STALE_FORM")


async def read_form(
    visitor: WebVisitor, exchange: HttpExchange, limit: int = MAX_FORM_BYTES
) -> Mapping[str, str]:
    """Read a form and check its token; returns its fields."""
    kind = exchange.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM_TYPE:
        raise TurnedAway(status=415, message=f"send the form as {FORM_TYPE}")
    if visitor.cookies:  # no form can be valid without the cookie of its page
        check_token(visitor, "")
    data = await exchange.read_body(limit)
    text = data.decode("utf-8", "replace")
    try:
        fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS))
    except ValueError:
        raise TurnedAway(status=413, message=f"a form has at most {MAX_FORM_FIELDS} fields") from None
    check_token(visitor, fields.get("token", ""))
    return fields


def _cookies(exchange: HttpExchange) -> Mapping[str, str]:
    pairs = (pair.partition("=") for pair in exchange.headers.get("cookie", "").split(";"))
    return {name.strip(): text.strip() for name, _, text in pairs}


def _cookie(name: str, text: str, exchange: HttpExchange, seconds: int | None = None) -> tuple[str, str]:
    secure = "; Secure" if exchange.scope.get("scheme") == "https" else ""
    age = "" if seconds is None else f"; Max-Age={seconds}"
    return "set-cookie", f"{name}={text}{_FLAGS}{secure}{age}"


def _sign(app: HttpApp, text: str) -> str:
    return hmac.new(app.secret, f"groundwire page {text}".encode("utf-8", "replace"), sha256).hexdigest()
