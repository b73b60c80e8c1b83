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
from groundwire.faces.gateway.asgi import Headers, Inbound

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
    ) -> None:
        named = {name.lower() for name in hosts}
        self._names = named | _LOCAL_NAMES | (set() if _is_any(host) else {_as_host(host)})
        self._loopback = is_loopback(host)
        self._any_host = not self._loopback and not named
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._fingerprints = fingerprints

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
        for shown in map(fingerprint, shown_keys(inbound)):
            # Every key is compared, so that time tells nothing.
            matches = [hmac.compare_digest(entry, shown) for entry in known or ()]
            if any(matches):
                return shown
        raise TurnedAway(
            status=401,
            message="no valid key: send one of `groundwire keys` as Authorization: Bearer, x-api-key or "
            "x-goog-api-key",
            code="INVALID_KEY",
        )

    def is_open(self) -> bool:
        """Is no key needed?"""
        return self._loopback and self._fingerprints() is None

    def holds(self, shown: str) -> bool:
        """Is this the fingerprint of a key that holds now?"""
        matches = [hmac.compare_digest(entry, shown) for entry in self._fingerprints() or ()]
        return any(matches)

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
