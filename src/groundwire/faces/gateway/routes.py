"""Where requests go. A table: the path, whose dialect it is, whether a key is needed, and who answers.

Access hangs on the route itself, never on a comparison of paths, so a route that nobody thought about is
closed.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from groundwire.errors import TurnedAway
from groundwire.faces.gateway.asgi import unescaped
from groundwire.model.value import value

if TYPE_CHECKING:
    from groundwire.faces.gateway.app import Call, Gateway

Endpoint: TypeAlias = "Callable[[Gateway, Call, Mapping[str, str]], Awaitable[None]]"


class Match(NamedTuple):
    """A route that fits, and the names in the path."""

    route: Route
    names: Mapping[str, str] = {}
    instead: str = ""
    """The methods that are possible, where the one that was used is not."""


@value
class Route:
    """One way in."""

    method: str
    path: str
    """`{model}` stands for a name with or without slashes."""
    endpoint: Endpoint
    dialect: str = ""
    """Whose shape errors have."""
    access: Literal["key", "public", "metrics"] = "key"
    always: bool = False
    """Answered even while the gateway is overloaded or closing."""
    about: str = ""
    """One sentence for the documentation."""


class Routes:
    """Finds a route by method and path."""

    def __init__(self, routes: tuple[Route, ...]) -> None:
        self.routes = routes
        self._exact: dict[str, dict[str, Route]] = {}
        patterns: dict[str, dict[str, Route]] = {}
        for route in routes:
            shelf = patterns if "{" in route.path else self._exact
            shelf.setdefault(route.path, {})[route.method] = route
        # A path that goes on behind a name is meant before one that ends with it.
        ordered = sorted(patterns, key=lambda path: (path.endswith("}"), -len(path)))
        self._patterns = [(_pattern(path), patterns[path]) for path in ordered]

    def find(self, method: str, path: str) -> Match:
        """What answers; raises what a stranger to the paths must be told."""
        found = self._exact.get(path)
        if found is not None:
            return _match(method, found, {})
        for pattern, routes in self._patterns:
            if match := pattern.fullmatch(path):
                names = {name: unescaped(text) for name, text in match.groupdict().items()}
                return _match(method, routes, names)
        raise TurnedAway(
            status=404, message="there is nothing at this path; /docs lists what there is", code="NOT_FOUND"
        )


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(path)))


def _match(method: str, found: Mapping[str, Route], names: Mapping[str, str]) -> Match:
    route = found.get(method) or (found.get("GET") if method == "HEAD" else None)
    if route is not None:
        return Match(route, names)
    return Match(next(iter(found.values())), names, ", ".join(sorted(found)))
