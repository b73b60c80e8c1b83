"""A request whose parts are decoded when they are first read.

A request that is passed on as it was sent needs its model, its search options and little else; decoding its
messages and tools would be wasted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from groundwire.model.request import Request, SearchOptions, StoredContext, Wire
from groundwire.model.value import field_defaults, field_names, replace


class RequestOutline(NamedTuple):
    """What must be known of a request before it is sent, even if it is passed on as it is."""

    model: str
    stream: bool
    search: SearchOptions | None
    previous_id: str = ""
    stored: StoredContext | None = None


_NAMES = field_names(Request)
_KNOWN = frozenset({*RequestOutline._fields, "wire", "links_only"})
"""The fields that are given; the others are decoded together."""
_DEFAULT_LINKS_ONLY = field_defaults(Request)["links_only"]
_SET: dict[str, Callable[[Request, object], None]] = {name: vars(Request)[name].__set__ for name in _NAMES}


class LazyRequest(Request):
    """A `Request` that equals the decoded one. `replace` returns a decoded request; `with_model` does not
    decode."""

    __slots__ = ("_decode",)

    def __new__(cls, *fields: Any) -> Any:
        """A decoded request, for `replace`."""
        return Request(*fields) if fields else object.__new__(cls)

    def __init__(self, *_: Any) -> None:
        """See `lazy_request`."""

    def __getattr__(self, name: str) -> Any:
        if name not in _SET:
            raise AttributeError(name)
        decoded = self._decode()
        for field in _NAMES:
            if field not in _KNOWN:
                _SET[field](self, getattr(decoded, field))
        return getattr(decoded, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Request) and replace(self) == replace(other)

    def __hash__(self) -> int:
        return hash(replace(self))


_SET_DECODE = vars(LazyRequest)["_decode"].__set__
_SET_OUTLINE = tuple(_SET[name] for name in RequestOutline._fields)
_SET_WIRE, _SET_LINKS_ONLY = _SET["wire"], _SET["links_only"]


def lazy_request(outline: RequestOutline, wire: Wire | None, decode: Callable[[], Request]) -> LazyRequest:
    """A request with this outline; `decode` returns the other fields, and may raise what decoding raises."""
    request = LazyRequest()
    _SET_DECODE(request, decode)
    for set_field, item in zip(_SET_OUTLINE, outline, strict=True):
        set_field(request, item)
    _SET_WIRE(request, wire)
    _SET_LINKS_ONLY(request, _DEFAULT_LINKS_ONLY)
    return request


def with_model(request: Request, model: str) -> Request:
    """The request for another model."""
    if request.model == model:
        return request
    if not isinstance(request, LazyRequest):
        return replace(request, model=model)
    outline = RequestOutline(model, request.stream, request.search, request.previous_id, request.stored)
    return lazy_request(outline, request.wire, lambda: request)
