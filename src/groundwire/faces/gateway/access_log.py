"""One record for each request: as a JSON line of the log, and in a file of its own where one is configured.

Nothing of what was asked or answered is in it, and no key.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from time import time
from typing import TYPE_CHECKING, TextIO

from groundwire.errors import ConfigError
from groundwire.model import JsonObject
from groundwire.model.value import field_names

if TYPE_CHECKING:
    from groundwire.faces.gateway.app import Seen

log = logging.getLogger("groundwire.requests")

LEVELS = ("debug", "info", "warning", "error")
_TALKATIVE = ("asyncio", "ddgs", "httpx", "mcp", "primp", "uvicorn")
"""Libraries that would say more than anybody wants to know, some of it with addresses in it."""


class JsonLines(logging.Formatter):
    """A record as one JSON object, redacted."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        told: JsonObject = {
            "time": _moment(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            # Made of our own words alone; the rest may repeat what a provider said.
            return json.dumps({**told, **fields})
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return self._redact(json.dumps(told))


def set_up_logging(level: str, stream: TextIO, redact: Callable[[str], str]) -> None:
    """Send everything that is logged to a stream, one JSON object a line."""
    lines = logging.StreamHandler(stream)
    lines.setFormatter(JsonLines(redact))
    root = logging.getLogger()
    root.handlers[:] = [lines]
    root.setLevel(level.upper())
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


class _Over(logging.LogRecord):
    """A record of a request. Where in our source it was made, by which thread, is known without a search."""

    args = exc_info = exc_text = stack_info = taskName = None  # noqa: N815
    levelno, levelname, name = logging.INFO, "INFO", log.name
    pathname, filename, module, funcName, lineno = __file__, "observing.py", "observing", "tell", 0  # noqa: N815
    process, processName, thread, threadName = None, "MainProcess", None, "MainThread"  # noqa: N815

    def __init__(self, seen: Seen) -> None:
        self.created = time()
        self.msecs = self.relativeCreated = 0.0
        self.msg = f"{seen.method} {seen.path} {seen.status}"
        self.fields = record_of(seen)


def tell(seen: Seen) -> None:
    """Log a request that is over."""
    if log.isEnabledFor(logging.INFO):
        log.handle(_Over(seen))


def record_of(seen: Seen) -> JsonObject:
    """A request as it is told."""
    told = {name: getattr(seen, name) for name in field_names(type(seen))}
    return {**told, "seconds": round(seen.seconds, 4)}


class RequestLog:
    """A file with a line for each request. It may be moved away at any time: a new one is begun."""

    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._file = -1
        self._place = (0, 0)
        try:
            self._open()
        except OSError as error:
            raise ConfigError(f"gateway.request_log: {path} cannot be written: {error.strerror}") from None

    def __call__(self, seen: Seen) -> None:
        """Write the line in one piece, so that workers can share the file."""
        line = json.dumps({"time": _moment(self._clock()), **record_of(seen)}) + "\n"
        try:
            if self._moved():
                self._open()
            os.write(self._file, line.encode())
        except OSError as error:  # a full disk must not keep anybody from an answer
            log.warning("the request log cannot be written: %s", error.strerror)

    def _moved(self) -> bool:
        try:
            return self._place != _place(os.stat(self._path))
        except FileNotFoundError:
            return True

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        fresh = os.open(self._path, flags, 0o600)
        if self._file >= 0:
            os.close(self._file)
        self._file = fresh
        self._place = _place(os.fstat(fresh))


def _place(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
