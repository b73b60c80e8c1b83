"""`groundwire backup` and `groundwire restore`: the data of one machine in one tar archive.

Databases are copied with SQLite's backup API, so each copy is the state of one moment, whatever a running
gateway does. An archive is checked completely before anything of it is put in place. The search index is not
part of it: it is rebuilt from the pages.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import tarfile
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Literal

from groundwire import __version__
from groundwire.commands.config import load_config
from groundwire.config.schema import Config
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.engine.index import page_table
from groundwire.engine.index.location import PAGES_FILE
from groundwire.errors import ClientWireError, ConfigError
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import Console
from groundwire.faces.web.auth import LOGOUTS_FILE
from groundwire.files.text_file import PRIVATE, make_private_folder, sync_directory
from groundwire.model import JsonObject
from groundwire.model.value import replace, value
from groundwire.server.keys import KEYS_FILE, SECRET_FILE, timestamp
from groundwire.store.open import sqlite_path, store_address
from groundwire.store.sqlite import check_sqlite, copy_sqlite, open_sqlite

_VERSION = 1
_MANIFEST = "backup.json"
_MAX_MANIFEST = 64 * 1024
_STORE = "store.db"
_CHUNK = 1024 * 1024
USE_PG_DUMP = (
    "the store is PostgreSQL, so its own programs back it up: "
    "pg_dump --format=custom --table='groundwire_*' --file=FILE DATABASE, and "
    "pg_restore --dbname=DATABASE FILE"
)


@value
class BackupPart:
    """One file of the data, under its name in the archive."""

    name: str
    path: Path
    kind: Literal["database", "file"] = "file"


def backup_parts(config: Config) -> tuple[BackupPart, ...]:
    """Everything that a backup can hold, and where it belongs."""
    store = sqlite_path(store_address(config.store, config.data_dir))
    if store is None:
        raise ConfigError(USE_PG_DUMP)
    data = Path(config.data_dir)
    return (
        BackupPart(_STORE, store, "database"),
        BackupPart(PAGES_FILE, data / "index" / PAGES_FILE, "database"),
        BackupPart(KEYS_FILE, data / KEYS_FILE),
        BackupPart(SECRET_FILE, data / SECRET_FILE),
        BackupPart(LOGOUTS_FILE, data / LOGOUTS_FILE),
    )


def run_backup(arguments: Namespace, console: Console) -> int:
    """Create an archive."""
    parts = backup_parts(load_config(arguments, console))
    found = [part for part in parts if part.path.is_file()]
    if arguments.no_index:
        found = [part for part in found if part.name != PAGES_FILE]
    if not found:
        raise ConfigError(f"there is nothing to back up in {parts[-1].path.parent}")
    target = Path(console.cwd, arguments.file)
    if target.exists():
        raise ConfigError(f"{target} exists; choose another name, or remove it")
    with _file_errors(target), TemporaryDirectory(prefix=".groundwire-", dir=target.parent) as folder:
        for part in found:
            copy = Path(folder, part.name)
            if part.kind == "database":
                copy_sqlite(part.path, copy)
            else:
                _copy_file(part.path, copy)
        _write_archive(Path(folder), found, target, console.clock())
    console.print(f"{target}: {', '.join(part.name for part in found)} ({_megabytes(target)})")
    return exit_codes.OK


def run_restore(arguments: Namespace, console: Console) -> int:
    """Put the files of an archive in place."""
    config = load_config(arguments, console)
    archive = Path(console.cwd, arguments.file)
    if not archive.is_file():
        raise UsageError(f"there is no file {str(archive)!r}")
    data = Path(config.data_dir)
    with _file_errors(data):
        make_private_folder(data)
        with TemporaryDirectory(prefix=".groundwire-", dir=data) as folder:
            parts = _unpack(archive, Path(folder), backup_parts(config))
            for part in parts:
                _prepare(part, Path(folder, part.name))
            there = [part for part in parts if part.path.exists()]
            if there and not arguments.replace:
                names = ", ".join(str(part.path) for part in there)
                raise ConfigError(f"{names} exist; stop the gateway, and use --replace to overwrite them")
            for part in parts:
                make_private_folder(part.path.parent)
                install = copy_sqlite if part.kind == "database" else _copy_file
                install(Path(folder, part.name), part.path)
    console.print(f"restored {', '.join(part.name for part in parts)} to {data}")
    return exit_codes.OK


def _write_archive(folder: Path, parts: list[BackupPart], target: Path, now: float) -> None:
    """Write the copies to an archive, which has its name only when it is complete and on disk."""
    hashes: JsonObject = {part.name: _sha256(folder / part.name) for part in parts}
    manifest: JsonObject = {
        "version": _VERSION,
        "groundwire": __version__,
        "created": timestamp(now),
        "sha256": hashes,
    }
    (folder / _MANIFEST).write_text(dump_json(manifest), "utf-8")
    unfinished = folder / "archive"
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            for name in (_MANIFEST, *(part.name for part in parts)):
                archive.add(folder / name, name, filter=lambda info: _anonymous(info, now))
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, target)
    sync_directory(str(target))


def _anonymous(info: tarfile.TarInfo, now: float) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mode, info.mtime = PRIVATE, int(now)
    return info


def _unpack(archive: Path, folder: Path, known: tuple[BackupPart, ...]) -> list[BackupPart]:
    """Unpack the known files of an archive; raises `ConfigError` if it is not complete and unchanged."""
    damaged = ConfigError(f"{archive} is not an archive of `groundwire backup`, or damaged")
    try:
        with tarfile.open(archive, "r:") as tar:
            hashes = _manifest(archive, tar)
            parts = [part for part in known if part.name in hashes]
            for part in parts:
                _extract(tar, part.name, folder)
    except (tarfile.TarError, KeyError, EOFError, ClientWireError):
        raise damaged from None
    for part in parts:
        copy = folder / part.name
        if _sha256(copy) != hashes[part.name] or (part.kind == "database" and not check_sqlite(copy)):
            raise damaged
    return parts


def _manifest(archive: Path, tar: tarfile.TarFile) -> Mapping[str, object]:
    """The SHA-256 of each file in an archive."""
    with _member(tar, _MANIFEST) as file:
        body = as_object(load_json(file.read(_MAX_MANIFEST).decode("utf-8", "replace"), ClientWireError))
    if body.get("version") != _VERSION:
        raise ConfigError(f"{archive} was written by another version of groundwire")
    return as_object(body.get("sha256"))


def _extract(tar: tarfile.TarFile, name: str, folder: Path) -> None:
    """Write one member to a folder, under a name of ours."""
    with _member(tar, name) as source, open(folder / name, "xb", opener=_private) as target:
        while chunk := source.read(_CHUNK):
            target.write(chunk)


def _member(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    found = tar.extractfile(name)
    if found is None:  # not a file
        raise KeyError(name)
    return found


def _prepare(part: BackupPart, copy: Path) -> None:
    """Migrate a store to this version, or refuse one of a newer version; have a search index rebuilt."""
    if part.name == _STORE:
        open_sqlite(copy).close()
    elif part.name == PAGES_FILE:
        with closing(page_table.connect(copy)) as pages:
            page_table.upgrade(pages)
            page_table.set_state(pages, replace(page_table.state_of(pages), analysis=0))


def _copy_file(source: Path, target: Path) -> None:
    """Copy a small file in one step: a reader sees the old one or the new one."""
    temporary = target.with_name(f"{target.name}.groundwire-tmp")
    with open(temporary, "wb", opener=_private) as file:
        file.write(source.read_bytes())
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, target)
    sync_directory(str(target))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _megabytes(path: Path) -> str:
    return f"{path.stat().st_size / 2**20:.1f} MB"


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{error.filename or path} cannot be used: {error.strerror}") from None
    except sqlite3.Error as error:
        raise ConfigError(f"{path} cannot be used: {error}") from None
