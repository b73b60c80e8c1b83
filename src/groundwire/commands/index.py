"""`groundwire index`: adds, lists, shows and removes pages of the embedded engine."""

from __future__ import annotations

import asyncio
import os
import time
from argparse import Namespace
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from groundwire.commands.config import load_config
from groundwire.commands.index_vectors import add_vectors
from groundwire.commands.runner import error_line, report_error
from groundwire.dialects.json import dump_json
from groundwire.engine.crawl.crawler import BatchIndexer, Crawler, CrawlSource, CrawlTally, parse_source
from groundwire.engine.crawl.results import CrawledPage, CrawlOptions, CrawlResult
from groundwire.engine.index.base import Index, PageInfo, Stored
from groundwire.engine.knowledge import DOCUMENTATION, BuildProgress
from groundwire.engine.knowledge.background import BuildStatus, read_status, settle_documentation
from groundwire.errors import GroundwireError, TimedOut
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import YELLOW, Console
from groundwire.faces.cli.live import ProgressLine
from groundwire.faces.cli.style import align_columns
from groundwire.model import JsonObject
from groundwire.text.sanitise import escape_invisible_json, one_line, sanitise
from groundwire.transport.fetch import Fetcher
from groundwire.transport.ssrf import PUBLIC, REFUSED, SsrfPolicy

PYTHON = "python"
"""The argument of `index add` that means Python's documentation; a folder of this name is `./python`."""
PACKAGE = "package"
"""The argument that means documentation of the packages that follow; a folder of this name is `./package`."""
PAGE_SECONDS = 5.0
_POLL_SECONDS = 0.1
_WITHOUT_ADDRESS = "These pages have no web address, so answers cannot link to them. Set one with --base-url."


def open_store(folder: Path, store: str, console: Console) -> Index:
    """Open the index; print a note if it had to be rebuilt."""
    from groundwire.engine.index.location import open_configured_index  # noqa: PLC0415  imports the engine

    index = open_configured_index(folder, store)
    if index.notice:
        console.note(index.notice)
    return index


def open_fetcher(sources: Iterable[CrawlSource], *, private: bool, seconds: float = PAGE_SECONDS) -> Fetcher:
    """A fetcher of public pages, and with `private` of the named hosts in private networks."""
    from groundwire.transport.safe_fetch import SafeFetcher  # noqa: PLC0415  imports the HTTP client
    from groundwire.transport.weburl import InvalidUrl, parse  # noqa: PLC0415

    if not private:
        return SafeFetcher(PUBLIC, seconds=seconds)
    trusted = set()
    for what in sources:
        with suppress(InvalidUrl):  # the fetcher refuses it later
            if isinstance(what, str):
                parts = parse(what)
                trusted.add((parts.host, parts.port))
    return SafeFetcher(SsrfPolicy(trusted=frozenset(trusted)))


def add(arguments: Namespace, console: Console, folder: Path, store: str) -> int:
    """Run `index add`."""
    kind = _kind(arguments)
    sources = [] if kind else [parse_source(text, console.cwd) for text in arguments.what]
    with open_store(folder, store, console) as index:
        adding = _IndexAdd(arguments, console, index, folder.parent / "crawls")
        runs = {PYTHON: adding.run_python, PACKAGE: adding.run_packages}
        try:
            tally = asyncio.run(runs[kind]() if kind else adding.run(sources))
        except KeyboardInterrupt:
            adding.conclude()
            console.note("Stopped. The pages read so far are stored; run the same command again to continue.")
            raise
        adding.conclude()
        if adding.urls:
            add_vectors(index, adding.urls, console)
    if kind == PYTHON:
        settle_documentation(folder)
    if tally.pages or tally.removed:
        return exit_codes.OK
    console.note("groundwire: no page was found")
    return exit_codes.UPSTREAM if tally.network else exit_codes.NOTHING_FOUND


class _IndexAdd:
    """One run of `index add`."""

    def __init__(self, arguments: Namespace, console: Console, index: Index, kept: Path) -> None:
        self._arguments = arguments
        self._console = console
        self._index = index
        self._kept = kept
        self._progress = ProgressLine(console, time.monotonic)
        self._tally = CrawlTally()
        self._unaddressed = False
        self.urls: list[str] = []
        """The pages that were read."""

    async def run(self, sources: list[CrawlSource]) -> CrawlTally:
        """Crawl and store."""
        arguments = self._arguments
        fetcher = open_fetcher(sources, private=arguments.private)
        gathering = Crawler(fetcher, _scope(arguments), kept=self._kept, stored=self._stored_urls)
        outcomes = gathering.outcomes(
            sources, collection=arguments.collection or "", language=arguments.language or ""
        )
        try:
            return await self._store(outcomes, fetcher, gathering.checkpoint)
        finally:
            gathering.close()

    def _stored_urls(self, collection: str) -> set[str]:
        return {info.url for info in self._index.pages(collection)}

    async def run_packages(self) -> CrawlTally:
        """Store the documentation of packages."""
        from groundwire.commands.index_package import package_sources  # noqa: PLC0415  starts processes

        downloads = self._kept.parent / "downloads" if self._arguments.download else None
        spinning = asyncio.create_task(self._progress.status.spin())
        try:
            sources = await package_sources(
                self._arguments.what[1:], self._console, downloads, self._progress.show
            )
        finally:
            spinning.cancel()
            with suppress(asyncio.CancelledError):
                await spinning
            self._progress.clear()
        return await self.run(sources)

    async def run_python(self) -> CrawlTally:
        """Store Python's documentation."""
        from groundwire.commands.index_python import (  # noqa: PLC0415  imports the HTML reader
            DOWNLOAD_SECONDS,
            PythonDocumentation,
        )

        documentation = PythonDocumentation(
            self._arguments, self._console.cwd, self._kept.parent / "downloads"
        )
        fetcher = open_fetcher((), private=False, seconds=DOWNLOAD_SECONDS)
        tally = await self._store(documentation.outcomes(fetcher), fetcher, lambda: None)
        await asyncio.to_thread(documentation.finish, self._index)
        return tally

    async def _store(
        self, outcomes: AsyncGenerator[CrawlResult, None], fetcher: Fetcher, checkpoint: Callable[[], None]
    ) -> CrawlTally:
        storing = BatchIndexer(self._index, checkpoint, self._report)
        spinning = asyncio.create_task(self._progress.status.spin())
        self._progress.status.show("Reading…")
        try:
            return await storing.store(outcomes)
        finally:
            self._tally = storing.tally()
            spinning.cancel()
            with suppress(asyncio.CancelledError):
                await spinning
            self._progress.clear()
            await fetcher.aclose()

    def conclude(self) -> None:
        """Print the result."""
        if self._arguments.json:
            text = escape_invisible_json(dump_json({"version": 1, **encode_tally(self._tally)}))
            self._console.write(text + "\n")
        else:
            for line in tally_lines(self._tally):
                self._console.write(line + "\n")
        if self._unaddressed:
            self._console.note(_WITHOUT_ADDRESS, YELLOW)
        if not self._arguments.private and any(entry.why == REFUSED for entry in self._tally.skipped):
            self._console.note("If the address is in your private network, add --private.")

    def _report(self, tally: CrawlTally, outcome: CrawlResult | None) -> None:
        where = ""
        if isinstance(outcome, CrawledPage):
            where = outcome.page.url
            self.urls.append(where)
            self._unaddressed |= where.startswith("file:")
        self._progress.show(f"{_pages(tally.pages)} {where}", brief=f"{_pages(tally.pages)} so far")


def _pages(count: int) -> str:
    return f"{count:,} page{'' if count == 1 else 's'}"


def _scope(arguments: Namespace) -> CrawlOptions:
    pages = arguments.max_pages
    return CrawlOptions(
        base_url=arguments.base_url or "",
        as_html=arguments.as_html,
        follow=bool(arguments.max_depth or pages),
        pages=pages or CrawlOptions().pages,
        depth=arguments.max_depth,
    )


def stored_line(stored: Stored) -> str:
    """The number of added, updated and unchanged pages, as text."""
    parts = [
        f"{stored.added:,} added",
        f"{stored.updated:,} updated",
        f"{stored.unchanged:,} unchanged",
        *([f"{stored.duplicates:,} duplicates"] if stored.duplicates else []),
    ]
    return ", ".join(parts)


def tally_lines(tally: CrawlTally) -> list[str]:
    """The result as lines of text, with the skipped pages and the reasons."""
    lines = [stored_line(tally.stored) + (f", {tally.removed:,} removed" if tally.removed else "")]
    if tally.skipped:
        lines.append(f"{sum(entry.count for entry in tally.skipped):,} skipped:")
    for entry in tally.skipped:
        more = "" if entry.count <= len(entry.examples) else ", …"
        examples = ", ".join(one_line(example) for example in entry.examples)
        lines.append(f"  {entry.count:,} {one_line(entry.why)}: {examples}{more}")
    return lines


def encode_tally(tally: CrawlTally) -> JsonObject:
    """The result as JSON."""
    return {
        **encode_stored(tally.stored),
        "removed": tally.removed,
        "skipped": [
            {"why": entry.why, "count": entry.count, "examples": list(entry.examples)}
            for entry in tally.skipped
        ],
    }


def encode_stored(stored: Stored) -> JsonObject:
    """The number of added, updated and unchanged pages, as JSON."""
    return {
        "added": stored.added,
        "updated": stored.updated,
        "unchanged": stored.unchanged,
        "duplicates": stored.duplicates,
    }


_EMPTY = "groundwire: the index is empty; add pages with: groundwire index add FOLDER"
_ADDING = frozenset(
    (
        *("base_url", "as_html", "max_depth", "max_pages", "language", "private", "collection"),
        *("docs_version", "everything", "download"),
    )
)
_ONLY_FOR = {"docs_version": PYTHON, "everything": PYTHON, "download": PACKAGE}
"""Options that need a kind of `index add`."""
_OPTIONS_OF: Mapping[str, frozenset[str]] = {
    PYTHON: frozenset(("docs_version", "everything")),
    PACKAGE: frozenset(("base_url", "as_html", "language", "collection", "download")),
    "": _ADDING - _ONLY_FOR.keys(),
}
"""Options of each kind of `index add`."""
_OPTION_NAMES = {"what": "an address", "docs_version": "--version", "everything": "--all"}
_ALLOWED_OPTIONS: Mapping[str, frozenset[str]] = {
    "add": _ADDING | {"what"},
    "list": frozenset(("collection", "prefix")),
    "show": frozenset(("what",)),
    "remove": frozenset(("what", "collection")),
    "stats": frozenset(),
    "refresh": frozenset(),
}
"""Options of each action, besides `--json` and `--data-dir`."""


def run_index(arguments: Namespace, console: Console) -> int:
    """Run an action."""
    _check(arguments)
    try:
        config = load_config(arguments, console)
        folder = os.path.join(config.data_dir, "index")
        if arguments.action == "add":
            return add(arguments, console, Path(folder), config.store)
        if arguments.action == "refresh":
            with open_store(Path(folder), config.store, console) as index:
                return _refresh(index, Path(folder), arguments, console)
        if not config.store and not os.path.isdir(folder):
            console.note(_EMPTY)
            return exit_codes.NOTHING_FOUND
        with open_store(Path(folder), config.store, console) as index:
            return _ACTIONS[arguments.action](index, Path(folder), arguments, console)
    except GroundwireError as error:
        if arguments.json:
            body: JsonObject = {"code": error.code, "message": error_line(error, console.env)}
            _print_json(console, {"error": body})
        return report_error(error, console)


def _check(arguments: Namespace) -> None:
    action = arguments.action
    every = frozenset[str]().union(*_ALLOWED_OPTIONS.values())
    for name in sorted(every - _ALLOWED_OPTIONS[action]):
        if getattr(arguments, name):
            raise UsageError(f"{_option(name)} cannot be used with `index {action}`")
    if action in ("add", "show") and not arguments.what:
        raise UsageError(f"`index {action}` needs {'something to add' if action == 'add' else 'an address'}")
    if action == "add":
        _check_add(arguments)
    if action == "remove" and bool(arguments.what) == bool(arguments.collection):
        raise UsageError("`index remove` needs addresses, or a collection with --collection")


def _check_add(arguments: Namespace) -> None:
    kind = _kind(arguments)
    for name in sorted(_ADDING - _OPTIONS_OF[kind]):
        if getattr(arguments, name):
            needed = _ONLY_FOR.get(name)
            why = f"needs `index add {needed}`" if needed else f"cannot be used with `index add {kind}`"
            raise UsageError(f"{_option(name)} {why}")


def _kind(arguments: Namespace) -> str:
    """What `index add` adds: Python's documentation, packages, or anything else."""
    return arguments.what[0] if arguments.what[0] in (PYTHON, PACKAGE) else ""


def _option(name: str) -> str:
    return _OPTION_NAMES.get(name, f"--{name.replace('_', '-')}")


def _list(index: Index, _: Path, arguments: Namespace, console: Console) -> int:
    found = index.pages(arguments.collection or "", arguments.prefix or "")
    if arguments.json:
        pages = [_encode(info) for info in found]
        _print_json(console, {"pages": list(pages)})
        return exit_codes.OK if pages else exit_codes.NOTHING_FOUND
    count = 0
    for count, info in enumerate(found, 1):  # noqa: B007  the last number is how many there were
        console.stdout.write(f"{one_line(info.url)}  {one_line(info.title)}".rstrip() + "\n")
    console.stdout.flush()
    if not count:
        console.note("groundwire: no page matches; `groundwire index stats` lists the collections")
    return exit_codes.OK if count else exit_codes.NOTHING_FOUND


def _show(index: Index, _: Path, arguments: Namespace, console: Console) -> int:
    code = exit_codes.OK
    for address in arguments.what:
        page = index.page(address)
        if page is None:
            console.note(f"groundwire: no page is stored under {one_line(address)}")
            code = exit_codes.NOTHING_FOUND
        elif arguments.json:
            info = PageInfo(
                page.url, page.title, page.collection, len(page.text), page.published, page.language
            )
            _print_json(console, {**_encode(info), "text": page.text})
        else:
            console.write(sanitise(page.text).rstrip("\n") + "\n")
    return code


def _remove(index: Index, folder: Path, arguments: Namespace, console: Console) -> int:
    count = index.remove(urls=arguments.what, collection=arguments.collection or "")
    if arguments.collection == DOCUMENTATION:
        settle_documentation(folder)
    if arguments.json:
        _print_json(console, {"removed": count})
    else:
        console.print(f"removed {_pages(count)}")
    if not count:
        console.note("groundwire: no such page is stored; `groundwire index list` shows all")
    return exit_codes.OK if count else exit_codes.NOTHING_FOUND


def _stats(index: Index, folder: Path, arguments: Namespace, console: Console) -> int:
    stats, status = index.stats(), read_status(folder)
    if arguments.json:
        _print_json(
            console,
            {
                "pages": stats.pages,
                "passages": stats.passages,
                "bytes_on_disk": stats.bytes_on_disk,
                "collections": dict(stats.collections),
                "format": stats.format,
                "built": {"phase": status.phase, "done": status.done, "total": status.total},
                "vectors": dict(stats.vectors),
            },
        )
        return exit_codes.OK
    rows = [
        ("pages", f"{stats.pages:,}"),
        ("passages", f"{stats.passages:,}"),
        ("on disk", f"{stats.bytes_on_disk / 1_000_000:,.1f} MB"),
        ("built in", one_line(status.summary)),
        *((f"  {one_line(name) or '(none)'}", f"{count:,}") for name, count in stats.collections),
        *((f"vectors of {name}", f"{count:,}") for name, count in stats.vectors),
    ]
    for line in align_columns(rows):
        console.write(line + "\n")
    return exit_codes.OK


def _refresh(index: Index, folder: Path, arguments: Namespace, console: Console) -> int:
    from groundwire.engine.knowledge.builder import complete_index  # noqa: PLC0415  reads the whole library

    progress = ProgressLine(console, time.monotonic)
    began = time.time()
    try:
        while True:
            try:
                stored = complete_index(index, folder, lambda made: progress.show(_progress_text(made)))
                break
            except TimedOut:
                status = _wait_for_builder(folder, progress)
            if status.phase == "complete" and status.at >= began:
                stored = Stored()
                break
    finally:
        progress.clear()
    if arguments.json:
        _print_json(console, encode_stored(stored))
    else:
        console.print(stored_line(stored) if stored != Stored() else "complete")
    return exit_codes.OK


def _wait_for_builder(folder: Path, progress: ProgressLine) -> BuildStatus:
    """Shows the progress of the process that builds, until it has ended."""
    while (status := read_status(folder)).phase == "building":
        progress.show(_progress_text(BuildProgress(status.done, status.total, status.what)))
        time.sleep(_POLL_SECONDS)
    return status


def _progress_text(progress: BuildProgress) -> str:
    return f"{progress.done} of {progress.total}: {one_line(progress.what)}"


def _encode(info: PageInfo) -> JsonObject:
    return {
        "url": info.url,
        "title": info.title,
        "collection": info.collection,
        "characters": info.characters,
        "published": info.published,
        "language": info.language,
    }


def _print_json(console: Console, body: JsonObject) -> None:
    console.write(escape_invisible_json(dump_json({"version": 1, **body})) + "\n")


_ACTIONS: Mapping[str, Callable[[Index, Path, Namespace, Console], int]] = {
    "list": _list,
    "show": _show,
    "remove": _remove,
    "stats": _stats,
}
