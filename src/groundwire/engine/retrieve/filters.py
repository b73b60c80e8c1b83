"""Dates of pages and of searches, as seconds that compare.

A day alone is its last second when it dates a page or ends a search, and its first when it starts one: what
was published on a day is found by a search since, until and on that day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from groundwire.errors import RequestError
from groundwire.model.value import value
from groundwire.text.domains import entry_parts, plain_host
from groundwire.text.urls import domain_of

_DAY_ALONE = len("2024-05-01")
_WHOLE_DAY = timedelta(days=1, seconds=-1)


def published_timestamp(text: str) -> int | None:
    """When a page came out; None where that is not known."""
    return _seconds(text, ends=True)


def date_range(since: str, until: str) -> tuple[int | None, int | None]:
    """The first and the last moment a search asks for. Raises `RequestError` for what is no date."""
    return _bound(since, ends=False), _bound(until, ends=True)


def _bound(text: str, *, ends: bool) -> int | None:
    found = _seconds(text, ends=ends)
    if text.strip() and found is None:
        raise RequestError(f"{text!r} is no date; write 2024-05-01 or 2024-05-01T10:00:00Z")
    return found


def _seconds(text: str, *, ends: bool) -> int | None:
    text = text.strip()
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if len(text) <= _DAY_ALONE and ends:
            moment += _WHOLE_DAY
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None


def host_and_parents(url: str) -> list[str]:
    """The host of an address and its parent domains: `docs.python.org`, `python.org`, `org`."""
    return [*_above(domain_of(url))]


# Pages come by the site.
@lru_cache(1024)
def _above(host: str) -> tuple[str, ...]:
    labels = plain_host(host).split(".")
    return tuple(".".join(labels[at:]) for at in range(len(labels)) if labels[at])


@value
class DomainEntries:
    """A domain list: entries that are a host alone, and entries with a path."""

    hosts: tuple[str, ...]
    paths: tuple[tuple[str, re.Pattern[str]], ...]

    @property
    def all_hosts(self) -> tuple[str, ...]:
        """The hosts of all entries."""
        return self.hosts + tuple(host for host, _ in self.paths)


def parse_domain_entries(entries: Iterable[str]) -> DomainEntries:
    """A domain list, taken apart."""
    hosts, paths = [], []
    for entry in entries:
        host, path = entry_parts(entry.strip())
        if path:
            paths.append((host, _form(path)))
        else:
            hosts.append(host)
    return DomainEntries(tuple(hosts), tuple(paths))


def _form(path: str) -> re.Pattern[str]:
    form = ".*".join(re.escape(piece) for piece in path.split("*"))
    return re.compile(form if path.endswith(("*", "/")) else form + r"(?:/|\Z)", re.DOTALL)
