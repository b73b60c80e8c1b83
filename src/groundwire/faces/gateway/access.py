"""Who may come in: the Host that was meant, the Origin that asks, the key that is shown.

On loopback no key is needed while none was ever made; any other address needs keys, and does not start
without. Host and Origin are checked on every route: a page in a browser must not reach a gateway by a name of
its own (DNS rebinding), nor in a user's name.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Collection, Iterable
from hashlib import sha256
from ipaddress import ip_address
from typing import cast

from groundwire.errors import ConfigError, TurnedAway
from groundwire.faces.gateway.addresses import ClientAddresses
from groundwire.faces.gateway.asgi import Headers, Inbound
from groundwire.faces.gateway.guesses import Guesses

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST = re.compile(r"(?P<name>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
_LIST = re.compile(r"[a-z0-9-]+")


def is_loopback(host: str) -> bool:
    """Does only this machine reach the address?"""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_bind(host: str, *, has_keys: bool) -> None:
    """Refuse to open the gateway to others without keys."""
    if not has_keys and not is_loopback(host):
        raise ConfigError(
            f"{host} can be reached by others, and there are no keys: make one with "
            "`groundwire keys create`, or bind to 127.0.0.1"
        )


def fingerprint(key: str) -> str:
    """What is kept of a key: enough to know it again, useless to anybody else."""
    return sha256(key.encode("utf-8", "replace")).hexdigest()


class Access:
    """Decides about a request by its head alone. `fingerprints` gives the keys that hold now, or None while
    there never was one."""

    def __init__(
        self,
        host: str,
        fingerprints: Callable[[], Collection[str] | None],
        *,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        proxies: Iterable[str] = (),
        metrics: Callable[[], Collection[str]] = frozenset,
    ) -> None:
        named = {name.lower() for name in hosts}
        self._names = named | _LOCAL_NAMES | (set() if _is_any(host) else {_as_host(host)})
        self._loopback = is_loopback(host)
        self._any_host = not self._loopback and not named
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._fingerprints = fingerprints
        self._metrics = metrics
        self._addresses = ClientAddresses(proxies)
        self._guesses = Guesses()

    def check_address(self, inbound: Inbound) -> None:
        """The Host we are known by, and an Origin of ours or none."""
        host = inbound.headers.get("host", "").lower()
        if _count(inbound, b"host") != 1 or not self._admits_host(host):
            raise TurnedAway(
                status=421, message="this gateway is not known by that Host; add it to gateway.hosts"
            )
        origin = inbound.headers.get("origin")
        if origin is not None and (_count(inbound, b"origin") != 1 or not self._admits_origin(origin, host)):
            raise TurnedAway(
                status=403, message="pages of this Origin may not use the gateway; add it to gateway.origins"
            )

    def check_key(self, inbound: Inbound) -> str:
        """The fingerprint of the key that was shown; empty where none is needed."""
        known = self._fingerprints()
        if known is None and self._loopback:
            return ""
        return self._checked(
            inbound,
            known or (),
            "no valid key: send one of `groundwire keys` as Authorization: Bearer, x-api-key or "
            "x-goog-api-key",
        )

    def check_metrics_key(self, inbound: Inbound) -> str:
        """The same for metrics, which tell about the requests of all: any key will do on this machine, from
        elsewhere it must be one for metrics."""
        if self.is_open():
            return ""
        local = (self._fingerprints() or ()) if self._addresses.is_local(inbound) else ()
        return self._checked(
            inbound,
            (*self._metrics(), *local),
            "metrics need a key that is named metrics: `groundwire keys create --name metrics`",
        )

    def _checked(self, inbound: Inbound, known: Collection[str], message: str) -> str:
        tried = [fingerprint(key) for key in shown_keys(inbound)]
        for shown in tried:
            if _is_among(shown, known):
                return shown
        for shown in tried:
            self._guesses.add_key(self._addresses.client(inbound), shown)
        raise TurnedAway(status=401, message=message, code="INVALID_KEY")

    def check_login(self, inbound: Inbound, key: str) -> str:
        """The fingerprint of a key that was typed in."""
        shown = fingerprint(key)
        if not self.holds(shown):
            self._guesses.add_login(self._addresses.client(inbound))
            raise TurnedAway(status=401, message="the key is not valid", code="INVALID_KEY")
        return shown

    def note_https(self, inbound: Inbound) -> None:
        """Take over the scheme that the client used, where a trusted proxy says it."""
        if self._addresses.is_https(inbound):
            inbound.scope["scheme"] = "https"

    def is_open(self) -> bool:
        """Is no key needed?"""
        return self._loopback and self._fingerprints() is None

    def holds(self, shown: str) -> bool:
        """Is this the fingerprint of a key that holds now?"""
        return _is_among(shown, self._fingerprints() or ())

    def sharing(self, inbound: Inbound) -> Headers:
        """The headers by which a browser lets a page of a configured origin read the answer."""
        origin = inbound.headers.get("origin", "")
        if origin.lower() not in self._origins:
            return ()
        return (
            ("access-control-allow-origin", origin),
            (
                "access-control-expose-headers",
                "x-request-id, x-groundwire-provider, x-groundwire-warnings, x-groundwire-cache, age",
            ),
            ("vary", "origin"),
        )

    def preflight(self, inbound: Inbound) -> Headers:
        """The answer to a browser that asks before a page of a configured origin asks; empty to others."""
        if inbound.method != "OPTIONS" or "access-control-request-method" not in inbound.headers:
            return ()
        shared = self.sharing(inbound)
        wanted = inbound.headers.get("access-control-request-headers", "")
        listed = ", ".join(name for name in _LIST.findall(wanted.lower())[:64])
        return (
            (
                *shared,
                ("access-control-allow-methods", "GET, POST"),
                ("access-control-allow-headers", listed),
                ("access-control-max-age", "600"),
            )
            if shared
            else ()
        )

    def _admits_host(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        return found is not None and (self._any_host or found["name"] in self._names)

    def _admits_origin(self, origin: str, host: str) -> bool:
        origin = origin.lower()
        return origin in self._origins or origin in (f"http://{host}", f"https://{host}")


def _is_among(shown: str, known: Iterable[str]) -> bool:
    # Every key is compared, so that time tells nothing.
    matches = [hmac.compare_digest(entry, shown) for entry in known]
    return any(matches)


def shown_keys(inbound: Inbound) -> Iterable[str]:
    """The keys a client sends, in whichever headers its dialect uses: some send another beside ours."""
    scheme, _, token = inbound.headers.get("authorization", "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    others = (inbound.headers.get(name, "") for name in ("x-api-key", "x-goog-api-key"))
    return (key for key in (bearer, *others) if key)


def _count(inbound: Inbound, name: bytes) -> int:
    return sum(one == name for one, _ in cast("list[tuple[bytes, bytes]]", inbound.scope["headers"]))


def _as_host(host: str) -> str:
    bare = host.lower().strip("[]")
    return f"[{bare}]" if ":" in bare else bare


def _is_any(host: str) -> bool:
    return host in ("", "0.0.0.0", "::")  # noqa: S104  compared, not bound
