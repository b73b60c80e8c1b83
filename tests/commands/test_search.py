"""`groundwire search`, with a prepared answer."""

from __future__ import annotations

import json
import re

import pytest

from groundwire.config.schema import Config, ProviderSettings
from groundwire.errors import AllTargetsFailed, AuthRejected, Interrupted, MissingCredential, Unreachable
from groundwire.model import (
    Event,
    Failed,
    Finished,
    Location,
    SearchOptions,
    Started,
    TextDelta,
    Warned,
    assemble,
)
from groundwire.model.json import decode
from groundwire.text.markdown import render_answer
from tests.faces.fakes import LATE, TEXT, Bench, FakeClient
from tests.faces.screen import Screen

NOTHING = (Started(), Finished())
PARTIAL: tuple[Event, ...] = (*LATE[:5], Failed(Interrupted("the stream ended")))


def test_only_the_answer_is_printed_into_a_pipe() -> None:
    bench = Bench(FakeClient(LATE))
    assert bench.run("search", "how", "many?") == 0
    assert bench.stdout == render_answer(assemble(LATE)) + "\n"
    assert bench.stderr == ""
    assert bench.client.closed


def test_the_question_is_sent_as_it_was_typed() -> None:
    bench = Bench(FakeClient(LATE))
    bench.run("search", "--provider", "gemini", "--model", "m", "how", "many", "people?")
    request, provider, model = bench.client.requests[0]
    assert (request.query, provider, model) == ("how many people?", "gemini", "m")
    assert request.search == SearchOptions()
    assert request.stream


def test_the_question_can_be_read_from_standard_input() -> None:
    bench = Bench(FakeClient(LATE), stdin="how many\nlines?\n")
    bench.run("search", "-")
    assert bench.client.requests[0][0].query == "how many\nlines?"


def test_options_become_search_options() -> None:
    bench = Bench(FakeClient(LATE))
    code = bench.run(
        *(
            "search",
            "q",
            "--allow",
            "a.com",
            "b.com",
            "--block",
            "c.com",
            "--country",
            "de",
            "--city",
            "Köln",
        ),
        *("--region", "NRW", "--timezone", "Europe/Berlin", "--language", "de", "--max-sources", "3"),
        *("--max-uses", "2", "--no-live", "--context", "high", "--no-stream"),
    )
    assert code == 0
    request = bench.client.requests[0][0]
    assert request.search == SearchOptions(
        allowed_domains=("a.com", "b.com"),
        blocked_domains=("c.com",),
        location=Location("DE", "NRW", "Köln", "Europe/Berlin"),
        language="de",
        max_sources=3,
        max_uses=2,
        context_size="high",
        live=False,
    )
    assert not request.stream


@pytest.mark.parametrize(
    ("since", "start"),
    [
        ("7d", "2027-01-08T08:00:00Z"),
        ("2026-01-01", "2026-01-01T00:00:00Z"),
        ("2026-05-01T12:00:00+02:00", "2026-05-01T10:00:00Z"),
    ],
)
def test_a_time_is_made_absolute_and_ends_now(since: str, start: str) -> None:
    bench = Bench(FakeClient(LATE))
    bench.run("search", "q", "--since", since)
    search = bench.client.requests[0][0].search
    assert search is not None
    assert (search.since, search.until) == (start, "2027-01-15T08:00:00Z")


def test_json_is_one_object() -> None:
    bench = Bench(FakeClient(LATE))
    assert bench.run("search", "--json", "q") == 0
    assert json.loads(bench.stdout)["text"] == TEXT
    assert bench.stdout.count("\n") == 1


def test_jsonl_is_one_event_a_line() -> None:
    bench = Bench(FakeClient(LATE))
    assert bench.run("search", "--jsonl", "q") == 0
    assert [decode(json.loads(line)) for line in bench.stdout.splitlines()] == list(LATE)


def test_markdown_and_raw() -> None:
    bench = Bench(FakeClient(LATE))
    bench.run("search", "--markdown", "q")
    assert "## Sources" in bench.stdout
    bench = Bench(FakeClient(LATE))
    bench.run("search", "--raw", "q")
    assert bench.stdout == TEXT + "\n"


def test_a_terminal_shows_the_answer_with_sources_and_cost() -> None:
    bench = Bench(FakeClient(LATE), terminal=True)
    assert bench.run("search", "q") == 0
    screen = Screen()
    screen.feed(bench.stdout.replace("\n", "\r\n"))
    assert screen.text.startswith(
        "Köln hat 1,1 Mio. Einwohner 🏙[1][2]. Es liegt am Rhein.[2]\n\nSources\n[1] "
    )
    notes = Screen()
    notes.feed(bench.stderr.replace("\n", "\r\n"))
    assert "Searched: Einwohner Köln\n" in notes.text
    assert "gemini · gemini-2.5-flash · 1 search · 1,200 tokens in, 31 out · $0.0123 · " in notes.text


def test_a_terminal_without_streaming_gets_the_whole_answer() -> None:
    bench = Bench(FakeClient(LATE), terminal=True, env={"NO_COLOR": "1"})
    assert bench.run("search", "--no-stream", "q") == 0
    assert bench.stdout.count("Köln hat") == 1


def test_a_dumb_terminal_gets_plain_text() -> None:
    bench = Bench(FakeClient(LATE), terminal=True, env={"TERM": "dumb"})
    assert bench.run("search", "q") == 0
    assert bench.stdout == render_answer(assemble(LATE)) + "\n"
    assert "\x1b" not in bench.stderr
    assert "Searching: Einwohner Köln\n" in bench.stderr


def test_without_colours_nothing_is_styled() -> None:
    bench = Bench(FakeClient(LATE), terminal=True, env={"NO_COLOR": "1"})
    bench.run("search", "q")
    assert "m" not in re.findall(r"\x1b\[[\d;]*([A-Za-z])", bench.stdout + bench.stderr)


def test_colours_can_be_forced_into_a_pipe() -> None:
    bench = Bench(FakeClient((*LATE[:-1], Warned("x", "odd"), LATE[-1])), env={"FORCE_COLOR": "1"})
    bench.run("search", "q")
    assert "\x1b[33mWarning: odd\x1b[0m" in bench.stderr


def test_an_answer_without_sources_is_reported() -> None:
    bench = Bench(FakeClient((Started(), TextDelta(0, "I think so."), Finished())))
    assert bench.run("search", "q") == 0
    assert bench.stdout == "I think so.\n"
    assert "Not grounded" in bench.stderr


def test_warnings_are_printed_on_standard_error() -> None:
    bench = Bench(FakeClient((Warned("option_ignored", "gemini has no\x1b max_uses"), *LATE)))
    bench.run("search", "q")
    assert bench.stderr == "Warning: gemini has no max_uses\n"


@pytest.mark.parametrize(
    ("reason", "words"), [("length", "cut off"), ("filtered", "filter"), ("refused", "declined")]
)
def test_an_unusual_finish_reason_is_reported(reason: str, words: str) -> None:
    bench = Bench(FakeClient((*LATE[:-1], Finished(reason))))  # type: ignore[arg-type]
    assert bench.run("search", "q") == 0
    assert words in bench.stderr


def test_nothing_found_has_an_exit_code_of_its_own() -> None:
    bench = Bench(FakeClient(NOTHING))
    assert bench.run("search", "gibberish") == 3
    assert bench.stdout == ""
    assert "nothing was found for 'gibberish'" in bench.stderr


def test_a_blocked_answer_is_a_failure_not_nothing_found() -> None:
    assert Bench(FakeClient((Started(), Finished("filtered")))).run("search", "q") == 1


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_a_blank_question_is_refused(query: str) -> None:
    bench = Bench()
    assert bench.run("search", query) == 2
    assert "the query is empty" in bench.stderr
    assert bench.client.requests == []


def test_an_unknown_provider_is_refused_with_a_list_of_known_ones() -> None:
    bench = Bench()
    assert bench.run("search", "--provider", "unknown", "q") == 2
    assert "unknown provider 'unknown'; `groundwire providers --all` lists all" in bench.stderr


def test_a_configured_provider_can_be_named() -> None:
    client = FakeClient(LATE, Config(providers={"mine": ProviderSettings()}))
    assert Bench(client).run("search", "--provider", "mine", "q") == 0


def test_contradictory_domains_are_refused() -> None:
    bench = Bench()
    assert bench.run("search", "q", "--allow", "a.com", "--block", "a.com") == 2
    assert "a.com" in bench.stderr


def test_too_many_domains_are_refused() -> None:
    bench = Bench()
    domains = ",".join(f"site{number}.example" for number in range(101))
    assert bench.run("search", "q", "--allow", domains) == 2
    assert "100" in bench.stderr


def test_two_output_formats_are_refused() -> None:
    bench = Bench()
    assert bench.run("search", "--json", "--raw", "q") == 2
    assert "--json and --raw cannot be used together" in bench.stderr


@pytest.mark.parametrize(
    ("error", "code", "advice"),
    [
        (MissingCredential("no key. Set GEMINI_API_KEY."), 4, "Set GEMINI_API_KEY."),
        (AuthRejected("bad key"), 4, "groundwire doctor"),
        (Unreachable("cannot reach x"), 5, "HTTPS_PROXY"),
        (
            AllTargetsFailed((("gemini", AuthRejected("bad key")), ("openai", Unreachable("no route")))),
            5,
            "gemini: bad key",
        ),
    ],
)
@pytest.mark.parametrize("form", ["", "--json", "--jsonl"])
def test_an_error_is_a_sentence_and_what_to_do_next(
    error: AuthRejected, code: int, advice: str, form: str
) -> None:
    bench = Bench(FakeClient([error]))
    assert bench.run("search", "q", *([form] if form else [])) == code
    assert bench.stderr.startswith("groundwire: ")
    assert advice in bench.stderr
    if form == "--json":
        assert json.loads(bench.stdout)["error"]["code"] == error.code
    elif form == "--jsonl":
        assert json.loads(bench.stdout)["type"] == "Failed"
    else:
        assert bench.stdout == ""


def test_the_partial_text_of_an_interrupted_answer_is_printed() -> None:
    bench = Bench(FakeClient(PARTIAL))
    assert bench.run("search", "q") == 5
    assert bench.stdout.startswith(TEXT[:20])
    assert "the stream ended" in bench.stderr
    bench = Bench(FakeClient(PARTIAL), terminal=True)
    assert bench.run("search", "q") == 5
    assert "Köln hat" in bench.stdout
    bench = Bench(FakeClient(PARTIAL))
    bench.run("search", "--json", "q")
    body = json.loads(bench.stdout)
    assert (body["text"], body["error"]["code"]) == (TEXT[:20], "UPSTREAM_INTERRUPTED")


def test_a_broken_configuration_is_also_reported_as_json() -> None:
    bench = Bench(env={"GROUNDWIRE_CONFIG": "/nonexistent/config.toml"})
    assert bench.run("search", "--json", "q") == 4
    assert json.loads(bench.stdout)["error"]["code"] == "INVALID_CONFIG"
    assert "/nonexistent/config.toml" in bench.stderr


def test_keys_of_the_environment_never_appear_in_an_error() -> None:
    key = "AbCdEfGhIjKlMnOp123"
    bench = Bench(FakeClient([AuthRejected(f"key {key} is bad; Bearer {key}")]), env={"MY_API_KEY": key})
    bench.run("search", "q")
    assert key[:8] not in bench.stderr
