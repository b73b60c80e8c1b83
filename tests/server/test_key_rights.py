"""Rights of keys: one key's rights include another's exactly if it may do everything that the other may."""

from __future__ import annotations

from decimal import Decimal
from fnmatch import fnmatchcase

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from groundwire.errors import ForbiddenForKey
from groundwire.model import SearchOptions, Source
from groundwire.model.access import ROLES, ROUTE_GROUPS, KeyLimits, KeyRights, KeyScope
from groundwire.model.value import field_names, replace
from groundwire.server.key_rights import common_domains, excess, is_subset, matches, narrow
from groundwire.text.domains import admits

PATTERN = st.text("ab/*-", min_size=1, max_size=6)
NAME = st.text("abc/-", max_size=6)
DOMAIN = st.sampled_from(
    [
        *("a.example", "b.a.example", "c.b.a.example", "b.example", "*.a.example", "www.a.example"),
        *("a.example/x", "a.example/x*", "a.example/x/y", "a.example/*/y", "a.example/x/*", "b.a.example/x"),
    ]
)
PAGES = [
    f"https://{host}/{path}"
    for host in ("a.example", "b.a.example", "c.b.a.example", "b.example", "xa.example")
    for path in ("", "x", "xy", "x/y", "x/y/z", "z/y", "z")
]


def lists(entries: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(entries, max_size=3, unique=True).map(tuple)


LIMIT = st.none() | st.integers(1, 5)
AMOUNT = LIMIT.map(lambda number: None if number is None else Decimal(number))
SCOPE = st.builds(
    KeyScope,
    lists(st.sampled_from(ROUTE_GROUPS[:4])),
    lists(st.sampled_from(("gemini", "openai", "local"))),
    lists(PATTERN),
    lists(DOMAIN),
    st.booleans(),
    st.builds(KeyLimits, LIMIT, LIMIT, AMOUNT, AMOUNT),
)
RIGHTS = st.builds(
    KeyRights,
    st.sampled_from(ROLES),
    st.sampled_from(("", "acme", "zeta")),
    st.sampled_from(("", "2027-01-01T00:00:00Z", "2027-06-01T00:00:00Z")),
    SCOPE,
)


def subset_of(parent: KeyRights, wish: KeyRights) -> KeyRights:
    """Rights that the parent includes, made from any others."""
    try:
        return narrow(wish, parent)
    except ForbiddenForKey:
        return parent


@given(PATTERN, NAME)
def test_a_star_matches_any_text_and_nothing_else_is_special(pattern: str, name: str) -> None:
    assert matches(pattern, name) is fnmatchcase(name, pattern)


def test_a_hostile_pattern_takes_linear_time() -> None:
    assert not matches("a*" * 2000 + "b", "a" * 20_000)


@given(RIGHTS)
def test_rights_include_themselves(rights: KeyRights) -> None:
    assert is_subset(rights, rights)
    assert narrow(rights, rights) == rights


@given(RIGHTS, RIGHTS, RIGHTS)
def test_a_subset_of_a_subset_is_a_subset(first: KeyRights, second: KeyRights, third: KeyRights) -> None:
    middle = subset_of(first, second)
    inner = subset_of(middle, third)
    assert is_subset(middle, first)
    assert is_subset(inner, middle)
    assert is_subset(inner, first)


@given(RIGHTS, RIGHTS)
def test_narrowing_gives_nothing_that_one_of_both_lacks(one: KeyRights, other: KeyRights) -> None:
    try:
        both = narrow(one, other)
    except ForbiddenForKey:
        assert not is_subset(one, other)
        return
    assert is_subset(both, one)
    assert is_subset(both, other)


@given(RIGHTS, RIGHTS)
def test_narrowing_keeps_rights_that_are_included_already(parent: KeyRights, wish: KeyRights) -> None:
    child = subset_of(parent, wish)
    assert narrow(child, parent) == child


@given(RIGHTS, RIGHTS, NAME, st.sampled_from(PAGES))
def test_whatever_a_subset_may_do_its_parent_may_do(
    parent: KeyRights, wish: KeyRights, name: str, page: str
) -> None:
    child = subset_of(parent, wish)
    assert ROLES.index(child.role) <= ROLES.index(parent.role)
    assert child.owner == parent.owner or not parent.owner
    assert not parent.expires or "" < child.expires <= parent.expires
    assert child.scope.may_search <= parent.scope.may_search
    for field in ("routes", "providers"):
        inner, outer = getattr(child.scope, field), getattr(parent.scope, field)
        assert not outer or (inner and {*inner} <= {*outer})

    def may_use(scope: KeyScope) -> bool:
        return not scope.models or any(matches(pattern, name) for pattern in scope.models)

    def may_read(scope: KeyScope) -> bool:
        return admits(SearchOptions(scope.allowed_domains), Source(page))

    assert may_use(child.scope) <= may_use(parent.scope)
    assert may_read(child.scope) <= may_read(parent.scope)
    for field in field_names(KeyLimits):
        most, given_ = getattr(parent.scope.limits, field), getattr(child.scope.limits, field)
        assert most is None or (given_ is not None and given_ <= most)


@given(lists(PATTERN), lists(PATTERN))
def test_patterns_are_included_only_if_all_their_names_match(
    inner: tuple[str, ...], outer: tuple[str, ...]
) -> None:
    assume(inner and outer)
    child, parent = (KeyRights(scope=KeyScope(models=models)) for models in (inner, outer))
    # A text that no pattern contains stands for everything that a star of the child matches.
    samples = [pattern.replace("*", filler) for pattern in inner for filler in ("", "§", "a", "/b", "§a§")]
    escaped = all(any(matches(pattern, sample) for pattern in outer) for sample in samples)
    assert is_subset(child, parent) is escaped


@given(lists(DOMAIN), lists(DOMAIN), st.sampled_from(PAGES))
def test_the_domains_of_a_request_never_leave_those_of_its_key(
    wanted: tuple[str, ...], allowed: tuple[str, ...], page: str
) -> None:
    try:
        both = common_domains(wanted, allowed)
    except ForbiddenForKey:
        return
    if admits(SearchOptions(both), Source(page)):
        assert admits(SearchOptions(wanted), Source(page))
        assert admits(SearchOptions(allowed), Source(page))


def test_lists_without_anything_in_common_do_not_become_everything() -> None:
    gemini = KeyRights(scope=KeyScope(providers=("gemini",)))
    openai = KeyRights(scope=KeyScope(providers=("openai",)))
    with pytest.raises(ForbiddenForKey, match="allows only gemini"):
        narrow(openai, gemini)
    with pytest.raises(ForbiddenForKey, match="belongs to acme"):
        narrow(KeyRights(owner="zeta"), KeyRights(owner="acme"))


@pytest.mark.parametrize(
    ("field", "more"),
    [
        ("role", KeyRights("owner", "acme", "2027-01-01T00:00:00Z")),
        ("owner", KeyRights("member", "", "2027-01-01T00:00:00Z")),
        ("owner", KeyRights("member", "zeta", "2027-01-01T00:00:00Z")),
        ("expires", KeyRights("member", "acme")),
        ("expires", KeyRights("member", "acme", "2027-01-01T00:00:01Z")),
    ],
)
def test_each_field_that_exceeds_is_named(field: str, more: KeyRights) -> None:
    parent = KeyRights("admin", "acme", "2027-01-01T00:00:00Z")
    assert excess(more, parent) == (field,)
    assert excess(replace(parent, role="member"), parent) == ()
