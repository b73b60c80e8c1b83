"""The properties that are fuzzed, on their first inputs and on random bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing.__main__ import NAMES
from tests.fuzzing.targets import TARGETS


def test_every_target_can_be_chosen() -> None:
    assert tuple(TARGETS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_property_holds_for_its_first_inputs_and_their_parts(name: str) -> None:
    check, seeds = TARGETS[name]
    for seed in seeds:
        for end in range(len(seed) + 1):
            check(seed[:end])


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=300))
def test_a_property_holds_for_random_bytes(name: str, data: bytes) -> None:
    TARGETS[name][0](data)
