"""Value classes: frozen, comparable, quick to define."""

from __future__ import annotations

import copy
import pickle

import pytest

from groundwire.model import Source, TextDelta
from groundwire.model.value import field_defaults, field_names, is_value, replace, value


@value
class Point:
    """Two numbers and a name."""

    x: int
    y: int = 0
    name: str = ""


@value
class Nothing:
    """No fields at all."""


def test_fields_are_given_by_position_or_by_name() -> None:
    assert Point(1, 2) == Point(x=1, y=2) == Point(1, y=2)
    assert repr(Point(1)) == "Point(x=1, y=0, name='')"


@pytest.mark.parametrize("arguments", [((), {}), ((1, 2, "a", 4), {}), ((1,), {"z": 1}), ((1,), {"x": 1})])
def test_wrong_fields_are_refused(arguments: tuple[tuple[int, ...], dict[str, int]]) -> None:
    with pytest.raises(TypeError):
        Point(*arguments[0], **arguments[1])  # type: ignore[arg-type]


def test_a_value_cannot_be_changed() -> None:
    point = Point(1)
    for name in ("x", "z"):
        with pytest.raises(AttributeError):
            setattr(point, name, 2)
    with pytest.raises(AttributeError):
        del point.x
    assert point == Point(1)


@value
class Many:
    """So many fields that they are set in another way."""

    a: int
    b: str = "b"
    c: tuple[int, ...] = ()
    d: float = 0.5
    e: bool = False
    f: str = "f"


def test_a_value_of_many_fields_is_as_frozen_as_one_of_few() -> None:
    many = Many(1, "x", f="y")
    assert type(many) is Many
    assert many == Many(1, b="x", c=(), d=0.5, e=False, f="y") != Many(1)
    assert copy.deepcopy(many) == pickle.loads(pickle.dumps(many)) == many  # noqa: S301
    assert repr(many) == "Many(a=1, b='x', c=(), d=0.5, e=False, f='y')"
    for name in ("a", "z", "__class__"):
        with pytest.raises(AttributeError):
            setattr(many, name, Point)
    with pytest.raises(TypeError):
        Many()  # type: ignore[call-arg]


def test_values_of_other_types_differ_though_their_fields_agree() -> None:
    source, delta, point, plain = Source("a", "b"), TextDelta(0, "b"), Point(1), (1, 0, "")
    others: list[object] = [delta, point, plain]
    assert source not in others
    assert point not in [plain, source]
    assert Nothing() == Nothing()


def test_equal_values_are_one_key() -> None:
    assert {Point(1): "a"}[Point(1, 0)] == "a"


def test_replacing_makes_another_value() -> None:
    point = Point(1, 2)
    assert replace(point, y=3) == Point(1, 3)
    assert point == Point(1, 2)
    with pytest.raises(TypeError):
        replace(point, z=3)


def test_values_are_matched_by_position() -> None:
    match Point(4, 5):
        case Point(x, y):
            assert (x, y) == (4, 5)


def test_values_can_be_copied_and_kept() -> None:
    point = Point(1, 2, "p")
    assert copy.deepcopy(point) == point
    assert pickle.loads(pickle.dumps(point)) == point  # noqa: S301  our own


def test_the_fields_of_a_type_are_known() -> None:
    assert field_names(Point) == ("x", "y", "name")
    assert field_defaults(Point) == {"y": 0, "name": ""}
    assert is_value(Point(1))
    assert not is_value((1, 2))
