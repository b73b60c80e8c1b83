"""Response spool: answers that go on after their request, in files that all workers of a gateway can read.

A response has a file with its current state, and one with the events of its stream, which grows. The worker
that runs it touches the second one; if it has not for a while, the worker is gone and the response is lost.
Another worker stops it by a third file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from time import time
from typing import cast

from groundwire.errors import TurnedAway
from groundwire.files.text_file import delete, make_private_folder, write_private
from groundwire.model import JsonObject
from groundwire.model.value import value

KEEP_SECONDS = 24 * 3600.0
MAX_RESPONSES = 1000
MAX_RUNNING = 100
MAX_RUNNING_OF_OWNER = 20
MAX_BYTES = 16 * 2**20
"""Of the stream of one response."""
LOST_SECONDS = 30.0
_NAME = re.compile(r"[0-9A-Za-z_]{1,80}")
_FINAL = frozenset({"completed", "failed", "incomplete", "cancelled"})


@value
class SpooledResponse:
    """The state of a response: the key owner, and the body that a poll returns."""

    owner: str
    body: JsonObject

    @property
    def is_final(self) -> bool:
        """Will it change no more?"""
        return self.body.get("status") in _FINAL


class ResponseSpool:
    """The responses in one folder."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time) -> None:
        self._folder = folder
        self._clock = clock

    def create(self, name: str, owner: str, body: JsonObject) -> None:
        """Add a response. Raises 429 if too many run; old ones are removed first."""
        make_private_folder(self._folder)
        self._prune()
        running = [state.owner for state in self._running()]
        if len(running) >= MAX_RUNNING or running.count(owner) >= MAX_RUNNING_OF_OWNER:
            raise TurnedAway(
                "too many background responses are running; wait for one, or cancel one",
                status=429,
                code="TOO_MANY_BACKGROUND",
                retry_after=10,
            )
        with open(self._events(name), "xb", opener=_private):
            pass
        self.update(name, SpooledResponse(owner, body))

    def update(self, name: str, state: SpooledResponse) -> None:
        """Replace the state of a response, unless it was deleted."""
        if self._events(name).exists():
            write_private(str(self._state(name)), json.dumps({"owner": state.owner, "body": state.body}))

    def read(self, name: str, owner: str) -> SpooledResponse | None:
        """The state of a response of this owner; None if there is none."""
        state = self._read(name) if _NAME.fullmatch(name) else None
        if state is None or state.owner != owner:
            return None
        if not state.is_final and self._age(name) > LOST_SECONDS:
            return SpooledResponse(owner, _lost(state.body))
        return state

    def append(self, name: str, data: bytes) -> bool:
        """Add events to the stream; False if the response was deleted or becomes too large."""
        path = self._events(name)
        try:
            with open(path, "r+b") as file:
                file.seek(0, os.SEEK_END)
                file.write(data)
                return file.tell() <= MAX_BYTES
        except FileNotFoundError:
            return False

    def events(self, name: str, offset: int) -> bytes:
        """The bytes of the stream from an offset on."""
        try:
            with open(self._events(name), "rb") as file:
                file.seek(offset)
                return file.read()
        except FileNotFoundError:
            return b""

    def keep_alive(self, name: str) -> bool:
        """Show that a response still runs; False if it is to stop."""
        try:
            os.utime(self._events(name))
        except FileNotFoundError:
            return False
        return not self._stop(name).exists()

    def stop(self, name: str) -> None:
        """Ask the worker that runs a response to stop it."""
        with open(self._stop(name), "wb", opener=_private):
            pass

    def remove(self, name: str) -> None:
        """Remove a response; if it still runs, it stops."""
        for path in (self._state(name), self._events(name), self._stop(name)):
            delete(str(path))

    def _state(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _events(self, name: str) -> Path:
        return self._folder / f"{name}.events"

    def _stop(self, name: str) -> Path:
        return self._folder / f"{name}.stop"

    def _read(self, name: str) -> SpooledResponse | None:
        try:
            found = json.loads(self._state(name).read_text("utf-8"))
        except FileNotFoundError:
            return None
        return SpooledResponse(cast("str", found["owner"]), cast("JsonObject", found["body"]))

    def _age(self, name: str) -> float:
        try:
            return self._clock() - self._events(name).stat().st_mtime
        except FileNotFoundError:
            return KEEP_SECONDS

    def _names(self) -> list[str]:
        """All responses, the oldest first."""
        names = [path.stem for path in self._folder.glob("*.events")]
        return sorted(names, key=self._age, reverse=True)

    def _running(self) -> Iterator[SpooledResponse]:
        for name in self._names():
            state = self._read(name)
            if state is not None and not state.is_final and self._age(name) <= LOST_SECONDS:
                yield state

    def _prune(self) -> None:
        names = self._names()
        surplus = len(names) - MAX_RESPONSES + 1
        for number, name in enumerate(names):
            if number < surplus or self._age(name) > KEEP_SECONDS:
                self.remove(name)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _lost(body: JsonObject) -> JsonObject:
    message = "the gateway was restarted while it answered; send the request again"
    return {**body, "status": "failed", "error": {"code": "server_error", "message": message}}
