"""`groundwire index add package`: documentation in an installed distribution, a wheel or a source archive."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory

from groundwire.engine.crawl.crawler import CrawlSource
from groundwire.engine.crawl.package_archive import is_package_archive
from groundwire.errors import GroundwireError, RequestError, Unreachable
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import Console
from groundwire.transport.process import ProcessCommand, ProcessLimits, start_process

PIP = (sys.executable, "-m", "pip")
_DOWNLOAD = ("download", "--no-deps", "--progress-bar=off", "--disable-pip-version-check", "--no-input")
_LIMITS = ProcessLimits(seconds=900.0)
_NAME = re.compile(r"([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)(?:==[\w.!+-]+)?", re.ASCII)
"""The name of a package, with its version if one is wanted; never an option of pip."""


async def package_sources(
    names: Iterable[str], console: Console, downloads: Path | None, show: Callable[[str], None]
) -> list[CrawlSource]:
    """What has the documentation of each package. With a folder for downloads, pip fetches the source archive
    of packages that are named."""
    names = list(names)
    if not names:
        raise UsageError("`index add package` needs the name of a package, a wheel or a source archive")
    return [await _source(name, console, downloads, show) for name in names]


async def _source(
    name: str, console: Console, downloads: Path | None, show: Callable[[str], None]
) -> CrawlSource:
    path = Path(console.cwd, os.path.expanduser(name))
    if is_package_archive(name):
        if path.is_file():
            return path
        raise RequestError(f"there is no file {name!r}")
    if _NAME.fullmatch(name) is None:
        raise RequestError(f"{name!r} is neither the name of a package nor a wheel or source archive.")
    if downloads is not None:
        return await _downloaded(name, console, downloads, show)
    try:
        return distribution(name)
    except PackageNotFoundError:
        raise RequestError(
            f"The package {name!r} is not installed. Name its wheel or source archive, or add --download."
        ) from None


async def _downloaded(name: str, console: Console, downloads: Path, show: Callable[[str], None]) -> Path:
    """The source archive of a package. It is kept, because answers cite files in it."""
    downloads.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=downloads) as folder:
        project = name.partition("==")[0]
        command = (*PIP, *_DOWNLOAD, f"--no-binary={project}", f"--dest={folder}", "--", name)
        try:
            async with start_process(ProcessCommand(command, console.env, console.cwd), _LIMITS) as pip:
                async for line in pip.lines():
                    show(line.decode("utf-8", "replace").strip())
                code, errors = await pip.end()
        except GroundwireError as error:
            raise _not_downloaded(name, error.message) from error
        found = sorted(path for path in Path(folder).iterdir() if is_package_archive(path.name))
        if code or not found:
            raise _not_downloaded(name, _reason(errors.decode("utf-8", "replace")))
        return Path(shutil.move(found[0], downloads / found[0].name))


def _not_downloaded(name: str, why: str) -> Unreachable:
    return Unreachable(
        f"pip could not download the source archive of {name}: {why.rstrip('.')}. "
        "Download it elsewhere and run `groundwire index add package PATH`."
    )


def _reason(errors: str) -> str:
    """The last error of pip; without one, the last line that it wrote."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    marked = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return next(iter(reversed(marked or lines)), "it has none")
