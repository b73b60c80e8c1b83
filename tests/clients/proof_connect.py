"""What `groundwire connect --write` puts into a client's own file is what the client itself reads there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.connecting import connect, let_find_pages
from tests.clients.listing import LISTINGS, OTHER, STATES, Listing, ask_for_servers, text_in
from tests.clients.stage import GROUNDWIRE, Stage

OURS = "groundwire"
STARTED = {"claude-code": "Connected", "gemini-cli": "Connected"}
"""What clients print that speak with a server before they list it."""


def _cases() -> list[object]:
    return [
        pytest.param(listing, state, id=f"{listing.package.label}-{state}")
        for listing in LISTINGS
        for state in STATES
        if state != "with comments" or listing.commented
    ]


def _given(listing: Listing, state: str, home: Path) -> Path:
    file = home / listing.file
    file.parent.mkdir(parents=True, exist_ok=True)
    if (text := text_in(listing, state)) is not None:
        file.write_text(text, "utf-8")
    return file


def _bytes(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


@pytest.mark.parametrize(("listing", "state"), _cases())
def test_the_client_lists_what_was_written_and_no_longer_what_was_undone(
    listing: Listing, state: str, stage: Stage, home: Path, show: Callable[[str, str], None]
) -> None:
    let_find_pages(stage, home)
    file = _given(listing, state, home)
    before = _bytes(file)
    for _ in range(2 if state == "connected" else 1):
        connect(listing.client, stage, home)
    written = _bytes(file)
    connect(listing.client, stage, home, undo=True)
    assert _bytes(file) == before

    connect(listing.client, stage, home)
    assert _bytes(file) == written
    run = ask_for_servers(listing, home)
    assert run.code == 0, run
    servers = listing.servers(run)
    show(f"{listing.package.label}, {' '.join(listing.words)}, file {state}", _told(servers))
    assert GROUNDWIRE in servers[OURS]
    assert STARTED.get(listing.client, "") in servers[OURS]
    assert "failed" not in servers[OURS]
    assert (OTHER in servers) == (before not in (None, b""))

    connect(listing.client, stage, home, undo=True)
    if before == b"":
        return  # not every client reads an empty file, with us or without
    run = ask_for_servers(listing, home)
    assert run.code == 0, run
    assert listing.servers(run).keys() == servers.keys() - {OURS}


@pytest.mark.parametrize("listing", LISTINGS, ids=lambda listing: listing.package.label)
def test_the_client_lists_the_server_of_a_gateway(
    listing: Listing, stage: Stage, home: Path, show: Callable[[str, str], None]
) -> None:
    _given(listing, "existing", home)
    connect(listing.client, stage, home, "--http", "--url", stage.url)
    run = ask_for_servers(listing, home)
    assert run.code == 0, run
    servers = listing.servers(run)
    show(f"{listing.package.label}, {' '.join(listing.words)}, --http", _told(servers))
    assert f"{stage.url}/mcp" in servers[OURS]
    assert STARTED.get(listing.client, "") in servers[OURS]
    assert "failed" not in servers[OURS]
    assert OTHER in servers


def _told(servers: dict[str, str]) -> str:
    return "\n".join(f"{name}: {what}" for name, what in servers.items())
