"""Order and results of the credential lookups."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.credentials import lookup as lookup_module
from groundwire.credentials.lookup import CredentialFinder, Lookup, LookupContext, explain, find
from groundwire.credentials.secret import Credential, Secret
from groundwire.credentials.stores import StoreContents
from groundwire.errors import ConfigError
from tests.credentials.builders import lookup_context, write_opencode

GEMINI = (
    Lookup("opencode", "google", "api"),
    Lookup("environment", "GEMINI_API_KEY"),
    Lookup("environment", "GOOGLE_API_KEY"),
    Lookup("own", "gemini"),
    Lookup("codex", ""),
)
CANARY = "AIzaCANARY0123456789"


def test_the_first_lookup_with_a_credential_wins(tmp_path: Path) -> None:
    env = {"GEMINI_API_KEY": "second", "GOOGLE_API_KEY": "third"}
    found = find(GEMINI, lookup_context(tmp_path, **env))
    assert found == Credential(Secret("second"), "api", "environment GEMINI_API_KEY")
    write_opencode(tmp_path, {"google": {"type": "api", "key": "first"}})
    found = find(GEMINI, lookup_context(tmp_path, **env))
    assert found is not None
    assert found.secret == Secret("first")


def test_a_missing_credential_is_not_found(tmp_path: Path) -> None:
    assert find(GEMINI, lookup_context(tmp_path)) is None
    assert find((), lookup_context(tmp_path)) is None


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_a_blank_variable_is_not_set(tmp_path: Path, text: str) -> None:
    assert find((Lookup("environment", "K"),), lookup_context(tmp_path, K=text)) is None


def test_a_key_copied_with_its_line_end_works(tmp_path: Path) -> None:
    found = find((Lookup("environment", "K"),), lookup_context(tmp_path, K="key\r\n"))
    assert found is not None
    assert found.secret == Secret("key")


@pytest.mark.parametrize("text", [f"{CANARY} {CANARY}", f"{CANARY}\nX-Evil: 1", f"“{CANARY}”"])
def test_an_invalid_key_in_a_variable_is_an_error_that_does_not_quote_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="environment K holds characters that no key has; set it") as caught:
        find((Lookup("environment", "K"),), lookup_context(tmp_path, K=text))
    assert CANARY not in str(caught.value)


def test_every_lookup_is_explained_in_order_and_without_secrets(tmp_path: Path) -> None:
    write_opencode(
        tmp_path, {"google": {"type": "oauth", "access": CANARY, "refresh": CANARY, "expires": 5000}}
    )
    findings = explain(
        (*GEMINI, Lookup("opencode", "google", "oauth")), lookup_context(tmp_path, GOOGLE_API_KEY=CANARY)
    )
    assert CANARY not in repr(findings)
    share = tmp_path / ".local" / "share"
    assert [(item.place, item.found, item.detail) for item in findings] == [
        (
            f"OpenCode's auth.json ({share / 'opencode' / 'auth.json'})",
            False,
            "has a session for google, not a key",
        ),
        ("environment GEMINI_API_KEY", False, "not set"),
        ("environment GOOGLE_API_KEY", True, "a key"),
        (
            f"groundwire's credentials file ({tmp_path / '.config' / 'groundwire' / 'credentials.toml'})",
            False,
            "no such file",
        ),
        (f"Codex CLI's auth.json ({tmp_path / '.codex' / 'auth.json'})", False, "no such file"),
        ("OpenCode's auth.json (google)", True, "a session"),
    ]
    assert [(item.kind, item.expires) for item in findings[-1:]] == [("oauth", 5.0)]


def test_in_a_snapshot_a_store_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    original = lookup_module._READERS["own"]

    def reader(context: LookupContext) -> StoreContents:
        read.append("own")
        return original(context)

    monkeypatch.setattr(lookup_module, "_READERS", {**lookup_module._READERS, "own": reader})
    finder = CredentialFinder(LookupContext({}, str(tmp_path), str(tmp_path)))
    names = [Lookup("own", "a")], [Lookup("own", "b")]
    snapshot = finder.snapshot()
    for _ in range(2):
        with finder.using(snapshot):
            assert [finder.find(lookups) for lookups in names] == [None, None]
    assert read == ["own"]
    assert [finder.find(lookups) for lookups in names] == [None, None]
    assert read == ["own"] * 3
