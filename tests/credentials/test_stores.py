"""Credential stores: our own file, OpenCode's and Codex CLI's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundwire.credentials.lookup import Lookup, defined_variables, explain, find
from groundwire.credentials.secret import Credential, Secret
from groundwire.credentials.stores import read_opencode
from groundwire.errors import ConfigError
from tests.credentials.builders import (
    codex_file,
    jwt,
    lookup_context,
    opencode_file,
    write_opencode,
    write_private,
)

GEMINI = (Lookup("own", "gemini"),)


def write_own(home: Path, text: str) -> Path:
    return write_private(home / ".config" / "groundwire" / "credentials.toml", text)


def test_a_key_is_found_under_its_provider(tmp_path: Path) -> None:
    write_own(tmp_path, '[providers.gemini]\nkey = "g-1"\n[providers.openai]\nkey = "o-1"\n')
    assert find(GEMINI, lookup_context(tmp_path)) == Credential(
        Secret("g-1"), "api", "groundwire's credentials file", entry="gemini"
    )
    assert find((Lookup("own", "exa"),), lookup_context(tmp_path)) is None


def test_without_the_file_nothing_is_found(tmp_path: Path) -> None:
    assert find(GEMINI, lookup_context(tmp_path)) is None


@pytest.mark.parametrize("mode", [0o640, 0o644, 0o602])
def test_a_file_that_others_can_open_is_refused(tmp_path: Path, mode: int) -> None:
    path = write_own(tmp_path, '[providers.gemini]\nkey = "g-1-canary-key"\n')
    path.chmod(mode)
    with pytest.raises(ConfigError, match="open to other users") as caught:
        find(GEMINI, lookup_context(tmp_path))
    assert f"chmod 600 {path}" in caught.value.message
    assert "g-1-canary-key" not in caught.value.message


def test_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    path = write_own(tmp_path, '[providers.gemini]\nkey = "g-1"\n')
    path.rename(tmp_path / "elsewhere.toml")
    path.symlink_to(tmp_path / "elsewhere.toml")
    with pytest.raises(ConfigError, match="symbolic link"):
        find(GEMINI, lookup_context(tmp_path))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[providers.gemini]\nkey = "canary-secret\n', r"line 2, column"),
        ("providers = 3\n", "must be a table"),
        ("[providers]\ngemini = 3\n", r"\[providers.gemini\] needs"),
        ("[providers.gemini]\nkey = 3\n", r"\[providers.gemini\] needs"),
        ('[providers.gemini]\nkey = "canary-secret with blanks"\n', r"\[providers.gemini\] needs"),
    ],
)
def test_a_broken_file_is_reported_with_its_position_and_without_its_secrets(
    tmp_path: Path, text: str, reason: str
) -> None:
    path = write_own(tmp_path, text)
    with pytest.raises(ConfigError, match=reason) as caught:
        find(GEMINI, lookup_context(tmp_path))
    assert str(path) in caught.value.message
    assert "canary" not in caught.value.message


def test_a_refused_file_is_explained_without_raising(tmp_path: Path) -> None:
    write_own(tmp_path, "").chmod(0o644)
    (finding,) = explain(GEMINI, lookup_context(tmp_path))
    assert not finding.found
    assert "chmod 600" in finding.detail


def test_an_earlier_lookup_with_a_key_skips_the_file(tmp_path: Path) -> None:
    write_own(tmp_path, "").chmod(0o644)
    lookups = (Lookup("environment", "K"), *GEMINI)
    found = find(lookups, lookup_context(tmp_path, K="k-1"))
    assert found is not None
    assert found.origin == "environment K"


OAUTH = {"type": "oauth", "refresh": "r-1", "access": "a-1", "expires": 1790000000123}


def test_a_key_of_opencode_is_found(tmp_path: Path) -> None:
    path = write_opencode(tmp_path, {"google": {"type": "api", "key": "g-1", "metadata": {"a": "b"}}})
    assert find((Lookup("opencode", "google", "api"),), lookup_context(tmp_path)) == Credential(
        Secret("g-1"), "api", "OpenCode's auth.json (google)", store=str(path), entry="google"
    )


def test_a_session_is_found_and_its_expiry_is_in_milliseconds(tmp_path: Path) -> None:
    path = write_opencode(tmp_path, {"openai": {**OAUTH, "accountId": "acc", "enterpriseUrl": "x", "new": 1}})
    assert find((Lookup("opencode", "openai", "oauth"),), lookup_context(tmp_path)) == Credential(
        Secret("a-1"),
        "oauth",
        "OpenCode's auth.json (openai)",
        "acc",
        1790000000.123,
        Secret("r-1"),
        str(path),
        "openai",
    )


def test_the_account_is_read_from_the_token_when_the_record_has_none(tmp_path: Path) -> None:
    access = jwt({"https://api.openai.com/auth": {"chatgpt_account_id": "acc"}})
    write_opencode(tmp_path, {"openai": {**OAUTH, "access": access}})
    found = find((Lookup("opencode", "openai", "oauth"),), lookup_context(tmp_path))
    assert found is not None
    assert found.account_id == "acc"


def test_a_lookup_takes_only_its_kind_of_credential(tmp_path: Path) -> None:
    write_opencode(tmp_path, {"openai": OAUTH})
    assert find((Lookup("opencode", "openai", "api"),), lookup_context(tmp_path)) is None
    assert find((Lookup("opencode", "openai"),), lookup_context(tmp_path)) is not None
    (finding,) = explain((Lookup("opencode", "openai", "api"),), lookup_context(tmp_path))
    assert finding.detail == "has a session for openai, not a key"


def test_trailing_slashes_of_ids_do_not_count(tmp_path: Path) -> None:
    write_opencode(tmp_path, {"openai///": OAUTH})
    found = find((Lookup("opencode", "openai"),), lookup_context(tmp_path))
    assert found is not None
    assert found.entry == "openai///"


INVALID: list[object] = [
    None,
    "text",
    [],
    {},
    {"type": "other", "key": "k"},
    {"type": ["api"], "key": "k"},
    {"type": "api"},
    {"type": "api", "key": 3},
    {"type": "api", "key": ""},
    {"type": "api", "key": "two words"},
    {"type": "api", "key": "k", "metadata": {"a": 1}},
    {"type": "api", "key": "k", "metadata": 3},
    {**OAUTH, "expires": -1},
    {**OAUTH, "expires": 1.5},
    {**OAUTH, "expires": "1"},
    {**OAUTH, "expires": True},
    {**OAUTH, "accountId": 3},
    {**OAUTH, "enterpriseUrl": None},
    {"type": "oauth", "expires": 1},
    {"type": "wellknown", "key": "K"},
    {"type": "wellknown", "key": "", "token": "t"},
    {"type": "wellknown", "token": "t"},
]


def test_invalid_records_are_skipped_and_counted(tmp_path: Path) -> None:
    records = {f"bad{index}": record for index, record in enumerate(INVALID)}
    write_opencode(tmp_path, {**records, "google": {"type": "api", "key": "g-1"}})
    store = read_opencode(lookup_context(tmp_path))
    assert list(store.credentials) == ["google"]
    assert store.dropped == len(INVALID)
    (finding,) = explain((Lookup("opencode", "x"),), lookup_context(tmp_path))
    assert finding.detail == f"has nothing for x; {len(INVALID)} invalid records were skipped"


def test_a_wellknown_record_defines_a_variable_unless_the_environment_does(tmp_path: Path) -> None:
    write_opencode(tmp_path, {"https://corp.example/": {"type": "wellknown", "key": "CORP", "token": "t-1"}})
    lookups = (Lookup("environment", "CORP"),)
    found = find(lookups, lookup_context(tmp_path))
    assert found is not None
    assert (found.secret, found.kind) == (Secret("t-1"), "api")
    assert found.origin == "OpenCode's auth.json (https://corp.example/, as CORP)"
    own = find(lookups, lookup_context(tmp_path, CORP="mine"))
    assert own is not None
    assert own.origin == "environment CORP"
    assert [*defined_variables(lookup_context(tmp_path))] == ["CORP"]
    assert defined_variables(lookup_context(tmp_path, CORP="mine")) == {}


def test_the_data_directory_can_be_moved(tmp_path: Path) -> None:
    write_private(tmp_path / "data" / "opencode" / "auth.json", '{"x":{"type":"api","key":"k"}}')
    assert find((Lookup("opencode", "x"),), lookup_context(tmp_path)) is None
    moved = lookup_context(tmp_path, XDG_DATA_HOME=str(tmp_path / "data"))
    assert find((Lookup("opencode", "x"),), moved) is not None


def test_inline_content_replaces_the_file_and_has_no_store(tmp_path: Path) -> None:
    write_opencode(tmp_path, {"google": {"type": "api", "key": "file"}, "x": {"type": "api", "key": "file"}})
    inline = json.dumps({"google": {"type": "api", "key": "inline"}})
    where = lookup_context(tmp_path, OPENCODE_AUTH_CONTENT=inline)
    found = find((Lookup("opencode", "google"),), where)
    assert found == Credential(
        Secret("inline"), "api", "environment OPENCODE_AUTH_CONTENT (google)", entry="google"
    )
    assert find((Lookup("opencode", "x"),), where) is None


def test_inline_content_that_is_not_json_is_a_warning_and_the_file_is_used(tmp_path: Path) -> None:
    write_opencode(tmp_path, {"google": {"type": "api", "key": "file"}})
    where = lookup_context(tmp_path, OPENCODE_AUTH_CONTENT="{canary")
    assert find((Lookup("opencode", "google"),), where) is not None
    (finding,) = explain((Lookup("opencode", "google"),), where)
    assert finding.warnings == (
        "OPENCODE_AUTH_CONTENT is not a JSON object; OpenCode's file is used instead",
    )


@pytest.mark.parametrize("text", ["", "[]", "{", '{"google":'])
def test_a_broken_file_has_no_credentials_and_a_reason(tmp_path: Path, text: str) -> None:
    write_private(opencode_file(tmp_path), text)
    assert find((Lookup("opencode", "google"),), lookup_context(tmp_path)) is None
    (finding,) = explain((Lookup("opencode", "google"),), lookup_context(tmp_path))
    assert "is not a JSON object" in finding.detail


def test_a_directory_instead_of_the_file_is_skipped(tmp_path: Path) -> None:
    opencode_file(tmp_path).mkdir(parents=True)
    assert find((Lookup("opencode", "google"),), lookup_context(tmp_path)) is None


def test_a_loose_or_linked_file_is_read_with_a_warning(tmp_path: Path) -> None:
    path = write_opencode(tmp_path, {"google": {"type": "api", "key": "g-1"}})
    path.rename(tmp_path / "real.json")
    path.symlink_to(tmp_path / "real.json")
    (tmp_path / "real.json").chmod(0o644)
    found = find((Lookup("opencode", "google"),), lookup_context(tmp_path))
    assert found is not None
    assert found.store == str(tmp_path / "real.json")
    should = "it should be a file of its own that only you can read"
    assert found.warnings == (
        f"OpenCode's auth.json ({tmp_path / 'real.json'}) is a symbolic link; {should}",
        f"OpenCode's auth.json ({tmp_path / 'real.json'}) is open to other users (mode 0644); {should}",
    )


SESSION = (Lookup("codex", "tokens", "oauth"),)
KEY = (Lookup("codex", "", "api"),)


def write_codex(home: Path, body: object) -> Path:
    return write_private(codex_file(home), json.dumps(body))


def test_a_session_expires_with_its_token(tmp_path: Path) -> None:
    access = jwt({"exp": 1790000000})
    tokens = {"id_token": "i", "access_token": access, "refresh_token": "r", "account_id": "acc"}
    path = write_codex(tmp_path, {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens})
    assert find(SESSION, lookup_context(tmp_path)) == Credential(
        Secret(access),
        "oauth",
        "Codex CLI's auth.json",
        "acc",
        1790000000.0,
        Secret("r"),
        str(path),
        "tokens",
    )
    assert find(KEY, lookup_context(tmp_path)) is None


def test_the_account_may_be_in_the_id_token_alone(tmp_path: Path) -> None:
    id_token = jwt({"https://api.openai.com/auth": {"chatgpt_account_id": "acc"}})
    write_codex(tmp_path, {"tokens": {"access_token": "opaque", "id_token": id_token, "account_id": None}})
    found = find(SESSION, lookup_context(tmp_path))
    assert found is not None
    assert (found.account_id, found.expires, found.refresh) == ("acc", None, Secret(""))


def test_a_key_of_codex_is_found(tmp_path: Path) -> None:
    write_codex(tmp_path, {"OPENAI_API_KEY": "sk-1", "tokens": None})
    found = find(KEY, lookup_context(tmp_path))
    assert found is not None
    assert (found.secret, found.kind) == (Secret("sk-1"), "api")
    assert find(SESSION, lookup_context(tmp_path)) is None
    (finding,) = explain(SESSION, lookup_context(tmp_path))
    assert finding.detail == "has a key, not a session"


def test_the_directory_can_be_moved(tmp_path: Path) -> None:
    write_private(tmp_path / "other" / "auth.json", '{"OPENAI_API_KEY":"sk-1"}')
    assert find(KEY, lookup_context(tmp_path, CODEX_HOME=str(tmp_path / "other"))) is not None


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("{", "is not a JSON object"),
        ("[]", "is not a JSON object"),
        ("{}", "has nothing"),
        ('{"tokens":[]}', "has nothing"),
        ('{"tokens":{"access_token":7}}', "has nothing"),
        ('{"OPENAI_API_KEY":"two words"}', "has nothing"),
    ],
)
def test_anything_else_has_no_credentials_and_a_reason(tmp_path: Path, text: str, detail: str) -> None:
    write_private(codex_file(tmp_path), text)
    assert find(SESSION, lookup_context(tmp_path)) is None
    (finding,) = explain(SESSION, lookup_context(tmp_path))
    assert detail in finding.detail


def test_a_directory_instead_of_the_file_is_explained(tmp_path: Path) -> None:
    codex_file(tmp_path).mkdir(parents=True)
    (finding,) = explain(SESSION, lookup_context(tmp_path))
    assert "is not a file" in finding.detail


def test_a_loose_file_is_read_with_a_warning(tmp_path: Path) -> None:
    write_codex(tmp_path, {"OPENAI_API_KEY": "sk-1"}).chmod(0o664)
    found = find(KEY, lookup_context(tmp_path))
    assert found is not None
    assert "open to other users (mode 0664)" in found.warnings[0]
