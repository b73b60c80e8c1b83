"""What is installed: locked by hash, recent enough, few packages; and what importing groundwire touches."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.architecture.tree import PROJECT, SOURCE
from tests.figures import Figures

pytestmark = pytest.mark.server

LOCKS = sorted((PROJECT / "requirements").glob("*.lock"))
PIN = re.compile(r"^([a-z0-9.-]+)(?:\[[\w,-]+\])?==([0-9][^ \\;]*)", re.MULTILINE)
FLOORS = {
    "h11": (0, 16),
    "mcp": (2, 2, 0),
    "python-multipart": (0, 0, 32),
    "starlette": (1, 3, 1),
}
"""The first versions without a known vulnerability."""
MOST_DIRECT = 16
MOST_INSTALLED = 54
BOUND = 60.0

# Files that the interpreter and its libraries read wherever they run.
USUAL = ("/dev/", "/proc/", "/etc/", "/sys/", "/usr/share/zoneinfo/", "/usr/lib/ssl/")
PROBE = """
import sys
prefixes = tuple({prefixes!r}) + tuple(path for path in sys.path if path) + (sys.prefix, sys.base_prefix)
touched = []
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and arguments[0].startswith("/"):
        writes = isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        if writes or not arguments[0].startswith(prefixes):
            touched.append(arguments[0])
    elif event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "subprocess.Popen", "os.fork"):
        touched.append(event)
sys.addaudithook(watch)
sys.dont_write_bytecode = True
import json
for name in {modules!r}:
    __import__(name)
print(json.dumps(touched))
"""


def pins(lock: Path) -> dict[str, str]:
    return dict(PIN.findall(lock.read_text("utf-8")))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: str(lock.name))
def test_every_locked_package_has_hashes(lock: Path, figures: Figures) -> None:
    blocks = [block for block in re.split(r"\n(?=\S)", lock.read_text("utf-8")) if PIN.match(block)]
    assert {re.split(r"\[|==", block)[0] for block in blocks} == pins(lock).keys() != set()
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []
    if lock.name == "run.lock":
        figures.add("S18", "packages that are installed, all with hashes", len(blocks))


def test_packages_are_installed_with_their_hashes_only() -> None:
    makefile = (PROJECT / "Makefile").read_text("utf-8")
    installs = [line for line in makefile.splitlines() if "$(call install," in line and ".lock" in line]
    assert installs
    assert [line for line in installs if "--require-hashes" not in line] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: str(lock.name))
def test_no_locked_version_has_a_known_vulnerability(lock: Path) -> None:
    found = {
        name: tuple(map(int, version.split("."))) for name, version in pins(lock).items() if name in FLOORS
    }
    assert [name for name, version in found.items() if version < FLOORS[name]] == []


def test_the_number_of_packages_grows_only_on_purpose() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    assert len(project["dependencies"]) <= MOST_DIRECT
    assert len(pins(PROJECT / "requirements" / "run.lock")) <= MOST_INSTALLED


@pytest.mark.parametrize("module", ["groundwire.commands.http_app"])
def test_importing_opens_no_connection_starts_no_process_and_touches_no_file_of_the_user(module: str) -> None:
    program = PROBE.format(prefixes=(str(SOURCE), *USUAL), modules=[module])
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=BOUND,
        env={"PYTHONPATH": str(SOURCE.parent), "HOME": "/nonexistent"},
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_a_package_that_is_needed_with_an_extra_is_locked_with_it(lock: Path) -> None:
    """pip compares `name[extra]` with a lock of `name` only as long as that version is the newest."""
    text, locked = lock.read_text("utf-8"), pins(lock)
    missing = []
    for distribution in metadata.distributions():
        if distribution.name.lower() not in locked:
            continue
        for requirement in map(Requirement, distribution.requires or ()):
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            name = requirement.name.lower().replace("_", "-")
            extras = requirement.extras if applies and name in locked else ()
            missing += [f"{name}[{extra}]" for extra in extras if not _has_extra(text, name, extra)]
    assert missing == []


def _has_extra(lock: str, name: str, extra: str) -> bool:
    return re.search(rf"^{re.escape(name)}\[[^\]]*\b{extra}\b[^\]]*\]==", lock, re.MULTILINE) is not None
