"""Our own credentials file."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.credentials.lookup import Lookup, explain, find
from groundwire.credentials.secret import Credential, Secret
from groundwire.errors import ConfigError
from tests.credentials.builders import places, write_private

GEMINI = (Lookup("own", "gemini"),)


def write(home: Path, text: str) -> Path:
    return write_private(home / ".config" / "groundwire" / "credentials.toml", text)


def test_a_key_is_found_under_its_provider(tmp_path: Path) -> None:
    write(tmp_path, '[providers.gemini]\nkey = "g-1"\n[providers.openai]\nkey = "o-1"\n')
    assert find(GEMINI, places(tmp_path)) == Credential(
        Secret("g-1"), "api", "groundwire's credentials file", entry="gemini"
    )
    assert find((Lookup("own", "exa"),), places(tmp_path)) is None


def test_without_the_file_nothing_is_found(tmp_path: Path) -> None:
    assert find(GEMINI, places(tmp_path)) is None


@pytest.mark.parametrize("mode", [0o640, 0o644, 0o602])
def test_a_file_that_others_can_open_is_refused(tmp_path: Path, mode: int) -> None:
    path = write(tmp_path, '[providers.gemini]\nkey = "g-1-canary-key"\n')
    path.chmod(mode)
    with pytest.raises(ConfigError, match="open to other users") as caught:
        find(GEMINI, places(tmp_path))
    assert f"chmod 600 {path}" in caught.value.message
    assert "g-1-canary-key" not in caught.value.message


def test_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, '[providers.gemini]\nkey = "g-1"\n')
    path.rename(tmp_path / "elsewhere.toml")
    path.symlink_to(tmp_path / "elsewhere.toml")
    with pytest.raises(ConfigError, match="symbolic link"):
        find(GEMINI, places(tmp_path))


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
def test_a_broken_file_is_told_with_its_place_and_without_its_secrets(
    tmp_path: Path, text: str, reason: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError, match=reason) as caught:
        find(GEMINI, places(tmp_path))
    assert str(path) in caught.value.message
    assert "canary" not in caught.value.message


def test_a_refused_file_is_explained_without_raising(tmp_path: Path) -> None:
    write(tmp_path, "").chmod(0o644)
    (finding,) = explain(GEMINI, places(tmp_path))
    assert not finding.found
    assert "chmod 600" in finding.detail


def test_an_earlier_place_that_has_a_key_spares_the_file(tmp_path: Path) -> None:
    write(tmp_path, "").chmod(0o644)
    lookups = (Lookup("environment", "K"), *GEMINI)
    found = find(lookups, places(tmp_path, K="k-1"))
    assert found is not None
    assert found.origin == "environment K"
