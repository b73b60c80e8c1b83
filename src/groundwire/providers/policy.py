"""Capabilities, and the policy for search options: restrictions are honoured or refused, hints reported.

`prepare` adapts the search options of a request to what the provider supports. What it does not support is
emulated by an instruction to the model, and because a model may not follow it, `Audit` removes sources
outside of the restrictions from the answer. No option is dropped without a warning.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Literal, TypeAlias

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
from groundwire.providers.catalog import ProviderKind
from groundwire.text.domains import admits, covers_entry, display_domain, is_domain_entry
from groundwire.text.sources import source_key

Support: TypeAlias = Literal["native", "emulated", "ignored", "refused"]
"""native: the provider does it; emulated: the model is instructed, and the domains of the answer are audited;
ignored: a hint that is dropped with a warning; refused: a restriction that cannot be enforced, so the request
is refused."""

Billing: TypeAlias = Literal["call", "query", "prompt"]
"""What a vendor counts as one search: a call of its search tool (pages opened later are free), a distinct
query, or a prompt for which it found web pages."""

OPTIONS = (
    *("allowed_domains", "blocked_domains", "live"),
    *("location", "language", "since", "until", "max_uses", "max_sources", "context_size"),
)
RESTRICTIONS = frozenset({"allowed_domains", "blocked_domains", "live"})
_settings = attrgetter(*OPTIONS)
_DEFAULT_SETTINGS = _settings(SearchOptions())
_DEFAULTS = dict(zip(OPTIONS, _DEFAULT_SETTINGS, strict=True))


@value
class Capabilities:
    """What a provider and its search support."""

    kind: ProviderKind = "model"
    citations: Literal["spans", "sources", "none"] = "spans"
    streaming: bool = True
    search: Literal["native", "none"] = "native"
    functions_with_search: bool = True
    pauses: bool = False
    """May it pause in the middle of a turn, to be continued by another request?"""
    both_domain_lists: bool = True
    """Can a request have an allow list and a block list at once? If not, the block list is emulated."""
    coordinates: bool = False
    """Is a location with coordinates native, where one with names is emulated?"""
    options: Mapping[str, Support] = {}
    billing: tuple[tuple[str, Billing], ...] = ()
    """How searches are counted, by patterns of model names; `call` where none matches."""

    def billing_for(self, model: str) -> Billing:
        """What counts as one search of this model."""
        return next((rule for pattern, rule in self.billing if re.search(pattern, model)), "call")

    def support(self, option: str) -> Support:
        """How an option is treated; one that is not listed is an ignored hint or a refused restriction.

        A limit on the sources can always be enforced, because the answer passes through the audit.
        """
        if option == "max_sources":
            return self.options.get(option, "emulated")
        return self.options.get(option, "refused" if option in RESTRICTIONS else "ignored")


_ENFORCED_HERE = frozenset({"allowed_domains", "blocked_domains", "max_sources", "max_uses"})
"""Options that groundwire enforces for every engine, because it selects the passages."""


def engine_capabilities(honours: frozenset[str]) -> Capabilities:
    """The capabilities of an engine that applies these options itself."""
    options: Mapping[str, Support] = {name: "native" for name in OPTIONS if name in honours | _ENFORCED_HERE}
    return Capabilities(kind="engine", functions_with_search=False, options=options, billing=(("", "query"),))


MAX_DOMAINS = 100


@value
class PreparedRequest:
    """A request adapted to the provider, with its warnings and the options to audit."""

    request: Request
    warnings: tuple[Warned, ...] = ()
    audited: SearchOptions | None = None


def prepare(request: Request, capabilities: Capabilities, provider: str) -> PreparedRequest:
    """Adapt the search options to the provider, or raise `UnsupportedFeature`."""
    options = request.search
    if options is None:
        return PreparedRequest(request)
    check_domains(options)
    if capabilities.search == "none":
        return _without_search(request, provider)
    warnings: list[Warned] = []
    emulated: list[str] = []
    for name in _set_options(options):
        match _support(capabilities, options, name):
            case "refused":
                raise UnsupportedFeature(
                    f"{provider} cannot honour {name}; leave it out, or choose a provider that can "
                    "(see: groundwire providers)"
                )
            case "emulated":
                emulated.append(name)
                how = (
                    "requested in the prompt, and audited"
                    if name in RESTRICTIONS
                    else "requested in the prompt"
                )
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
        options = _without(options, "live")  # a provider without the option is always live
    adapted = request if options is request.search else replace(request, search=options, system=system)
    return PreparedRequest(adapted, tuple(warnings), audited)


def _audited(options: SearchOptions, emulated: Collection[str]) -> SearchOptions | None:
    """The options to audit: the domain lists always, the number of sources if it is emulated."""
    if "max_sources" not in emulated:
        options = _without(options, "max_sources")
    checked = options.allowed_domains or options.blocked_domains or options.max_sources is not None
    return options if checked else None


def refuse_foreign_context(request: Request, provider: str, dialect: str = "") -> None:
    """Refuse a request that refers to a conversation stored by another vendor: the answer would be wrong.

    `dialect` is the provider's. Whether the provider still has the conversation is left to the provider.
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


def _without_search(request: Request, provider: str) -> PreparedRequest:
    """The request without search, with a warning. An answer without sources violates no restriction."""
    warning = Warned("search_unavailable", f"{provider} cannot search the web: the answer is not grounded")
    choice = request.tool_choice
    forced = choice is not None and choice.mode == "search"
    return PreparedRequest(replace(request, search=None, tool_choice=None if forced else choice), (warning,))


def _support(capabilities: Capabilities, options: SearchOptions, name: str) -> Support:
    if name == "blocked_domains" and options.allowed_domains and not capabilities.both_domain_lists:
        return "emulated"
    location = options.location
    if name == "location" and capabilities.coordinates and location and location.latitude is not None:
        return "native"
    return capabilities.support(name)


def check_domains(options: SearchOptions) -> None:
    """Check the domain lists by the rules of all providers: bare hosts, at most 100, no contradiction."""
    for name in ("allowed_domains", "blocked_domains"):
        domains: tuple[str, ...] = getattr(options, name)
        if len(domains) > MAX_DOMAINS:
            raise InvalidArguments(f"{name}: {len(domains)} domains, at most {MAX_DOMAINS} are possible")
        for domain in domains:
            if not is_domain_entry(domain):
                raise InvalidArguments(f"{name}: write {domain!r} as a bare host, like example.com")
    if not options.allowed_domains or not options.blocked_domains:
        return
    both = [
        entry
        for entry in options.allowed_domains
        if any(covers_entry(blocked, entry) for blocked in options.blocked_domains)
    ]
    if both:
        raise InvalidArguments(f"{', '.join(both)}: allowed and blocked at once")


class Audit:
    """Removes sources that the domain lists exclude, and citations beyond the limit of sources.

    It warns once for each domain, and once for the limit.
    """

    __slots__ = ("_cited", "_limit_reached", "_options", "_warned_domains")

    def __init__(self, options: SearchOptions) -> None:
        self._options = options
        self._warned_domains: set[str] = set()
        self._cited: set[str] = set()
        self._limit_reached = False

    def check(self, event: Event) -> Iterator[Event]:
        """The event without what is not allowed, after any warning."""
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
                # A page that was opened counts as a source, so its URL is removed; the call remains.
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
            if not self._admits(source) and domain not in self._warned_domains:
                self._warned_domains.add(domain)
                yield Warned("source_removed", f"a source on {domain or 'an unknown site'} was not allowed")


def _set_options(options: SearchOptions) -> Sequence[str]:
    """The names of the options that differ from their default."""
    settings = _settings(options)
    if settings == _DEFAULT_SETTINGS:
        return ()
    return [
        name
        for name, setting in zip(OPTIONS, settings, strict=True)
        if setting not in (None, "", ()) and not (name == "live" and setting is True)
    ]


def _without(options: SearchOptions, name: str) -> SearchOptions:
    default = _DEFAULTS[name]
    return options if getattr(options, name) == default else replace(options, **{name: default})


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
        location = options.location
        named = ", ".join(part for part in (location.city, location.region, location.country) if part)
        zone = f"time zone {location.timezone}" if location.timezone else ""
        lines.append(f"The user is here: {' '.join(filter(None, (named, zone)))}")
    if "language" in emulated:
        lines.append(f"Prefer pages in this language: {options.language}")
    return "\n".join(lines)
