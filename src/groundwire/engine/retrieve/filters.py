"""Search filters: publication dates as timestamps, and domain lists.

A date without a time is its last second when it dates a page or ends a range, and its first second when it
starts a range: a page published on a day is found by a search since, until and on that day.

A page is indexed with its host and all parent domains, in which the host of a domain entry is looked up.
Whether an entry with a path matches is decided by the URL, by the rule of `groundwire.text.domains`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from groundwire.errors import RequestError
from groundwire.model.value import value
from groundwire.text.domains import entry_parts, normalise_host
from groundwire.text.urls import domain_of

_DATE_LENGTH = len("2024-05-01")
_WHOLE_DAY = timedelta(days=1, seconds=-1)


def published_timestamp(text: str) -> int | None:
    """The publication date of a page as a Unix timestamp; None if it is not known."""
    return _seconds(text, ends=True)


def date_range(since: str, until: str) -> tuple[int | None, int | None]:
    """The timestamps of a date range. Raises `RequestError` for an invalid date."""
    return _bound(since, ends=False), _bound(until, ends=True)


def _bound(text: str, *, ends: bool) -> int | None:
    found = _seconds(text, ends=ends)
    if text.strip() and found is None:
        raise RequestError(f"{text!r} is not a date. Write 2024-05-01 or 2024-05-01T10:00:00Z.")
    return found


def _seconds(text: str, *, ends: bool) -> int | None:
    text = text.strip()
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
        if len(text) <= _DATE_LENGTH and ends:
            time += _WHOLE_DAY
        return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None


def host_and_parents(url: str) -> list[str]:
    """The host of a URL and its parent domains: `docs.python.org`, `python.org`, `org`."""
    return [*_above(domain_of(url))]


# Pages of one site are indexed together.
@lru_cache(1024)
def _above(host: str) -> tuple[str, ...]:
    labels = normalise_host(host).split(".")
    return tuple(".".join(labels[at:]) for at in range(len(labels)) if labels[at])


@value
class DomainEntries:
    """A domain list: entries that are only a host, and entries with a path."""

    hosts: tuple[str, ...]
    paths: tuple[tuple[str, re.Pattern[str]], ...]

    @property
    def all_hosts(self) -> tuple[str, ...]:
        """The hosts of all entries."""
        return self.hosts + tuple(host for host, _ in self.paths)


def parse_domain_entries(entries: Iterable[str]) -> DomainEntries:
    """Parses a domain list."""
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
