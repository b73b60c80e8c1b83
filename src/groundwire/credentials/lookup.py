"""Which places to ask for a credential, as data, and what they answer.

A provider's row lists its lookups; the first that finds something wins. Missing is not an error here: the
caller knows what the provider is called and what its user should do. A file of our own that is unsafe or
broken is an error, wherever it is asked; another program's file that cannot be read is passed over, and
`explain` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from groundwire.credentials.secret import Credential, CredentialKind, is_sendable, sendable
from groundwire.credentials.stores import LookupContext, StoreContents, read_codex, read_opencode, read_own
from groundwire.errors import ConfigError
from groundwire.model.value import value

__all__ = ["Lookup", "LookupContext", "LookupResult", "defined_variables", "explain", "find"]

LookupKind: TypeAlias = Literal["environment", "own", "opencode", "codex"]


@value
class Lookup:
    """A place to ask: a variable, a provider in our own file or in OpenCode's, or Codex CLI's login."""

    kind: LookupKind
    name: str
    record: CredentialKind | Literal[""] = ""
    """Take only a key, or only a session; empty takes either."""


@value
class LookupResult:
    """What one place answered, without the secret."""

    place: str
    found: bool
    detail: str
    """What was found, or why nothing was."""
    kind: CredentialKind | Literal[""] = ""
    expires: float | None = None
    warnings: tuple[str, ...] = ()


class _Answer(NamedTuple):
    place: str
    credential: Credential | None
    detail: str
    warnings: tuple[str, ...] = ()
    fatal: bool = False


class _Stores:
    """The stores of one look around, each read at most once."""

    def __init__(self, places: LookupContext) -> None:
        self.places = places
        self._read: dict[str, StoreContents] = {}

    def __getitem__(self, kind: str) -> StoreContents:
        if kind not in self._read:
            self._read[kind] = _STORES[kind](self.places)
        return self._read[kind]


def find(lookups: Iterable[Lookup], places: LookupContext) -> Credential | None:
    """The first credential found. Raises `ConfigError` about something of the user's own that is broken."""
    shelves = _Stores(places)
    for lookup in lookups:
        answer = _ask(lookup, shelves)
        if answer.fatal:
            raise ConfigError(answer.detail)
        if answer.credential is not None:
            return answer.credential
    return None


def explain(lookups: Iterable[Lookup], places: LookupContext) -> list[LookupResult]:
    """What every place answers, in order, for people who wonder."""
    shelves = _Stores(places)
    return [_finding(_ask(lookup, shelves)) for lookup in lookups]


def defined_variables(places: LookupContext) -> dict[str, Credential]:
    """Variables that OpenCode's `wellknown` records define and the environment does not."""
    found = read_opencode(places).variables
    return {name: item for name, item in found.items() if name not in places.env}


def _ask(lookup: Lookup, shelves: _Stores) -> _Answer:
    return _environment(lookup, shelves) if lookup.kind == "environment" else _store(lookup, shelves)


def _environment(lookup: Lookup, shelves: _Stores) -> _Answer:
    place = f"environment {lookup.name}"
    text = shelves.places.env.get(lookup.name, "").strip()
    if not text:
        told = shelves["opencode"].variables.get(lookup.name)
        return _Answer(place, told, told.origin if told else "not set", told.warnings if told else ())
    if not is_sendable(text):
        return _Answer(place, None, f"{place} holds characters that no key has; set it again", fatal=True)
    return _Answer(place, Credential(sendable(text), "api", place), "a key")


def _store(lookup: Lookup, shelves: _Stores) -> _Answer:
    shelf = shelves[lookup.kind]
    if shelf.problem:
        return _Answer(shelf.place, None, shelf.problem, shelf.warnings, fatal=lookup.kind == "own")
    name = "" if lookup.kind == "codex" else lookup.name.rstrip("/")
    found = shelf.credentials.get(name, ())
    for credential in found:
        if lookup.record in ("", credential.kind):
            return _Answer(credential.origin, credential, _NOUNS[credential.kind], shelf.warnings)
    return _Answer(shelf.place, None, _why_not(lookup, shelf, found), shelf.warnings)


def _why_not(lookup: Lookup, shelf: StoreContents, found: tuple[Credential, ...]) -> str:
    if shelf.missing:
        return "no such file"
    about = "" if lookup.kind == "codex" else f" for {lookup.name}"
    passed = f"; {shelf.dropped} invalid records were passed over" if shelf.dropped else ""
    if found:
        return f"has {_NOUNS[found[0].kind]}{about}, not {_NOUNS[lookup.record]}{passed}"
    return f"has nothing{about}{passed}"


def _finding(answer: _Answer) -> LookupResult:
    found = answer.credential
    if found is None:
        return LookupResult(answer.place, found=False, detail=answer.detail, warnings=answer.warnings)
    return LookupResult(
        answer.place,
        found=True,
        detail=answer.detail,
        kind=found.kind,
        expires=found.expires,
        warnings=answer.warnings,
    )


_NOUNS: Mapping[str, str] = {"api": "a key", "oauth": "a session", "": "a credential"}

_STORES: Mapping[str, Callable[[LookupContext], StoreContents]] = {
    "own": read_own,
    "opencode": read_opencode,
    "codex": read_codex,
}
