"""Response spool: answers that go on after their request, where every process of the service can read them.

A response has a state and the events of its stream, which grow. The process that runs it saves both, and
thereby shows that it is alive; if it has not for a while, the process is gone and the response is lost. Any
process can ask it to stop. Calls block.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import time
from typing import Protocol, cast

from groundwire.errors import TurnedAway
from groundwire.files.lock import locked
from groundwire.files.text_file import delete, make_private_folder, write_private
from groundwire.model import JsonObject
from groundwire.model.value import value

KEEP_SECONDS = 24 * 3600.0
LOST_SECONDS = 30.0
_LOCK_SECONDS = 10.0
_NAME = re.compile(r"[0-9A-Za-z_]{1,80}")
_FINAL = frozenset({"completed", "failed", "incomplete", "cancelled"})


@value
class SpooledResponse:
    """A response as it is now: the body that a poll returns, and events if they were asked for."""

    owner: str
    body: JsonObject
    events: bytes = b""

    @property
    def is_final(self) -> bool:
        """Will it change no more?"""
        return is_final(self.body)


class ResponseSpool(Protocol):
    """The responses of one service."""

    def create(self, name: str, owner: str, body: JsonObject) -> None:
        """Add a response. Raises 429 if too many run; old ones are removed first."""
        ...

    def read(self, name: str, owner: str, offset: int | None = None) -> SpooledResponse | None:
        """A response of this owner, with its events from an offset in bytes on if one is given; None if
        there is no such response."""
        ...

    def save(self, name: str, offset: int, events: bytes, body: JsonObject | None) -> bool:
        """Write events at an offset, and a new state if there is one; False if the response is to stop, or
        was removed. A call may be repeated, also with more events."""
        ...

    def stop(self, name: str) -> None:
        """Ask the process that runs a response to stop it."""
        ...

    def remove(self, name: str) -> None:
        """Remove a response; if it still runs, it stops."""
        ...


def is_valid_name(name: str) -> bool:
    """Can a response have this name?"""
    return _NAME.fullmatch(name) is not None


def is_final(body: JsonObject) -> bool:
    """Is this the last state of a response?"""
    return body.get("status") in _FINAL


def lost_body(body: JsonObject) -> JsonObject:
    """The state of a response whose process is gone."""
    message = "the gateway was restarted while it answered; send the request again"
    return {**body, "status": "failed", "error": {"code": "server_error", "message": message}}


@value
class SpoolLimits:
    """How many responses there may be."""

    running: int = 100
    running_of_owner: int = 20
    kept: int = 1000
    kept_of_owner: int = 200


@value
class KeptResponse:
    """What decides about the place of a response."""

    name: str
    owner: str
    age: float
    """Seconds since it was last saved."""
    is_final: bool

    @property
    def is_running(self) -> bool:
        """Is a process working on it?"""
        return not self.is_final and self.age <= LOST_SECONDS


def make_room(kept: Sequence[KeptResponse], owner: str, limits: SpoolLimits) -> list[str]:
    """The responses to remove before an owner adds one. Raises 429 if too many run.

    An owner who adds many loses the oldest of them; other owners lose none.
    """
    running = Counter(one.owner for one in kept if one.is_running)
    if running.total() >= limits.running or running[owner] >= limits.running_of_owner:
        raise TurnedAway(
            "too many background responses are running; wait for one, or cancel one",
            status=429,
            code="TOO_MANY_BACKGROUND",
            retry_after=10,
        )
    removed = [one.name for one in kept if one.age > KEEP_SECONDS]
    idle = sorted(
        (one for one in kept if one.age <= KEEP_SECONDS and not one.is_running), key=lambda one: -one.age
    )
    counts = Counter(one.owner for one in kept if one.age <= KEEP_SECONDS)

    def drop_oldest(of: str) -> bool:
        oldest = next((one for one in idle if one.owner == of), None)
        if oldest is None:
            return False
        idle.remove(oldest)
        counts[of] -= 1
        removed.append(oldest.name)
        return True

    while counts[owner] >= limits.kept_of_owner and drop_oldest(owner):
        pass
    while counts.total() >= limits.kept:
        most = Counter(one.owner for one in idle).most_common(1)
        if not most or not drop_oldest(most[0][0]):
            break
    return removed


class FileSpool:
    """The responses of one machine, in a folder that all its workers share.

    A response has a file with its state and one with its events. A third one asks to stop it.
    """

    def __init__(
        self, folder: Path, clock: Callable[[], float] = time, limits: SpoolLimits | None = None
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._limits = limits or SpoolLimits()

    def create(self, name: str, owner: str, body: JsonObject) -> None:
        """Add a response. Raises 429 if too many run; old ones are removed first."""
        make_private_folder(self._folder)
        # Otherwise requests at once would exceed the limits.
        with locked(self._folder / "lock", _LOCK_SECONDS):
            for old in make_room(list(self._kept()), owner, self._limits):
                self.remove(old)
            with open(self._events(name), "xb", opener=_private):
                pass
            self._write_state(name, owner, body)

    def read(self, name: str, owner: str, offset: int | None = None) -> SpooledResponse | None:
        """A response of this owner; None if there is none."""
        try:
            if not is_valid_name(name):
                return None
            with open(self._state(name), "rb") as file:
                if _head(file.readline())[0] != owner:
                    return None
                body = cast("JsonObject", json.loads(file.read()))
            with open(self._events(name), "rb") as stream:
                stream.seek(offset or 0)
                events = b"" if offset is None else stream.read()
                age = self._clock() - os.fstat(stream.fileno()).st_mtime
        except (FileNotFoundError, ValueError):
            return None
        is_lost = not is_final(body) and age > LOST_SECONDS
        return SpooledResponse(owner, lost_body(body) if is_lost else body, events)

    def save(self, name: str, offset: int, events: bytes, body: JsonObject | None) -> bool:
        """Write events and a new state; False if the response is to stop."""
        try:
            with open(self._events(name), "r+b") as stream:
                stream.seek(offset)
                stream.write(events)
                stream.truncate()
            os.utime(self._events(name))
            if body is not None:
                with open(self._state(name), "rb") as file:
                    owner, _ = _head(file.readline())
                self._write_state(name, owner, body)
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

    def _write_state(self, name: str, owner: str, body: JsonObject) -> None:
        head = json.dumps({"owner": owner, "final": is_final(body)})
        write_private(str(self._state(name)), f"{head}\n{json.dumps(body)}")

    def _kept(self) -> Iterator[KeptResponse]:
        now = self._clock()
        for path in self._folder.glob("*.events"):
            try:
                with open(self._state(path.stem), "rb") as file:
                    owner, final = _head(file.readline())
                yield KeptResponse(path.stem, owner, now - path.stat().st_mtime, final)
            except (FileNotFoundError, ValueError):  # its process died before the state was written
                yield KeptResponse(path.stem, "", KEEP_SECONDS + 1, is_final=True)


def _head(line: bytes) -> tuple[str, bool]:
    """Owner, and whether the state is final: all that has to be read to make room."""
    head = json.loads(line)
    return cast("str", head["owner"]), cast("bool", head.get("final", True))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
