"""Cited web search for every model, every client and every provider.

    import groundwire
    answer = groundwire.search("When was the Cologne Cathedral completed?")

Names are resolved when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"

# As in `typing`, whose import would be a third of what `groundwire --version` takes.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from groundwire.client import Groundwire, asearch, search, stream
    from groundwire.errors import GroundwireError
    from groundwire.model import (
        Answer,
        Citation,
        Event,
        Evidence,
        Location,
        Message,
        Request,
        SearchOptions,
        Source,
        Span,
    )

_HOMES = {
    "groundwire.client": ("Groundwire", "asearch", "search", "stream"),
    "groundwire.errors": ("GroundwireError",),
    "groundwire.model": (
        *("Answer", "Citation", "Event", "Evidence", "Location", "Message"),
        *("Request", "SearchOptions", "Source", "Span"),
    ),
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Answer",
    "Citation",
    "Event",
    "Evidence",
    "Groundwire",
    "GroundwireError",
    "Location",
    "Message",
    "Request",
    "SearchOptions",
    "Source",
    "Span",
    "asearch",
    "search",
    "stream",
]


def __getattr__(name: str) -> object:
    home = _NAMES.get(name)
    if home is None:
        raise AttributeError(f"module 'groundwire' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  only who asks pays

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
