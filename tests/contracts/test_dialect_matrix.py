"""Every dialect into every other: all that both support is kept, and no citation is moved or invented.

The start is what the first dialect really carries: a sample after one trip through it. So a pair is judged
by what its source can carry. A feature that the source carries in part and the target not at all
may go too; but a dialect into itself must give back the very same.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

import pytest

from groundwire.dialects.base import Dialect
from groundwire.dialects.features import Feature, lost_between, project
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.model import Answer, Event, assemble
from tests.contracts.samples import (
    BROKEN,
    SAMPLES,
    Form,
    Sample,
    answer_events,
    decode_stream,
    encode_stream,
    round_trip,
    same,
)

PAIRS = list(product(DIALECTS, repeat=2))
FORMS: tuple[Form, ...] = ("whole", "settled", "late")
EVERY = tuple(product(FORMS[:2], FORMS))
CROSSED: tuple[tuple[Form, Form], ...] = (("whole", "settled"), ("settled", "late"), ("settled", "whole"))
"""Forms of source and target in the short form of the tests."""


def crossed(source: str, target: str) -> tuple[tuple[Form, Form], ...]:
    """One of the forms, so that every dialect has each of them as a source and as a target; all forms for a
    dialect into itself."""
    if source == target:
        return CROSSED
    return (CROSSED[(DIALECTS.index(source) + DIALECTS.index(target)) % len(CROSSED)],)


@cache
def carried(source: str, form: Form) -> tuple[Sample, ...]:
    """The samples as a dialect can carry them."""
    codec = dialect(source)
    return tuple(Sample(sample.name, round_trip(codec, sample.answer, form)) for sample in SAMPLES)


def differences(source: Dialect, target: Dialect, before: Answer, after: Answer) -> Iterator[str]:
    lost = target.losses if source is not target else lost_between(source, target)
    for feature in Feature:
        if feature not in lost and not same(feature, before, after, target.losses):
            yield f"{feature.name}: {project(before, feature)!r} became {project(after, feature)!r}"


def claims(answer: Answer) -> set[tuple[str, str]]:
    """The text of each claim with the URL cited for it."""
    return {
        (answer.text[citation.span.start : citation.span.end], item.source.url)
        for citation in answer.citations
        if citation.span is not None and citation.anchor == "claim"
        for item in citation.evidence
    }


def addresses(answer: Answer) -> set[str]:
    return {item.source.url for citation in answer.citations for item in citation.evidence}


def inventions(target: Dialect, before: Answer, after: Answer) -> Iterator[str]:
    """Citations of `after` that `before` does not have."""
    if made := addresses(after) - addresses(before):
        yield f"cited from nowhere: {made}"
    if Feature.SPAN_STARTS not in target.losses and (moved := claims(after) - claims(before)):
        yield f"invented claims: {moved}"
    ends, known = project(after, Feature.CITATIONS), project(before, Feature.CITATIONS)
    assert isinstance(ends, set)
    assert isinstance(known, set)
    if Feature.TEXT not in target.losses and (moved := ends - known):
        yield f"cited elsewhere: {moved}"


@cache
def streamed(source: str) -> tuple[tuple[Event, ...], ...]:
    """The events of the samples as a dialect streams them."""
    codec = dialect(source)
    return tuple(
        tuple(decode_stream(codec, encode_stream(codec, answer_events(sample.answer)))) for sample in SAMPLES
    )


@pytest.mark.parametrize("forms", ["crossed", pytest.param("every", marks=pytest.mark.thorough)])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_all_that_both_dialects_support_is_kept_and_no_citation_is_moved_or_invented(
    source: str, target: str, forms: str
) -> None:
    codec, hearer = dialect(source), dialect(target)
    wrong = []
    for first, second in crossed(source, target) if forms == "crossed" else EVERY:
        for sample in carried(source, first):
            before, after = sample.answer, round_trip(hearer, sample.answer, second)
            lines = (*differences(codec, hearer, before, after), *inventions(hearer, before, after))
            wrong += [f"{first} to {second}: {sample.name}: {line}" for line in lines]
    assert not wrong, "\n".join(wrong)


def some(source: str, target: str) -> slice:
    """A third of the samples, so that every dialect has each of them as a source and as a target; all samples
    for a dialect into itself."""
    if source == target:
        return slice(None)
    return slice((DIALECTS.index(source) + DIALECTS.index(target)) % 3, None, 3)


@pytest.mark.parametrize("samples", ["some", pytest.param("all", marks=pytest.mark.thorough)])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_stream_re_encoded_live_keeps_all_that_both_dialects_support(
    source: str, target: str, samples: str
) -> None:
    codec, hearer = dialect(source), dialect(target)
    chosen = some(source, target) if samples == "some" else slice(None)
    lost = []
    for sample, events in zip(SAMPLES[chosen], streamed(source)[chosen], strict=True):
        before, after = assemble(events), assemble(decode_stream(hearer, encode_stream(hearer, events)))
        lost += [f"{sample.name}: {line}" for line in differences(codec, hearer, before, after)]
        lost += [f"{sample.name}: {line}" for line in inventions(hearer, before, after)]
    assert not lost, "\n".join(lost)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_stream_and_a_whole_body_give_the_same_answer(name: str) -> None:
    apart = [
        f"{whole.name} {feature.name}: {project(whole.answer, feature)!r} {project(stream.answer, feature)!r}"
        for whole, stream in zip(carried(name, "whole"), carried(name, "settled"), strict=True)
        for feature in Feature
        if project(whole.answer, feature) != project(stream.answer, feature)
    ]
    assert not apart, "\n".join(apart)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_an_error_in_a_stream_stays_an_error(source: str, target: str) -> None:
    for sample in BROKEN:
        before = round_trip(dialect(source), sample.answer, "settled")
        after = round_trip(dialect(target), before, "settled")
        assert before.error is not None
        assert after.error is not None
        assert after.error.retryable == before.error.retryable, sample.name
