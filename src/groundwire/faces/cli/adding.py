"""`groundwire index add`: gathers, stores, shows how far it is, and says what became of everything."""

from __future__ import annotations

import asyncio
import time
from argparse import Namespace
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from groundwire.dialects.json import dump_json
from groundwire.engine.crawl.outcomes import Gathered, Outcome, Scope
from groundwire.engine.crawl.sources import Gathering, What, recognise
from groundwire.engine.crawl.storing import Storing, Tally
from groundwire.engine.index.base import Index, Stored
from groundwire.faces.cli import exits
from groundwire.faces.cli.console import YELLOW, Console
from groundwire.faces.cli.status import Status
from groundwire.model import JsonObject
from groundwire.text.sanitise import escape_invisible_json, one_line
from groundwire.transport.fetch import Fetcher
from groundwire.transport.ssrf import PUBLIC, REFUSED, Rules

_DRAWN_EVERY = 0.1
_SAID_EVERY = 2.0
_WITHOUT_ADDRESS = (
    "These pages have no web address, so that answers cannot link to them; --base-url gives them one."
)


def open_store(folder: Path, store: str = "") -> Index:
    """The index of this run."""
    from groundwire.engine.index.place import open_placed  # noqa: PLC0415  brings the engine along

    return open_placed(folder, store)


def open_fetcher(whats: Iterable[What], *, private: bool) -> Fetcher:
    """Fetches public pages; and the very hosts that were named, if they may be private."""
    from groundwire.transport.safe_fetch import GuardedFetcher  # noqa: PLC0415  brings the HTTP client along
    from groundwire.transport.weburl import NoAddress, parse  # noqa: PLC0415

    if not private:
        return GuardedFetcher(PUBLIC)
    trusted = set()
    for what in whats:
        with suppress(NoAddress):  # what the guard cannot read it refuses later
            if isinstance(what, str):
                parts = parse(what)
                trusted.add((parts.host, parts.port))
    return GuardedFetcher(Rules(trusted=frozenset(trusted)))


def add(arguments: Namespace, console: Console, folder: Path, store: str) -> int:
    """Add everything that is named."""
    whats = [recognise(text, console.cwd) for text in arguments.what]
    with open_store(folder, store) as index:
        adding = _Adding(arguments, console, index, folder.parent / "crawls")
        try:
            tally = asyncio.run(adding.run(whats))
        except KeyboardInterrupt:
            adding.conclude()
            console.note("Stopped. What is stored stays; the same command goes on from there.")
            raise
    adding.conclude()
    if tally.pages:
        return exits.OK
    console.note("groundwire: no page was found")
    return exits.UPSTREAM if tally.network else exits.NOTHING_FOUND


class _Adding:
    """One run of the command."""

    def __init__(self, arguments: Namespace, console: Console, index: Index, kept: Path) -> None:
        self._arguments = arguments
        self._console = console
        self._index = index
        self._kept = kept
        self._status = Status(console, time.monotonic)
        self._said = self._drawn = time.monotonic()
        self._tally = Tally()
        self._unaddressed = False

    async def run(self, whats: list[What]) -> Tally:
        """Gather and store."""
        arguments = self._arguments
        fetcher = open_fetcher(whats, private=arguments.private)
        gathering = Gathering(fetcher, _scope(arguments), kept=self._kept)
        outcomes = gathering.outcomes(
            whats, collection=arguments.collection or "", language=arguments.language or ""
        )
        storing = Storing(self._index, gathering.checkpoint, self._tell)
        spinning = asyncio.create_task(self._status.spin())
        self._status.show("Reading…")
        try:
            return await storing.store(outcomes)
        finally:
            self._tally = storing.tally()
            spinning.cancel()
            with suppress(asyncio.CancelledError):
                await spinning
            self._status.clear()
            await fetcher.aclose()

    def conclude(self) -> None:
        """Say what became of everything."""
        if self._arguments.json:
            told = escape_invisible_json(dump_json({"version": 1, **encode_tally(self._tally)}))
            self._console.write(told + "\n")
        else:
            for line in tally_lines(self._tally):
                self._console.write(line + "\n")
        if self._unaddressed:
            self._console.note(_WITHOUT_ADDRESS, YELLOW)
        if not self._arguments.private and any(entry.why == REFUSED for entry in self._tally.skipped):
            self._console.note("Is it in your own network? Then add --private.")

    def _tell(self, tally: Tally, outcome: Outcome | None) -> None:
        now = time.monotonic()
        where = ""
        if isinstance(outcome, Gathered):
            where = outcome.page.url
            self._unaddressed |= where.startswith("file:")
        if self._console.notes_live:
            if now - self._drawn >= _DRAWN_EVERY:
                self._drawn = now
                self._status.show(f"{tally.pages} pages {where}")
        elif now - self._said >= _SAID_EVERY:
            self._said = now
            self._console.note(f"{tally.pages} pages so far")


def _scope(arguments: Namespace) -> Scope:
    pages = arguments.max_pages
    return Scope(
        base_url=arguments.base_url or "",
        as_html=arguments.as_html,
        follow=bool(arguments.max_depth or pages),
        pages=pages or Scope().pages,
        depth=arguments.max_depth,
    )


def stored_line(stored: Stored) -> str:
    """What became of pages, for people."""
    parts = [
        f"{stored.added:,} added",
        f"{stored.updated:,} updated",
        f"{stored.unchanged:,} unchanged",
        *([f"{stored.duplicates:,} duplicates"] if stored.duplicates else []),
    ]
    return ", ".join(parts)


def tally_lines(tally: Tally) -> list[str]:
    """The same with what was skipped, and why."""
    lines = [stored_line(tally.stored)]
    if tally.skipped:
        lines.append(f"{sum(entry.count for entry in tally.skipped):,} skipped:")
    for entry in tally.skipped:
        more = "" if entry.count <= len(entry.examples) else ", …"
        examples = ", ".join(one_line(example) for example in entry.examples)
        lines.append(f"  {entry.count:,} {one_line(entry.why)}: {examples}{more}")
    return lines


def encode_tally(tally: Tally) -> JsonObject:
    """The same for programs."""
    return {
        **encode_stored(tally.stored),
        "skipped": [
            {"why": entry.why, "count": entry.count, "examples": list(entry.examples)}
            for entry in tally.skipped
        ],
    }


def encode_stored(stored: Stored) -> JsonObject:
    """What became of pages, for programs."""
    return {
        "added": stored.added,
        "updated": stored.updated,
        "unchanged": stored.unchanged,
        "duplicates": stored.duplicates,
    }
