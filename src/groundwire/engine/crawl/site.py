"""A site within bounds: breadth first, one host, each page once."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from groundwire.engine.crawl.frontier import Frontier
from groundwire.engine.crawl.outcomes import Gathered, Outcome, Scope
from groundwire.engine.crawl.visits import Visitor, host_of
from groundwire.engine.read.formats import SUFFIXES
from groundwire.text.urls import canonical_url

_PAGES = frozenset((*SUFFIXES, "", ".php", ".asp", ".aspx", ".jsp", ".cgi", ".shtml", ".do"))
_LONGEST_SUFFIX = 5


async def gather_site(
    start: str, scope: Scope, visitor: Visitor, frontier: Frontier
) -> AsyncGenerator[Outcome, None]:
    """Every page that is found. What was told when the frontier is saved is never visited again."""
    host = host_of(start)
    while frontier.visited < scope.pages and (taken := frontier.take()) is not None:
        url, depth = taken
        visit = await visitor.visit(url, within=host)
        if scope.depth is None or depth < scope.depth:
            for link in visit.links:
                if host_of(link) == host and _may_be_page(link):
                    frontier.add(link, depth + 1)
        frontier.settle()
        if not isinstance(visit.outcome, Gathered) or _is_first(visit.outcome, url, frontier):
            yield visit.outcome


def _is_first(gathered: Gathered, url: str, frontier: Frontier) -> bool:
    """A page that names another address as its own is told once, whatever the number of its addresses."""
    own = gathered.page.url
    return canonical_url(own) == canonical_url(url) or frontier.is_new(own)


def _may_be_page(url: str) -> bool:
    """Pictures, archives and programs are not asked for; names with an unknown ending such as `v3.11` are."""
    name = url.partition("?")[0].rpartition("/")[2].lower()
    dot = name.rfind(".")
    suffix = name[dot:] if dot > 0 else ""
    known = len(suffix) <= _LONGEST_SUFFIX and suffix[1:].isalnum() and not suffix[1:].isdecimal()
    return not known or suffix in _PAGES
