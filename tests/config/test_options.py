"""`checked_options` checks every search option."""

from __future__ import annotations

from groundwire.config import options
from groundwire.model import SearchOptions
from groundwire.model.value import field_names


def test_every_option_is_checked() -> None:
    checked = {*options._LISTS, *options._SCALARS, "location"}
    assert checked == set(field_names(SearchOptions)) - {"extras"}
