"""What `groundwire doctor` looks at, as data: each check says how it went and, if not well, what to do."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import aclosing
from importlib.metadata import PackageNotFoundError, requires, version
from tempfile import TemporaryFile
from typing import Literal, TypeAlias

from groundwire import __version__
from groundwire.config import opencode, paths
from groundwire.credentials.lookup import LookupResult
from groundwire.errors import GroundwireError, TimedOut
from groundwire.faces.cli.session import Asker
from groundwire.model import Failed, Limits, Message, Request, Text
from groundwire.model.value import value

State: TypeAlias = Literal["ok", "problem", "note"]

_LIBRARIES = ("tantivy", "uvicorn", "mcp")
_EXTRAS: Mapping[str, str] = {
    "documents": "PDF, reStructuredText and web archives for `groundwire index add`",
    "postgres": "sessions and index in PostgreSQL",
}
_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
_PACKAGE = re.compile(r"[\w.-]+")
_QUESTION = Request(
    (Message("user", (Text("Reply with the one word: ok"),)),), limits=Limits(64), stream=True
)
_PATIENCE = 60.0
_DAY = 86400


@value
class Check:
    """Something that was looked at."""

    state: State
    what: str
    detail: str = ""


@value
class Asked:
    """A provider that was asked, how long it took, and what went wrong."""

    name: str
    seconds: float
    error: GroundwireError | None = None


def versions() -> Iterator[Check]:
    """What is running."""
    yield Check(
        "ok", f"groundwire {__version__}", f"Python {platform.python_version()}, {platform.platform()}"
    )
    yield Check("ok", "interpreter", sys.executable)
    for name in _LIBRARIES:
        try:
            yield Check("ok", name, version(name))
        except PackageNotFoundError:
            yield Check("problem", name, "not installed; run: pip install --force-reinstall groundwire")


def extras(store: str) -> Iterator[Check]:
    """The optional parts of the package, and the command that adds one that is missing."""
    for name, packages in _extra_packages().items():
        if name not in _EXTRAS:
            continue  # `all` has what the others have
        about = _EXTRAS[name]
        missing = [package for package in packages if not _is_installed(package)]
        if not missing:
            yield Check("ok", name, about)
            continue
        needed = name == "postgres" and store.startswith("postgres")
        detail = f"{about}: {', '.join(missing)} not installed; run: pip install 'groundwire[{name}]'"
        yield Check("problem" if needed else "note", name, detail)


def _extra_packages() -> dict[str, list[str]]:
    """What each extra brings along, as the package itself says."""
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
    """Which files there are; those of OpenCode's only if they exist."""
    own = env.get("GROUNDWIRE_CONFIG") or os.path.join(paths.config_dir(env, home), paths.USER_FILE)
    for path in (own, os.path.join(cwd, paths.PROJECT_FILE)):
        yield Check("ok", path, "read") if os.path.exists(path) else Check("note", path, "not there")
    for place in opencode.config_files(env, home, cwd, opencode.managed_dir()):
        if place.text is not None or os.path.exists(place.path):
            yield Check("ok", place.origin, "read")


def data_directory(path: str) -> Check:
    """Can files be kept there?"""
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


def _is_writable(directory: str) -> bool:
    # Asking for permissions is not enough: root may do everything, but not on a file system that forbids it.
    try:
        with TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def credentials(findings: Iterable[LookupResult], now: float) -> Iterator[Check]:
    """What each place answered."""
    for finding in findings:
        detail = finding.detail + _expiry(finding.expires, now)
        yield Check("ok" if finding.found else "note", finding.place, detail)
        for warning in finding.warnings:
            yield Check("note", finding.place, warning)


async def ask_each(asker: Asker, names: Iterable[str]) -> list[Asked]:
    """Ask each provider for one word, all at once."""
    return list(await asyncio.gather(*(_ask(asker, name) for name in names)))


async def _ask(asker: Asker, name: str) -> Asked:
    began = time.monotonic()
    error: GroundwireError | None = None
    try:
        async with asyncio.timeout(_PATIENCE), aclosing(asker.stream(_QUESTION, provider=name)) as events:
            async for event in events:
                if isinstance(event, Failed):
                    error = event.error
    except TimeoutError:
        error = TimedOut(f"no answer within {_PATIENCE:.0f} seconds")
    except GroundwireError as caught:
        error = caught
    return Asked(name, time.monotonic() - began, error)


def _expiry(expires: float | None, now: float) -> str:
    if expires is None:
        return ""
    left = expires - now
    if left <= 0:
        return ", expired: it will be refreshed when it is used"
    return f", good for {left / _DAY:.0f} days" if left > 2 * _DAY else f", good for {left / 3600:.0f} hours"
