"""Codex CLI's login."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundwire.credentials.lookup import Lookup, explain, find
from groundwire.credentials.secret import Credential, Secret
from tests.credentials.builders import codex_file, jwt, places, write_private

SESSION = (Lookup("codex", "tokens", "oauth"),)
KEY = (Lookup("codex", "", "api"),)


def write(home: Path, body: object) -> Path:
    return write_private(codex_file(home), json.dumps(body))


def test_a_session_is_found_and_ends_when_its_token_does(tmp_path: Path) -> None:
    access = jwt({"exp": 1790000000})
    tokens = {"id_token": "i", "access_token": access, "refresh_token": "r", "account_id": "acc"}
    path = write(tmp_path, {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens})
    assert find(SESSION, places(tmp_path)) == Credential(
        Secret(access),
        "oauth",
        "Codex CLI's auth.json",
        "acc",
        1790000000.0,
        Secret("r"),
        str(path),
        "tokens",
    )
    assert find(KEY, places(tmp_path)) is None


def test_the_account_may_stand_in_the_id_token_alone(tmp_path: Path) -> None:
    id_token = jwt({"https://api.openai.com/auth": {"chatgpt_account_id": "acc"}})
    write(tmp_path, {"tokens": {"access_token": "opaque", "id_token": id_token, "account_id": None}})
    found = find(SESSION, places(tmp_path))
    assert found is not None
    assert (found.account_id, found.expires, found.refresh) == ("acc", None, Secret(""))


def test_a_key_is_found(tmp_path: Path) -> None:
    write(tmp_path, {"OPENAI_API_KEY": "sk-1", "tokens": None})
    found = find(KEY, places(tmp_path))
    assert found is not None
    assert (found.secret, found.kind) == (Secret("sk-1"), "api")
    assert find(SESSION, places(tmp_path)) is None
    (finding,) = explain(SESSION, places(tmp_path))
    assert finding.detail == "has a key, not a session"


def test_the_directory_can_be_moved(tmp_path: Path) -> None:
    write_private(tmp_path / "other" / "auth.json", '{"OPENAI_API_KEY":"sk-1"}')
    assert find(KEY, places(tmp_path, CODEX_HOME=str(tmp_path / "other"))) is not None


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
def test_anything_else_has_nothing_and_says_why(tmp_path: Path, text: str, detail: str) -> None:
    write_private(codex_file(tmp_path), text)
    assert find(SESSION, places(tmp_path)) is None
    (finding,) = explain(SESSION, places(tmp_path))
    assert detail in finding.detail


def test_a_directory_in_the_place_of_the_file_is_explained(tmp_path: Path) -> None:
    codex_file(tmp_path).mkdir(parents=True)
    (finding,) = explain(SESSION, places(tmp_path))
    assert "is not a file" in finding.detail


def test_a_loose_file_is_read_with_a_warning(tmp_path: Path) -> None:
    write(tmp_path, {"OPENAI_API_KEY": "sk-1"}).chmod(0o664)
    found = find(KEY, places(tmp_path))
    assert found is not None
    assert "open to other users (mode 0664)" in found.warnings[0]
