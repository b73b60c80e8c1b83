"""Domain lists, the index's part: a page is kept with its host and all that lie above it.

The host of an entry is looked up among those. Whether an entry that goes on with a path covers a page is seen
by its address; `groundwire.text.domains` has the rule, and the form of a path says the same as an expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from groundwire.model.value import value
from groundwire.text.domains import entry_parts, normalise_host
from groundwire.text.urls import domain_of


def hosts_above(url: str) -> list[str]:
    """The host of an address and its parent domains: `docs.python.org`, `python.org`, `org`."""
    return [*_above(domain_of(url))]


# Pages come by the site.
@lru_cache(1024)
def _above(host: str) -> tuple[str, ...]:
    labels = normalise_host(host).split(".")
    return tuple(".".join(labels[at:]) for at in range(len(labels)) if labels[at])


@value
class Entries:
    """A domain list: entries that are a host alone, and entries with a path."""

    hosts: tuple[str, ...]
    paths: tuple[tuple[str, re.Pattern[str]], ...]

    @property
    def all_hosts(self) -> tuple[str, ...]:
        """The hosts of all entries."""
        return self.hosts + tuple(host for host, _ in self.paths)


def read_entries(entries: Iterable[str]) -> Entries:
    """A domain list, taken apart."""
    hosts, paths = [], []
    for entry in entries:
        host, path = entry_parts(entry.strip())
        if path:
            paths.append((host, _form(path)))
        else:
            hosts.append(host)
    return Entries(tuple(hosts), tuple(paths))


def _form(path: str) -> re.Pattern[str]:
    form = ".*".join(re.escape(piece) for piece in path.split("*"))
    return re.compile(form if path.endswith(("*", "/")) else form + r"(?:/|\Z)", re.DOTALL)
