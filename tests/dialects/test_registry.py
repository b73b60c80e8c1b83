"""Dialects by name."""

from __future__ import annotations

import pytest

from groundwire.dialects.base import Dialect
from groundwire.dialects.features import Feature
from groundwire.dialects.registry import DIALECTS, dialect


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_is_there_under_its_name(name: str) -> None:
    found = dialect(name)
    assert isinstance(found, Dialect)
    assert found.name == name
    assert dialect(name) is found


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_says_where_unsupported_features_go(name: str) -> None:
    losses = dialect(name).losses
    assert all(isinstance(feature, Feature) for feature in losses)
    assert all(home.strip() for home in losses.values())


@pytest.mark.parametrize("name", ["", "os", "base", "registry", "Gemini", "../gemini"])
def test_an_unknown_dialect_name_is_refused(name: str) -> None:
    with pytest.raises(KeyError):
        dialect(name)
