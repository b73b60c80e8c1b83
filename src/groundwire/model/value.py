"""Frozen value classes: `@value`, a light `@dataclass(frozen=True, slots=True)` for many small types.

The methods are shared instead of compiled for each class, and `__init__` is compiled when the first instance
is created, so that an unused type costs next to nothing to import. The module `inspect` is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")

_REQUIRED: Any = object()


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Class decorator: make a class of annotated fields a frozen, comparable value type."""
    body = {key: item for key, item in vars(cls).items() if key not in ("__dict__", "__weakref__")}
    names = tuple(body.get("__annotations__", ()))
    defaults = {name: body.pop(name, _REQUIRED) for name in names}
    made: Any = type(
        cls.__name__,
        cls.__bases__,
        {
            **body,
            **_METHODS,
            "__slots__": names,
            "__match_args__": names,
            "__positions__": {name: position for position, name in enumerate(names)},
            "__qualname__": cls.__qualname__,
            "__values__": staticmethod(attrgetter(*names) if len(names) > 1 else _single(names)),
            "__field_defaults__": {name: item for name, item in defaults.items() if item is not _REQUIRED},
        },
    )
    made.__init__ = _lazy_init(made, defaults)
    result: type[T] = made
    return result


def replace(item: T, /, **changes: object) -> T:
    """Return a copy of a value with some fields changed."""
    made: Any = item
    positions = made.__positions__
    fields = list(made.__values__(item))
    for name, change in changes.items():
        if name not in positions:
            raise TypeError(f"{type(item).__name__} has no field {name}")
        fields[positions[name]] = change
    return type(item)(*fields)


def is_value(item: object) -> bool:
    """Whether its type was created by `value`."""
    return "__field_defaults__" in type(item).__dict__


def field_names(cls: type) -> tuple[str, ...]:
    """The field names of a value type, in order."""
    names: tuple[str, ...] = cls.__dict__["__match_args__"]
    return names


def field_defaults(cls: type) -> Mapping[str, object]:
    """The optional fields of a value type, and their defaults."""
    defaults: Mapping[str, object] = cls.__dict__["__field_defaults__"]
    return defaults


def _lazy_init(made: Any, defaults: dict[str, Any]) -> Callable[..., None]:
    """An `__init__` that compiles the real one on first use: most programs use few of the types they
    import."""

    def __init__(self: object, *args: Any, **named: Any) -> None:  # noqa: N807
        made.__init__ = _compiled_init(made, defaults)
        made.__init__(self, *args, **named)

    return __init__


def _compiled_init(made: Any, defaults: dict[str, Any]) -> Callable[..., None]:
    """Compile an `__init__` with explicit parameters: its speed matters for every event of a stream."""
    scope: dict[str, Any] = {f"set_{name}": made.__dict__[name].__set__ for name in defaults}
    scope |= {f"default_{name}": item for name, item in defaults.items() if item is not _REQUIRED}
    parameters = [f"{name}=default_{name}" if f"default_{name}" in scope else name for name in defaults]
    body = [f"set_{name}(self, {name})" for name in defaults] or ["pass"]
    source = f"def __init__({', '.join(['self', *parameters])}): " + "; ".join(body)
    exec(source, scope)  # noqa: S102  only field names of value classes, as in dataclasses
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    return init


def _single(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda item: tuple(getattr(item, name) for name in names)


def _equal(self: Any, other: Any) -> Any:
    if type(self) is not type(other):
        return NotImplemented
    return self.__values__(self) == self.__values__(other)


def _hash(self: Any) -> int:
    return hash((type(self), self.__values__(self)))


def _represent(self: Any) -> str:
    pairs = zip(self.__match_args__, self.__values__(self), strict=True)
    return f"{type(self).__name__}({', '.join(f'{name}={item!r}' for name, item in pairs)})"


def _reject_change(self: object, name: str, *_: object) -> NoReturn:
    raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be changed")


def _reduce(self: Any) -> tuple[type, tuple[Any, ...]]:
    return type(self), self.__values__(self)


_METHODS: dict[str, Any] = {
    "__eq__": _equal,
    "__hash__": _hash,
    "__repr__": _represent,
    "__setattr__": _reject_change,
    "__delattr__": _reject_change,
    "__reduce__": _reduce,
}
