"""Generate docs/reliability.md: what groundwire guarantees, what was measured, and which tests show it.

The requirements are in tests/reliability.py, the figures in bench/reliability.jsonl. To measure again:

    GROUNDWIRE_FIGURES=bench/reliability.jsonl python -m pytest -m thorough tests/server/test_load.py

With `--check`, nothing is written; the exit status is 1 if the page is out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"
FIGURES = ROOT / "bench" / "reliability.jsonl"
sys.path.insert(0, str(ROOT))

from tests.figures import Measurements, read_measurements  # noqa: E402
from tests.incidents import INCIDENTS  # noqa: E402
from tests.reliability import GUARANTEES, Guarantee  # noqa: E402

_HEAD = """\
# Reliability and security

This page lists what groundwire guarantees under failure and attack, the target of each guarantee, and the
tests that show it. `make test` runs the fast tests, `make test-all` also the thorough ones. A test checks
that every test named here exists.

The tests wrote down the figures, on two cores that other programs used at the same time. "Load" is
the number of programs that wanted a core in the minute before a test (the load average), where it was
recorded; if it is more than two, times are longer than they would be on an idle machine. To measure on your
machine, set `GROUNDWIRE_FIGURES` to the path of a file, and run the tests that are listed at the end:

    GROUNDWIRE_FIGURES=figures.jsonl python -m pytest -m thorough tests/server/test_load.py

"Not measured yet" means that there is a thorough test, but no run of it is recorded here. Where the cell is
empty, fast tests show the whole target.

`scripts/reliability.py` generates this page.
"""
_FAILURES = """\
## When a part fails

Two gateways with one PostgreSQL, one Redis and nginx in front of them, under load. Each row is what their
clients saw. Requests that need the store (those of keys with a budget, and the chat page) get 503 while
PostgreSQL is away; all others go on.

- `tests/cluster/test_failures.py` stops, starts and suspends the servers and a gateway.
- `tests/cluster/test_partitions.py` cuts one gateway off. It runs in a network namespace of its own, and
  the virtual cable to a server is unplugged; without root, a proxy drops the bytes instead. A gateway that
  is cut off from PostgreSQL answers the keys that it knows, refuses all others, and learns of a revocation
  when it is connected again.
- `tests/cluster/test_clocks.py` has a gateway whose clock is five minutes ahead of the database's, and one
  that is five minutes behind (libfaketime). Keys, logins, links, leases and budgets follow the clock of
  PostgreSQL, rate limits and cached answers that of Redis.
"""
_WORKERS = """\
## Several workers

Two workers on two cores answer 2.16 times as many requests per second as one (`burst Messages <- Gemini`, 32
connections). Load generator and upstream used 0.15 of a core, so the gateway was the limit.
`PYTHONPATH=bench python -m gateway --rounds 1 --only groundwire "2 workers"` measures it, and
`bench/RESULTS.md` has the table. `tests/cluster/test_failures.py` prints the CPU time of gateway, sender,
upstream and machine for one and two workers with PostgreSQL and Redis.
"""
_PEERS = """\
## Compared with LiteLLM

`python bench/peers_failures.py` sends the same requests through this gateway and through LiteLLM's proxy
(1.108.4, one worker, no database), with one scripted provider for both. The first figure is how many requests
to the provider were cancelled within a second after their client left, the second the median time until they
were. Eight clients in each case, at a load of 7 on two cores; a request that was not cancelled in ten
seconds has no time.

| the client leaves, or the provider's stream breaks | groundwire | LiteLLM |
| --- | --- | --- |
| `/v1/chat/completions`, before the first event | 8 of 8, 6 ms | 0 of 8 |
| `/v1/chat/completions`, during the stream | 8 of 8, 6 ms | 8 of 8, 9 ms |
| `/v1/chat/completions`, not streamed | 8 of 8, 6 ms | 0 of 8 |
| `/v1/chat/completions`, the provider's stream breaks | 8 of 8 clients get an error | 8 of 8 |
| `/v1/messages`, before the first event | 8 of 8, 8 ms | 0 of 8 |
| `/v1/messages`, during the stream | 8 of 8, 7 ms | 8 of 8, 15 ms |
| `/v1/messages`, not streamed | 8 of 8, 8 ms | 0 of 8 |
| `/v1/messages`, the provider's stream breaks | 8 of 8 clients get an error | 8 of 8 |

`python bench/peers_budgets.py` sends 200 requests at once with one key, in three rounds with new keys, at a
load of 8. The figures were the same in every round, for one process of each proxy and for two that share a
Redis server (`--processes 2`). Both reserve before they send, and neither exceeds a budget or a limit.

| | groundwire | LiteLLM |
| --- | --- | --- |
| answers that were paid for, of 200 requests at once with a budget for 10 | 7 | 7 |
| answers in the end, when the rest of the budget is spent one by one | 10 | not shown |
| admitted by a limit of 50 a minute, of 200 requests at once | 50 | 50 |

LiteLLM stores keys and books costs through prisma, which downloads its query engine when it is first used;
that was not possible where this was measured. So LiteLLM got its keys from its `custom_auth` hook. Its
reservations and limits are its own code, but it books what an answer has cost only with a database, so the
second row cannot be shown for it.
"""
_FLAWS = """\
## Known vulnerabilities

These vulnerabilities and failures happened to other gateways, chat pages, agents and libraries. For each of
them, a test makes the same attack on groundwire, or the table says why it does not apply.
"""


def render(found: Measurements) -> str:
    """Return the page as Markdown."""
    lines = [_HEAD]
    for title, letter in (("Reliability", "R"), ("Security", "S")):
        chosen = [guarantee for guarantee in GUARANTEES if guarantee.id.startswith(letter)]
        lines += [f"## {title}", "", *_overview(chosen, found), ""]
    lines += [_FAILURES, *_table("what fails", "what clients saw", "failures", found)]
    lines += [
        _WORKERS,
        *_table("", "measured in eight seconds", "workers", found),
        _PEERS,
        _FLAWS,
        *_incidents(),
        "",
        "## Tests",
        "",
    ]
    for guarantee in GUARANTEES:
        lines += _tests(guarantee)
    return "\n".join(lines)


def _overview(guarantees: Iterable[Guarantee], found: Measurements) -> Iterator[str]:
    yield _row("", "guarantee", "target", "measured", "limits")
    yield _row("---", "---", "---", "---", "---")
    for guarantee in guarantees:
        yield _row(
            guarantee.id,
            guarantee.requirement,
            guarantee.target,
            _measured(guarantee, found),
            guarantee.limits,
        )


def _measured(guarantee: Guarantee, found: Measurements) -> str:
    """The figures of a requirement, and the outcome of its thorough tests."""
    figures = [figure for figure in found.figures if figure.requirement == guarantee.id]
    ended = [one for one in found.outcomes if one.test.partition("[")[0] in guarantee.thorough]
    parts = [figure.text for figure in figures]
    failed = [one.test.partition("::")[2] for one in ended if one.outcome != "passed"]
    if failed:
        parts.append(f"failed: {', '.join(f'`{name}`' for name in failed)}")
    elif ended:
        count = len({one.test.partition("[")[0] for one in ended})
        parts.append(f"{count} of {len(guarantee.thorough)} thorough tests passed")
    if not parts:
        return "not measured yet" if guarantee.thorough else ""
    days = [*(figure.day for figure in figures), *(one.day for one in ended)]
    loads = [figure.load for figure in figures if figure.load is not None]
    return f"{'; '.join(parts)} ({max(days)}{f', load {max(loads):.1f}' if loads else ''})"


def _table(head: str, counts_head: str, requirement: str, found: Measurements) -> Iterator[str]:
    """The figures of a requirement by what precedes the colon of each."""
    seen: dict[str, list[str]] = {}
    loads: dict[str, float] = {}
    for figure in found.figures:
        if figure.requirement == requirement:
            scenario, _, _ = figure.what.rpartition(": ")
            seen.setdefault(scenario, []).append(figure.text.removeprefix(f"{scenario}: "))
            if figure.load is not None:
                loads[scenario] = figure.load
    for scenario, load in loads.items():
        seen[scenario].append(f"load {load:.1f}")
    if seen:
        yield _row(head, counts_head)
        yield _row("---", "---")
        yield from (_row(scenario, "; ".join(counts)) for scenario, counts in seen.items())
        yield ""


def _incidents() -> Iterator[str]:
    yield _row("vulnerability", "what happened", "guarantee", "tests")
    yield _row("---", "---", "---", "---")
    for incident in INCIDENTS:
        tests = ", ".join(f"`{test.partition('::')[2]}`" for test in incident.tests)
        notes = "; ".join(part for part in (tests, incident.not_applicable) if part)
        yield _row(", ".join(incident.ids), incident.what, " ".join(incident.guarantees), notes)


def _tests(guarantee: Guarantee) -> Iterator[str]:
    if not guarantee.fast:
        return
    yield f"**{guarantee.id}** {guarantee.requirement}"
    yield ""
    for test in guarantee.fast:
        yield f"- `{test}`"
    for test in guarantee.thorough:
        yield f"- `{test}` (thorough)"
    yield ""


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main(arguments: Sequence[str]) -> int:
    """Write the page; with `--check`, compare it."""
    page = render(read_measurements(FIGURES))
    if "--check" not in arguments:
        PAGE.write_text(page, encoding="utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page:
        return 0
    print(f"{PAGE.name} is out of date: run scripts/reliability.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
