"""Restrictions are kept or refused; hints are used or reported. Nothing is dropped in silence.

`prepare` sorts the options of a request by what the provider can do. What it cannot do itself is asked for
in words, and because words bind nobody, `audit` removes from the answer what falls outside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from groundwire.errors import InvalidArguments, UnsupportedFeature
from groundwire.model import (
    Cited,
    Event,
    Request,
    SearchCalled,
    SearchOptions,
    SearchReturned,
    Source,
    Text,
    Warned,
)
from groundwire.model.value import replace, value
from groundwire.providers.capabilities import OPTIONS, RESTRICTIONS, Capabilities, Support
from groundwire.text.domains import admits, covers_entry, display_domain, is_domain_entry
from groundwire.text.sources import source_key

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
    if capabilities.search == "none":
        return _without_search(request, provider)
    warnings: list[Warned] = []
    emulated: list[str] = []
    for name in _said(options):
        match _support(capabilities, options, name):
            case "refused":
                raise UnsupportedFeature(
                    f"{provider} cannot honour {name}; leave it out, or choose a provider that can "
                    "(see: groundwire providers)"
                )
            case "emulated":
                emulated.append(name)
                how = "asked for and audited" if name in RESTRICTIONS else "asked for in words"
                warnings.append(Warned("option_emulated", f"{provider} has no {name}: {how}"))
            case "ignored":
                warnings.append(Warned("option_ignored", f"{provider} has no {name}: it was not used"))
                options = _without(options, name)
    audited = _audited(options, emulated)
    system = request.system
    if emulated:
        system = (*system, Text(_instruction(options, emulated)))
        for name in emulated:
            options = _without(options, name)
    if options.live and capabilities.support("live") != "native":
        options = _without(options, "live")  # who has no switch for it is live anyway
    return Prepared(replace(request, search=options, system=system), tuple(warnings), audited)


def _audited(options: SearchOptions, emulated: Collection[str]) -> SearchOptions | None:
    """What the answer must be checked for: the domain lists always, the number of sources if emulated."""
    if "max_sources" not in emulated:
        options = _without(options, "max_sources")
    checked = options.allowed_domains or options.blocked_domains or options.max_sources is not None
    return options if checked else None


def refuse_foreign_context(request: Request, provider: str, dialect: str = "") -> None:
    """Refuse a request that refers to text which only another vendor has: its answer would be wrong.

    `dialect` is what the provider speaks; whether it still has the text is for the provider to say.
    """
    stored = request.stored
    if stored is None:
        if request.previous_id and not dialect:
            raise UnsupportedFeature(f"{provider} keeps no conversations: send the messages, not previous_id")
        return
    if stored.dialect != dialect:
        raise UnsupportedFeature(
            f"{provider} cannot read what {' and '.join(stored.names)} refers to: only the vendor that "
            "stored it has the text. Send the messages themselves, or choose a provider that speaks "
            f"{stored.dialect}"
        )


def _without_search(request: Request, provider: str) -> Prepared:
    """Sources that nobody looks for cannot be on the wrong site, so restrictions are kept this way too."""
    warning = Warned("search_unavailable", f"{provider} cannot search the web: the answer is not grounded")
    choice = request.tool_choice
    forced = choice is not None and choice.mode == "search"
    return Prepared(replace(request, search=None, tool_choice=None if forced else choice), (warning,))


def _support(capabilities: Capabilities, options: SearchOptions, name: str) -> Support:
    if name == "blocked_domains" and options.allowed_domains and not capabilities.both_domain_lists:
        return "emulated"
    place = options.location
    if name == "location" and capabilities.coordinates and place and place.latitude is not None:
        return "native"
    return capabilities.support(name)


def check_domains(options: SearchOptions) -> None:
    """The two lists, by the rules all providers share: bare hosts, at most a hundred, not contradictory."""
    for name in ("allowed_domains", "blocked_domains"):
        domains: tuple[str, ...] = getattr(options, name)
        if len(domains) > MAX_DOMAINS:
            raise InvalidArguments(f"{name}: {len(domains)} domains, at most {MAX_DOMAINS} are possible")
        for domain in domains:
            if not is_domain_entry(domain):
                raise InvalidArguments(f"{name}: write {domain!r} as a bare host, like example.com")
    both = [
        entry
        for entry in options.allowed_domains
        if any(covers_entry(other, entry) for other in options.blocked_domains)
    ]
    if both:
        raise InvalidArguments(f"{', '.join(both)}: allowed and blocked at once")


class Audit:
    """Removes sources that the domain lists exclude, and citations beyond the limit of sources.

    It says so once for each domain, and once for the limit.
    """

    __slots__ = ("_cited", "_limit_reached", "_options", "_told")

    def __init__(self, options: SearchOptions) -> None:
        self._options = options
        self._told: set[str] = set()
        self._cited: set[str] = set()
        self._limit_reached = False

    def check(self, event: Event) -> Iterator[Event]:
        """The event as it may be told, after any warning."""
        match event:
            case Cited(citation):
                allowed = [item for item in citation.evidence if self._admits(item.source)]
                yield from self._warn(item.source for item in citation.evidence)
                kept = tuple(item for item in allowed if self._within_limit(item.source))
                if len(kept) < len(allowed) and not self._limit_reached:
                    self._limit_reached = True
                    limit = self._options.max_sources
                    yield Warned("source_limit", f"citations of more than {limit} sources were left out")
                if kept:
                    yield Cited(replace(citation, evidence=kept))
            case SearchReturned(part, result):
                sources = tuple(source for source in result.sources if self._admits(source))
                yield from self._warn(result.sources)
                dropped = len(sources) < len(result.sources)
                yield SearchReturned(part, replace(result, sources=sources, extras={}) if dropped else result)
            case SearchCalled(part, call) if call.url and not self._admits(Source(call.url)):
                # A page that was opened counts as a source, so its address goes; that it was opened stays.
                yield from self._warn((Source(call.url),))
                yield SearchCalled(part, replace(call, url="", extras={}))
            case _:
                yield event

    def _admits(self, source: Source) -> bool:
        return admits(self._options, source)

    def _within_limit(self, source: Source) -> bool:
        limit = self._options.max_sources
        if limit is None:
            return True
        key = source_key(source)
        if key not in self._cited and len(self._cited) < limit:
            self._cited.add(key)
        return key in self._cited

    def _warn(self, sources: Iterable[Source]) -> Iterator[Warned]:
        for source in sources:
            domain = display_domain(source)
            if not self._admits(source) and domain not in self._told:
                self._told.add(domain)
                yield Warned("source_removed", f"a source on {domain or 'an unknown site'} was not allowed")


def _said(options: SearchOptions) -> Iterator[str]:
    for name in OPTIONS:
        said = getattr(options, name)
        if said not in (None, "", ()) and not (name == "live" and said is True):
            yield name


def _without(options: SearchOptions, name: str) -> SearchOptions:
    return replace(options, **{name: getattr(SearchOptions(), name)})


def _instruction(options: SearchOptions, emulated: Collection[str]) -> str:
    lines = []
    if "allowed_domains" in emulated:
        sites = " OR ".join(f"site:{domain}" for domain in options.allowed_domains)
        lines.append(f"Search only these sites, and cite no others: {sites}")
    if "blocked_domains" in emulated:
        sites = " ".join(f"-site:{domain}" for domain in options.blocked_domains)
        lines.append(f"Do not search or cite these sites: {sites}")
    if "since" in emulated or "until" in emulated:
        since, until = options.since or "any time", options.until or "now"
        lines.append(f"Use pages published from {since} until {until}.")
    if "max_sources" in emulated:
        lines.append(f"Cite at most {options.max_sources} different pages.")
    if "location" in emulated and options.location is not None:
        place = options.location
        named = ", ".join(part for part in (place.city, place.region, place.country) if part)
        zone = f"time zone {place.timezone}" if place.timezone else ""
        lines.append(f"The user is here: {' '.join(filter(None, (named, zone)))}")
    if "language" in emulated:
        lines.append(f"Prefer pages in this language: {options.language}")
    return "\n".join(lines)
