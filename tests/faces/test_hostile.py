"""Answers with terminal escape sequences in every field that the command line shows."""

from __future__ import annotations

import json
import random
import re
import unicodedata

import pytest

from groundwire.errors import GroundwireError, Refused
from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Failed,
    Finished,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    TextDelta,
    Warned,
)
from tests.faces.fakes import Bench, FakeClient
from tests.text.test_sanitise import HOSTILE

OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\[2K|\x1b\[J|\x1b\[\d+A|\r|\x1b\]8;;(?:https?://[!-~]*)?\x1b\\")
"""Styles, cursor movements and web links: all sequences that the command line itself writes."""
ANSWERS = 50


def hostile_events(chance: random.Random) -> list[Event]:
    """Events with a hostile string in every field."""

    def piece() -> str:
        letters = "".join(HOSTILE) + "abc 京🏙️\n"
        return chance.choice(HOSTILE) + "".join(chance.choices(letters, k=chance.randint(1, 40)))

    text = (
        piece()
        + " **"
        + piece()
        + "** `"
        + piece()
        + "` ["
        + piece()
        + "](https://a.example/"
        + piece()
        + ")"
    )
    pages = [Source("https://e.example/" + piece(), piece(), "cited", domain=piece()) for _ in range(3)]
    pages.append(Source(piece(), piece(), "cited"))
    cited = [
        Cited(Citation(Span(0, chance.randint(0, len(text))), (Evidence(page, piece()),))) for page in pages
    ]
    return [
        Started(piece(), piece()),
        SearchCalled(0, SearchCall(piece(), (piece(), piece()))),
        SearchReturned(1, SearchResult("s", tuple(pages))),
        TextDelta(2, text[:20]),
        TextDelta(2, text[20:]),
        *cited,
        Warned("x", piece()),
        Finished("stop", piece(), {"groundwire": {"provider": piece(), "model": piece()}}),
    ]


def forbidden(text: str) -> set[str]:
    """Control characters that the command line must not write."""
    return {
        char
        for char in OURS.sub("", text)
        if (unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t") or "\u202a" <= char <= "\u202e"
    }


@pytest.mark.parametrize("form", ["", "--json", "--jsonl", "--markdown", "--raw", "--no-stream"])
@pytest.mark.parametrize("terminal", [False, True])
def test_control_characters_of_an_answer_are_not_printed(form: str, terminal: bool) -> None:
    chance = random.Random(form + str(terminal))
    env = {"FORCE_HYPERLINK": "1"} if terminal else {}
    for _ in range(ANSWERS):
        bench = Bench(FakeClient(hostile_events(chance)), terminal=terminal, env=env)
        bench.run("search", "q", *([form] if form else []))
        assert forbidden(bench.stdout) == set()
        assert forbidden(bench.stderr) == set()
        if not terminal:
            assert "\x1b" not in bench.stdout + bench.stderr


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("form", ["", "--json", "--jsonl"])
def test_control_characters_of_an_error_are_not_printed(text: str, form: str) -> None:
    failures: tuple[list[Event | GroundwireError], ...] = (
        [Refused(text)],
        [TextDelta(0, text), Failed(Refused(text))],
    )
    for failure in failures:
        bench = Bench(FakeClient(failure))
        assert bench.run("search", "q", *([form] if form else [])) == 5
        assert forbidden(bench.stdout + bench.stderr) == set()


@pytest.mark.parametrize("text", HOSTILE)
def test_control_characters_of_a_tool_result_are_not_printed(text: str) -> None:
    bench = Bench(FakeClient([Started(), TextDelta(0, f"Yes {text}"), Finished()]))
    bench.run("tool", "websearch", json.dumps({"query": "x"}))
    assert forbidden(bench.stdout) == set()
