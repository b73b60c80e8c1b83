"""Logging: JSON lines on a stream, and the access log with one record for each request.

Records hold nothing of the content of requests or responses, and no key.
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
    from groundwire.server.app import AccessRecord

log = logging.getLogger("groundwire.requests")

LEVELS = ("debug", "info", "warning", "error")
_VERBOSE_LIBRARIES = ("asyncio", "ddgs", "httpx", "mcp", "primp", "uvicorn")
"""Only their warnings are logged: below that they log URLs."""


class JsonLogFormatter(logging.Formatter):
    """Formats a log record as one redacted JSON object."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The JSON text of a record."""
        entry: JsonObject = {
            "time": _timestamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            # Access records hold only our own values; other records may quote a provider and are redacted.
            return json.dumps({**entry, **fields})
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return self._redact(json.dumps(entry))


def set_up_logging(level: str, stream: TextIO, redact: Callable[[str], str]) -> None:
    """Write all log records to a stream, one JSON object per line."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLogFormatter(redact))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in _VERBOSE_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)


class _RequestLogRecord(logging.LogRecord):
    """Log record of a request. Its source location and thread are constants: looking them up takes longer
    than all the rest."""

    args = exc_info = exc_text = stack_info = taskName = None  # noqa: N815
    levelno, levelname, name = logging.INFO, "INFO", log.name
    pathname, filename, module = __file__, "access_log.py", "access_log"
    funcName, lineno = "log_request", 0  # noqa: N815
    process, processName, thread, threadName = None, "MainProcess", None, "MainThread"  # noqa: N815

    def __init__(self, record: AccessRecord) -> None:
        self.created = time()
        self.msecs = self.relativeCreated = 0.0
        self.msg = f"{record.method} {record.path} {record.status}"
        self.fields = record_fields(record)


def log_request(record: AccessRecord) -> None:
    """Log a completed request."""
    if log.isEnabledFor(logging.INFO):
        log.handle(_RequestLogRecord(record))


def record_fields(record: AccessRecord) -> JsonObject:
    """The fields of an access record, as they are logged."""
    fields = {name: getattr(record, name) for name in field_names(type(record))}
    return {**fields, "seconds": round(record.seconds, 4)}


class RequestLog:
    """Access log file. It may be moved away at any time (logrotate): a new file is created."""

    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._descriptor = -1
        self._inode = (0, 0)
        try:
            self._open()
        except OSError as error:
            raise ConfigError(f"gateway.request_log: {path} cannot be written: {error.strerror}") from None

    def __call__(self, record: AccessRecord) -> None:
        """Append a record with a single write, so that several workers can share the file."""
        line = json.dumps({"time": _timestamp(self._clock()), **record_fields(record)}) + "\n"
        try:
            if self._was_moved():
                self._open()
            os.write(self._descriptor, line.encode())
        except OSError as error:  # a full disk must not fail requests
            log.warning("the request log cannot be written: %s", error.strerror)

    def _was_moved(self) -> bool:
        try:
            return self._inode != _inode(os.stat(self._path))
        except FileNotFoundError:
            return True

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o600)
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = descriptor
        self._inode = _inode(os.fstat(descriptor))


def _inode(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
