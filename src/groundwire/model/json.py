"""JSON form of canonical values, for storage: `{"version": 1, "type": "Answer", …}`.

The fields of the value types are the schema. Their types are read once, when first needed, and turned into
codecs. Fields with their default value are left out; a value that may have one of several types has a `type`;
tuples are lists, a span is `[start, end]`, extras are verbatim.

`decode(encode(x)) == x`. Decoding ignores unknown fields, and rejects an unknown version or a value of the
wrong type with its path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Literal, NamedTuple, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from groundwire import errors
from groundwire.errors import AllTargetsFailed, ClientWireError, GroundwireError
from groundwire.model.answer import Answer
from groundwire.model.events import Event
from groundwire.model.extras import Json, JsonObject
from groundwire.model.request import Message, Request
from groundwire.model.source import Span
from groundwire.model.value import field_defaults, field_names

VERSION = 1
_REQUIRED = object()

Stored: TypeAlias = Request | Message | Answer | Event


def encode(value: Stored) -> JsonObject:
    """Encode a value as a JSON object."""
    return {"version": VERSION, **_object(_codec(Stored).write(value), "$")}


def decode(body: Json) -> Stored:
    """Decode a value; raises `ClientWireError` if the object is not valid."""
    version = _object(body, "$").get("version")
    if type(version) is not int or version != VERSION:
        raise ClientWireError(f"version {VERSION} is expected", "$.version")
    return cast("Stored", _codec(Stored).read(body, "$"))


class _Codec(NamedTuple):
    """Codec of one type; `read` takes the path for error messages."""

    write: Callable[[object], Json]
    read: Callable[[Json, str], object]


class _JsonObjectType:
    """Placeholder for `JsonObject` in the types of fields."""


class _ExtrasType:
    """Placeholder for `Extras` in the types of fields."""


@cache
def _codec(hint: object) -> _Codec:
    if hint in _LEAF_CODECS:
        return _LEAF_CODECS[hint]
    origin, members = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _leaf(f"one of {', '.join(map(repr, members))}", members.__contains__)
    if origin is tuple:
        return _sequence(_codec(members[0]))
    if origin in (Union, UnionType):
        return _union(members)
    return _record(cast("type", hint))


def _union(members: tuple[object, ...]) -> _Codec:
    kinds = tuple(member for member in members if member is not NoneType)
    codec = _tagged(kinds) if len(kinds) > 1 else _codec(kinds[0])
    return codec if len(kinds) == len(members) else _optional(codec)


def _optional(codec: _Codec) -> _Codec:
    return _Codec(
        lambda value: None if value is None else codec.write(value),
        lambda value, path: None if value is None else codec.read(value, path),
    )


def _pair(first: _Codec, second: _Codec, make: Callable[[tuple[object, object]], object]) -> _Codec:
    def write(value: object) -> Json:
        one, other = cast("tuple[object, object]", value)
        return [first.write(one), second.write(other)]

    def read(value: Json, path: str) -> object:
        if not isinstance(value, list) or len(value) != 2:
            raise ClientWireError("expected a list of two", path)
        return make((first.read(value[0], f"{path}[0]"), second.read(value[1], f"{path}[1]")))

    return _Codec(write, read)


def _sequence(codec: _Codec) -> _Codec:
    def write(value: object) -> Json:
        return [codec.write(item) for item in cast("tuple[object, ...]", value)]

    def read(value: Json, path: str) -> object:
        if not isinstance(value, list):
            raise ClientWireError("expected a list", path)
        return tuple(codec.read(item, f"{path}[{index}]") for index, item in enumerate(value))

    return _Codec(write, read)


def _record(kind: type) -> _Codec:
    """Codec of a value type; fields with their default value are left out."""
    hints = get_type_hints(kind, localns={"JsonObject": _JsonObjectType, "Extras": _ExtrasType})
    defaults = field_defaults(kind)
    members = [(name, _codec(hints[name]), defaults.get(name, _REQUIRED)) for name in field_names(kind)]

    def write(value: object) -> Json:
        body: JsonObject = {}
        for name, codec, default in members:
            item = getattr(value, name)
            if default is _REQUIRED or item != default:
                body[name] = codec.write(item)
        return body

    def read(value: Json, path: str) -> object:
        body = _object(value, path)
        known = {}
        for name, codec, default in members:
            if name in body:
                known[name] = codec.read(body[name], f"{path}.{name}")
            elif default is _REQUIRED:
                raise ClientWireError(f"`{name}` is missing", path)
        return kind(**known)

    return _Codec(write, read)


def _tagged(kinds: tuple[object, ...]) -> _Codec:
    """Codec of a union, with the `type` as tag."""
    by_name = {cast("type", kind).__name__: _codec(kind) for kind in kinds}

    def write(value: object) -> Json:
        name = type(value).__name__
        return {"type": name, **_object(by_name[name].write(value), "$")}

    def read(value: Json, path: str) -> object:
        name = _object(value, path).get("type")
        if not isinstance(name, str) or name not in by_name:
            raise ClientWireError(f"expected one of {', '.join(by_name)}", f"{path}.type")
        return by_name[name].read(value, path)

    return _Codec(write, read)


def _leaf(what: str, fits: Callable[[Json], bool]) -> _Codec:
    def read(value: Json, path: str) -> object:
        if not fits(value):
            raise ClientWireError(f"expected {what}", path)
        return value

    return _Codec(lambda value: cast("Json", value), read)


def _object(value: Json, path: str) -> JsonObject:
    if not isinstance(value, dict):
        raise ClientWireError("expected an object", path)
    return value


def _write_extras(value: object) -> Json:
    return dict(cast("Mapping[str, Json]", value))


def _read_extras(value: Json, path: str) -> object:
    return {name: _object(item, f"{path}.{name}") for name, item in _object(value, path).items()}


_TEXT = _leaf("a string", lambda value: type(value) is str)
_WHOLE = _leaf("a whole number", lambda value: type(value) is int)
_NUMBER = _leaf("a number", lambda value: type(value) in (int, float))
_FLAG = _leaf("true or false", lambda value: type(value) is bool)

_ERROR_CLASSES = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, GroundwireError)
}


def _blank(kind: type[GroundwireError]) -> GroundwireError:
    return AllTargetsFailed(()) if kind is AllTargetsFailed else kind("")


def _write_error(value: object) -> Json:
    """Encode the fields of an error; the code of an unknown class is included, so that it is preserved."""
    error = cast("GroundwireError", value)
    known = _ERROR_CLASSES.get(type(error).__name__)
    blank = vars(_blank(known)) if known else {}
    fields = {} if known else {name: getattr(error, name) for name in _CLASS_FIELDS}
    fields |= {name: item for name, item in vars(error).items() if name in _ERROR_FIELDS}
    return {
        "type": type(error).__name__,
        **{
            name: _ERROR_FIELDS[name].write(item)
            for name, item in fields.items()
            if name not in blank or item != blank[name]
        },
    }


def _read_error(value: Json, path: str) -> object:
    body = _object(value, path)
    kind = _ERROR_CLASSES.get(cast("str", _TEXT.read(body.get("type"), f"{path}.type")), GroundwireError)
    error = _blank(kind)
    for name, codec in _ERROR_FIELDS.items():
        if name in body and hasattr(error, name):
            setattr(error, name, codec.read(body[name], f"{path}.{name}"))
    error.args = (error.message,)
    return error


_CLASS_FIELDS = {"code": _TEXT, "status_hint": _WHOLE, "retryable": _FLAG}
_ERROR_FIELDS = {
    "message": _TEXT,
    **_CLASS_FIELDS,
    "path": _TEXT,
    "reason": _TEXT,
    "status": _optional(_WHOLE),
    "upstream_code": _TEXT,
    "retry_after": _optional(_NUMBER),
    "request_id": _TEXT,
    "attempts": _sequence(_pair(_TEXT, _Codec(_write_error, _read_error), tuple)),
}


def _write_bytes(value: object) -> Json:
    return cast("bytes", value).decode("latin-1")


def _read_bytes(value: Json, path: str) -> object:
    return cast("str", _TEXT.read(value, path)).encode("latin-1", "replace")


_LEAF_CODECS: Mapping[object, _Codec] = {
    str: _TEXT,
    int: _WHOLE,
    float: _NUMBER,
    bool: _FLAG,
    bytes: _Codec(_write_bytes, _read_bytes),
    Span: _pair(_WHOLE, _WHOLE, Span._make),
    GroundwireError: _Codec(_write_error, _read_error),
    _JsonObjectType: _Codec(lambda value: cast("Json", value), _object),
    _ExtrasType: _Codec(_write_extras, _read_extras),
}
