"""API keys and the installation secret.

Keys are shown once and stored as fingerprints. Once a key exists, every request needs one: revoking the last
key locks the gateway instead of opening it.

One machine keeps its keys in one private file of the data directory, which is replaced atomically; every
worker checks it for changes before each request, so a revocation takes effect at once. Gateways with a shared
store keep their keys there (`server/shared_access.py`).
"""

from __future__ import annotations

import logging
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError, ConfigError
from groundwire.files.lock import lock_file
from groundwire.files.text_file import PRIVATE, read_checked, write_private
from groundwire.model import Json, JsonObject
from groundwire.model.access import FULL_SCOPE, MEMBER_RIGHTS, KeyRights
from groundwire.model.value import replace
from groundwire.server.auth import AccessKeys, fingerprint
from groundwire.store.base import ApiKey
from groundwire.store.key_json import revoked_for_all, stored_rights, with_rights

log = logging.getLogger("groundwire.gateway")

KEYS_FILE = "keys.json"
KEY_PREFIX = "sk-gw-"
"""The usual prefix, so that clients accept the key and log filters mask it."""
METRICS_KEY_NAME = "metrics"
"""Keys of this name give access to the metrics, and to nothing else."""
_VERSION = 1
_SIZE = 32


class KeyStore(Protocol):
    """Where API keys are kept."""

    def entries(self) -> Sequence[ApiKey]:
        """All keys, also the revoked ones."""
        ...

    def create(self, name: str, now: float, rights: KeyRights = ..., parent: str = ...) -> tuple[str, ApiKey]:
        """Create a key; returns the key itself and its record."""
        ...

    def change(self, id: str, change: Callable[[ApiKey], ApiKey]) -> ApiKey | None:  # noqa: A002
        """Replace a record by what `change` makes of it; returns it, None if there is no such key."""
        ...

    def revoke(self, which: str, now: float) -> Sequence[ApiKey]:
        """Revoke the key with this id, or all keys of this name; returns those that were revoked."""
        ...

    def reset_hint(self) -> str:
        """What to do to use the gateway without keys again."""
        ...


def access_keys(keys: Iterable[ApiKey]) -> AccessKeys:
    """The fingerprints that are accepted."""
    known = tuple(keys)
    valid = [key for key in known if not key.revoked]
    metrics = frozenset(key.fingerprint for key in valid if key.name == METRICS_KEY_NAME)
    return AccessKeys(
        frozenset(key.fingerprint for key in valid) - metrics if known else None,
        metrics,
        {key.fingerprint: key.rights.scope for key in valid if key.rights.scope != FULL_SCOPE},
        {key.fingerprint: key for key in valid},
    )


def new_key(
    name: str, now: float, used: Iterable[ApiKey], rights: KeyRights = MEMBER_RIGHTS, parent: str = ""
) -> tuple[str, ApiKey]:
    """A new key, and its record with an id that is not used."""
    key, key_id = KEY_PREFIX + secrets.token_urlsafe(_SIZE), _new_id({entry.id for entry in used})
    return key, ApiKey(key_id, name, fingerprint(key), timestamp(now), rights=rights, parent=parent)


class KeyFile:
    """The file with all API keys."""

    def __init__(self, data_dir: str) -> None:
        self.path = Path(data_dir) / KEYS_FILE

    def reset_hint(self) -> str:
        """What to do to use the gateway without keys again."""
        return f"Remove {self.path} to use it without keys."

    def entries(self) -> tuple[ApiKey, ...]:
        """All keys, also the revoked ones. Raises `ConfigError` if the file cannot be trusted."""
        document = read_checked(str(self.path))
        if document is None:
            return ()
        if document.unsafe:
            raise ConfigError(f"{self.path} {document.unsafe[0]}; it must be a file that only you can access")
        try:
            body = as_object(load_json(document.text, ClientWireError))
        except ClientWireError as error:
            raise ConfigError(f"{self.path} cannot be read: {error.reason}; create new keys") from None
        if body.get("version") != _VERSION:
            raise ConfigError(f"{self.path} was written by another version of groundwire")
        items = body.get("keys")
        return tuple(_decode(as_object(item)) for item in (items if isinstance(items, list) else ()))

    def create(
        self, name: str, now: float, rights: KeyRights = MEMBER_RIGHTS, parent: str = ""
    ) -> tuple[str, ApiKey]:
        """Create a key; returns the key itself and its record."""
        with self._write_lock():
            entries = self.entries()
            key, record = new_key(name, now, entries, rights, parent)
            self._write((*entries, record))
        return key, record

    def change(self, id: str, change: Callable[[ApiKey], ApiKey]) -> ApiKey | None:  # noqa: A002
        """Replace a record; returns it, None if there is no such key."""
        with self._write_lock():
            keys = self.entries()
            changed = next((change(key) for key in keys if key.id == id), None)
            if changed is not None:
                self._write(tuple(changed if key.id == id else key for key in keys))
        return changed

    def revoke(self, which: str, now: float) -> tuple[ApiKey, ...]:
        """Revoke the key with this id, or all keys of this name; returns those that were revoked."""
        with self._write_lock():
            keys = self.entries()
            revoked = tuple(key for key in keys if which in (key.id, key.name) and not key.revoked)
            if revoked:
                at = timestamp(now)
                self._write(tuple(replace(key, revoked=at) if key in revoked else key for key in keys))
        return revoked

    def _write(self, keys: tuple[ApiKey, ...]) -> None:
        body: JsonObject = {"version": _VERSION, "keys": [_encode(key) for key in keys]}
        write_private(str(self.path), dump_json(body))

    @contextmanager
    def _write_lock(self) -> Iterator[None]:
        """Hold the lock of the file: one process writes at a time."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            mode = self.path.parent.stat().st_mode
            if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
                raise ConfigError(f"{self.path.parent} is writable by other users; remove that permission")
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(f"{self.path}.lock", flags, PRIVATE)
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}; see --data-dir") from None
        try:
            lock_file(descriptor, wait=True)
            yield
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}") from None
        finally:
            os.close(descriptor)


class Keyring:
    """The keys that are accepted. Reloads the file when it changes."""

    def __init__(self, file: KeyFile) -> None:
        self._file = file
        self._path = str(file.path)
        self._version: tuple[int, ...] | None = ()
        self._keys = AccessKeys()

    def __call__(self) -> AccessKeys:
        """The keys that are accepted; costs one `lstat`."""
        version = self._file_version()
        if version != self._version:
            self._keys = self._read() if version is not None else AccessKeys()
            self._version = version
        return self._keys

    def _file_version(self) -> tuple[int, ...] | None:
        try:
            status = os.lstat(self._path)
        except FileNotFoundError:
            return None
        return status.st_mtime_ns, status.st_ino, status.st_size, status.st_mode

    def _read(self) -> AccessKeys:
        try:
            return access_keys(self._file.entries())
        except ConfigError as error:
            log.error("no key is accepted: %s", error.message)  # noqa: TRY400  a traceback would add nothing
            return AccessKeys(frozenset())


def _new_id(used: set[str]) -> str:
    while (new := f"key_{secrets.token_hex(4)}") in used:
        pass
    return new


def timestamp(now: float) -> str:
    """A time as keys record it."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")


def _encode(key: ApiKey) -> Json:
    entry: JsonObject = {
        "id": key.id,
        "name": key.name,
        "sha256": key.fingerprint,
        "created": key.created,
        "revoked": revoked_for_all(key),
    }
    if rights := stored_rights(key):
        entry["rights"] = rights
    if key.parent:
        entry["parent"] = key.parent
    return entry


def _decode(item: JsonObject) -> ApiKey:
    key_id, name, digest, created, revoked = map(item.get, ("id", "name", "sha256", "created", "revoked"))
    if not (
        isinstance(key_id, str)
        and isinstance(name, str)
        and isinstance(digest, str)
        and isinstance(created, str)
        and isinstance(revoked, str)
    ):
        raise ConfigError(f"{KEYS_FILE} has an entry that is not a key; create new keys")
    parent = item.get("parent", "")
    record = ApiKey(key_id, name, digest, created, revoked, parent=parent if isinstance(parent, str) else "")
    try:
        return with_rights(record, as_object(item.get("rights")))
    except ClientWireError as error:
        log.warning("the API key %s cannot be read, and is refused: %s", record.id, error.message)
        return replace(record, revoked=record.created)


SECRET_VARIABLE = "GROUNDWIRE_SECRET"  # noqa: S105  a name
"""Set it to the same value for all instances of one service."""
SECRET_FILE = "gateway.secret"  # noqa: S105  a name
_GROUP_AND_OTHERS = 0o077


def load_secret(data_dir: str, env: Mapping[str, str], *, shared: bool = False) -> bytes:
    """The secret that signs logins and our own content: from the environment, or from the data directory,
    where it is created at first use. Gateways with a shared store need the same one."""
    if secret := env.get(SECRET_VARIABLE, ""):
        return secret.encode()
    if shared:
        raise ConfigError(
            f"the store is shared, so all gateways need the same secret: set {SECRET_VARIABLE}, for example "
            "to the output of `openssl rand -hex 32`"
        )
    path = Path(data_dir) / SECRET_FILE
    try:
        return _read_secret(path) or _create_secret(path)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be used: {error.strerror}; set {SECRET_VARIABLE} or --data-dir"
        ) from None


def _read_secret(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return b""
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & _GROUP_AND_OTHERS:
            raise ConfigError(f"{path} is accessible to other users; delete it, and a new one is created")
        data = file.read(_SIZE + 1)
    if len(data) != _SIZE:
        raise ConfigError(f"{path} is damaged; delete it, and a new one is created")
    return data


def _create_secret(path: Path) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f"{SECRET_FILE}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(temporary, flags, 0o600), "wb") as file:
        file.write(secrets.token_bytes(_SIZE))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(temporary, path)  # the first process wins; the others read its file
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
    return _read_secret(path)
