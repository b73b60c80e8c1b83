"""Generate requirements/sbom.cdx.json: every package that groundwire can depend on, as CycloneDX.

The source is requirements/all.lock, which includes all extras. With `--check`, nothing is written; the exit
status is 1 if the file is out of date.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "all.lock"
BILL = ROOT / "requirements" / "sbom.cdx.json"

_PIN = re.compile(r"^(?P<name>[a-z0-9.-]+)(?:\[[\w,-]+\])?==(?P<version>[^\s;]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


class Package(NamedTuple):
    """A pinned package with the digests of all its distributions."""

    name: str
    version: str
    digests: tuple[str, ...]


def packages(lock: str) -> Iterator[Package]:
    """Yield the packages that a lock file pins."""
    pins = list(_PIN.finditer(lock))
    ends = [pin.start() for pin in pins[1:]] + [len(lock)]
    for pin, end in zip(pins, ends, strict=True):
        yield Package(pin["name"], pin["version"], tuple(_HASH.findall(lock, pin.end(), end)))


def render(lock: str, version: str) -> str:
    """Return the bill of materials as JSON text."""
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{package.name}@{package.version}",
            "name": package.name,
            "version": package.version,
            "purl": f"pkg:pypi/{package.name}@{package.version}",
            "properties": [{"name": "distribution:sha256", "value": digest} for digest in package.digests],
        }
        for package in packages(lock)
    ]
    root = f"pkg:pypi/groundwire@{version}"
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": "groundwire",
                "version": version,
                "purl": root,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": components,
    }
    return json.dumps(bill, indent=1) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the file; with `--check`, compare it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    bill = render(LOCK.read_text("utf-8"), project["version"])
    if "--check" not in arguments:
        BILL.write_text(bill, encoding="utf-8")
    elif not BILL.is_file() or BILL.read_text("utf-8") != bill:
        print(f"{BILL.name} is out of date: run scripts/sbom.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
