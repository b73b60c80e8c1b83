"""What is kept, and what a store does with it. Calls block: callers with an event loop use a thread.

Ids are chosen by the caller and times are RFC 3339 in UTC, so that the same call may be made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self, TypeAlias

from groundwire.errors import GroundwireError
from groundwire.model import Answer, JsonObject, Message, Usage
from groundwire.model.value import value

Texts: TypeAlias = Mapping[str, str]
"""The same words by language (`en`, `de`)."""
Content: TypeAlias = Message | Answer
"""A question is a message. An answer is kept whole, with what its provider wants to see again."""

NO_TEXTS: Texts = {}
NO_REST: JsonObject = {}

UNKNOWN_OWNER = "?"
"""The owner of a damaged row that does not say whose it is; equal to the fingerprint of no key."""
UNREADABLE_MESSAGE = "UNREADABLE_MESSAGE"
"""The code of the error in the answer that stands for a damaged message."""


@value
class Agent:
    """Whom a session talks to."""

    id: str
    name: Texts
    description: Texts = NO_TEXTS
    prompt: Texts = NO_TEXTS
    provider: str = ""
    model: str = ""
    web_search: bool = False
    rest: JsonObject = NO_REST
    """What its JSON says besides, to be exported as it came."""
    created: str = ""
    updated: str = ""
    owner: str = ""
    """Who made it; empty for those that everybody may talk to."""
    is_readable: bool = True
    """False for a row whose JSON is damaged: only its id is known, and its owner where that can be read."""


@value
class Session:
    """A conversation. `owner` is who may see it; empty where there is only one user."""

    id: str
    agent: str
    owner: str
    title: str = ""
    created: str = ""
    updated: str = ""


@value
class StoredMessage:
    """One turn of a session. Numbers count from 1 without a gap."""

    id: str
    session: str
    content: Content
    provider: str = ""
    created: str = ""
    number: int = 0
    """Given by the store."""


@value
class UsageRow:
    """What one request cost. `outcome` is empty, or the code of the error it ended with."""

    id: str
    at: str
    provider: str
    model: str
    usage: Usage
    owner: str
    face: str = ""
    outcome: str = ""
    seconds: float = 0.0


@value
class UsageTotal:
    """What the requests of one day to one model cost together."""

    day: str
    provider: str
    model: str
    requests: int
    errors: int
    usage: Usage


class RowRefused(GroundwireError):
    """A value that the database does not take: the row is at fault, not the store."""

    code = "ROW_REFUSED"


class Store(Protocol):
    """Whatever was given to a method that returned survives a crash."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...

    def put_agent(self, agent: Agent) -> None:
        """Add an agent, or renew it."""
        ...

    def agent(self, id: str) -> Agent | None:  # noqa: A002
        """An agent by its id."""
        ...

    def agents(self) -> list[Agent]:
        """All of them, the oldest first."""
        ...

    def remove_agent(self, id: str) -> bool:  # noqa: A002
        """Forget an agent; its sessions stay."""
        ...

    def put_session(self, session: Session) -> None:
        """Add a session, or renew its title, agent and time."""
        ...

    def session(self, id: str) -> Session | None:  # noqa: A002
        """A session by its id."""
        ...

    def sessions(self, owner: str, limit: int = 50, before: Session | None = None) -> list[Session]:
        """The sessions of an owner, the last used first; `before` continues a list."""
        ...

    def remove_session(self, id: str) -> bool:  # noqa: A002
        """Forget a session with its messages."""
        ...

    def take_lease(self, session: str, holder: str, seconds: float) -> bool:
        """Let a holder alone answer in a session for so long; False while another one does.

        Time is told by the database. Raises `RequestError` if there is no such session.
        """
        ...

    def renew_lease(self, session: str, holder: str, seconds: float) -> bool:
        """Let it answer for so long from now on; False if it no longer has the lease."""
        ...

    def release_lease(self, session: str, holder: str) -> None:
        """Let others answer, if the holder has the lease."""
        ...

    def check(self) -> None:
        """Ask the database for a sign of life; raises `GroundwireError` where there is none in time."""
        ...

    def add_message(self, message: StoredMessage) -> StoredMessage:
        """Append to a session; the number comes back. The same id again renews what was said under it.

        Raises `RequestError` if there is no such session.
        """
        ...

    def messages(self, session: str, until: int = 0, limit: int = 0) -> list[StoredMessage]:
        """The turns of a session in order: those before a number, the last so many of them; 0 for all."""
        ...

    def cut_messages(self, session: str, number: int) -> None:
        """Forget the turns of a session from this number on."""
        ...

    def find_messages(self, wanted: str, owner: str, limit: int = 50) -> list[StoredMessage]:
        """The turns of an owner's sessions in which all these words and "phrases" stand, the last first.

        Case and accents make no difference; the last word may be the beginning of one.
        """
        ...

    def add_usage(self, rows: Sequence[UsageRow]) -> None:
        """Record requests. Those already recorded are passed over; one that the database does not take is
        dropped with a warning in the log, and the others are kept."""
        ...

    def usage(self, owner: str, since: str = "", until: str = "") -> list[UsageTotal]:
        """Totals of one owner by day and model, within `[since, until)`."""
        ...
