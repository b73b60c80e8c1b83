"""Checks of an installation: versions, extras, configuration, data directory, store, credentials.

No request is sent to a provider. Each check has a state and, if there is a problem, what to do.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal, TypeAlias

from groundwire import __version__
from groundwire.config import opencode, paths
from groundwire.config.schema import Config
from groundwire.credentials.lookup import LookupResult
from groundwire.engine.dense.packages import ENGLISH, MULTILINGUAL, READER, encoder_problem
from groundwire.engine.knowledge.background import read_status
from groundwire.errors import GroundwireError
from groundwire.model.value import value
from groundwire.server.keys import SECRET_VARIABLE
from groundwire.store.migrations import ON_POSTGRES
from groundwire.store.open import is_shared

CheckState: TypeAlias = Literal["ok", "problem", "note"]
_LIBRARIES = ("tantivy", "httptools", "mcp")
_EXTRAS: Mapping[str, str] = {
    "documents": "PDF, reStructuredText and web archives for `groundwire index add`",
    "otel": "traces and metrics for an OpenTelemetry collector",
    "postgres": "sessions and index in PostgreSQL",
    "redis": "limits, cache and breakers that several gateways share",
    "semantic": "search by meaning in the embedded index, in 16 languages",
}
_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
_PACKAGE = re.compile(r"[\w.-]+")
_DAY = 86400
_BUILD_STATES: Mapping[str, CheckState] = {"complete": "ok", "failed": "problem"}


@value
class Check:
    """Result of one check."""

    state: CheckState
    what: str
    detail: str = ""


def versions() -> Iterator[Check]:
    """Versions of groundwire, Python and the libraries."""
    yield Check(
        "ok", f"groundwire {__version__}", f"Python {platform.python_version()}, {platform.platform()}"
    )
    yield Check("ok", "interpreter", sys.executable)
    for name in _LIBRARIES:
        try:
            yield Check("ok", name, version(name))
        except PackageNotFoundError:
            yield Check("problem", name, "not installed; run: pip install --force-reinstall groundwire")


def extras(store: str, redis: str = "") -> Iterator[Check]:
    """The optional extras, and the command that installs a missing one."""
    needed = {"postgres": store.startswith("postgres"), "redis": bool(redis)}
    for name, packages in _extra_packages().items():
        if name not in _EXTRAS:
            continue  # `all` includes the others
        about = _EXTRAS[name]
        missing = [package for package in packages if not _is_installed(package)]
        if not missing:
            yield _semantic(about) if name == "semantic" else Check("ok", name, about)
            continue
        detail = f"{about}: {', '.join(missing)} not installed; run: pip install 'groundwire[{name}]'"
        yield Check("problem" if needed.get(name) else "note", name, detail)


def shared_redis(url: str) -> Iterator[Check]:
    """Can the configured Redis be used?"""
    if not url or not _is_installed("redis"):
        return
    # Imported on demand: the library of Redis is optional, and takes half a second.
    from groundwire.transport.redis import probe  # noqa: PLC0415

    usable, detail = probe(url)
    yield Check("ok" if usable else "problem", "redis", detail)


def _semantic(about: str) -> Check:
    """The extra for search by meaning is installed: can it be used, and are the other two networks there?"""
    if problem := encoder_problem() or MULTILINGUAL.problem():
        return Check("note", "semantic", f"{about}: {problem}")
    better = {"better for English": ENGLISH, "better for your own pages": READER}
    missing = [f"; {gain}: {package.install}" for gain, package in better.items() if package.problem()]
    return Check("ok", "semantic", about + ("".join(missing) or ", with all networks"))


def _extra_packages() -> dict[str, list[str]]:
    """The packages of each extra, from the package metadata."""
    try:
        required = requires("groundwire") or []
    except PackageNotFoundError:
        return {}
    found: dict[str, list[str]] = {}
    for line in required:
        extra, package = _EXTRA.search(line), _PACKAGE.match(line)
        if extra and package:
            found.setdefault(extra[1], []).append(package[0])
    return found


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def config_files(env: Mapping[str, str], home: str, cwd: str) -> Iterator[Check]:
    """The configuration files; those of OpenCode only if they exist."""
    own = env.get("GROUNDWIRE_CONFIG") or os.path.join(paths.config_dir(env, home), paths.USER_FILE)
    for path in (own, os.path.join(cwd, paths.PROJECT_FILE)):
        yield Check("ok", path, "read") if os.path.exists(path) else Check("note", path, "not there")
    for file in opencode.config_files(env, home, cwd, opencode.managed_dir()):
        if file.text is not None or os.path.exists(file.path):
            yield Check("ok", file.origin, "read")


def data_directory(path: str) -> Check:
    """Is the data directory writable?"""
    if os.path.isdir(path):
        if _is_writable(path):
            return Check("ok", path, "writable")
        return Check("problem", path, "not writable; change its owner, or choose another with --data-dir")
    if os.path.lexists(path):
        return Check("problem", path, "not a directory; remove it, or choose another with --data-dir")
    above = os.path.dirname(path)
    while above != os.path.dirname(above) and not os.path.isdir(above):
        above = os.path.dirname(above)
    if _is_writable(above):
        return Check("ok", path, "will be made when it is needed")
    return Check("problem", path, f"cannot be made in {above}; choose another with --data-dir")


def built_index(data_dir: str) -> Check:
    """Is the embedded index complete?"""
    status = read_status(Path(data_dir, "index"))
    return Check(_BUILD_STATES.get(status.phase, "note"), "embedded index", status.summary)


def shared_store(store: str, env: Mapping[str, str]) -> Iterator[Check]:
    """Does the store that gateways share answer, which version has it, and is the common secret set?"""
    if not is_shared(store):
        return
    try:
        from groundwire.store.postgres import postgres_version  # noqa: PLC0415  imports the driver

        found = postgres_version(store)
    except GroundwireError as error:
        yield Check("problem", "shared store", error.message)
    else:
        yield Check(*_store_version(found, ON_POSTGRES[-1].version))
    if env.get(SECRET_VARIABLE):
        yield Check("ok", SECRET_VARIABLE, "set; it must be the same for all gateways")
    else:
        yield Check("problem", SECRET_VARIABLE, "not set, and all gateways of a shared store need the same")


def _store_version(found: int, known: int) -> tuple[CheckState, str, str]:
    what = "shared store"
    if found == known:
        return "ok", what, f"answers, version {found}"
    if found > known:
        return (
            "note",
            what,
            f"answers; a newer groundwire has migrated it to version {found}, this knows {known}",
        )
    return "note", what, f"answers; the next gateway that starts migrates it from version {found} to {known}"


def meaning_in_store(store: str) -> Iterator[Check]:
    """Can an index in PostgreSQL be searched by meaning?"""
    if not store.startswith(("postgresql://", "postgres://")) or encoder_problem():
        return
    try:
        from groundwire.engine.index.postgres_vectors import extension_state  # noqa: PLC0415  brings psycopg

        version, problem = extension_state(store)
    except GroundwireError as error:
        yield Check("problem", "PostgreSQL", error.message)
        return
    detail = problem or f"in PostgreSQL, by pgvector {version}"
    yield Check("note" if problem else "ok", "search by meaning", detail)


def _is_writable(directory: str) -> bool:
    # Permissions are not enough: root has all of them, also on a read-only file system.
    try:
        with TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def credentials(findings: Iterable[LookupResult], now: float) -> Iterator[Check]:
    """Where credentials were found."""
    for finding in findings:
        detail = finding.detail + _expiry(finding.expires, now)
        yield Check("ok" if finding.found else "note", finding.place, detail)
        for warning in finding.warnings:
            yield Check("note", finding.place, warning)


def _expiry(expires: float | None, now: float) -> str:
    if expires is None:
        return ""
    left = expires - now
    if left <= 0:
        return ", expired: it will be refreshed when it is used"
    return f", good for {left / _DAY:.0f} days" if left > 2 * _DAY else f", good for {left / 3600:.0f} hours"


def data_checks(config: Config, env: Mapping[str, str]) -> list[Check]:
    """The data directory, the index, and what gateways share."""
    return [
        data_directory(config.data_dir),
        built_index(config.data_dir),
        *shared_store(config.store, env),
        *meaning_in_store(config.store),
        *shared_redis(config.redis),
    ]
