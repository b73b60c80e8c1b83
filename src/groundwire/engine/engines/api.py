"""Search services with an API: each is a specification with two pure functions.

Also the query syntax that services share: site operators, query lengths, time spans.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from time import time
from typing import TYPE_CHECKING, TypeAlias

from groundwire.credentials.lookup import Lookup
from groundwire.credentials.redact import Redactor, UnshownHeaders
from groundwire.credentials.secret import NO_SECRET, Credential, Secret
from groundwire.dialects.error_tables import request_id, retry_after
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json, load_json
from groundwire.engine.engines.results import PageOpener, SearchHit
from groundwire.engine.pages import EngineResult
from groundwire.errors import (
    AuthRejected,
    ConfigError,
    GroundwireError,
    InvalidQuery,
    MissingCredential,
    Refused,
    UnsupportedFeature,
    UpstreamError,
    UpstreamWireError,
    WireError,
    upstream_error_class,
)
from groundwire.model import Json, JsonObject, SearchOptions
from groundwire.model.value import replace, value
from groundwire.transport.http import LOOP_HEADER, Deadlines, Http, HttpRequest

if TYPE_CHECKING:
    from groundwire.transport.response import Response

DOMAIN_LISTS = frozenset({"allowed_domains", "blocked_domains"})
_LARGEST = 8_000_000
_LONGEST = 500
_DEADLINES = Deadlines(connect=5.0, first_byte=15.0, idle=10.0, total=20.0)


@value
class ServiceQuery:
    """The input of one API request."""

    query: str
    options: SearchOptions
    base_url: str
    """Without a trailing slash."""
    key: Secret
    limit: int
    today: str
    """The current date, as in RFC 3339."""
    settings: Mapping[str, str] = {}
    """Values of the specification's `variables`."""


@value
class ServiceError:
    """The error of a service: its error code and message."""

    code: str = ""
    message: str = ""


BuildRequest: TypeAlias = Callable[[ServiceQuery], HttpRequest]
ParseResponse: TypeAlias = Callable[[Fields], tuple[SearchHit, ...]]
Explain: TypeAlias = Callable[[Fields], ServiceError]
ReadRetryAfter: TypeAlias = Callable[[Mapping[str, str]], "float | None"]


def _no_error_details(_: Fields) -> ServiceError:
    return ServiceError()


@value
class ApiEngineSpec:
    """Specification of a search service."""

    name: str
    title: str
    base_url: str
    """Empty if the user must configure one."""
    request: BuildRequest
    response: ParseResponse
    explain: Explain = _no_error_details
    wait: ReadRetryAfter = retry_after
    """Reads the seconds to wait from the headers of an error response."""
    statuses: Mapping[int, type[UpstreamError]] = {}
    """Statuses that the service uses in its own way."""
    codes: Mapping[str, type[UpstreamError]] = {}
    """Error codes that are more specific than the status."""
    empty_codes: frozenset[str] = frozenset()
    """Error codes that mean that nothing was found."""
    remedies: Mapping[int, str] = {}
    """Statuses that mean a wrong setup, and what to do."""
    lookups: tuple[Lookup, ...] = ()
    missing: str = ""
    """The error code if no credential, or no URL, is configured."""
    advice: str = ""
    honours: frozenset[str] = DOMAIN_LISTS
    deadlines: Deadlines = _DEADLINES
    base_url_env: str = ""
    """Environment variable with the base URL."""
    variables: tuple[str, ...] = ()
    """Further environment variables that requests need."""
    settings: Mapping[str, str] = {}
    """Their values."""


class ApiEngine:
    """A search engine for a specification, with credentials, an HTTP client and a page opener."""

    def __init__(
        self,
        row: ApiEngineSpec,
        http: Http,
        credential: Callable[[], Awaitable[Credential | None]],
        redactor: Redactor,
        opener: PageOpener,
        clock: Callable[[], float] = time,
    ) -> None:
        self._row = row
        self._http = http
        self._credential = credential
        self._redactor = redactor
        self._opener = opener
        self._clock = clock

    @property
    def name(self) -> str:
        return self._row.name

    @property
    def honours(self) -> frozenset[str]:
        return self._row.honours | {"max_sources"}

    async def find(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        """Searches, applies the options to the results, and returns passages of the pages themselves."""
        hits = await self.hits(query, options, limit)
        return await self._opener.found(query, query, hits, options, limit)

    async def links(self, query: str, options: SearchOptions, limit: int = 20) -> EngineResult:
        """Searches, and applies the options to the results; no page is opened."""
        hits = await self.hits(query, options, limit)
        return self._opener.listed(query, query, hits, options, limit)

    async def hits(self, query: str, options: SearchOptions, limit: int) -> Sequence[SearchHit]:
        """The results as the service returns them."""
        check_query(self._row.title, query, options)
        try:
            return await self._request_hits(query, options, limit)
        except GroundwireError as error:
            raise self._redactor.cleaned(error, _LONGEST) from None

    async def _request_hits(self, query: str, options: SearchOptions, limit: int) -> tuple[SearchHit, ...]:
        row = self._row
        credential = await self._checked_credential()
        key = credential.secret if credential is not None else NO_SECRET
        today = datetime.fromtimestamp(self._clock(), UTC).date().isoformat()
        wanted = min(limit, options.max_sources or limit)
        base_url = row.base_url.rstrip("/")
        call = row.request(ServiceQuery(query, options, base_url, key, wanted, today, row.settings))
        # A SearXNG or Tavily address may be that of this gateway, which serves their APIs.
        call = replace(call, headers=UnshownHeaders({**call.headers, LOOP_HEADER: "1"}))
        async with self._http.open(call, row.deadlines) as response:
            if not 200 <= response.status < 300:
                error = await _response_error(row, response)
                if isinstance(error, UpstreamError) and error.upstream_code in row.empty_codes:
                    return ()
                raise _with_origin(error, credential)
            body = load_json(await response.body(_LARGEST), UpstreamWireError)
        return row.response(Fields.of(body, UpstreamWireError))

    async def _checked_credential(self) -> Credential | None:
        """The credential, if the service needs one; raises an error if something is not configured."""
        row = self._row
        if not row.base_url:
            raise _missing(row, f"no address for {row.title}. {row.advice}")
        if not row.base_url.startswith(("https://", "http://")):
            setting = " or ".join(filter(None, (row.base_url_env, f"providers.{row.name}.base_url")))
            raise ConfigError(f"{setting} does not begin with https:// or http://. {row.advice}")
        if unset := [name for name in row.variables if not row.settings.get(name)]:
            raise _missing(row, f"{' and '.join(unset)} is not set for {row.title}. {row.advice}")
        credential = await self._credential() if row.lookups else None
        if credential is None:
            if row.lookups and row.missing:
                raise _missing(row, f"no credentials for {row.title}. {row.advice}")
            return None
        self._redactor.add_credential(credential)
        return credential


def check_query(title: str, query: str, options: SearchOptions) -> None:
    """Rejects empty queries, and options that no search of the live web supports."""
    if not query.strip():
        raise InvalidQuery("The query is empty.")
    if options.live is False:
        raise UnsupportedFeature(f"{title} searches the live web and cannot be used without live access.")


def _missing(row: ApiEngineSpec, message: str) -> MissingCredential:
    error = MissingCredential(message)
    error.code = row.missing or error.code
    return error


def _with_origin(error: GroundwireError, credential: Credential | None) -> GroundwireError:
    """Add to the error about a rejected key where the key was found."""
    if isinstance(error, AuthRejected) and credential is not None:
        error.message = f"{error.message.rstrip('. ')}. The key comes from {credential.origin}."
    return error


async def _response_error(row: ApiEngineSpec, response: Response) -> GroundwireError:
    """Turns an HTTP error response into an error."""
    status = response.status
    if status < 400:
        return Refused(
            f"{row.title} redirects (HTTP {status}), which is not followed. Check its base_url.",
            status=status,
        )
    if status in row.remedies:
        return ConfigError(row.remedies[status])
    problem = _parse_error(row, await response.error_body())
    kind = row.codes.get(problem.code) or row.statuses.get(status) or upstream_error_class(status)
    return kind(
        f"{row.title}: {problem.message or f'HTTP {status}'}",
        status=status,
        upstream_code=problem.code,
        retry_after=row.wait(response.headers),
        request_id=request_id(response.headers),
    )


def _parse_error(row: ApiEngineSpec, body: bytes) -> ServiceError:
    try:
        return row.explain(Fields.of(load_json(body, WireError), WireError))
    except WireError:
        return ServiceError()


def json_call(url: str, body: JsonObject, key_headers: Mapping[str, str]) -> HttpRequest:
    """A POST with a JSON body, without the fields that are empty."""
    headers = {"accept": "application/json", "content-type": "application/json", **key_headers}
    non_empty: JsonObject = {name: item for name, item in body.items() if item}
    return HttpRequest("POST", url, UnshownHeaders(headers), dump_json(non_empty).encode())


def bearer_header(key: Secret) -> Mapping[str, str]:
    """Bearer authentication."""
    return {"authorization": f"Bearer {key.reveal()}"}


_MOST_SITES = 12
_SPANS = ((1, "day"), (7, "week"), (31, "month"), (366, "year"))


def plain_domains(entries: tuple[str, ...]) -> list[str]:
    """Domain entries without wildcards, as services accept them; the results are checked against the full
    list."""
    return [entry.removeprefix("*.").partition("*")[0].rstrip("/") for entry in entries]


def with_site_operators(query: str, options: SearchOptions) -> str:
    """The query with its domain lists as `site:` operators. Lists that are too long are applied to the
    results only."""
    allowed, blocked = plain_domains(options.allowed_domains), plain_domains(options.blocked_domains)
    sites = " OR ".join(f"site:{entry}" for entry in allowed) if len(allowed) <= _MOST_SITES else ""
    words = [query, f"({sites})" if " OR " in sites else sites]
    words += (f"-site:{entry}" for entry in blocked[:_MOST_SITES])
    return " ".join(word for word in words if word)


def truncate_query(query: str, characters: int, words: int) -> str:
    """Cuts a query that is longer than a service accepts, between words."""
    short = " ".join(query.split()[:words])
    if len(short) <= characters:
        return short
    return short[: characters + 1].rpartition(" ")[0] or short[:characters]


def google_time_range(options: SearchOptions, today: str) -> str:
    """`tbs` of Google: a range of dates as month/day/year; empty without one."""
    if not options.since and not options.until:
        return ""
    first, last = (
        "{1}/{2}/{0}".format(*day.split("-"))
        for day in (options.since[:10] or "1990-01-01", options.until[:10] or today[:10])
    )
    return f"cdr:1,cd_min:{first},cd_max:{last}"


def one_domain_list(options: SearchOptions) -> tuple[list[Json], list[Json]]:
    """An allow list or a block list, for services that take one of them. One is enough: what an allow list
    lets in is checked against the other one anyway."""
    allowed: list[Json] = [*plain_domains(options.allowed_domains)]
    return allowed, [] if allowed else [*plain_domains(options.blocked_domains)]


def time_span(since: str, today: str) -> str:
    """The shortest of day, week, month and year that includes a date; empty if none does."""
    try:
        days = (date.fromisoformat(today[:10]) - date.fromisoformat(since[:10])).days
    except ValueError:
        return ""
    return next((name for most, name in _SPANS if days <= most), "")
