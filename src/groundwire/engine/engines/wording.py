"""A query in the words of search services: site operators, lengths, spans of time."""

from __future__ import annotations

from datetime import date

from groundwire.model import SearchOptions

_MOST_SITES = 12
_SPANS = ((1, "day"), (7, "week"), (31, "month"), (366, "year"))


def domains(entries: tuple[str, ...]) -> list[str]:
    """Entries of a domain list as services take them: no wildcards; what that loosens is checked later."""
    return [entry.removeprefix("*.").partition("*")[0].rstrip("/") for entry in entries]


def with_sites(query: str, options: SearchOptions) -> str:
    """The query with its domain lists as operators. Lists too long for a query are left to the check of the
    results."""
    allowed, blocked = domains(options.allowed_domains), domains(options.blocked_domains)
    sites = " OR ".join(f"site:{entry}" for entry in allowed) if len(allowed) <= _MOST_SITES else ""
    words = [query, f"({sites})" if " OR " in sites else sites]
    words += (f"-site:{entry}" for entry in blocked[:_MOST_SITES])
    return " ".join(word for word in words if word)


def shortened(query: str, characters: int, words: int) -> str:
    """The beginning of a query that is longer than a service takes, cut between words."""
    short = " ".join(query.split()[:words])
    if len(short) <= characters:
        return short
    return short[: characters + 1].rpartition(" ")[0] or short[:characters]


def span_since(since: str, today: str) -> str:
    """The shortest of day, week, month and year that reaches back so far; empty if none does."""
    try:
        days = (date.fromisoformat(today[:10]) - date.fromisoformat(since[:10])).days
    except ValueError:
        return ""
    return next((name for most, name in _SPANS if days <= most), "")
