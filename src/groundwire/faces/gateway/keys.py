"""The keys of the gateway's users: shown once, kept as fingerprints, revoked within a second.

One file in the data directory, readable by its owner alone, replaced as a whole. Every worker looks at its
change before every request, so nobody has to be told. Once there was a key, one is needed: revoking the last
one locks the gateway instead of opening it.
"""

from __future__ import annotations

import logging
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError, ConfigError
from groundwire.faces.gateway.access import fingerprint
from groundwire.files.lock import lock_file
from groundwire.files.text_file import PRIVATE, read_checked, write_private
from groundwire.model import Json, JsonObject
from groundwire.model.value import replace, value

log = logging.getLogger("groundwire.gateway")

FILE = "keys.json"
PREFIX = "sk-gw-"
"""Like everybody's, so that clients take it for a key and logs mask it."""
METRICS = "metrics"
"""Keys of this name open the metrics, and nothing else."""
_VERSION = 1
_SIZE = 32


@value
class Key:
    """What is kept of a key."""

    id: str
    name: str
    fingerprint: str
    created: str
    revoked: str = ""
    """When; empty while it holds."""


class KeyFile:
    """The keys on disk."""

    def __init__(self, data_dir: str) -> None:
        self.path = Path(data_dir) / FILE

    def entries(self) -> tuple[Key, ...]:
        """All keys that ever were. Raises `ConfigError` where the file cannot be trusted."""
        found = read_checked(str(self.path))
        if found is None:
            return ()
        if found.unsafe:
            raise ConfigError(f"{self.path} {found.unsafe[0]}; it must be a file that only you can read")
        try:
            body = as_object(load_json(found.text, ClientWireError))
        except ClientWireError as error:
            raise ConfigError(f"{self.path} cannot be read: {error.reason}; make new keys") from None
        if body.get("version") != _VERSION:
            raise ConfigError(f"{self.path} was written by another version of groundwire")
        items = body.get("keys")
        return tuple(_decode(as_object(item)) for item in (items if isinstance(items, list) else ()))

    def create(self, name: str, now: float) -> tuple[str, Key]:
        """A new key: what its user must keep, and what we keep."""
        shown = PREFIX + secrets.token_urlsafe(_SIZE)
        with self._alone():
            keys = self.entries()
            taken = {key.id for key in keys}
            made = Key(_free_id(taken), name, fingerprint(shown), _moment(now))
            self._write((*keys, made))
        return shown, made

    def revoke(self, which: str, now: float) -> tuple[Key, ...]:
        """End the key of this id, or all of this name; the result is empty where there is none."""
        with self._alone():
            keys = self.entries()
            ended = tuple(key for key in keys if which in (key.id, key.name) and not key.revoked)
            if ended:
                moment = _moment(now)
                self._write(tuple(replace(key, revoked=moment) if key in ended else key for key in keys))
        return ended

    def _write(self, keys: tuple[Key, ...]) -> None:
        body: JsonObject = {"version": _VERSION, "keys": [_encode(key) for key in keys]}
        write_private(str(self.path), dump_json(body))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One writer at a time."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            mode = self.path.parent.stat().st_mode
            if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
                raise ConfigError(f"{self.path.parent} can be changed by other users; make it yours alone")
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            held = os.open(f"{self.path}.lock", flags, PRIVATE)
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}; see --data-dir") from None
        try:
            lock_file(held, wait=True)
            yield
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}") from None
        finally:
            os.close(held)


class Keyring:
    """The fingerprints that hold now; None while there never was a key. Read again when the file changes."""

    def __init__(self, file: KeyFile) -> None:
        self._file = file
        self._seen: tuple[int, ...] | None = ()
        self._held: frozenset[str] | None = None
        self._metrics: frozenset[str] = frozenset()

    def __call__(self) -> frozenset[str] | None:
        """Cheap enough for every request."""
        seen = self._look()
        if seen != self._seen:
            self._held, self._metrics = self._read() if seen is not None else (None, frozenset())
            self._seen = seen
        return self._held

    def metrics(self) -> frozenset[str]:
        """The fingerprints that open the metrics."""
        self()
        return self._metrics

    def _look(self) -> tuple[int, ...] | None:
        try:
            found = os.lstat(self._file.path)
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_size, found.st_mode

    def _read(self) -> tuple[frozenset[str] | None, frozenset[str]]:
        try:
            keys = self._file.entries()
        except ConfigError as error:
            log.error("no key is accepted: %s", error.message)  # noqa: TRY400  the sentence says it all
            return frozenset(), frozenset()
        valid = [key for key in keys if not key.revoked]
        metrics = frozenset(key.fingerprint for key in valid if key.name == METRICS)
        return (frozenset(key.fingerprint for key in valid) - metrics if keys else None), metrics


def _free_id(taken: set[str]) -> str:
    while (made := f"key_{secrets.token_hex(4)}") in taken:
        pass
    return made


def _moment(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")


def _encode(key: Key) -> Json:
    return {
        "id": key.id,
        "name": key.name,
        "sha256": key.fingerprint,
        "created": key.created,
        "revoked": key.revoked,
    }


def _decode(item: JsonObject) -> Key:
    told = [item.get(name) for name in ("id", "name", "sha256", "created", "revoked")]
    if not all(isinstance(text, str) for text in told):
        raise ConfigError(f"{FILE} holds something that is no key; make new ones")
    return Key(*map(str, told))
