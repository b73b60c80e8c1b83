"""`groundwire open`: the sources of the last answer, in the browser or as an address."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from groundwire.faces.cli.last_sources import load_sources, save_sources
from groundwire.model import Source
from tests.faces.fakes import CITIES, COLOGNE, LATE, Bench, FakeClient


def bench_in(folder: Path, *, terminal: bool = False) -> Bench:
    return Bench(FakeClient(LATE), terminal=terminal, env={"GROUNDWIRE_DATA_DIR": str(folder)})


@pytest.mark.parametrize("form", [(), ("--json",), ("--jsonl",), ("--markdown",), ("--raw",)])
def test_a_source_of_the_last_search_is_opened(tmp_path: Path, form: tuple[str, ...]) -> None:
    bench = bench_in(tmp_path)
    assert bench.run("search", *form, "q") == 0
    assert bench.run("open", "2") == 0
    assert bench.opened == [CITIES.url]
    assert bench.stderr == f"Opened {CITIES.url}\n"


def test_a_link_of_the_last_list_is_opened(tmp_path: Path) -> None:
    bench = bench_in(tmp_path)
    assert bench.run("find", "q") == 0
    assert f"2. {CITIES.title}\n   {CITIES.url}" in bench.stdout
    assert bench.run("open", "2") == 0
    assert bench.opened == [CITIES.url]


def test_the_numbers_are_those_on_the_terminal(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, terminal=True)
    bench.run("search", "q")
    bench.run("open", "1")
    assert bench.opened == [COLOGNE.url]


def test_the_address_is_printed_on_request_and_where_there_is_no_browser(tmp_path: Path) -> None:
    save_sources(str(tmp_path), [COLOGNE])
    bench = bench_in(tmp_path)
    assert bench.run("open", "1", "--print") == 0
    assert (bench.stdout, bench.opened) == (f"{COLOGNE.url}\n", [])
    bench.console.browse = lambda _: False
    assert bench.run("open", "1") == 0
    assert bench.stdout == f"{COLOGNE.url}\n" * 2


def test_only_web_addresses_reach_the_browser(tmp_path: Path) -> None:
    addresses = ("javascript:alert(1)", "file:///etc/hosts", "local:os.walk", "https://a.example/x y\u202e")
    save_sources(str(tmp_path), [Source(url, "t") for url in addresses])
    bench = bench_in(tmp_path)
    assert [bench.run("open", str(number)) for number in (1, 2, 3, 4)] == [3, 0, 0, 0]
    assert bench.opened == ["https://a.example/x%20y%E2%80%AE"]
    assert bench.stdout == "file:///etc/hosts\nlocal:os.walk\n"
    assert "groundwire index show local:os.walk" in bench.stderr


def test_a_source_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    bench = bench_in(tmp_path)
    assert bench.run("open", "1") == 3
    assert "there is no answer yet" in bench.stderr
    save_sources(str(tmp_path), [])
    assert bench.run("open", "1") == 3
    assert "the last answer has no sources" in bench.stderr


def test_a_damaged_list_is_reported(tmp_path: Path) -> None:
    save_sources(str(tmp_path), [COLOGNE])
    (tmp_path / "last_sources.json").write_text('{"sources": [1]}')
    bench = bench_in(tmp_path)
    assert bench.run("open", "1") == 4
    assert "last_sources.json is damaged" in bench.stderr


def test_the_list_is_private_and_replaced_whole(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    lists = [[Source(f"https://{name}.example/{n}", name) for n in range(50)] for name in "abcdefgh"]
    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(lambda sources: save_sources(str(folder), sources), lists))
    assert load_sources(str(folder)) in [tuple(sources) for sources in lists]
    assert stat.S_IMODE((folder / "last_sources.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(os.listdir(folder)) == 2


def test_a_search_does_not_fail_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    bench = bench_in(tmp_path / "file" / "data")
    assert bench.run("search", "q") == 0
    assert bench.stderr == ""
