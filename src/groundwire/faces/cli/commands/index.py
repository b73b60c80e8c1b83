"""`groundwire index`: the pages of the embedded engine."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path

from groundwire.dialects.json import dump_json
from groundwire.engine.index.base import Index, PageInfo
from groundwire.errors import GroundwireError
from groundwire.faces.cli import exits
from groundwire.faces.cli.adding import add, encode_stored, open_store, stored_line
from groundwire.faces.cli.console import Console
from groundwire.faces.cli.edge import report, sentence
from groundwire.faces.cli.parsers import UsageError
from groundwire.faces.cli.session import configure
from groundwire.faces.cli.status import Status
from groundwire.faces.cli.table import lined_up
from groundwire.model import JsonObject
from groundwire.text.sanitise import escape_invisible_json, one_line, sanitise

_EMPTY = "groundwire: nothing is indexed yet; begin with: groundwire index add FOLDER"
_ADDING = frozenset(("base_url", "as_html", "max_depth", "max_pages", "language", "private"))
_FITTING: Mapping[str, frozenset[str]] = {
    "add": _ADDING | {"what", "collection"},
    "list": frozenset(("collection", "prefix")),
    "show": frozenset(("what",)),
    "remove": frozenset(("what", "collection")),
    "stats": frozenset(),
    "refresh": frozenset(),
}
"""What may be said with each action, beside `--json` and `--data-dir`."""


def run(arguments: Namespace, console: Console) -> int:
    """Do what is asked."""
    _check(arguments)
    try:
        config = configure(arguments, console)
        folder = os.path.join(config.data_dir, "index")
        if arguments.action == "add":
            return add(arguments, console, Path(folder), config.store)
        if arguments.action == "refresh":
            with open_store(Path(folder), config.store) as index:
                return _refresh(index, arguments, console)
        if not config.store and not os.path.isdir(folder):
            console.note(_EMPTY)
            return exits.NOTHING_FOUND
        with open_store(Path(folder), config.store) as index:
            return _ACTIONS[arguments.action](index, arguments, console)
    except GroundwireError as error:
        if arguments.json:
            told: JsonObject = {"code": error.code, "message": sentence(error, console.env)}
            _print_json(console, {"error": told})
        return report(error, console)


def _check(arguments: Namespace) -> None:
    action = arguments.action
    every = frozenset[str]().union(*_FITTING.values())
    for name in sorted(every - _FITTING[action]):
        if getattr(arguments, name):
            shown = "an address" if name == "what" else f"--{name.replace('_', '-')}"
            raise UsageError(f"{shown} does not go with `index {action}`")
    if action in ("add", "show") and not arguments.what:
        raise UsageError(f"`index {action}` needs {'something to add' if action == 'add' else 'an address'}")
    if action == "remove" and bool(arguments.what) == bool(arguments.collection):
        raise UsageError("`index remove` needs addresses, or a collection with --collection")


def _list(index: Index, arguments: Namespace, console: Console) -> int:
    found = index.pages(arguments.collection or "", arguments.prefix or "")
    if arguments.json:
        pages = [_encode(info) for info in found]
        _print_json(console, {"pages": list(pages)})
        return exits.OK if pages else exits.NOTHING_FOUND
    count = 0
    for count, info in enumerate(found, 1):  # noqa: B007  the last number is how many there were
        console.stdout.write(f"{one_line(info.url)}  {one_line(info.title)}".rstrip() + "\n")
    console.stdout.flush()
    if not count:
        console.note("groundwire: no page is stored there")
    return exits.OK if count else exits.NOTHING_FOUND


def _show(index: Index, arguments: Namespace, console: Console) -> int:
    code = exits.OK
    for address in arguments.what:
        page = index.page(address)
        if page is None:
            console.note(f"groundwire: no page is stored under {one_line(address)}")
            code = exits.NOTHING_FOUND
        elif arguments.json:
            info = PageInfo(
                page.url, page.title, page.collection, len(page.text), page.published, page.language
            )
            _print_json(console, {**_encode(info), "text": page.text})
        else:
            console.write(sanitise(page.text).rstrip("\n") + "\n")
    return code


def _remove(index: Index, arguments: Namespace, console: Console) -> int:
    count = index.remove(urls=arguments.what, collection=arguments.collection or "")
    if arguments.json:
        _print_json(console, {"removed": count})
    else:
        console.print(f"removed {count} page{'' if count == 1 else 's'}")
    return exits.OK if count else exits.NOTHING_FOUND


def _stats(index: Index, arguments: Namespace, console: Console) -> int:
    stats = index.stats()
    if arguments.json:
        _print_json(
            console,
            {
                "pages": stats.pages,
                "passages": stats.passages,
                "bytes_on_disk": stats.bytes_on_disk,
                "collections": dict(stats.collections),
                "format": stats.format,
            },
        )
        return exits.OK
    rows = [
        ("pages", f"{stats.pages:,}"),
        ("passages", f"{stats.passages:,}"),
        ("on disk", f"{stats.bytes_on_disk / 1_000_000:,.1f} MB"),
        *((f"  {one_line(name) or '(none)'}", f"{count:,}") for name, count in stats.collections),
    ]
    for line in lined_up(rows):
        console.write(line + "\n")
    return exits.OK


def _refresh(index: Index, arguments: Namespace, console: Console) -> int:
    from groundwire.engine.knowledge import Progress, refresh  # noqa: PLC0415  reads the whole library

    status = Status(console, time.monotonic)

    def tell(progress: Progress) -> None:
        status.show(f"{progress.done} of {progress.total}: {progress.what}")

    try:
        stored = refresh(index, tell)
    finally:
        status.clear()
    if arguments.json:
        _print_json(console, encode_stored(stored))
    else:
        console.print(stored_line(stored))
    return exits.OK


def _encode(info: PageInfo) -> JsonObject:
    return {
        "url": info.url,
        "title": info.title,
        "collection": info.collection,
        "characters": info.characters,
        "published": info.published,
        "language": info.language,
    }


def _print_json(console: Console, told: JsonObject) -> None:
    console.write(escape_invisible_json(dump_json({"version": 1, **told})) + "\n")


_ACTIONS: Mapping[str, Callable[[Index, Namespace, Console], int]] = {
    "list": _list,
    "show": _show,
    "remove": _remove,
    "stats": _stats,
}
