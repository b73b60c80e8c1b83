"""`groundwire verify`, `cite` and `search --verify`, with prepared answers and pages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from groundwire.faces.cli.output import SearchQuestion, as_json, as_line
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    SearchOptions,
    Source,
    Span,
    Started,
    TextDelta,
    assemble,
)
from groundwire.verify.check import PageOutcome, check_answer
from groundwire.verify.facts import AddressFact, VerifyReport
from groundwire.verify.pages import PageText
from groundwire.verify.policy import VerifyPolicy
from tests.faces.fakes import Bench, FakeClient

URL = "https://tower.example.org/height"
SAID = "The tower is 324 metres tall."
PAGES = {URL: PageOutcome(AddressFact("alive", "HTTP 200", origin="web"), PageText(SAID))}


def events(text: str, *, url: str = URL) -> tuple[Event, ...]:
    citation = Citation(Span(0, len(text)), (Evidence(Source(url, "The tower", "cited")),))
    return (
        Started("1", "m", "gemini"),
        TextDelta(0, text),
        Cited(citation),
        Finished(extras={"groundwire": {"provider": "gemini", "model": "m"}}),
    )


RIGHT, WRONG = events(SAID), events("The tower is 330 metres tall.")


class VerifyingClient(FakeClient):
    """A client whose web has one page."""

    def __init__(self, given: Sequence[Event] = ()) -> None:
        super().__init__(given)
        self.policies: list[VerifyPolicy | None] = []

    async def averify(
        self, answer: Answer, *, options: SearchOptions | None = None, policy: VerifyPolicy | None = None
    ) -> VerifyReport:
        self.policies.append(policy)
        return check_answer(answer, PAGES, options or self.config.search)


def saved(given: Sequence[Event]) -> str:
    return as_json(assemble(given), SearchQuestion("How tall is it?", "gemini", "m"))


@pytest.mark.parametrize(("given", "code"), [(RIGHT, 0), (WRONG, 6)])
@pytest.mark.parametrize("lines", [False, True])
def test_the_exit_code_tells_whether_a_citation_fails(given: Sequence[Event], code: int, lines: bool) -> None:
    text = "\n".join(map(as_line, given)) if lines else saved(given)
    bench = Bench(VerifyingClient(), stdin=text)
    assert bench.run("verify") == code
    assert bench.client.closed


def test_a_file_is_read_and_the_difference_is_shown(tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_text(saved(WRONG))
    bench = Bench(VerifyingClient(), cwd=str(tmp_path), env={"COLUMNS": "120"})
    assert bench.run("verify", "answer.json") == 6
    assert "claim “330”, page “324”" in bench.stdout
    assert f"“{SAID}”" in bench.stdout
    assert bench.stdout.endswith("1 citation of 1 page: 1 failed.\n")
    assert "\x1b" not in bench.stdout


def test_what_is_supported_is_a_row_of_the_table_and_explained_on_request() -> None:
    bench = Bench(VerifyingClient(), stdin=saved(RIGHT))
    bench.run("verify")
    assert "supported" in bench.stdout
    assert SAID not in bench.stdout
    every = Bench(VerifyingClient(), stdin=saved(RIGHT))
    every.run("verify", "--all")
    assert SAID in every.stdout


def test_json_has_all_facts() -> None:
    bench = Bench(VerifyingClient(), stdin=saved(WRONG))
    assert bench.run("verify", "--json") == 6
    body = json.loads(bench.stdout)
    assert body["ok"] is False
    fact = body["citations"][0]
    assert (fact["fails"], fact["claimed"]["verdict"]) == (True, "other_value")
    assert fact["claimed"]["statements"][0]["stated"] == "324"


def test_an_answer_without_citations_has_nothing_to_verify() -> None:
    bench = Bench(VerifyingClient(), stdin=saved((Started(), TextDelta(0, "Hello."), Finished())))
    assert bench.run("verify") == 0
    assert "cites no source" in bench.stdout


def test_options_become_the_policy(tmp_path: Path) -> None:
    bench = Bench(VerifyingClient(), stdin=saved(RIGHT), cwd=str(tmp_path))
    (tmp_path / "mirror").mkdir()
    bench.run("verify", "--offline", "--follow", "--pages", "mirror")
    policy = bench.client.policies[0] if isinstance(bench.client, VerifyingClient) else None
    assert policy is not None
    assert (policy.offline, policy.follow, policy.folder) == (True, True, str(tmp_path / "mirror"))


def test_sources_outside_the_domain_lists_fail() -> None:
    assert Bench(VerifyingClient(), stdin=saved(RIGHT)).run("verify", "--allow", "example.org") == 0
    assert Bench(VerifyingClient(), stdin=saved(RIGHT)).run("verify", "--block", "tower.example.org") == 6


@pytest.mark.parametrize(
    ("words", "stdin", "reason"),
    [
        (("verify", "missing.json"), "", "there is no file 'missing.json'"),
        (("verify", "--pages", "missing"), saved(RIGHT), "there is no folder 'missing'"),
        (("verify",), "hello", "expected an answer that"),
        (("verify", "--fix"), "\n".join(map(as_line, WRONG)), "--fix needs the question"),
    ],
)
def test_what_cannot_be_verified_is_a_usage_error(words: tuple[str, ...], stdin: str, reason: str) -> None:
    bench = Bench(VerifyingClient(), stdin=stdin)
    assert bench.run(*words) == 2
    assert reason in bench.stderr


def test_fix_asks_the_provider_once_with_what_failed() -> None:
    bench = Bench(VerifyingClient(RIGHT), stdin=saved(WRONG))
    assert bench.run("verify", "--fix") == 0
    assert len(bench.client.requests) == 1
    request, provider, model = bench.client.requests[0]
    assert (provider, model) == ("gemini", "m")
    assert [message.text for message in request.messages][:2] == [
        "How tall is it?",
        "The tower is 330 metres tall.",
    ]
    assert "“330”" in request.query
    assert request.search is not None
    assert SAID in bench.stdout


def test_fix_does_not_ask_again_if_the_new_answer_fails_too_or_nothing_fails() -> None:
    bench = Bench(VerifyingClient(WRONG), stdin=saved(WRONG))
    assert bench.run("verify", "--fix", "--json") == 6
    assert len(bench.client.requests) == 1
    assert json.loads(bench.stdout)["fixed"]["verification"]["ok"] is False
    fine = Bench(VerifyingClient(WRONG), stdin=saved(RIGHT))
    assert fine.run("verify", "--fix") == 0
    assert fine.client.requests == []


def test_a_search_can_be_verified_at_once() -> None:
    bench = Bench(VerifyingClient(WRONG))
    assert bench.run("search", "--verify", "how tall?") == 6
    assert "claim “330”, page “324”" in bench.stdout
    assert "citation" in bench.stderr + bench.stdout
    body = Bench(VerifyingClient(WRONG))
    assert body.run("search", "--verify", "--json", "q") == 6
    assert json.loads(body.stdout)["verification"]["ok"] is False
    lines = Bench(VerifyingClient(RIGHT))
    assert lines.run("search", "--verify", "--jsonl", "q") == 0
    assert json.loads(lines.stdout.splitlines()[-1])["verification"]["ok"] is True
    raw = Bench(VerifyingClient(WRONG))
    assert raw.run("search", "--verify", "--raw", "q") == 6
    assert "Warning: https://tower.example.org/height: the claim says “330”" in raw.stderr
    again = Bench(VerifyingClient(), stdin=lines.stdout)
    assert again.run("verify") == 0


def test_a_search_prints_a_bibliography() -> None:
    bench = Bench(VerifyingClient(RIGHT))
    assert bench.run("search", "--format", "bibtex", "q") == 0
    assert bench.stdout.startswith("@misc{tower-tower,")
    assert "urldate = {2027-01-15}" in bench.stdout
    both = Bench(VerifyingClient(RIGHT))
    assert both.run("search", "--format", "ris", "--json", "q") == 2
    assert "--json and --format cannot be used together" in both.stderr


@pytest.mark.parametrize(
    ("form", "begins"),
    [("bibtex", "@misc{"), ("ris", "TY  - ELEC"), ("csl-json", "[{"), ("markdown", "1. [")],
)
def test_cite_prints_the_sources_of_a_saved_answer(form: str, begins: str) -> None:
    bench = Bench(stdin=saved(RIGHT))
    assert bench.run("cite", "--format", form) == 0
    assert bench.stdout.startswith(begins)
    assert URL in bench.stdout


def test_cite_reports_an_answer_without_sources() -> None:
    bench = Bench(stdin=saved((Started(), TextDelta(0, "Hello."), Finished())))
    assert bench.run("cite") == 3
    assert "no sources" in bench.stderr
