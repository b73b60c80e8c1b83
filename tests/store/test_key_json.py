"""JSON of the rights of keys: nothing is lost, and what cannot be read is refused."""

from __future__ import annotations

import pytest
from hypothesis import given

from groundwire.errors import ClientWireError
from groundwire.model import JsonObject
from groundwire.model.access import MEMBER_RIGHTS, KeyLimits, KeyRights, KeyScope
from groundwire.model.value import field_names
from groundwire.store.base import ApiKey
from groundwire.store.key_json import (
    decode_rights,
    revoked_for_all,
    rights_fields,
    stored_rights,
    with_rights,
)
from tests.server.test_key_rights import RIGHTS


@given(RIGHTS)
def test_rights_are_read_as_they_were_written(rights: KeyRights) -> None:
    assert decode_rights(rights_fields(rights)) == rights
    key = ApiKey("key_1", "n", "f", "2026", "2027", rights)
    bare = ApiKey("key_1", "n", "f", "2026", revoked_for_all(key))
    assert with_rights(bare, stored_rights(key)) == key


def test_every_field_of_the_values_has_a_place_in_the_json() -> None:
    fields = {*field_names(KeyRights), *field_names(KeyScope), *field_names(KeyLimits)}
    assert {*rights_fields(MEMBER_RIGHTS)} == fields - {"scope", "limits"}


@given(RIGHTS)
def test_a_version_that_does_not_know_rights_refuses_a_key_that_has_some(rights: KeyRights) -> None:
    key = ApiKey("key_1", "n", "f", "2026", rights=rights)
    assert bool(revoked_for_all(key)) is (rights != MEMBER_RIGHTS)


@pytest.mark.parametrize(
    "stored",
    [
        {"revoked": "", "a_newer_restriction": True},
        {"role": "king", "revoked": ""},
        {"role": "owner"},
        {"providers": [None], "revoked": ""},
        {"providers": "gemini", "revoked": ""},
        {"usd_per_day": "NaN", "revoked": ""},
        {"usd_per_day": "much", "revoked": ""},
        {"may_search": "no", "revoked": ""},
    ],
)
def test_rights_that_cannot_be_read_raise(stored: JsonObject) -> None:
    with pytest.raises(ClientWireError):
        with_rights(ApiKey("key_1", "n", "f", "2026"), stored)
