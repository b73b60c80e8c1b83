"""Finds a copy of Python's HTML documentation: of the environment, the system or the interpreter."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

INVENTORY = "objects.inv"
"""The file that every copy has; it begins with the version."""
_VERSION = re.compile(rb"# Version: (\d+\.\d+)")
_HEAD = 200
_COPIES = (
    "{environment}/share/doc/python{version}/html",
    *("/usr/share/doc/python{version}/html", "/usr/share/doc/python3/html"),  # Debian
    *("/usr/share/doc/python3-docs/html", "/usr/share/doc/python/html"),  # Fedora, Arch
    *("{prefix}/share/doc/python{version}/html", "{prefix}/share/doc/python@{version}/html"),
    *("{prefix}/Doc/html", "{prefix}/Doc/build/html"),  # Windows, a build of one's own
    "{prefix}/Resources/English.lproj/Documentation",  # the installer for macOS
)


def local_copy(version: str = "") -> Path | None:
    """A copy of a version (`3.11`; without one, that of the running Python): the one that `PYTHONDOCS` names,
    as for pydoc, or one in a usual place."""
    version = version or f"{sys.version_info.major}.{sys.version_info.minor}"
    usual = (
        folder.format(version=version, environment=sys.prefix, prefix=sys.base_prefix) for folder in _COPIES
    )
    for path in map(Path, filter(None, (os.environ.get("PYTHONDOCS", ""), *usual))):
        try:
            with (path / INVENTORY).open("rb") as inventory:
                if inventory_version(inventory.read(_HEAD)) == version:
                    return path
        except OSError:
            continue
    return None


def copy_mark(path: Path | None) -> str:
    """Differs for two copies, and after an update of one; empty without a copy."""
    if path is None:
        return ""
    try:
        found = (path / INVENTORY).stat()
    except OSError:
        return ""
    return f"{path} {found.st_mtime_ns} {found.st_size}"


def inventory_version(inventory: bytes) -> str:
    """The version (`3.11`) in the first lines of an inventory; empty if there is none."""
    found = _VERSION.search(inventory[:_HEAD])
    return found[1].decode() if found else ""
