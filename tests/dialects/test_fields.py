"""Typed reads with the JSON path in errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from groundwire.dialects.fields import Fields, as_object
from groundwire.errors import ClientWireError, UpstreamWireError, WireError
from groundwire.model import Json, JsonObject

BODY: JsonObject = {
    "text": "x",
    "empty": "",
    "whole": 5,
    "floating": 5.0,
    "half": 5.5,
    "flag": False,
    "object": {"inner": {"text": 1}},
    "list": [1, "a", None],
    "texts": ["a", None, "b"],
    "objects": [{"a": 1}, None, {"b": [{"c": "x"}, 7]}],
    "nothing": None,
    "huge": 10**400,
}


def fields() -> Fields:
    return Fields.of(BODY, ClientWireError)


def test_values_are_read_by_type() -> None:
    assert fields().text("text") == "x"
    assert fields().integer("whole") == 5
    assert fields().integer("floating") == 5
    assert fields().number("whole") == 5.0
    assert fields().number("half") == 5.5
    assert fields().flag("flag") is False
    assert fields().items("list") == [1, "a", None]
    assert fields().texts("texts") == ("a", "b")
    assert fields().obj("object").obj("inner").integer("text") == 1
    assert [item.raw for item in fields().objs("objects")] == [{"a": 1}, {"b": [{"c": "x"}, 7]}]
    assert fields().get("text") == "x"


@pytest.mark.parametrize("key", ["absent", "nothing"])
def test_null_and_absent_are_the_same(key: str) -> None:
    assert fields().text(key) == ""
    assert fields().text(key, "other") == "other"
    assert fields().integer(key) is None
    assert fields().number(key) is None
    assert fields().flag(key) is None
    assert fields().obj(key).raw == {}
    assert fields().items(key) == []
    assert list(fields().objs(key)) == []
    assert fields().texts(key) == ()
    assert not fields().has(key)


def test_falsy_values_are_present() -> None:
    assert fields().has("empty")
    assert fields().has("flag")
    assert fields().text("empty", "default") == ""


WRONG: list[tuple[Callable[[Fields], object], str, str]] = [
    (lambda it: it.text("whole"), "$.whole", "expected a string, found a number"),
    (lambda it: it.text("list"), "$.list", "expected a string, found a list"),
    (lambda it: it.integer("text"), "$.text", "expected a whole number, found a string"),
    (lambda it: it.integer("half"), "$.half", "expected a whole number, found a number"),
    (lambda it: it.integer("flag"), "$.flag", "expected a whole number, found a boolean"),
    (lambda it: it.number("flag"), "$.flag", "expected a number, found a boolean"),
    (lambda it: it.number("object"), "$.object", "expected a number, found an object"),
    (lambda it: it.integer("huge"), "$.huge", "expected a whole number, found one too large"),
    (lambda it: it.number("huge"), "$.huge", "expected a number, found one too large"),
    (lambda it: it.flag("whole"), "$.whole", "expected true or false, found a number"),
    (lambda it: it.obj("list"), "$.list", "expected an object, found a list"),
    (lambda it: it.items("object"), "$.object", "expected a list, found an object"),
    (lambda it: it.texts("list"), "$.list[0]", "expected a string, found a number"),
    (lambda it: list(it.objs("list")), "$.list[0]", "expected an object, found a number"),
    (lambda it: it.obj("object").obj("inner").text("text"), "$.object.inner.text", "expected a string"),
    (lambda it: [*it.objs("objects")][1].texts("b"), "$.objects[2].b[0]", "expected a string"),
    (lambda it: list([*it.objs("objects")][1].objs("b")), "$.objects[2].b[1]", "expected an object"),
    (
        lambda it: next([*it.objs("objects")][1].objs("b")).integer("c"),
        "$.objects[2].b[0].c",
        "expected a whole number, found a string",
    ),
]


@pytest.mark.parametrize("fault", [ClientWireError, UpstreamWireError])
@pytest.mark.parametrize("index", range(len(WRONG)))
def test_a_wrong_type_is_the_fault_of_the_sender_with_its_path(index: int, fault: type[WireError]) -> None:
    read, path, reason = WRONG[index]
    with pytest.raises(fault) as caught:
        read(Fields.of(BODY, fault))
    assert caught.value.path == path
    assert caught.value.reason.startswith(reason)


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "x", [], [{}]])
def test_a_document_must_be_an_object(value: Json) -> None:
    with pytest.raises(UpstreamWireError) as caught:
        Fields.of(value, UpstreamWireError)
    assert caught.value.path == "$"


def test_errors_raised_by_a_codec_have_their_path() -> None:
    inner = fields().obj("object").obj("inner")
    assert inner.fault("odd").path == "$.object.inner"
    assert inner.fault("odd", "list", 3, "x").path == "$.object.inner.list[3].x"
    assert isinstance(inner.fault("odd"), ClientWireError)
    assert inner.with_raw({"other": 1}).fault("odd", "other").path == "$.object.inner.other"


def test_the_remaining_fields_are_the_unknown_ones() -> None:
    body = Fields.of({"a": 1, "b": None, "c": [3]}, ClientWireError)
    assert body.rest("a") == {"b": None, "c": [3]}
    assert body.rest() == body.raw
    assert body.rest("a", "b", "c", "d") == {}


def test_a_value_that_is_not_an_object_becomes_an_empty_one() -> None:
    assert as_object({"a": 1}) == {"a": 1}
    assert as_object([1]) == as_object(None) == {}


@pytest.mark.parametrize("value", [2**63, 2**63 - 1, 10**400, -1, 1e300, 10**12 + 1])
def test_an_impossible_count_is_ignored(value: float) -> None:
    assert Fields.of({"tokens": value}, UpstreamWireError).count("tokens") is None


def test_plausible_counts_offsets_and_amounts_are_decoded_unchanged() -> None:
    read = Fields.of(
        {"tokens": 10**12, "float": 5.0, "before": -1, "far": 2**60, "cost": 0.5}, UpstreamWireError
    )
    assert [read.count(key) for key in ("tokens", "float", "absent")] == [10**12, 5, None]
    assert [read.offset(key) for key in ("before", "far", "float")] == [-1, None, 5]
    assert read.amount("cost") == 0.5
    assert Fields.of({"cost": 1e300}, UpstreamWireError).amount("cost") is None
    with pytest.raises(UpstreamWireError):
        Fields.of({"tokens": "many"}, UpstreamWireError).count("tokens")
