"""API keys and ended logins in a store that several gateways share."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from time import monotonic, time

import aiohttp
import pytest

from groundwire.client import Groundwire
from groundwire.commands.http_app import create_service
from groundwire.config.schema import Config
from groundwire.errors import ConfigError
from groundwire.model.access import KeyRights, KeyScope
from groundwire.model.value import replace
from groundwire.server.auth import AccessKeys, fingerprint
from groundwire.server.keys import SECRET_VARIABLE, KeyFile, load_secret
from groundwire.server.shared_access import SharedAccess, StoredKeys, check_own_keys
from groundwire.store.open import open_store
from groundwire.store.postgres import open_postgres
from groundwire.transport import postgres as transport_postgres
from tests.faces.fakes import Bench
from tests.faces.gateway.serving import running_server
from tests.servers.fixtures import postgres, postgres_server
from tests.servers.postgres import PostgresServer

__all__ = ["postgres", "postgres_server"]
pytestmark = pytest.mark.server
HOST = "127.0.0.1"
SECONDS = 10.0


def wait_until(check: Callable[[], bool]) -> None:
    """Poll a condition that another thread brings about."""
    ends = monotonic() + SECONDS
    pause = threading.Event()
    while not check():
        assert monotonic() < ends
        pause.wait(0.01)


def test_a_key_of_one_gateway_is_known_to_another_and_its_end_too(postgres: str) -> None:
    with (
        open_postgres(postgres) as here,
        open_postgres(postgres) as there,
        closing(SharedAccess(there, interval=0.02)) as access,
    ):
        keys = StoredKeys(here)
        assert access() == AccessKeys()
        shown, made = keys.create("laptop", 0)
        assert made.fingerprint == fingerprint(shown)
        wait_until(lambda: access().valid == frozenset({made.fingerprint}))
        _, scraper = keys.create("metrics", 0)
        wait_until(lambda: access().metrics == frozenset({scraper.fingerprint}))
        assert access().valid == frozenset({made.fingerprint})
        assert [key.id for key in keys.revoke("laptop", 1)] == [made.id]
        wait_until(lambda: access().valid == frozenset())
        assert keys.revoke("laptop", 2) == []


def test_rights_that_are_changed_on_one_gateway_hold_here_at_once_and_elsewhere_soon(postgres: str) -> None:
    with (
        open_postgres(postgres) as here,
        open_postgres(postgres) as there,
        closing(SharedAccess(here, interval=60)) as own,
        closing(SharedAccess(there, interval=0.02)) as other,
    ):
        keys = StoredKeys(here, own.refresh)
        _, made = keys.create("ci", 0, KeyRights(scope=KeyScope(providers=("gemini",))))
        narrow = {made.fingerprint: KeyScope(providers=("gemini",))}
        assert own().scopes == narrow
        wait_until(lambda: other().scopes == narrow)
        keys.change(made.id, lambda key: replace(key, rights=KeyRights(scope=KeyScope(may_search=False))))
        changed = {made.fingerprint: KeyScope(may_search=False)}
        assert own().scopes == changed
        wait_until(lambda: other().scopes == changed)


def test_an_ended_login_is_refused_here_at_once_and_elsewhere_soon(postgres: str) -> None:
    with (
        open_postgres(postgres) as here,
        open_postgres(postgres) as there,
        closing(SharedAccess(here)) as one,
        closing(SharedAccess(there, interval=0.02)) as other,
    ):
        one.add("login", 200)  # long ago, by the clock of the database
        assert "login" in one
        wait_until(lambda: "login" in other)
        here.end_login("later", 400, now=300.0)
        assert here.ended_logins() == {"later"}


@pytest.mark.parametrize(("ahead", "said"), [(300, "300 seconds ahead of"), (-300, "300 seconds behind")])
def test_a_machine_with_another_clock_follows_the_database_and_warns(
    postgres: str, caplog: pytest.LogCaptureFixture, ahead: int, said: str
) -> None:
    with (
        open_postgres(postgres) as store,
        closing(SharedAccess(store, machine_clock=lambda: time() + ahead)) as access,
    ):
        assert abs(access.clock() - time()) < 1
        assert said in caplog.text


def test_a_machine_whose_clock_is_right_does_not_warn(
    postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    with open_postgres(postgres) as store, closing(SharedAccess(store)):
        assert "clock" not in caplog.text


def test_known_keys_stay_valid_while_the_database_is_away(
    postgres: str,
    postgres_server: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(transport_postgres, "CONNECT_SECONDS", 2)
    with open_postgres(postgres) as store:
        _, made = StoredKeys(store).create("laptop", 0)
        with closing(SharedAccess(store, interval=0.02)) as access:
            with postgres_server.away():
                wait_until(lambda: "cannot be read again" in caplog.text)
                assert access().valid == frozenset({made.fingerprint})

            def revoked() -> bool:
                try:
                    return bool(StoredKeys(store).revoke("laptop", 1))
                except Exception:  # noqa: BLE001  the database may still be starting
                    return False

            wait_until(revoked)
            wait_until(lambda: access().valid == frozenset())


def test_keys_that_are_created_at_once_are_all_kept(postgres: str) -> None:
    with open_postgres(postgres) as store:
        makers = [threading.Thread(target=StoredKeys(store).create, args=(f"key {n}", 0)) for n in range(8)]
        for maker in makers:
            maker.start()
        for maker in makers:
            maker.join(SECONDS)
        assert sorted(key.name for key in store.api_keys()) == [f"key {n}" for n in range(8)]
        assert store.access_revision() == 8


def test_a_gateway_with_keys_of_its_own_only_does_not_start(tmp_path: Path) -> None:
    file = KeyFile(str(tmp_path))
    _, own = file.create("mine", 0)
    with pytest.raises(ConfigError, match="groundwire keys import"):
        check_own_keys((), (own,), str(file.path))
    check_own_keys((own,), (own,), str(file.path))
    check_own_keys((), (), str(file.path))


def test_a_shared_store_needs_a_common_secret(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=SECRET_VARIABLE):
        load_secret(str(tmp_path), {}, shared=True)
    assert load_secret(str(tmp_path), {SECRET_VARIABLE: "common"}, shared=True) == b"common"


def test_the_commands_use_the_shared_store_and_import_the_keys_of_a_file(
    tmp_path: Path, postgres: str
) -> None:
    alone = {"GROUNDWIRE_DATA_DIR": str(tmp_path)}
    together = {**alone, "GROUNDWIRE_STORE": postgres}
    assert Bench(env=alone).run("keys", "create", "--name", "old") == 0
    serve = Bench(env=together)
    assert serve.run("serve") == 4
    assert "groundwire keys import" in serve.stderr
    refused = Bench(env=alone)
    assert refused.run("keys", "import") == 2
    importing = Bench(env=together)
    assert importing.run("keys", "import") == 0
    assert "imported 1 key" in importing.stdout
    again = Bench(env=together)
    assert again.run("keys", "import") == 0
    assert "imported 0 keys" in again.stdout
    assert Bench(env=together).run("keys", "create", "--name", "new") == 0
    with open_store(postgres) as store:
        assert sorted(key.name for key in store.api_keys()) == ["new", "old"]
    assert [key.name for key in KeyFile(str(tmp_path)).entries()] == ["old"]
    without_secret = Bench(env=together)
    assert without_secret.run("serve") == 4
    assert SECRET_VARIABLE in without_secret.stderr


@asynccontextmanager
async def gateway(folder: Path, address: str) -> AsyncIterator[aiohttp.ClientSession]:
    """A gateway with a data directory of its own on the shared store."""
    env = {"HOME": str(folder), "GROUNDWIRE_DATA_DIR": str(folder), SECRET_VARIABLE: "common"}
    config = Config(data_dir=str(folder), store=address, order=("local",))
    client = Groundwire(config, env=env)
    app = await asyncio.to_thread(create_service, client, env)
    async with running_server(app) as (url, _), aiohttp.ClientSession(url) as session:
        yield session


async def test_a_second_gateway_on_the_same_store_asks_for_the_same_keys(
    tmp_path: Path, postgres: str
) -> None:
    async def status(session: aiohttp.ClientSession, key: str = "") -> int:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        async with session.get("/v1/models", headers=headers) as response:
            return response.status

    async def becomes(session: aiohttp.ClientSession, key: str, wanted: int) -> None:
        async with asyncio.timeout(SECONDS):
            while await status(session, key) != wanted:
                await asyncio.sleep(0.02)

    async with gateway(tmp_path / "one", postgres) as one, gateway(tmp_path / "two", postgres) as two:
        assert (await status(one), await status(two)) == (200, 200)
        with open_store(postgres) as store:
            key, _ = await asyncio.to_thread(StoredKeys(store).create, "team", 0)
            for session in (one, two):
                await becomes(session, "", 401)
                assert await status(session, key) == 200
            await asyncio.to_thread(StoredKeys(store).revoke, "team", 1)
            for session in (one, two):
                await becomes(session, key, 401)
    async with gateway(tmp_path / "three", postgres) as three:
        assert (await status(three), await status(three, key)) == (401, 401)
