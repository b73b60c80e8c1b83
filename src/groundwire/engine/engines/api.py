"""Search services with an interface for programs: a row of data and two pure functions each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from time import time
from typing import TYPE_CHECKING, TypeAlias

from groundwire.credentials.lookup import Lookup
from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import NO_SECRET, Credential, Secret
from groundwire.dialects.error_tables import request_id, retry_after
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.engine.engines.hits import Hit
from groundwire.engine.engines.opening import Opener
from groundwire.engine.pages import Found
from groundwire.errors import (
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
from groundwire.model import SearchOptions
from groundwire.model.value import value
from groundwire.transport.http import Deadlines, Http, HttpRequest

if TYPE_CHECKING:
    from groundwire.transport.response import Response


DOMAIN_LISTS = frozenset({"allowed_domains", "blocked_domains"})
_LARGEST = 8_000_000
_LONGEST = 500
_DEADLINES = Deadlines(connect=5.0, first_byte=15.0, idle=10.0, total=20.0)


@value
class Ask:
    """What one call is about."""

    query: str
    options: SearchOptions
    base_url: str
    """Without a slash at its end."""
    key: Secret
    limit: int
    today: str
    """The day, as in RFC 3339."""


@value
class Problem:
    """What a service says about an error, in its own name for it and in words."""

    code: str = ""
    message: str = ""


Request: TypeAlias = Callable[[Ask], HttpRequest]
ParseResponse: TypeAlias = Callable[[Fields], tuple[Hit, ...]]
Explain: TypeAlias = Callable[[Fields], Problem]
Wait: TypeAlias = Callable[[Mapping[str, str]], "float | None"]


def _unexplained(_: Fields) -> Problem:
    return Problem()


@value
class ApiEngineRow:
    """A search service."""

    name: str
    title: str
    base_url: str
    """Empty where there is none until the user names one."""
    request: Request
    response: ParseResponse
    explain: Explain = _unexplained
    wait: Wait = retry_after
    """Seconds to wait after a refusal, as its headers say."""
    statuses: Mapping[int, type[UpstreamError]] = {}
    """Where the service uses a status in a way of its own."""
    codes: Mapping[str, type[UpstreamError]] = {}
    """Its own names for errors, where they say more than the status."""
    remedies: Mapping[int, str] = {}
    """Statuses that mean a service set up in the wrong way, and what to do."""
    lookups: tuple[Lookup, ...] = ()
    missing: str = ""
    """The code of the error when no credential, or no address, is found."""
    advice: str = ""
    honours: frozenset[str] = DOMAIN_LISTS
    deadlines: Deadlines = _DEADLINES
    base_url_env: str = ""
    """Environment variable with the base URL."""


class ApiEngine:
    """A row that is alive: with an address, a credential, connections, and somebody who opens pages."""

    def __init__(
        self,
        row: ApiEngineRow,
        http: Http,
        credential: Callable[[], Awaitable[Credential | None]],
        redactor: Redactor,
        opener: Opener,
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

    async def find(self, query: str, options: SearchOptions, limit: int = 20) -> Found:
        """What the service finds, checked against the options, with passages of the pages themselves."""
        check(self._row.title, query, options)
        try:
            hits = await self._ask(query, options, limit)
        except GroundwireError as error:
            raise self._redactor.cleaned(error, _LONGEST) from None
        return await self._opener.found(query, query, hits, options, limit)

    async def _ask(self, query: str, options: SearchOptions, limit: int) -> tuple[Hit, ...]:
        row = self._row
        key = await self._key()
        today = datetime.fromtimestamp(self._clock(), UTC).date().isoformat()
        wanted = min(limit, options.max_sources or limit)
        call = row.request(Ask(query, options, row.base_url.rstrip("/"), key, wanted, today))
        async with self._http.open(call, row.deadlines) as exchange:
            if not 200 <= exchange.status < 300:
                raise await _refusal(row, exchange)
            body = load_json(await exchange.body(_LARGEST), UpstreamWireError)
        return row.response(Fields.of(body, UpstreamWireError))

    async def _key(self) -> Secret:
        row = self._row
        if not row.base_url:
            raise _missing(row, f"no address for {row.title}. {row.advice}")
        credential = await self._credential() if row.lookups else None
        if credential is None:
            if row.lookups and row.missing:
                raise _missing(row, f"no credentials for {row.title}. {row.advice}")
            return NO_SECRET
        self._redactor.add_credential(credential)
        return credential.secret


def check(title: str, query: str, options: SearchOptions) -> None:
    """Refuse what no search of the live web can do."""
    if not query.strip():
        raise InvalidQuery("the query is empty")
    if options.live is False:
        raise UnsupportedFeature(f"{title} searches the live web; without live access it cannot be asked")


def _missing(row: ApiEngineRow, message: str) -> MissingCredential:
    error = MissingCredential(message)
    error.code = row.missing or error.code
    return error


async def _refusal(row: ApiEngineRow, exchange: Response) -> GroundwireError:
    """The error that a status other than success means."""
    status = exchange.status
    if status < 400:
        return Refused(
            f"{row.title} points elsewhere (HTTP {status}), which is not followed; check its base_url",
            status=status,
        )
    if status in row.remedies:
        return ConfigError(row.remedies[status])
    problem = _explained(row, await exchange.error_body())
    kind = row.codes.get(problem.code) or row.statuses.get(status) or upstream_error_class(status)
    return kind(
        f"{row.title}: {problem.message or f'HTTP {status}'}",
        status=status,
        upstream_code=problem.code,
        retry_after=row.wait(exchange.headers),
        request_id=request_id(exchange.headers),
    )


def _explained(row: ApiEngineRow, body: bytes) -> Problem:
    try:
        return row.explain(Fields.of(load_json(body, WireError), WireError))
    except WireError:
        return Problem()
