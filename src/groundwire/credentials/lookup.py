"""Credential lookup: where a provider's credential may be found, as data, and the search for it.

A provider lists its lookups; the first one that finds a credential wins. A missing credential is not an error
here: the caller knows the name of the provider and what its user should do. Our own file is an error if it is
unsafe or broken; a file of another program that cannot be read is skipped, and `explain` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, NamedTuple, TypeAlias

from groundwire.credentials.secret import Credential, CredentialKind, is_sendable, sendable
from groundwire.credentials.stores import LookupContext, StoreContents, read_codex, read_opencode, read_own
from groundwire.errors import ConfigError
from groundwire.model.value import value

__all__ = [
    "CredentialFinder",
    "Lookup",
    "LookupContext",
    "LookupResult",
    "defined_variables",
    "explain",
    "find",
]

LookupKind: TypeAlias = Literal["environment", "own", "opencode", "codex"]


@value
class Lookup:
    """One location: an environment variable, a provider in our own file or in OpenCode's, or Codex CLI's
    login."""

    kind: LookupKind
    name: str
    record: CredentialKind | Literal[""] = ""
    """Only a key, or only a session; empty for either."""


@value
class LookupResult:
    """The result of one lookup, without the secret."""

    place: str
    """The location, for display."""
    found: bool
    detail: str
    """What was found, or why nothing was."""
    kind: CredentialKind | Literal[""] = ""
    expires: float | None = None
    warnings: tuple[str, ...] = ()


class _LookupOutcome(NamedTuple):
    place: str
    credential: Credential | None
    detail: str
    warnings: tuple[str, ...] = ()
    fatal: bool = False


class _Stores:
    """The stores of one search, each read at most once."""

    def __init__(self, context: LookupContext) -> None:
        self.context = context
        self._read: dict[str, StoreContents] = {}

    def __getitem__(self, kind: str) -> StoreContents:
        if kind not in self._read:
            self._read[kind] = _READERS[kind](self.context)
        return self._read[kind]


def find(
    lookups: Iterable[Lookup], context: LookupContext, stores: _Stores | None = None
) -> Credential | None:
    """The first credential found. Raises `ConfigError` if our own file or a variable is broken."""
    stores = stores or _Stores(context)
    for lookup in lookups:
        outcome = _look_up(lookup, stores)
        if outcome.fatal:
            raise ConfigError(outcome.detail)
        if outcome.credential is not None:
            return outcome.credential
    return None


class CredentialFinder:
    """Finds credentials in one context. Stores are read again for each search, except by a `snapshot`."""

    def __init__(self, context: LookupContext) -> None:
        self.context = context
        self._stores: _Stores | None = None

    def find(self, lookups: Iterable[Lookup]) -> Credential | None:
        """The first credential found."""
        return find(lookups, self.context, self._stores)

    def snapshot(self) -> CredentialFinder:
        """A finder that reads each store at most once: a plan looks for the keys of all providers."""
        finder = CredentialFinder(self.context)
        finder._stores = _Stores(self.context)
        return finder

    @contextmanager
    def using(self, snapshot: CredentialFinder) -> Iterator[None]:
        """Inside the block, the stores are those of the snapshot."""
        before, self._stores = self._stores, snapshot._stores
        try:
            yield
        finally:
            self._stores = before


def explain(lookups: Iterable[Lookup], context: LookupContext) -> list[LookupResult]:
    """The result of every lookup, in order, for display."""
    stores = _Stores(context)
    return [_without_secret(_look_up(lookup, stores)) for lookup in lookups]


def defined_variables(context: LookupContext) -> dict[str, Credential]:
    """Variables that OpenCode's `wellknown` records define and the environment does not."""
    found = read_opencode(context).variables
    return {name: item for name, item in found.items() if name not in context.env}


def _look_up(lookup: Lookup, stores: _Stores) -> _LookupOutcome:
    return _environment(lookup, stores) if lookup.kind == "environment" else _store(lookup, stores)


def _environment(lookup: Lookup, stores: _Stores) -> _LookupOutcome:
    place = f"environment {lookup.name}"
    text = stores.context.env.get(lookup.name, "").strip()
    if not text:
        defined = stores["opencode"].variables.get(lookup.name)
        if defined is None:
            return _LookupOutcome(place, None, "not set")
        return _LookupOutcome(place, defined, defined.origin, defined.warnings)
    if not is_sendable(text):
        return _LookupOutcome(
            place, None, f"{place} holds characters that no key has; set it again", fatal=True
        )
    return _LookupOutcome(place, Credential(sendable(text), "api", place), "a key")


def _store(lookup: Lookup, stores: _Stores) -> _LookupOutcome:
    contents = stores[lookup.kind]
    if contents.problem:
        return _LookupOutcome(
            contents.place, None, contents.problem, contents.warnings, fatal=lookup.kind == "own"
        )
    name = "" if lookup.kind == "codex" else lookup.name.rstrip("/")
    found = contents.credentials.get(name, ())
    for credential in found:
        if lookup.record in ("", credential.kind):
            return _LookupOutcome(credential.origin, credential, _NOUNS[credential.kind], contents.warnings)
    return _LookupOutcome(contents.place, None, _why_not(lookup, contents, found), contents.warnings)


def _why_not(lookup: Lookup, contents: StoreContents, found: tuple[Credential, ...]) -> str:
    if contents.missing:
        return "no such file"
    about = "" if lookup.kind == "codex" else f" for {lookup.name}"
    skipped = f"; {contents.dropped} invalid records were skipped" if contents.dropped else ""
    if found:
        return f"has {_NOUNS[found[0].kind]}{about}, not {_NOUNS[lookup.record]}{skipped}"
    return f"has nothing{about}{skipped}"


def _without_secret(outcome: _LookupOutcome) -> LookupResult:
    credential = outcome.credential
    return LookupResult(
        outcome.place,
        found=credential is not None,
        detail=outcome.detail,
        kind=credential.kind if credential else "",
        expires=credential.expires if credential else None,
        warnings=outcome.warnings,
    )


_NOUNS: Mapping[str, str] = {"api": "a key", "oauth": "a session", "": "a credential"}

_READERS: Mapping[str, Callable[[LookupContext], StoreContents]] = {
    "own": read_own,
    "opencode": read_opencode,
    "codex": read_codex,
}
