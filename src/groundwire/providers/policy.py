"""Restrictions are kept or refused; hints are used or reported. Nothing is dropped in silence.

`prepare` sorts the options of a request by what the provider can do. What it cannot do itself is asked for
in words, and because words bind nobody, `audit` removes from the answer what falls outside.
"""

from __future__ import annotations

from collections.abc import Iterator

from groundwire.errors import InvalidArguments, UnsupportedFeature
from groundwire.model import (
    Cited,
    Event,
    Evidence,
    Request,
    SearchOptions,
    SearchReturned,
    Source,
    Text,
    Warned,
)
from groundwire.model.value import replace, value
from groundwire.providers.capabilities import OPTIONS, Capabilities
from groundwire.text.addresses import domain_of

MAX_DOMAINS = 100


@value
class Prepared:
    """A request that the provider can take, and what must be said and watched because of it."""

    request: Request
    warnings: tuple[Warned, ...] = ()
    audited: SearchOptions | None = None


def prepare(request: Request, capabilities: Capabilities, provider: str) -> Prepared:
    """Fit the search options to the provider, or refuse."""
    options = request.search
    if options is None:
        return Prepared(request)
    check_domains(options)
    warnings: list[Warned] = []
    emulated: list[str] = []
    for name in _said(options):
        match capabilities.support(name):
            case "refused":
                raise UnsupportedFeature(
                    f"{provider} cannot honour {name}; leave it out, or choose a provider that can "
                    "(see: groundwire providers)"
                )
            case "emulated":
                emulated.append(name)
                warnings.append(Warned("option_emulated", f"{provider} has no {name}: asked for and audited"))
            case "ignored":
                warnings.append(Warned("option_ignored", f"{provider} has no {name}: it was not used"))
                options = _without(options, name)
    audited = options if options.allowed_domains or options.blocked_domains else None
    system = request.system
    if emulated:
        system = (*system, Text(_instruction(options)))
        for name in emulated:
            options = _without(options, name)
    return Prepared(replace(request, search=options, system=system), tuple(warnings), audited)


def check_domains(options: SearchOptions) -> None:
    """The two lists, by the rules all providers share: bare hosts, at most a hundred, not contradictory."""
    for name in ("allowed_domains", "blocked_domains"):
        domains: tuple[str, ...] = getattr(options, name)
        if len(domains) > MAX_DOMAINS:
            raise InvalidArguments(f"{name}: {len(domains)} domains, at most {MAX_DOMAINS} are possible")
        for domain in domains:
            if "://" in domain or not domain.strip() or any(sign.isspace() for sign in domain):
                raise InvalidArguments(f"{name}: write {domain!r} as a bare host, like example.com")
    both = set(options.allowed_domains) & set(options.blocked_domains)
    if both:
        raise InvalidArguments(f"{', '.join(sorted(both))}: allowed and blocked at once")


class Audit:
    """Removes sources that the domain lists exclude, and says so once for each domain."""

    __slots__ = ("_options", "_told")

    def __init__(self, options: SearchOptions) -> None:
        self._options = options
        self._told: set[str] = set()

    def check(self, event: Event) -> Iterator[Event]:
        """The event as it may be told, after any warning."""
        match event:
            case Cited(citation):
                kept = tuple(item for item in citation.evidence if self._admits(item.source))
                yield from self._warn(citation.evidence)
                if kept:
                    yield Cited(replace(citation, evidence=kept))
            case SearchReturned(part, result):
                sources = tuple(source for source in result.sources if self._admits(source))
                yield from self._warn(tuple(map(Evidence, result.sources)))
                dropped = len(sources) < len(result.sources)
                yield SearchReturned(part, replace(result, sources=sources, extras={}) if dropped else result)
            case _:
                yield event

    def _admits(self, source: Source) -> bool:
        return admits(self._options, source)

    def _warn(self, evidence: tuple[Evidence, ...]) -> Iterator[Warned]:
        for item in evidence:
            domain = _domain(item.source)
            if not self._admits(item.source) and domain not in self._told:
                self._told.add(domain)
                yield Warned("source_removed", f"a source on {domain or 'an unknown site'} was not allowed")


def admits(options: SearchOptions, source: Source) -> bool:
    """Do the domain lists allow this source? Subdomains belong to their domain; paths narrow it."""
    domain = _domain(source)
    path = source.url.partition("://")[2].partition("/")[2]
    if any(_covers(entry, domain, path) for entry in options.blocked_domains):
        return False
    allowed = options.allowed_domains
    return not allowed or any(_covers(entry, domain, path) for entry in allowed)


def _covers(entry: str, domain: str, path: str) -> bool:
    host, _, prefix = entry.lower().partition("/")
    host = host.removeprefix("*.").removeprefix("www.")
    return (domain == host or domain.endswith("." + host)) and path.startswith(prefix.rstrip("*"))


def _domain(source: Source) -> str:
    # A redirect hides its target: then the provider's own word for the domain counts.
    return (source.domain or domain_of(source.url)).lower().removeprefix("www.")


def _said(options: SearchOptions) -> Iterator[str]:
    for name in OPTIONS:
        said = getattr(options, name)
        if said not in (None, "", ()) and not (name == "live" and said is True):
            yield name


def _without(options: SearchOptions, name: str) -> SearchOptions:
    return replace(options, **{name: getattr(SearchOptions(), name)})


def _instruction(options: SearchOptions) -> str:
    lines = []
    if options.allowed_domains:
        sites = " OR ".join(f"site:{domain}" for domain in options.allowed_domains)
        lines.append(f"Search only these sites, and cite no others: {sites}")
    if options.blocked_domains:
        sites = " ".join(f"-site:{domain}" for domain in options.blocked_domains)
        lines.append(f"Do not search or cite these sites: {sites}")
    if options.since or options.until:
        lines.append(
            f"Use pages published from {options.since or 'any time'} until {options.until or 'now'}."
        )
    if options.language:
        lines.append(f"Prefer pages in this language: {options.language}")
    return "\n".join(lines)
