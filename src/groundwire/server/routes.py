"""Route table: method and path, dialect of errors, required access, endpoint.

Required access is a field of the route, never a comparison of paths. Its default is `key`, so a new route is
protected unless it says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from groundwire.errors import TurnedAway
from groundwire.model.access import Role
from groundwire.model.value import value

if TYPE_CHECKING:
    from groundwire.dialects.base import ErrorBody
    from groundwire.errors import GroundwireError
    from groundwire.server.app import HttpApp, RequestContext
    from groundwire.server.asgi import HttpExchange

EncodeError: TypeAlias = "Callable[[GroundwireError, HttpExchange], ErrorBody]"
"""The status and the body of an error response."""
Endpoint: TypeAlias = "Callable[[HttpApp, RequestContext, Mapping[str, str]], Awaitable[None]]"
"""Handles a request; the mapping holds the path parameters."""


class RouteMatch(NamedTuple):
    """A route that matches a path, with its path parameters."""

    route: Route
    params: Mapping[str, str] = {}
    allowed_methods: str = ""
    """The methods of the path, if the method of the request is not among them."""


@value
class Route:
    """One method of one path."""

    method: str
    path: str
    """`{model}` matches a name with or without slashes."""
    endpoint: Endpoint
    dialect: str = ""
    """The dialect in which errors are written."""
    access: Literal["key", "public", "metrics"] = "key"
    always: bool = False
    """Available even while the server is overloaded or closing."""
    is_counted: bool = True
    """Do its requests count against the rate limits of the key? Those that only read never do."""
    about: str = ""
    """One sentence for the documentation."""
    group: str = ""
    """The group that keys can be restricted to (`ROUTE_GROUPS`). A key that is restricted to groups never
    opens a route without one."""
    role: Role = "member"
    """The least role of the key."""
    encode_error: EncodeError | None = None
    """Writes errors where the API of the route is not a dialect."""


def is_counted(route: Route, method: str) -> bool:
    """Does a request count against the rate limits of its key? Searches do by any method."""
    return route.access == "key" and route.is_counted and (method == "POST" or route.group == "search")


class RouteTable:
    """Finds the route of a method and path."""

    def __init__(self, routes: tuple[Route, ...]) -> None:
        self.routes = routes
        self._exact: dict[str, dict[str, Route]] = {}
        patterns: dict[str, dict[str, Route]] = {}
        for route in routes:
            by_path = patterns if "{" in route.path else self._exact
            by_path.setdefault(route.path, {})[route.method] = route
        # A pattern that continues after its parameter is tried before one that ends with it.
        ordered = sorted(patterns, key=lambda path: (path.endswith("}"), -len(path)))
        self._patterns = [(_pattern(path), patterns[path]) for path in ordered]
        self._matches = {
            (method, path): RouteMatch(route)
            for path, by_method in self._exact.items()
            for method, route in by_method.items()
        }
        """The routes without parameters, as most requests find them."""

    def find(self, method: str, path: str) -> RouteMatch:
        """The route of a request; raises 404 if no route has this path."""
        match = self._matches.get((method, path))
        if match is not None:
            return match
        found = self._exact.get(path)
        if found is not None:
            return _match(method, found, {})
        for pattern, routes in self._patterns:
            if parts := pattern.fullmatch(path):
                params = {name: unquote(text) for name, text in parts.groupdict().items()}
                return _match(method, routes, params)
        raise TurnedAway(
            status=404,
            message="there is nothing at this path; /docs/http-api.html lists all paths",
            code="NOT_FOUND",
        )


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(path)))


def _match(method: str, routes: Mapping[str, Route], params: Mapping[str, str]) -> RouteMatch:
    route = routes.get(method) or (routes.get("GET") if method == "HEAD" else None)
    if route is not None:
        return RouteMatch(route, params)
    return RouteMatch(next(iter(routes.values())), params, ", ".join(sorted(routes)))
