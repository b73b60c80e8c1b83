"""The background build: a process of its own completes the index, one for each index folder.

The builder holds the lock of a file in the folder and writes its status into that file, in place: a status
can be recorded even if the disk is full. If it says `building` while no process holds the lock, the build was
interrupted; the next process that uses the index starts another one, which continues.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from threading import Thread
from typing import Literal, TypeAlias

from groundwire.dialects.json import dump_json, load_json
from groundwire.engine.dense.packages import SWITCH as SEMANTIC_SWITCH
from groundwire.engine.knowledge import EDITION, BuildProgress
from groundwire.engine.knowledge.addresses import PYTHON_VERSION
from groundwire.engine.knowledge.local_copy import copy_mark, local_copy
from groundwire.errors import GroundwireError, WireError
from groundwire.files.lock import is_held, locked
from groundwire.files.text_file import PRIVATE, make_private_folder
from groundwire.model.value import field_names, replace, value
from groundwire.transport.workers import PASSED_VARIABLES

STATUS_FILE = "build.lock"
LOG_FILE = "build.log"
STORE_VARIABLE = "GROUNDWIRE_STORE"
_MODULE = "groundwire.engine.knowledge.builder"
_PASSED = (
    *(*PASSED_VARIABLES, "PATH", "HOME", "TMPDIR", "PYTHONDOCS", "XDG_DATA_HOME", "XDG_CACHE_HOME"),
    SEMANTIC_SWITCH,
)
_SIZE = 2048
"""Bytes of the status: the file never grows or shrinks."""
_LONGEST_MESSAGE = 400
_RETRY_AFTER = 600.0
"""Seconds until a build that failed is tried again."""
_UPDATE_AFTER = 3600.0
"""Seconds until new packages are looked for again: two environments that share an index take turns."""
_MOST_ATTEMPTS = 3
"""Interrupted builds in a row after which the next one waits as after a failure."""
_RECORD_INTERVAL = 0.25
_METADATA = (".dist-info", ".egg-info")
_LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
_START_SECONDS = 10.0
"""How long a builder may take until it has recorded its first status."""

BuildPhase: TypeAlias = Literal["none", "building", "interrupted", "complete", "failed"]


@value
class BuildStatus:
    """How far the index of a folder is."""

    phase: BuildPhase = "none"
    done: int = 0
    total: int = 0
    what: str = ""
    """The part that was read last."""
    message: str = ""
    """Why the last build failed."""
    at: float = 0.0
    """When this was recorded, as a Unix timestamp."""
    attempts: int = 0
    """Builds since the last one that ended."""
    environment: str = ""
    """What the last complete build was of: see `environment_mark`."""
    documentation: str = ""
    """The copy of Python's documentation that was added, or that was there when the user added or removed the
    documentation."""
    reading: str = ""
    """The copy that is being read."""

    @property
    def progress(self) -> str:
        """`120 of 290`; empty if it is not known."""
        return f"{self.done} of {self.total}" if self.total else ""

    @property
    def summary(self) -> str:
        """One line for people."""
        progress = f": {self.progress}, {self.what}" if self.total and self.what else ""
        return {
            "none": "not complete; the next search begins to complete it",
            "building": f"being completed{progress}",
            "interrupted": f"not complete{progress}; the next search continues",
            "complete": "complete",
            "failed": f"not complete: {self.message.rstrip('.')}",
        }[self.phase]


def read_status(folder: Path) -> BuildStatus:
    """The status of the index in a folder."""
    try:
        with (folder / STATUS_FILE).open("rb") as file:
            status = _decode(file.read(_SIZE))
    except OSError:
        return BuildStatus()
    if status.phase == "building" and not is_held(folder / STATUS_FILE):
        return replace(status, phase="interrupted")
    return status


class BuildRecorder:
    """Reads and writes the status of a build in the file whose lock is held."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.status = _decode(os.pread(descriptor, _SIZE, 0))
        self._recorded = 0.0

    def record(self, **changes: object) -> None:
        """Changes the status."""
        self.status = replace(self.status, at=time.time(), **changes)
        self._recorded = time.monotonic()
        os.pwrite(self._descriptor, _encode(self.status), 0)

    def report(self, progress: BuildProgress) -> None:
        """Records progress, a few times in a second at most."""
        if time.monotonic() - self._recorded >= _RECORD_INTERVAL or progress.done == progress.total:
            self.record(done=progress.done, total=progress.total, what=progress.what)


def _encode(status: BuildStatus) -> bytes:
    fields = {name: getattr(status, name) for name in field_names(BuildStatus)}
    fields["message"] = status.message[:_LONGEST_MESSAGE]
    return dump_json(fields).encode().ljust(_SIZE)


def _decode(data: bytes) -> BuildStatus:
    """The recorded status; none if the file has something else."""
    try:
        fields = load_json(data.strip(), WireError)
    except WireError:
        return BuildStatus()
    if not isinstance(fields, dict):
        return BuildStatus()
    default = BuildStatus()
    known = {
        name: fields[name]
        for name in field_names(BuildStatus)
        if isinstance(fields.get(name), type(getattr(default, name)))
    }
    return replace(default, **known)


def environment_mark() -> str:
    """Equal as long as groundwire, Python, the installed packages and the local documentation are the same.

    Only names of folders are read, so it is cheap."""
    names: set[str] = set()
    for path in dict.fromkeys(sys.path):
        with suppress(OSError):
            names.update(name for name in os.listdir(path or ".") if name.endswith(_METADATA))
    parts = "\n".join((*sorted(names), copy_mark(local_copy())))
    return f"{_edition()} {blake2b(parts.encode('utf-8', 'replace'), digest_size=8).hexdigest()}"


def _edition() -> str:
    return f"{EDITION} {PYTHON_VERSION}"


def documentation_mark(path: Path | None) -> str:
    """The copy of the documentation in a folder, as this edition reads it; empty without one."""
    mark = copy_mark(path)
    return f"{EDITION} {mark}" if mark else ""


def is_due(status: BuildStatus, environment: str, now: float) -> bool:
    """Should a build be started?"""
    age = now - status.at
    if status.phase == "building":
        return False
    if status.phase == "failed":
        return age > _RETRY_AFTER
    if status.phase == "interrupted":
        return status.attempts < _MOST_ATTEMPTS or age > _RETRY_AFTER
    if status.environment == environment:
        return False
    return not status.environment.startswith(f"{_edition()} ") or age > _UPDATE_AFTER


class BackgroundBuild:
    """Starts the builder of one index folder when it is due."""

    def __init__(self, folder: Path, store: str = "") -> None:
        self._folder = folder
        self._store = store
        self._environment = ""
        self._is_complete = False
        self._starts_until = 0.0

    def status(self) -> BuildStatus:
        """The status; a build that is due is started first."""
        if self._is_complete:
            return BuildStatus("complete")
        status = read_status(self._folder)
        self._environment = self._environment or environment_mark()
        is_starting = time.monotonic() < self._starts_until and status.phase in ("none", "interrupted")
        if is_starting or (is_due(status, self._environment, time.time()) and self._start()):
            return replace(status, phase="building", done=0, total=0)
        self._is_complete = status.phase == "complete" and status.environment == self._environment
        return status

    def _start(self) -> bool:
        """Starts the builder, detached: it outlives this process, and nothing waits for it."""
        try:
            make_private_folder(self._folder)
            log = os.open(self._folder / LOG_FILE, _LOG_FLAGS, PRIVATE)
        except OSError:
            return False
        passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
        if "PYTHONPATH" in passed:
            # The builder has another working directory.
            entries = passed["PYTHONPATH"].split(os.pathsep)
            passed["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, filter(None, entries)))
        if self._store:
            passed[STORE_VARIABLE] = self._store
        try:
            process = subprocess.Popen(  # noqa: S603  our own interpreter and module
                [sys.executable, "-P", "-m", _MODULE, str(self._folder.absolute()), self._environment],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=passed,
                cwd=self._folder,
                start_new_session=True,
            )
        except OSError:
            return False
        finally:
            os.close(log)
        # Reaps it if this process lives longer.
        Thread(target=process.wait, daemon=True, name="index-builder").start()
        self._starts_until = time.monotonic() + _START_SECONDS
        return True


def settle_documentation(folder: Path) -> None:
    """The user added or removed the documentation: a build leaves it alone until there is another copy."""
    with suppress(GroundwireError), locked(folder / STATUS_FILE, 1.0) as descriptor:
        BuildRecorder(descriptor).record(documentation=documentation_mark(local_copy()))
