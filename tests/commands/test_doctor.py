"""The checks of `groundwire doctor`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from decimal import Decimal
from importlib import metadata
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from groundwire.commands import doctor
from groundwire.commands.doctor import probe_each
from groundwire.engine.dense.packages import ENGLISH, READER, EncoderPackage
from groundwire.errors import Overloaded, TimedOut
from groundwire.model import Event, Failed, Request, SearchOptions, TextDelta
from groundwire.server import diagnostics
from groundwire.server.diagnostics import Check, config_files, data_directory, shared_store, versions
from groundwire.store.migrations import ON_POSTGRES
from groundwire.store.postgres import open_postgres
from groundwire.transport.migrations import Migration
from tests.faces.fakes import FakeClient
from tests.servers.fixtures import postgres, postgres_server, redis, redis_server
from tests.servers.redis import RedisServer

__all__ = ["postgres", "postgres_server", "redis", "redis_server"]


def test_versions_are_printed() -> None:
    found = {check.what: check for check in versions()}
    assert all(check.state == "ok" for check in found.values())
    assert "Python 3." in next(iter(found.values())).detail


def test_a_library_that_is_missing_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics, "_LIBRARIES", ("groundwire-no-such-library",))
    assert list(versions())[-1].state == "problem"


def test_the_files_that_are_there_are_named(tmp_path: Path) -> None:
    opencode = tmp_path / ".config/opencode/opencode.json"
    opencode.parent.mkdir(parents=True)
    opencode.write_text("{}")
    own = tmp_path / "own.toml"
    own.write_text("")
    env = {"GROUNDWIRE_CONFIG": str(own), "OPENCODE_CONFIG_CONTENT": "{}"}
    found = {
        check.what: check.detail for check in config_files(env, str(tmp_path), str(tmp_path / "project"))
    }
    assert found[str(own)] == "read"
    assert found[str(tmp_path / "project/groundwire.toml")] == "not there"
    assert found[str(opencode)] == "read"
    assert found["environment OPENCODE_CONFIG_CONTENT"] == "read"


def test_a_data_directory_is_valid_if_it_can_be_written_or_created(tmp_path: Path) -> None:
    assert data_directory(str(tmp_path)) == Check("ok", str(tmp_path), "writable")
    below = str(tmp_path / "a/b")
    assert data_directory(below) == Check("ok", below, "will be made when it is needed")
    assert not (tmp_path / "a").exists()


def test_a_data_directory_that_cannot_be_written_is_a_problem() -> None:
    assert data_directory("/proc").state == "problem"


class Silent(FakeClient):
    """Never answers."""

    async def stream(
        self,
        query: str | Request,
        *,
        provider: str = "auto",
        model: str = "",
        options: SearchOptions | None = None,
        max_cost: Decimal | float | None = None,
    ) -> AsyncGenerator[Event, None]:
        await asyncio.Event().wait()
        yield TextDelta(0, "never")


async def test_a_provider_that_breaks_off_or_never_answers_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (broken,) = await probe_each(FakeClient([TextDelta(0, "o"), Failed(Overloaded("busy"))]), ["gemini"])
    assert broken.error == Overloaded("busy")
    monkeypatch.setattr(doctor, "_PROBE_TIMEOUT", 0.05)
    (silent,) = await probe_each(Silent(), ["gemini"])
    assert isinstance(silent.error, TimedOut)


@pytest.mark.parametrize("extra", ["documents", "postgres", "redis", "semantic"])
def test_an_extra_that_is_missing_is_named_with_the_command_that_adds_it(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GROUNDWIRE_SEMANTIC")
    gone = diagnostics._extra_packages()[extra]
    assert gone
    assert [check.state for check in diagnostics.extras("") if check.what == extra] == ["ok"]

    def version(name: str) -> str:
        if name in gone:
            raise PackageNotFoundError(name)
        return metadata.version(name)

    monkeypatch.setattr(diagnostics, "version", version)
    found = {check.what: check for check in diagnostics.extras("postgresql://db/x", "redis://cache")}
    assert f"pip install 'groundwire[{extra}]'" in found[extra].detail
    assert all(name in found[extra].detail for name in gone)
    assert found[extra].state == ("problem" if extra in ("postgres", "redis") else "note")
    assert all(check.state == "ok" for name, check in found.items() if name != extra)


def test_an_encoder_that_is_installed_and_cannot_be_used_is_reported_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GROUNDWIRE_SEMANTIC", "0")
    monkeypatch.setattr(diagnostics, "_extra_packages", lambda: {"semantic": ["tantivy"]})
    (found,) = diagnostics.extras("")
    assert found.state == "note"
    assert found.detail.endswith("turned off by GROUNDWIRE_SEMANTIC=0")


@pytest.mark.parametrize("package", [ENGLISH, READER], ids=["english", "reader"])
def test_a_better_network_is_offered(package: EncoderPackage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDWIRE_SEMANTIC")
    monkeypatch.setattr(EncoderPackage, "problem", lambda self: "missing" if self == package else "")
    monkeypatch.setattr(diagnostics, "_extra_packages", lambda: {"semantic": ["tantivy"]})
    (found,) = diagnostics.extras("")
    assert found.state == "ok"
    assert found.detail.endswith(package.install)


def test_a_store_of_one_machine_is_not_checked_as_a_shared_one() -> None:
    assert list(shared_store("", {})) == []
    assert list(shared_store("sqlite:////nowhere/store.db", {})) == []


@pytest.mark.server
def test_a_shared_store_is_reported_with_its_version_and_is_not_migrated(postgres: str) -> None:
    secret = {"GROUNDWIRE_SECRET": "x" * 64}
    newest = ON_POSTGRES[-1].version

    def report() -> tuple[str, str]:
        store, own_secret = shared_store(postgres, secret)
        assert own_secret.state == "ok"
        return store.state, store.detail

    assert report() == (
        "note",
        f"answers; the next gateway that starts migrates it from version 0 to {newest}",
    )
    assert report()[0] == "note"
    open_postgres(postgres).close()
    assert report() == ("ok", f"answers, version {newest}")
    later = Migration(newest + 1, ("CREATE TABLE groundwire_later (id text)",))
    open_postgres(postgres, (*ON_POSTGRES, later)).close()
    assert report()[0] == "note"
    assert f"version {newest + 1}" in report()[1]


def test_a_shared_store_without_an_answer_or_a_secret_is_a_problem(tmp_path: Path) -> None:
    store, secret = shared_store(f"postgresql://user:PASSWORD@/x?host={tmp_path}", {})
    assert (store.state, secret.state) == ("problem", "problem")
    assert "PASSWORD" not in store.detail


@pytest.mark.server
def test_a_redis_is_asked_what_it_is(redis: str, redis_server: RedisServer) -> None:
    (usable,) = diagnostics.shared_redis(redis)
    assert usable.state == "ok"
    assert usable.detail.endswith(f"at 127.0.0.1:{redis_server.port}, standalone")
    (lost,) = diagnostics.shared_redis("redis://:open-sesame@127.0.0.1:1/0")
    assert (lost.state, lost.detail) == ("problem", "127.0.0.1:1: no connection")
    assert list(diagnostics.shared_redis("")) == []
