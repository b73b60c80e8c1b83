"""`groundwire keys`: rights of keys on the command line, and the audit log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from groundwire.faces.cli.arguments import UsageError
from groundwire.server.keys import KeyFile
from tests.faces.fakes import Bench


def bench(folder: Path) -> Bench:
    return Bench(env={"GROUNDWIRE_DATA_DIR": str(folder)})


def run(folder: Path, *words: str) -> Any:
    """Run an action with `--json`; returns its result."""
    here = bench(folder)
    assert here.run("keys", *words, "--json") == 0, here.stderr
    return json.loads(here.stdout)


def test_a_key_is_created_with_all_rights_and_changed(tmp_path: Path) -> None:
    made = run(
        tmp_path,
        *("create", "--name", "ci", "--role", "admin", "--owner", "acme", "--expires", "30d"),
        *("--route", "messages,search", "--route", "models", "--provider", "gemini", "--model", "gemini-*"),
        *("--allow", "a.example", "b.example/docs", "--no-search", "--requests-per-minute", "60"),
        *("--tokens-per-minute", "1000", "--usd-per-day", "2.50", "--usd-per-month", "50"),
    )
    rights = {name: made[name] for name in made if name not in ("version", "key", "id", "created")}
    assert rights == {
        "name": "ci",
        "revoked": "",
        "role": "admin",
        "owner": "acme",
        "expires": "2027-02-14T08:00:00Z",
        "routes": ["messages", "search", "models"],
        "providers": ["gemini"],
        "models": ["gemini-*"],
        "allowed_domains": ["a.example", "b.example/docs"],
        "may_search": False,
        "requests_per_minute": 60,
        "tokens_per_minute": 1000,
        "usd_per_day": "2.50",
        "created_by": "",
        "usd_per_month": "50",
    }
    listed = bench(tmp_path)
    assert listed.run("keys", "list") == 0
    for text in ("acme", "admin", "until 2027-02-14", "models=gemini-*", "usd_per_day=2.50"):
        assert text in listed.stdout
    changed = run(
        tmp_path,
        *("change", made["id"], "--usd-per-day", "5", "--usd-per-month", "none", "--model", "any"),
        *("--search", "--expires", "never"),
    )
    assert changed["usd_per_day"] == "5"
    assert (changed["usd_per_month"], changed["models"], changed["expires"]) == (None, [], "")
    assert (changed["may_search"], changed["providers"]) == (True, ["gemini"])
    log = run(tmp_path, "log")["log"]
    assert [entry["action"] for entry in log] == ["key_changed", "key_created"]
    assert made["key"] not in json.dumps(log)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("create", "--provider", "gemni"), "--provider: unknown 'gemni'; did you mean gemini"),
        (("create", "--route", "mesages"), "--route: unknown 'mesages'; did you mean messages"),
        (("create", "--allow", "https://a.example"), "--allow"),
        (("create", "--expires", "yesterday"), "--expires: 'yesterday' is not a time"),
        (("create", "--expires", "2020-01-01"), "--expires: 2020-01-01 is in the past"),
        (("create", "--usd-per-day", "-3"), "usd-per-day"),
        (("create", "--usd-per-day", "much"), "--usd-per-day: expected an amount"),
        (("create", "--requests-per-minute", "0"), "requests-per-minute"),
        (("create", "--role", "king"), "--role"),
        (("create", "--owner", "a b"), "--owner: use up to 64"),
        (("create", "--name", "key_0a1b2c3d"), "looks like the id"),
        (("list", "--provider", "gemini"), "--provider cannot be used with `keys list`"),
        (("revoke", "x", "--no-search"), "--no-search cannot be used with `keys revoke`"),
        (("change", "key_1"), "needs something to change"),
        (("change", "--usd-per-day", "5"), "needs the id"),
        (("change", "key_1", "--owner", "acme"), "--owner cannot be used with"),
        (("log", "x"), "cannot be used with `keys log`"),
        (("create", "laptop"), "the name of a new key is an option: `keys create --name laptop`"),
        (("list", "--keep-children"), "--keep-children cannot be used with `keys list`"),
    ],
)
def test_nonsense_is_a_usage_error(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    here = bench(tmp_path)
    try:
        assert here.run("keys", *words) == 2
        text = here.stderr
    except UsageError as error:
        text = error.message
    assert message in text
    assert KeyFile(str(tmp_path)).entries() == ()


def test_changing_a_key_that_does_not_exist_finds_nothing(tmp_path: Path) -> None:
    here = bench(tmp_path)
    assert here.run("keys", "change", "key_1", "--usd-per-day", "5") == 3
    assert "there is no valid key called key_1" in here.stderr


def test_a_key_is_changed_by_its_name_only_if_that_names_one_key(tmp_path: Path) -> None:
    ids = [run(tmp_path, "create", "--name", "ci")["id"] for _ in range(2)]
    here = bench(tmp_path)
    assert here.run("keys", "change", "ci", "--no-search") == 2
    assert "2 keys are called ci" in here.stderr
    assert bench(tmp_path).run("keys", "revoke", ids[0]) == 0
    assert run(tmp_path, "change", "ci", "--no-search")["id"] == ids[1]


def test_an_expired_key_is_listed_as_expired(tmp_path: Path) -> None:
    made = run(tmp_path, "create", "--expires", "1h")
    here = bench(tmp_path)
    here.console.clock = lambda: 1_800_004_000.0
    assert here.run("keys", "list") == 0
    assert f"expired {made['expires']}" in here.stdout


def test_keys_can_be_managed_while_the_store_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "groundwire.db").write_text("no database " * 100)
    here = bench(tmp_path)
    assert here.run("keys", "create", "--name", "a") == 0
    assert "the audit log cannot be written" in here.stderr
    here = bench(tmp_path)
    assert here.run("keys", "revoke", "a") == 0
