"""The list of sessions in the navigation: pinned ones, folders, then by date."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from groundwire.faces.web.locales import Texts
from groundwire.model.value import value
from groundwire.store.base import Session
from groundwire.text.sanitise import one_line

TODAY = "today"
_AGES = ((0, TODAY), (1, "yesterday"), (7, "last_7_days"), (30, "last_30_days"))
_OLDER = "longer_ago"


@value
class SessionItem:
    """A session in the list."""

    id: str
    title: str
    used: str
    """When it was last used, for the attribute `datetime`."""
    label: str
    """The same as text: the time of today, the day of this year, or the date."""


@value
class SessionGroup:
    """Sessions under a common heading."""

    kind: str
    """`pinned`, `folder`, or the key of an age."""
    label: str
    items: tuple[SessionItem, ...]


def zone_named(name: str) -> tzinfo:
    """The time zone of an IANA name; UTC if it is not known here."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def group_sessions(
    recent: Sequence[Session], filed: Sequence[Session], now: datetime, texts: Texts
) -> list[SessionGroup]:
    """The groups of a list, without empty ones; `now` has the visitor's time zone.

    A session that is pinned or in a folder is listed there only.
    """
    groups = [_group("pinned", texts["pinned"], (one for one in filed if one.pinned), now, texts)]
    in_folder = [one for one in filed if one.folder and not one.pinned]
    for folder in sorted({one.folder for one in in_folder}, key=str.casefold):
        members = (one for one in in_folder if one.folder == folder)
        groups.append(_group("folder", one_line(folder), members, now, texts))
    elsewhere = {one.id for one in filed}
    by_age: dict[str, list[Session]] = {name: [] for name in (*(name for _, name in _AGES), _OLDER)}
    for session in recent:
        if session.id not in elsewhere:
            by_age[_age(_moment(session.updated), now)].append(session)
    groups += [_group(name, texts[name], sessions, now, texts) for name, sessions in by_age.items()]
    return [group for group in groups if group.items or group.kind == TODAY]


def folders_of(filed: Iterable[Session]) -> list[str]:
    """The names of all folders."""
    return sorted({one_line(one.folder) for one in filed if one.folder}, key=str.casefold)


def _group(kind: str, label: str, sessions: Iterable[Session], now: datetime, texts: Texts) -> SessionGroup:
    return SessionGroup(kind, label, tuple(_item(session, now, texts) for session in sessions))


def _item(session: Session, now: datetime, texts: Texts) -> SessionItem:
    moment = _moment(session.updated)
    label = time_label(moment.astimezone(now.tzinfo), now.date(), texts) if moment else ""
    return SessionItem(session.id, one_line(session.title) or "…", session.updated if moment else "", label)


def time_label(moment: datetime, today: date, texts: Texts) -> str:
    """A time as short text."""
    if moment.date() == today:
        return f"{moment:%H:%M}"
    day = short_day(moment, texts)
    return day if moment.year == today.year else f"{day} {moment.year}"


def short_day(day: date, texts: Texts) -> str:
    """A day without its year."""
    return texts["short_date"].format(day=day.day, month=texts["months"].split(" ")[day.month - 1])


def _age(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return _OLDER
    days = (now.date() - moment.astimezone(now.tzinfo).date()).days
    return next((name for most, name in _AGES if days <= most), _OLDER)


def _moment(text: str) -> datetime | None:
    """A stored time; None if it cannot be read."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
