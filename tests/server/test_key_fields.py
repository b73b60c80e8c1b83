"""Fields of keys as users write them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from groundwire.errors import RequestError
from groundwire.model import Json
from groundwire.model.access import MEMBER_RIGHTS, KeyLimits, KeyRights, KeyScope
from groundwire.server.key_fields import KeyFieldParser, checked_name
from groundwire.store.key_json import rights_fields

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z
PARSER = KeyFieldParser(NOW, ("gemini", "openai"))
FULL = KeyRights(
    "admin",
    "acme",
    "2028-01-01T00:00:00Z",
    KeyScope(
        ("messages",),
        ("gemini",),
        ("gemini-*",),
        ("a.example",),
        False,
        KeyLimits(10, 1000, Decimal("2.50"), Decimal(50)),
    ),
)


def test_what_is_shown_can_be_sent_back() -> None:
    assert PARSER.rights(rights_fields(FULL), MEMBER_RIGHTS) == FULL


def test_fields_that_are_not_given_stay() -> None:
    assert PARSER.rights({}, FULL) == FULL
    assert PARSER.rights({"usd_per_day": 5}, FULL).scope.limits == KeyLimits(
        10, 1000, Decimal(5), Decimal(50)
    )


def test_null_lifts_every_restriction() -> None:
    nothing: dict[str, Json] = dict.fromkeys(rights_fields(FULL))
    assert PARSER.rights(nothing, FULL) == MEMBER_RIGHTS


@pytest.mark.parametrize(
    ("text", "expires"),
    [
        ("30d", "2027-02-14T08:00:00Z"),
        ("12h", "2027-01-15T20:00:00Z"),
        ("1y", "2028-01-15T08:00:00Z"),
        ("2027-06-01", "2027-06-01T00:00:00Z"),
        ("2027-06-01T02:00:00+02:00", "2027-06-01T00:00:00Z"),
        ("never", ""),
        ("", ""),
    ],
)
def test_an_expiry_is_a_span_or_a_date(text: str, expires: str) -> None:
    assert PARSER.rights({"expires": text}, FULL).expires == expires


@pytest.mark.parametrize(
    ("field", "item", "message"),
    [
        ("expires", "2026-01-01", "in the past"),
        ("expires", "soon", "is not a time"),
        ("expires", "99999y", "is not a time"),
        ("expires", 30, "expected a text"),
        ("role", "king", "there are admin, member, owner"),
        ("role", "onwer", "did you mean owner"),
        ("owner", "a b", "letters, digits"),
        ("owner", "x" * 65, "letters, digits"),
        ("routes", ["mesages"], "did you mean messages"),
        ("routes", "messages", "expected a list"),
        ("providers", ["gemni"], "did you mean gemini"),
        ("providers", [""], "an entry is empty"),
        ("providers", [None], "expected a list of texts"),
        ("models", ["a b"], "not a model name"),
        ("models", ["x"] * 1 + [f"m{n}" for n in range(100)], "at most 100"),
        ("allowed_domains", ["https://a.example"], "not a domain"),
        ("may_search", "no", "true or false"),
        ("requests_per_minute", 0, "whole number"),
        ("requests_per_minute", True, "whole number"),
        ("tokens_per_minute", 1.5, "whole number"),
        ("usd_per_day", "-1", "US dollars"),
        ("usd_per_day", 0, "US dollars"),
        ("usd_per_day", "NaN", "US dollars"),
        ("usd_per_day", "1e400", "US dollars"),
        ("usd_per_month", "a lot", "US dollars"),
        ("usd_per_month", True, "US dollars"),
        ("id", "key_1", "unknown 'id'"),
        ("fingerprint", "0" * 64, "unknown"),
        ("revoked", "", "unknown"),
        ("scope", {}, "unknown"),
    ],
)
def test_nonsense_is_refused_with_its_field(field: str, item: Json, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        PARSER.rights({field: item}, MEMBER_RIGHTS)


@pytest.mark.parametrize("name", ["x" * 101, "key_0a1b2c3d"])
def test_a_name_is_short_and_not_an_id(name: str) -> None:
    with pytest.raises(RequestError, match="name"):
        checked_name(name)
