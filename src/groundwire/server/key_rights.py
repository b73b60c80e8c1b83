"""The rights of API keys as a partial order: which rights include others, and what two have in common.

A key may create and change only keys whose rights its own include. In a list, no entry means everything, so
lists that have nothing in common cannot be narrowed to an empty one: that is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from groundwire.errors import ForbiddenForKey
from groundwire.model.access import ROLES, KeyLimits, KeyRights, KeyScope
from groundwire.model.value import field_names
from groundwire.text.domains import covers_entry

Covers: TypeAlias = Callable[[str, str], bool]
"""Does the first entry of a list include the second?"""
Number = TypeVar("Number", bound=float)


def matches(pattern: str, text: str) -> bool:
    """Does the pattern match the whole text? `*` matches any text. Takes linear time.

    A `*` in the text is matched only by a `*` of the pattern, so this also decides whether one pattern
    includes another.
    """
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    if not text.startswith(first):
        return False
    at = len(first)
    *middle, last = rest
    for piece in middle:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return len(text) - at >= len(last) and text.endswith(last)


def _equal(outer: str, inner: str) -> bool:
    return outer == inner


_LISTS: dict[str, Covers] = {
    "routes": _equal,
    "providers": _equal,
    "models": matches,
    "allowed_domains": covers_entry,
}


def is_subset(child: KeyRights, parent: KeyRights) -> bool:
    """Does the parent include all rights of the child?"""
    return not excess(child, parent)


def excess(child: KeyRights, parent: KeyRights) -> tuple[str, ...]:
    """The fields in which the child has rights that the parent does not include."""
    return tuple(_excess(child, parent))


def _excess(child: KeyRights, parent: KeyRights) -> Iterator[str]:
    if ROLES.index(child.role) > ROLES.index(parent.role):
        yield "role"
    if parent.owner and child.owner != parent.owner:
        yield "owner"
    if parent.expires and not (child.expires and child.expires <= parent.expires):
        yield "expires"
    for name, covers in _LISTS.items():
        outer, inner = getattr(parent.scope, name), getattr(child.scope, name)
        if outer and not (inner and _is_covered(inner, outer, covers)):
            yield name
    if child.scope.may_search and not parent.scope.may_search:
        yield "may_search"
    for name in field_names(KeyLimits):
        most, asked = getattr(parent.scope.limits, name), getattr(child.scope.limits, name)
        if most is not None and (asked is None or asked > most):
            yield name


def narrow(rights: KeyRights, within: KeyRights) -> KeyRights:
    """The rights that both have. Raises `ForbiddenForKey` if they have nothing in common.

    Of two patterns that overlap without one including the other, nothing is kept.
    """
    if within.owner and rights.owner not in ("", within.owner):
        raise ForbiddenForKey(f"owner: your API key belongs to {within.owner}")
    one, other = rights.scope, within.scope
    lists = {
        name: _common(name, getattr(one, name), getattr(other, name), covers)
        for name, covers in _LISTS.items()
    }
    limits = KeyLimits(
        *(_least(getattr(one.limits, name), getattr(other.limits, name)) for name in field_names(KeyLimits))
    )
    return KeyRights(
        min(rights.role, within.role, key=ROLES.index),
        within.owner or rights.owner,
        min(filter(None, (rights.expires, within.expires)), default=""),
        KeyScope(**lists, may_search=one.may_search and other.may_search, limits=limits),
    )


def common_domains(wanted: tuple[str, ...], allowed: tuple[str, ...]) -> tuple[str, ...]:
    """The domains of a request within those of its key; raises `ForbiddenForKey` if there are none."""
    return _common("allowed_domains", wanted, allowed, covers_entry)


def _common(name: str, one: tuple[str, ...], other: tuple[str, ...], covers: Covers) -> tuple[str, ...]:
    if not one or not other:
        return one or other
    if _is_covered(one, other, covers):
        return one
    inside = (entry for entry in one if _is_covered((entry,), other, covers))
    around = (entry for entry in other if _is_covered((entry,), one, covers))
    kept = tuple(dict.fromkeys((*inside, *around)))
    if not kept:
        raise ForbiddenForKey(f"{name}: your API key allows only {', '.join(other)}")
    return kept


def _is_covered(inner: Sequence[str], outer: Sequence[str], covers: Covers) -> bool:
    return all(any(covers(wide, entry) for wide in outer) for entry in inner)


def _least(one: Number | None, other: Number | None) -> Number | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)
