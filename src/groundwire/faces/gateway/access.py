"""Who may come in: the Host that was meant, the Origin that asks, the key that is shown.

On loopback no key is needed while none exists; any other address needs keys, and does not start without. Host
and Origin are checked on every route: a page in a browser must not reach a gateway by a name of its own
(DNS rebinding), nor in a user's name.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from hashlib import sha256
from ipaddress import ip_address

from groundwire.errors import ConfigError, TurnedAway
from groundwire.faces.gateway.asgi import Inbound

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


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
    """Decides about a request by its head alone. `fingerprints` gives the keys that hold now."""

    def __init__(
        self,
        host: str,
        fingerprints: Callable[[], Iterable[str]],
        *,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
    ) -> None:
        self._names = {name.lower() for name in hosts} | _LOCAL_NAMES
        self._names |= {host.lower(), f"[{host.lower()}]"} if not _is_any(host) else set()
        self._any_host = not is_loopback(host) and not tuple(hosts)
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._fingerprints = fingerprints

    def check_address(self, inbound: Inbound) -> None:
        """The Host we are known by, and an Origin of ours or none."""
        host = inbound.headers.get("host", "").lower()
        name, _, port = host.rpartition(":") if _has_port(host) else (host, "", "")
        if (port and not port.isdigit()) or not (self._any_host or name in self._names) or not _is_name(name):
            raise TurnedAway(
                status=421, message="this gateway is not known by that Host; add it to gateway.hosts"
            )
        origin = inbound.headers.get("origin")
        if origin is not None and not self._admits_origin(origin.lower(), host):
            raise TurnedAway(
                status=403, message="pages of this Origin may not use the gateway; add it to gateway.origins"
            )

    def check_key(self, inbound: Inbound) -> str:
        """The fingerprint of the key that was shown; empty while none is needed."""
        known = tuple(self._fingerprints())
        if not known:
            return ""
        shown = fingerprint(shown_key(inbound))
        # Every key is compared, so that time tells nothing.
        matches = [entry for entry in known if hmac.compare_digest(entry, shown)]
        if not matches:
            raise TurnedAway(
                status=401,
                message="no valid key: send one of `groundwire keys` as Authorization: Bearer, x-api-key or "
                "x-goog-api-key",
                code="INVALID_KEY",
            )
        return shown

    def _admits_origin(self, origin: str, host: str) -> bool:
        return origin in self._origins or origin in (f"http://{host}", f"https://{host}")


def shown_key(inbound: Inbound) -> str:
    """The key a client sends, in whichever header its dialect uses."""
    scheme, _, token = inbound.headers.get("authorization", "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    return bearer or inbound.headers.get("x-api-key", "") or inbound.headers.get("x-goog-api-key", "")


def _is_any(host: str) -> bool:
    return host in ("", "0.0.0.0", "::")  # noqa: S104  compared, not bound


def _has_port(host: str) -> bool:
    return ":" in host and not host.endswith("]")


def _is_name(name: str) -> bool:
    bare = name.strip("[]").replace(":", "") if name.startswith("[") else name
    return bool(bare) and all(sign.isalnum() or sign in ".-_" for sign in bare) and bare.isascii()
