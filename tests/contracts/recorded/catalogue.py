"""Catalogue of all recordings: what each file is and which dialect it uses.

Its folder and its name determine both; a file that no rule knows makes a test fail.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from groundwire.dialects.registry import dialect
from groundwire.model import Answer, Event, Json, JsonObject, assemble
from tests.conftest import RECORDINGS
from tests.contracts.recorded import (
    anthropic_messages,
    gemini,
    gemini_interactions,
    openai_chat,
    openai_responses,
)
from tests.contracts.recorded.facts import RecordedAnswer
from tests.contracts.recorded.frames import decode, payloads, sse_of_lines
from tests.contracts.recorded.lookup import at, number

Kind: TypeAlias = Literal["body", "stream", "error", "request", "meta"]

NOT_ANSWERS = {
    "INDEX.md": "the list of the recordings",
    "copilot/*": "output of a command line program, which is not a dialect",
    "anthropic/count-tokens.*": "the answer of another endpoint",
    "synthetic/codex-alpha-search.json": "the answer of another endpoint",
}

_DIALECTS = (
    ("anthropic/*", "anthropic_messages"),
    ("gemini/interactions-*", "gemini_interactions"),
    ("gemini/*", "gemini"),
    ("openai-chat/*", "openai_chat"),
    ("openrouter-chat/*", "openai_chat"),
    ("perplexity-chat/*", "openai_chat"),
    ("groq-chat/*", "openai_chat"),
    ("synthetic/chat-*", "openai_chat"),
    ("synthetic/openrouter-chat-*", "openai_chat"),
    ("synthetic/openrouter-200-*", "openai_chat"),
    ("*-responses/*", "openai_responses"),
    ("codex/*", "openai_responses"),
    ("synthetic/codex-*", "openai_responses"),
    ("synthetic/responses-*", "openai_responses"),
    ("synthetic/openrouter-responses-*", "openai_responses"),
)
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("*.request.json", "request"),
    ("*.meta.json", "meta"),
    ("*/error-[0-9]*", "error"),
    ("synthetic/codex-error-*", "error"),
    ("*.sse", "stream"),
    ("*.events.jsonl", "stream"),
    ("gemini/stream-json-array.json", "stream"),
    ("*.json", "body"),
    ("*.raw.txt", "body"),
)


class WireReader(NamedTuple):
    """An oracle: the facts of a body, and the body of a stream."""

    read: Callable[[JsonObject], RecordedAnswer]
    gather: Callable[[Iterable[JsonObject]], JsonObject]


READERS = {
    "anthropic_messages": WireReader(anthropic_messages.read, anthropic_messages.gather),
    "openai_responses": WireReader(openai_responses.read, openai_responses.gather),
    "openai_chat": WireReader(openai_chat.read, openai_chat.gather),
    "gemini": WireReader(gemini.read, gemini.gather),
    "gemini_interactions": WireReader(gemini_interactions.read, gemini_interactions.gather),
}


class Recording(NamedTuple):
    """One file, under the name it has in the folder."""

    name: str
    dialect: str
    kind: Kind
    vendor: str = ""
    """The provider that reads it, if that is not any provider of the dialect."""
    content: bytes = b""
    """The bytes of an answer that is not in a file."""

    @property
    def data(self) -> bytes:
        """The bytes as the provider sent them; streams kept line by line get their framing back."""
        data = self.content or (RECORDINGS / self.name).read_bytes()
        return sse_of_lines(data) if self.name.endswith(".events.jsonl") else data


@cache
def every_file() -> list[str]:
    """The names of all files there are; none if the recordings are not on this machine."""
    return sorted(
        path.relative_to(RECORDINGS).as_posix() for path in Path(RECORDINGS).rglob("*") if path.is_file()
    )


def not_an_answer(name: str) -> str:
    """Why a file contains nothing for a dialect; empty if it does."""
    return next((reason for pattern, reason in NOT_ANSWERS.items() if fnmatch(name, pattern)), "")


def find_recording(name: str) -> Recording | None:
    """The recording of a file, by its path."""
    owner = next((owner for pattern, owner in _DIALECTS if fnmatch(name, pattern)), None)
    kind = next((kind for pattern, kind in _KINDS if fnmatch(name, pattern)), None)
    return Recording(name, owner, kind) if owner and kind else None


def recordings_of(*kinds: Kind) -> list[Recording]:
    """All recordings of these kinds."""
    found = (find_recording(name) for name in every_file() if not not_an_answer(name))
    return [recording for recording in found if recording is not None and recording.kind in kinds]


def body_of(recording: Recording) -> JsonObject:
    """The whole body; that of a stream is merged from its frames."""
    if recording.kind == "stream":
        return READERS[recording.dialect].gather(payloads(recording.data))
    body: Json = json.loads(recording.data)
    assert isinstance(body, dict), "every body is an object"
    return body


@cache
def recorded_answer(recording: Recording) -> RecordedAnswer:
    """The facts of a recording."""
    return READERS[recording.dialect].read(body_of(recording))


@cache
def events_of(recording: Recording) -> tuple[Event, ...]:
    """The events that the dialect decodes."""
    ours = dialect(recording.dialect)
    if recording.kind == "stream":
        return tuple(decode(ours.decoder(), [recording.data]))
    return tuple(ours.decode_response(body_of(recording)))


@cache
def answer_of(recording: Recording) -> Answer:
    """The decoded answer."""
    return assemble(events_of(recording))


def status_and_headers(recording: Recording) -> tuple[int, dict[str, str]]:
    """HTTP status and headers of an error: from its meta file, its name, or its body."""
    meta_file = RECORDINGS / re.sub(r"\.(json|txt)$", ".meta.json", recording.name)
    meta: Json = json.loads(meta_file.read_bytes()) if meta_file.exists() else {}
    named = re.search(r"error-(\d{3})", recording.name)
    status = number(meta, "status") or (float(named[1]) if named else 0.0)
    headers = at(meta, "response_headers")
    items = headers.items() if isinstance(headers, dict) else ()
    return int(status), {name.lower(): _header(value) for name, value in items}


def _header(value: Json) -> str:
    return ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)
