"""Stored values and the `Store` interface. Calls block: callers with an event loop use a thread.

The caller chooses ids, and times are RFC 3339 in UTC, so calls can be repeated safely.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self, TypeAlias

from groundwire.errors import GroundwireError
from groundwire.model import Answer, JsonObject, Message, Usage
from groundwire.model.access import MEMBER_RIGHTS, KeyRights
from groundwire.model.value import value

Texts: TypeAlias = Mapping[str, str]
"""A text by language (`en`, `de`)."""
Content: TypeAlias = Message | Answer
"""A user's message, or an answer, which is stored whole with the opaque parts that its provider needs
again."""

NO_TEXTS: Texts = {}
NO_REST: JsonObject = {}

UNKNOWN_OWNER = "?"
"""The owner of a damaged row whose owner cannot be read; it never equals the fingerprint of a key."""
UNREADABLE_MESSAGE = "UNREADABLE_MESSAGE"
"""The error code of the answer that replaces a damaged message."""


@value
class Agent:
    """A chat agent."""

    id: str
    name: Texts
    description: Texts = NO_TEXTS
    prompt: Texts = NO_TEXTS
    provider: str = ""
    model: str = ""
    web_search: bool = False
    rest: JsonObject = NO_REST
    """Unknown members of its JSON, which are exported unchanged."""
    created: str = ""
    updated: str = ""
    owner: str = ""
    """The creator; empty for agents that all users share."""
    is_readable: bool = True
    """False for a row with damaged JSON: only its id is known, and its owner if that can be read."""


@value
class Session:
    """A conversation. Only its `owner` may see it; empty where there is only one user."""

    id: str
    agent: str
    owner: str
    title: str = ""
    created: str = ""
    updated: str = ""
    pinned: bool = False
    folder: str = ""
    """The name of the folder that the owner put it into; empty for none."""


@value
class SessionShare:
    """A link to a session that shows its messages up to number `last`, without a login, until it expires.

    The address has a secret token, of which only the digest is stored.
    """

    id: str
    digest: str
    session: str
    owner: str
    last: int
    created: str
    expires: str


@value
class AnswerRating:
    """What a user thinks of an answer: 1 for good, -1 for bad."""

    message: str
    session: str
    owner: str
    rating: int
    rated: str = ""


@value
class StoredMessage:
    """One message of a session. Numbers count from 1 without a gap."""

    id: str
    session: str
    content: Content
    provider: str = ""
    created: str = ""
    number: int = 0
    """Assigned by the store."""


@value
class UsageRow:
    """The usage of one request. `outcome` is empty, or the code of its error."""

    id: str
    at: str
    provider: str
    model: str
    usage: Usage
    owner: str
    face: str = ""
    outcome: str = ""
    seconds: float = 0.0
    key: str = ""
    """The fingerprint of the API key, where several keys have the same owner."""
    cache_hit: bool = False
    """Did the answer come from the response cache? Then no provider was called."""


@value
class ApiKey:
    """The stored record of an API key of the gateway; the key itself is stored nowhere."""

    id: str
    name: str
    fingerprint: str
    created: str
    revoked: str = ""
    """When it was revoked; empty while it is valid."""
    rights: KeyRights = MEMBER_RIGHTS
    parent: str = ""
    """Id of the key that created it; empty if none did."""


@value
class AuditEntry:
    """One line of the audit log: who did what, to which key or agent. It never contains a secret."""

    id: str
    at: str
    actor: str
    """Id of an API key, `cli` for the command line, `local` where no key is needed, or a client address."""
    action: str
    subject: str = ""
    """Id of a key or an agent."""
    owner: str = ""
    """The owner's name of the key that is concerned, for admins who see only one owner."""
    detail: str = ""


@value
class KeyUsageTotal:
    """The total usage of one API key."""

    key: str
    """Its fingerprint."""
    requests: int
    errors: int
    usage: Usage


@value
class UsageTotal:
    """The total usage of one day and one model."""

    day: str
    provider: str
    model: str
    requests: int
    errors: int
    usage: Usage
    seconds: float = 0.0
    """The sum of the durations of all requests that a provider answered."""
    cache_hits: int = 0
    """The requests that were answered from the response cache."""


@value
class BudgetPeriod:
    """A day or month of UTC, and what a key has spent in it. Amounts are in nano-USD."""

    name: str
    """`2026-11-17` or `2026-11`."""
    ends: float
    """Seconds since 1970."""
    spent: int = 0
    reserved: int = 0
    """By requests that are not settled: in progress, or lost with their process."""


@value
class BudgetState:
    """The budget of a key at one moment of the database's clock."""

    now: float
    day: BudgetPeriod
    month: BudgetPeriod
    lost: int = 0
    """The part of this month's reservations whose lease has expired: they will not be settled."""
    is_reserved: bool = False
    """Was the reservation made?"""


@value
class ResponseEntry:
    """A background response without its content. `age` is in seconds since it was last saved."""

    name: str
    owner: str
    age: float
    is_final: bool


@value
class BackgroundResponse:
    """A background response: its state as JSON, and the events of its stream from an offset on."""

    body: str
    age: float
    is_final: bool
    events: bytes


class RowRefused(GroundwireError):
    """The database rejects a value: the row is at fault, not the store."""

    code = "ROW_REFUSED"


class Store(Protocol):
    """Persistent storage: what a method has stored survives a crash once the method returns."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def close(self) -> None:
        """Close files and connections."""
        ...

    def put_agent(self, agent: Agent) -> None:
        """Add or replace an agent."""
        ...

    def agent(self, id: str) -> Agent | None:  # noqa: A002
        """An agent by its id."""
        ...

    def agents(self) -> list[Agent]:
        """All agents, the oldest first."""
        ...

    def remove_agent(self, id: str) -> bool:  # noqa: A002
        """Delete an agent; its sessions stay."""
        ...

    def put_session(self, session: Session) -> None:
        """Add a session, or update its title, agent and time."""
        ...

    def file_session(self, id: str, *, pinned: bool, folder: str) -> None:  # noqa: A002
        """Pin a session or put it into a folder."""
        ...

    def filed_sessions(self, owner: str, limit: int = 200) -> list[Session]:
        """The sessions of an owner that are pinned or in a folder, the last used first."""
        ...

    def add_share(self, share: SessionShare) -> None:
        """Store a share of a session; those that have expired are deleted."""
        ...

    def share(self, digest: str) -> SessionShare | None:
        """The share with this digest of its token, also if it has expired."""
        ...

    def shares(self, owner: str) -> list[SessionShare]:
        """All shares of an owner, the newest first."""
        ...

    def remove_share(self, id: str, owner: str) -> bool:  # noqa: A002
        """Revoke a share of an owner."""
        ...

    def put_rating(self, rating: AnswerRating) -> None:
        """Store the rating of an answer; 0 removes it. Nothing happens if the answer does not exist."""
        ...

    def ratings(self, owner: str, session: str = "") -> list[AnswerRating]:
        """The ratings of an owner, or those in one session, the oldest first."""
        ...

    def session(self, id: str) -> Session | None:  # noqa: A002
        """A session by its id."""
        ...

    def sessions(self, owner: str, limit: int = 50, before: Session | None = None) -> list[Session]:
        """The sessions of an owner, the last used first; `before` continues a list."""
        ...

    def remove_session(self, id: str) -> bool:  # noqa: A002
        """Delete a session with its messages."""
        ...

    def take_lease(self, session: str, holder: str, seconds: float, *, seize: bool = False) -> bool:
        """Give a holder the exclusive right to answer in a session; False while another one has it, unless
        it is to be seized.

        The clock is the database's. Raises `RequestError` if there is no such session.
        """
        ...

    def renew_lease(self, session: str, holder: str, seconds: float) -> bool:
        """Extend a lease to this long from now; False if the holder has lost it."""
        ...

    def release_lease(self, session: str, holder: str) -> None:
        """Release a lease, if the holder has it."""
        ...

    def check(self) -> None:
        """Raise `GroundwireError` if the database does not respond in time."""
        ...

    def add_message(self, message: StoredMessage) -> StoredMessage:
        """Append to a session; returns the message with its number. An existing id replaces its message.

        Raises `RequestError` if there is no such session.
        """
        ...

    def messages(self, session: str, until: int = 0, limit: int = 0) -> list[StoredMessage]:
        """The messages of a session in order: those before number `until`, the last `limit` of them; 0 for
        all."""
        ...

    def cut_messages(self, session: str, number: int) -> None:
        """Delete the messages of a session from this number on."""
        ...

    def find_messages(self, query: str, owner: str, limit: int = 50) -> list[StoredMessage]:
        """Search an owner's messages for all words and "phrases" of a query, the newest first.

        Case and accents make no difference; the last word may be a prefix.
        """
        ...

    def now(self) -> float:
        """The time of the database's clock, in seconds since 1970."""
        ...

    def api_keys(self) -> list[ApiKey]:
        """All API keys, also the revoked ones, the oldest first."""
        ...

    def access_revision(self) -> int:
        """A number that grows with every change of keys and ended logins; 0 if there was none."""
        ...

    def put_key(self, key: ApiKey) -> None:
        """Add an API key. An existing id or fingerprint is left as it is."""
        ...

    def change_key(self, id: str, change: Callable[[ApiKey], ApiKey]) -> ApiKey | None:  # noqa: A002
        """Replace an API key by what `change` makes of it; returns the new record, None if there is none."""
        ...

    def revoke_keys(self, which: str, at: str) -> list[ApiKey]:
        """Revoke the valid key with this id, or all valid keys of this name; returns them as revoked."""
        ...

    def add_audit(self, entry: AuditEntry) -> None:
        """Append to the audit log. No entry can be changed or removed."""
        ...

    def audit(self, limit: int = 100, owner: str | None = None) -> list[AuditEntry]:
        """The last entries of the audit log, the newest first; those of one owner if one is named."""
        ...

    def end_login(self, login: str, expires: float, now: float) -> None:
        """Record that a login of the web page ended before it expires; expired records are deleted."""
        ...

    def ended_logins(self) -> frozenset[str]:
        """The logins that ended before they expired."""
        ...

    def reserve_budget(
        self,
        id: str,  # noqa: A002
        owner: str,
        amount: int,
        limits: tuple[int | None, int | None],
        seconds: float,
    ) -> BudgetState:
        """Reserve an amount in the current day and month, if neither limit is reached yet.

        All amounts are in nano-USD; None means no limit. `seconds` is the lease: after it, the reservation is
        lost. A repeated id changes nothing. The clock is the database's.
        """
        ...

    def settle_budget(self, id: str, amount: int) -> bool:  # noqa: A002
        """Replace a reservation by what was spent, in the periods in which it was made; False if there is
        none, or it was settled before."""
        ...

    def budget(self, owner: str) -> BudgetState:
        """What a key has spent and reserved in the current day and month."""
        ...

    def add_response(
        self, name: str, owner: str, body: str, make_room: Callable[[Sequence[ResponseEntry]], Sequence[str]]
    ) -> None:
        """Add a background response; those that `make_room` names are removed. No other process adds one
        meanwhile."""
        ...

    def response(self, name: str, owner: str, offset: int | None = None) -> BackgroundResponse | None:
        """A background response of an owner, with its events from an offset in bytes on if one is given."""
        ...

    def save_response(self, name: str, offset: int, events: bytes, state: tuple[str, bool] | None) -> bool:
        """Write whole events at an offset, and the body of a new state with whether it is final; False if
        the response is to stop, or does not exist. A call may be repeated, also with more events."""
        ...

    def stop_response(self, name: str) -> None:
        """Ask the process that runs a background response to stop it."""
        ...

    def remove_response(self, name: str) -> None:
        """Remove a background response with its events."""
        ...

    def add_usage(self, rows: Sequence[UsageRow]) -> None:
        """Record requests. Those already recorded are skipped; a row that the database rejects is dropped
        with a warning in the log, and the others are stored."""
        ...

    def usage(self, owner: str, since: str = "", until: str = "") -> list[UsageTotal]:
        """Usage of one owner by day and model, within `[since, until)`."""
        ...

    def usage_by_key(self, since: str = "") -> list[KeyUsageTotal]:
        """Usage of each API key from a time on."""
        ...
