"""Malformed provider responses: the client gets one answer with one end, translated or passed through."""

from __future__ import annotations

import pytest

from tests.contracts.strict_parser import Violation
from tests.faces.gateway.broken_streams import stream_of
from tests.faces.gateway.mutants import Mutant, ask_all, broken_body, broken_stream, fault_in
from tests.faces.gateway.raw import INBOUND
from tests.faces.gateway.serving import run
from tests.faces.gateway.stream_ends import check_end
from tests.figures import Figures

pytestmark = pytest.mark.server

by_provider = pytest.mark.parametrize("provider", INBOUND)


def check(mutants: list[Mutant], *, seconds: float = 60.0) -> None:
    found = run(ask_all(mutants), seconds=seconds)
    wrong = [problem for outcome in found if (problem := fault_in(outcome))]
    assert not wrong, "\n".join([f"{len(wrong)} in all", *wrong[:20]])
    assert {outcome.received.status for outcome in found if outcome.received} >= {200}, "nothing was answered"


@by_provider
def test_every_client_reads_one_end_of_a_malformed_stream(provider: str) -> None:
    check([broken_stream(provider, seed) for seed in range(25)])


@by_provider
def test_a_malformed_body_becomes_an_answer_or_an_error(provider: str) -> None:
    check([broken_body(provider, seed) for seed in range(25)])


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(4))
@by_provider
def test_every_client_reads_one_end_of_a_thousand_malformed_streams(
    provider: str, part: int, figures: Figures
) -> None:
    seeds = range(1000 + part * 250, 1250 + part * 250)
    check([broken_stream(provider, seed) for seed in seeds], seconds=300)
    figures.add(
        "R1", "malformed streams through a gateway, all ended once", len(seeds), part=f"{provider} {part}"
    )


@by_provider
def test_the_lenient_reader_still_counts_ends(provider: str) -> None:
    stream = stream_of(provider)
    check_end(provider, stream)
    cut = stream[: stream.rindex(b"data: {")]
    for bad in (cut, b"", b"\xff" + stream, stream.rstrip(), stream + b"data: x\n\n"):
        with pytest.raises(Violation):
            check_end(provider, bad)
    if provider != "gemini":
        with pytest.raises(Violation):
            check_end(provider, stream + stream)
