"""OpenCode's credentials."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundwire.credentials.lookup import Lookup, defined_variables, explain, find
from groundwire.credentials.opencode import read_opencode
from groundwire.credentials.secret import Credential, Secret
from tests.credentials.builders import jwt, opencode_file, places, write_opencode, write_private

OAUTH = {"type": "oauth", "refresh": "r-1", "access": "a-1", "expires": 1790000000123}


def test_a_key_is_found(tmp_path: Path) -> None:
    path = write_opencode(tmp_path, {"google": {"type": "api", "key": "g-1", "metadata": {"a": "b"}}})
    assert find((Lookup("opencode", "google", "api"),), places(tmp_path)) == Credential(
        Secret("g-1"), "api", "OpenCode's auth.json (google)", store=str(path), entry="google"
    )


def test_a_session_is_found_and_its_end_is_in_milliseconds(tmp_path: Path) -> None:
    path = write_opencode(tmp_path, {"openai": {**OAUTH, "accountId": "acc", "enterpriseUrl": "x", "new": 1}})
    assert find((Lookup("opencode", "openai", "oauth"),), places(tmp_path)) == Credential(
        Secret("a-1"),
        "oauth",
        "OpenCode's auth.json (openai)",
        "acc",
        1790000000.123,
        Secret("r-1"),
        str(path),
        "openai",
    )


def test_the_account_is_read_from_the_token_when_the_record_does_not_tell(tmp_path: Path) -> None:
    access = jwt({"https://api.openai.com/auth": {"chatgpt_account_id": "acc"}})
    write_opencode(tmp_path, {"openai": {**OAUTH, "access": access}})
    found = find((Lookup("opencode", "openai", "oauth"),), places(tmp_path))
    assert found is not None
    assert found.account_id == "acc"


def test_a_lookup_takes_only_the_kind_it_asks_for(tmp_path: Path) -> None:
    write_opencode(tmp_path, {"openai": OAUTH})
    assert find((Lookup("opencode", "openai", "api"),), places(tmp_path)) is None
    assert find((Lookup("opencode", "openai"),), places(tmp_path)) is not None
    (finding,) = explain((Lookup("opencode", "openai", "api"),), places(tmp_path))
    assert finding.detail == "has a session for openai, not a key"


def test_trailing_slashes_of_ids_do_not_count(tmp_path: Path) -> None:
    write_opencode(tmp_path, {"openai///": OAUTH})
    found = find((Lookup("opencode", "openai"),), places(tmp_path))
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


def test_invalid_records_are_passed_over_and_counted(tmp_path: Path) -> None:
    records = {f"bad{index}": record for index, record in enumerate(INVALID)}
    write_opencode(tmp_path, {**records, "google": {"type": "api", "key": "g-1"}})
    shelf = read_opencode(places(tmp_path))
    assert list(shelf.credentials) == ["google"]
    assert shelf.dropped == len(INVALID)
    (finding,) = explain((Lookup("opencode", "x"),), places(tmp_path))
    assert finding.detail == f"has nothing for x; {len(INVALID)} invalid records were passed over"


def test_a_wellknown_record_defines_a_variable_unless_the_environment_does(tmp_path: Path) -> None:
    write_opencode(tmp_path, {"https://corp.example/": {"type": "wellknown", "key": "CORP", "token": "t-1"}})
    lookups = (Lookup("environment", "CORP"),)
    found = find(lookups, places(tmp_path))
    assert found is not None
    assert (found.secret, found.kind) == (Secret("t-1"), "api")
    assert found.origin == "OpenCode's auth.json (https://corp.example/, as CORP)"
    own = find(lookups, places(tmp_path, CORP="mine"))
    assert own is not None
    assert own.origin == "environment CORP"
    assert [*defined_variables(places(tmp_path))] == ["CORP"]
    assert defined_variables(places(tmp_path, CORP="mine")) == {}


def test_the_data_directory_can_be_moved(tmp_path: Path) -> None:
    write_private(tmp_path / "data" / "opencode" / "auth.json", '{"x":{"type":"api","key":"k"}}')
    assert find((Lookup("opencode", "x"),), places(tmp_path)) is None
    moved = places(tmp_path, XDG_DATA_HOME=str(tmp_path / "data"))
    assert find((Lookup("opencode", "x"),), moved) is not None


def test_inline_content_replaces_the_file_and_has_no_store(tmp_path: Path) -> None:
    write_opencode(tmp_path, {"google": {"type": "api", "key": "file"}, "x": {"type": "api", "key": "file"}})
    inline = json.dumps({"google": {"type": "api", "key": "inline"}})
    where = places(tmp_path, OPENCODE_AUTH_CONTENT=inline)
    found = find((Lookup("opencode", "google"),), where)
    assert found == Credential(
        Secret("inline"), "api", "environment OPENCODE_AUTH_CONTENT (google)", entry="google"
    )
    assert find((Lookup("opencode", "x"),), where) is None


def test_inline_content_that_is_no_json_leaves_the_file_with_a_warning(tmp_path: Path) -> None:
    write_opencode(tmp_path, {"google": {"type": "api", "key": "file"}})
    where = places(tmp_path, OPENCODE_AUTH_CONTENT="{canary")
    assert find((Lookup("opencode", "google"),), where) is not None
    (finding,) = explain((Lookup("opencode", "google"),), where)
    assert finding.warnings == (
        "OPENCODE_AUTH_CONTENT is not a JSON object; OpenCode's file is used instead",
    )


@pytest.mark.parametrize("text", ["", "[]", "{", '{"google":'])
def test_a_broken_file_has_nothing_and_says_why(tmp_path: Path, text: str) -> None:
    write_private(opencode_file(tmp_path), text)
    assert find((Lookup("opencode", "google"),), places(tmp_path)) is None
    (finding,) = explain((Lookup("opencode", "google"),), places(tmp_path))
    assert "is not a JSON object" in finding.detail


def test_a_directory_in_the_place_of_the_file_is_passed_over(tmp_path: Path) -> None:
    opencode_file(tmp_path).mkdir(parents=True)
    assert find((Lookup("opencode", "google"),), places(tmp_path)) is None


def test_a_loose_or_linked_file_is_read_with_a_warning(tmp_path: Path) -> None:
    path = write_opencode(tmp_path, {"google": {"type": "api", "key": "g-1"}})
    path.rename(tmp_path / "real.json")
    path.symlink_to(tmp_path / "real.json")
    (tmp_path / "real.json").chmod(0o644)
    found = find((Lookup("opencode", "google"),), places(tmp_path))
    assert found is not None
    assert found.store == str(tmp_path / "real.json")
    should = "it should be a file of its own that only you can read"
    assert found.warnings == (
        f"OpenCode's auth.json ({tmp_path / 'real.json'}) is a symbolic link; {should}",
        f"OpenCode's auth.json ({tmp_path / 'real.json'}) is open to other users (mode 0644); {should}",
    )
