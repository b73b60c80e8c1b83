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


@value
class Route:
    """One way in."""

    method: str
    path: str
    """`{model}` stands for a name with or without slashes."""
    endpoint: Endpoint
    dialect: str = ""
    """Whose shape errors have."""
    access: Literal["key", "public"] = "key"
    about: str = ""
    """One sentence for the documentation."""


class Routes:
    """Finds a route by method and path."""

    def __init__(self, routes: tuple[Route, ...]) -> None:
        self.routes = routes
        self._exact: dict[str, dict[str, Route]] = {}
        self._patterns: list[tuple[re.Pattern[str], Route]] = []
        for route in routes:
            if "{" in route.path:
                pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(route.path))
                self._patterns.append((re.compile(pattern), route))
            else:
                self._exact.setdefault(route.path, {})[route.method] = route

    def find(self, method: str, path: str) -> Match:
        """The route; raises what a stranger to the paths must be told."""
        found = self._exact.get(path)
        if found is not None:
            route = found.get(method) or (found.get("GET") if method == "HEAD" else None)
            if route is not None:
                return Match(route)
            raise _wrong_method(method, found)
        others: dict[str, Route] = {}
        for pattern, route in self._patterns:
            if match := pattern.fullmatch(path):
                if route.method == method:
                    return Match(route, {name: unescaped(text) for name, text in match.groupdict().items()})
                others[route.method] = route
        if others:
            raise _wrong_method(method, others)
        raise TurnedAway(
            status=404, message="there is nothing at this path; /docs lists what there is", code="NOT_FOUND"
        )


def _wrong_method(method: str, found: Mapping[str, Route]) -> TurnedAway:
    return TurnedAway(status=405, message=f"{method} is not possible here; use {' or '.join(sorted(found))}")
