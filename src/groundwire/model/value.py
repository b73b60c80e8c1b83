"""Frozen values with named fields: what canonical values are made of.

`@value` is what `@dataclass(frozen=True, slots=True)` would be if it were made for many small types: the
methods are shared instead of compiled for each class, so that forty types cost one millisecond to import,
not forty, and the module `inspect` is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")

_REQUIRED: Any = object()


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Make a class of annotated fields a type of frozen, comparable values."""
    names = tuple(vars(cls).get("__annotations__", ()))
    body = {key: item for key, item in vars(cls).items() if key not in ("__dict__", "__weakref__")}
    defaults = {name: body.pop(name, _REQUIRED) for name in names}
    made: Any = type(cls)(cls.__name__, cls.__bases__, {**body, **_METHODS, "__slots__": names})
    made.__match_args__ = names
    made.__qualname__ = cls.__qualname__
    made.__init__ = _initializer(made, defaults)
    made.__values__ = staticmethod(attrgetter(*names) if len(names) > 1 else _single(names))
    result: type[T] = made
    return result


def replace(item: T, /, **changes: object) -> T:
    """The same value but for some fields."""
    names = field_names(type(item))
    kept = {name: getattr(item, name) for name in names if name not in changes}
    return type(item)(**kept, **changes)


def field_names(cls: type) -> tuple[str, ...]:
    """The fields of a value type, in order."""
    names: tuple[str, ...] = cls.__dict__["__match_args__"]
    return names


def field_defaults(cls: type) -> Mapping[str, object]:
    """The fields that may be left out, and what they are then."""
    defaults: Mapping[str, object] = cls.__dict__["__init__"].__kwdefaults__["defaults"]
    return {name: item for name, item in defaults.items() if item is not _REQUIRED}


def _initializer(cls: type, defaults: dict[str, Any]) -> Callable[..., None]:
    setters = tuple(cls.__dict__[name].__set__ for name in defaults)
    fields = tuple(zip(defaults, setters, defaults.values(), strict=True))
    tails = tuple(fields[count:] for count in range(len(fields) + 1))

    def __init__(self: object, *args: Any, defaults: Any = defaults, **named: Any) -> None:  # noqa: N807
        for put, item in zip(setters, args):  # noqa: B905  too many are found below
            put(self, item)
        if len(args) == len(tails) - 1 and not named:
            return
        if len(args) >= len(tails):
            raise TypeError(f"{cls.__name__} takes {len(fields)} fields, {len(args)} were given")
        for name, put, default in tails[len(args)]:
            item = named.pop(name, default) if named else default
            if item is _REQUIRED:
                raise TypeError(f"{cls.__name__} needs {name}")
            put(self, item)
        if named:
            raise TypeError(f"{cls.__name__} has no field {', '.join(named)}")

    return __init__


def _single(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda item: tuple(getattr(item, name) for name in names)


def _equal(self: Any, other: object) -> bool:
    if type(self) is not type(other):
        return NotImplemented
    same: bool = self.__values__(self) == self.__values__(other)
    return same


def _hash(self: Any) -> int:
    return hash((type(self), self.__values__(self)))


def _represent(self: Any) -> str:
    pairs = zip(self.__match_args__, self.__values__(self), strict=True)
    return f"{type(self).__name__}({', '.join(f'{name}={item!r}' for name, item in pairs)})"


def _refuse(self: object, name: str, *_: object) -> NoReturn:
    raise AttributeError(f"{type(self).__name__} is a value: {name} cannot be changed")


def _reduce(self: Any) -> tuple[type, tuple[Any, ...]]:
    return type(self), self.__values__(self)


_METHODS: dict[str, Any] = {
    "__eq__": _equal,
    "__hash__": _hash,
    "__repr__": _represent,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__reduce__": _reduce,
}
