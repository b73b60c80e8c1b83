"""API keys: on disk and on the command line."""

from __future__ import annotations

import json
import os
import re
import stat
import threading
from pathlib import Path

import pytest

from groundwire.errors import ConfigError
from groundwire.model.access import KeyRights, KeyScope
from groundwire.model.value import replace
from groundwire.server.keys import KeyFile, Keyring, load_secret
from tests.faces.fakes import Bench


def test_a_key_is_long_and_its_file_contains_only_its_fingerprint(tmp_path: Path) -> None:
    file = KeyFile(str(tmp_path / "new"))
    before = os.umask(0)
    try:
        shown, made = file.create("laptop", 1_800_000_000)
        load_secret(str(tmp_path / "new"), {})
    finally:
        os.umask(before)
    assert re.fullmatch(r"sk-gw-[\w-]{43}", shown)
    text = file.path.read_text()
    assert not any(shown[at : at + 8] in text for at in range(6, len(shown) - 8))
    assert made.fingerprint in text
    assert len(made.fingerprint) == 64
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in [file.path.parent, *file.path.parent.iterdir()]
    }
    assert modes == {"new": 0o700, "keys.json": 0o600, "keys.json.lock": 0o600, "gateway.secret": 0o600}


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o666, 0o644])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = KeyFile(str(tmp_path))
    file.create("a", 0)
    file.path.chmod(mode)
    with pytest.raises(ConfigError, match="open to other users"):
        file.entries()
    load_secret(str(tmp_path), {})
    (tmp_path / "gateway.secret").chmod(mode)
    with pytest.raises(ConfigError, match="accessible to other users"):
        load_secret(str(tmp_path), {})


def test_a_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    real, linked = tmp_path / "real", tmp_path / "linked"
    KeyFile(str(real)).create("a", 0)
    load_secret(str(real), {})
    linked.mkdir()
    for name in ("keys.json", "gateway.secret"):
        (linked / name).symlink_to(real / name)
    with pytest.raises(ConfigError, match="symbolic link"):
        KeyFile(str(linked)).entries()
    with pytest.raises(ConfigError, match="cannot be used"):
        load_secret(str(linked), {})


def test_a_world_writable_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(ConfigError, match="writable by other users"):
        KeyFile(str(tmp_path)).create("a", 0)
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version":2}', '{"version":1,"keys":[{"id":1}]}'])
def test_a_file_in_another_format_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ConfigError):
        KeyFile(str(tmp_path)).entries()
    assert Keyring(KeyFile(str(tmp_path)))().valid == frozenset()


def test_a_damaged_secret_is_refused_and_concurrent_processes_create_one_secret(tmp_path: Path) -> None:
    found: list[bytes] = []
    makers = [threading.Thread(target=lambda: found.append(load_secret(str(tmp_path), {}))) for _ in range(8)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join(10)
    assert len(found) == 8
    assert len(set(found)) == 1
    assert len(found[0]) == 32
    (tmp_path / "gateway.secret").write_bytes(b"")
    with pytest.raises(ConfigError, match="damaged"):
        load_secret(str(tmp_path), {})


def test_keys_created_concurrently_are_all_kept(tmp_path: Path) -> None:
    makers = [threading.Thread(target=KeyFile(str(tmp_path)).create, args=(f"key {n}", 0)) for n in range(16)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join(10)
    assert sorted(key.name for key in KeyFile(str(tmp_path)).entries()) == sorted(
        f"key {n}" for n in range(16)
    )


def test_the_key_ring_follows_the_file(tmp_path: Path) -> None:
    file = KeyFile(str(tmp_path))
    ring = Keyring(file)
    assert ring().valid is None
    _, one = file.create("one", 0)
    _, two = file.create("two", 0)
    assert ring().valid == frozenset((one.fingerprint, two.fingerprint))
    assert [key.id for key in file.revoke("one", 1)] == [one.id]
    assert ring().valid == frozenset((two.fingerprint,))
    assert file.revoke("one", 2) == ()
    file.revoke(two.id, 3)
    assert ring().valid == frozenset()
    file.path.unlink()
    assert ring().valid is None


def test_a_key_with_rights_is_kept_in_the_file_and_refused_by_earlier_versions(tmp_path: Path) -> None:
    file = KeyFile(str(tmp_path))
    rights = KeyRights("admin", "acme", scope=KeyScope(providers=("gemini",)))
    _, made = file.create("ci", 0, rights)
    _, plain = file.create("plain", 0)
    assert file.entries() == (made, plain)
    assert Keyring(file)().scopes == {made.fingerprint: rights.scope}
    stored = json.loads(file.path.read_text())["keys"]
    # An earlier version reads these fields only.
    assert [(key["name"], bool(key["revoked"])) for key in stored] == [("ci", True), ("plain", False)]
    changed = file.change(made.id, lambda key: replace(key, rights=KeyRights(owner="acme")))
    assert changed is not None
    assert file.entries() == (changed, plain)
    assert file.change("key_0", lambda key: key) is None


def test_a_key_with_rights_that_cannot_be_read_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = KeyFile(str(tmp_path))
    file.create("ci", 0, KeyRights("admin"))
    _, plain = file.create("plain", 0)
    file.path.write_text(file.path.read_text().replace('"role":"admin"', '"newer":"restriction"'))
    assert Keyring(file)().valid == frozenset({plain.fingerprint})
    assert "is refused" in caplog.text


def _bench(folder: Path) -> Bench:
    return Bench(env={"GROUNDWIRE_DATA_DIR": str(folder)})


def test_the_command_shows_a_key_once_lists_and_revokes_it(tmp_path: Path) -> None:
    bench = _bench(tmp_path)
    assert bench.run("keys", "create", "--name", "laptop") == 0
    shown = bench.stdout.strip()
    assert shown.startswith("sk-gw-")
    assert "only time" in bench.stderr
    bench = _bench(tmp_path)
    assert bench.run("keys", "list") == 0
    assert "laptop" in bench.stdout
    assert shown[6:14] not in bench.stdout
    assert _bench(tmp_path).run("keys", "revoke", "desktop") == 3
    bench = _bench(tmp_path)
    assert bench.run("keys", "revoke", "laptop") == 0
    assert "No key is left" in bench.stderr
    bench = _bench(tmp_path)
    assert bench.run("keys", "list", "--json") == 0
    listed = json.loads(bench.stdout)["keys"]
    assert [(key["name"], bool(key["revoked"])) for key in listed] == [("laptop", True)]
    assert "sha256" not in listed[0]


@pytest.mark.parametrize(
    "arguments",
    [("revoke",), ("list", "x"), ("create", "x"), ("list", "--name", "x"), ("create", "--name", "x" * 101)],
)
def test_the_command_refuses_contradicting_options(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert _bench(tmp_path).run("keys", *arguments) == 2
