"""The `losses` of a dialect are accurate: features not listed are kept, listed features differ."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.dialects.base import Dialect
from groundwire.dialects.extras import FIELD
from groundwire.dialects.features import Feature, project
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.dialects.sse import FrameReader
from groundwire.model import Answer, Json, JsonObject, assemble
from tests.contracts.amazon_frames import BINARY, as_sse
from tests.contracts.samples import (
    BROKEN,
    FORMS,
    ORDERS,
    REPLY,
    SAMPLES,
    Form,
    Order,
    Sample,
    answer_events,
    encode_stream,
    round_trip,
    same,
)

SCRIPT = Path(__file__).parents[2] / "scripts" / "losses.py"
_HOME = re.compile(rf"{FIELD}\.(\w+)")


def extensions(value: Json) -> Iterator[JsonObject]:
    """Every `groundwire` object in a value, however deep."""
    if isinstance(value, dict):
        found = value.get(FIELD)
        if isinstance(found, dict):
            yield found
        for item in value.values():
            yield from extensions(item)
    elif isinstance(value, list):
        for item in value:
            yield from extensions(item)


def extension_fields(target: Dialect, answer: Answer, form: Form) -> set[str]:
    """The names of the fields in the extension."""
    if form == "whole":
        bodies: list[Json] = [target.encode_response(answer, REPLY)]
    else:
        reader = FrameReader()
        data = encode_stream(target, answer_events(answer, form))
        frames = [*reader.feed(as_sse(data) if target.name in BINARY else data), *reader.close()]
        bodies = [json.loads(frame.data) for frame in frames if frame.data != b"[DONE]"]
    return {key for body in bodies for found in extensions(body) for key, value in found.items() if value}


def differences(target: Dialect, sample: Sample, form: Form) -> Iterator[str]:
    after = round_trip(target, sample.answer, form)
    for feature in Feature:
        if feature not in target.losses and not same(feature, sample.answer, after, target.losses):
            before, now = project(sample.answer, feature), project(after, feature)
            yield f"{sample.name}: {feature.name}: {before!r} became {now!r}"


@pytest.mark.parametrize("feature", Feature, ids=lambda feature: feature.name)
def test_every_feature_is_present_in_some_sample(feature: Feature) -> None:
    nothing = project(Answer(), feature)
    assert any(project(sample.answer, feature) != nothing for sample in SAMPLES)


@pytest.mark.parametrize("order", ORDERS)
def test_the_samples_are_complete_whatever_the_order(order: Order) -> None:
    for sample in (*SAMPLES, *BROKEN):
        assembled = assemble(answer_events(sample.answer, order))
        assert all(project(assembled, feature) == project(sample.answer, feature) for feature in Feature)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", DIALECTS)
def test_what_is_not_listed_as_lost_is_kept(name: str, form: Form) -> None:
    target = dialect(name)
    lost = [line for sample in SAMPLES for line in differences(target, sample, form)]
    assert not lost, "\n".join(lost)


@pytest.mark.parametrize("name", DIALECTS)
def test_what_is_listed_as_lost_is_really_lost(name: str) -> None:
    target = dialect(name)
    pairs = [(sample.answer, round_trip(target, sample.answer, form)) for sample in SAMPLES for form in FORMS]
    kept = [
        feature.name
        for feature in target.losses
        if all(same(feature, before, after, target.losses) for before, after in pairs)
    ]
    assert not kept


@pytest.mark.parametrize("form", ["whole", "settled"])
@pytest.mark.parametrize("name", DIALECTS)
def test_what_goes_into_the_extension_is_found_there(name: str, form: Form) -> None:
    target = dialect(name)
    homes = {feature: found for feature, home in target.losses.items() if (found := _HOME.findall(home))}
    missing = []
    for sample in SAMPLES:
        fields = extension_fields(target, sample.answer, form)
        missing += [
            f"{sample.name}: {feature.name} is not in {FIELD}.{home}"
            for feature, found in homes.items()
            for home in found
            if project(sample.answer, feature) not in (project(Answer(), feature), 0, 0.0)
            and home not in fields
        ]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("form", ["whole", "settled"])
@pytest.mark.parametrize("name", DIALECTS)
def test_warnings_are_in_the_extension(name: str, form: Form) -> None:
    warned = next(sample for sample in SAMPLES if sample.answer.warnings)
    assert "warnings" in extension_fields(dialect(name), warned.answer, form)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", DIALECTS)
def test_text_before_an_error_is_kept(name: str, order: Order) -> None:
    target = dialect(name)
    kept = (Feature.TEXT, Feature.CITATIONS, Feature.QUERIES)
    for sample in BROKEN:
        after = round_trip(target, sample.answer, order)
        assert after.error is not None, sample.name
        assert after.finish is None
        lost = [
            f for f in kept if f not in target.losses and not same(f, sample.answer, after, target.losses)
        ]
        assert not lost, sample.name


def test_the_page_about_losses_is_up_to_date() -> None:
    assert runpy.run_path(str(SCRIPT))["main"](["--check"]) == 0
