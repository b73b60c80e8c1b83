"""Directories: the same as platformdirs, but computed from arguments."""

from __future__ import annotations

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from groundwire.config.paths import config_dir, data_dir, opencode_config_dir, resolved

HOME = "/home/someone"


@pytest.mark.parametrize("xdg", [None, "", "/elsewhere"])
@pytest.mark.parametrize(("platform", "oracle"), [("linux", Unix), ("darwin", MacOS)])
def test_directories_are_those_of_platformdirs(
    monkeypatch: pytest.MonkeyPatch, platform: str, oracle: type[Unix] | type[MacOS], xdg: str | None
) -> None:
    monkeypatch.setenv("HOME", HOME)
    env = {}
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
        if xdg is not None:
            monkeypatch.setenv(name, xdg)
            env[name] = xdg
    expected = oracle("groundwire", appauthor=False)
    assert config_dir(env, HOME, platform) == expected.user_config_dir
    assert data_dir(env, HOME, platform) == expected.user_data_dir


def test_directories_on_windows_are_in_local_application_data() -> None:
    env = {"LOCALAPPDATA": "/local"}
    assert config_dir(env, HOME, "win32") == data_dir(env, HOME, "win32") == "/local/groundwire"
    assert config_dir({}, HOME, "win32") == f"{HOME}/AppData/Local/groundwire"


def test_the_directory_of_opencode_follows_xdg_on_every_platform() -> None:
    assert opencode_config_dir({}, HOME) == f"{HOME}/.config/opencode"
    assert opencode_config_dir({"XDG_CONFIG_HOME": "/x"}, HOME) == "/x/opencode"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("~", HOME),
        ("~/a", f"{HOME}/a"),
        ("~other/a", "/base/~other/a"),
        ("a/../b", "/base/b"),
        ("/a", "/a"),
        (".", "/base"),
    ],
)
def test_tildes_and_relative_paths_are_resolved(path: str, expected: str) -> None:
    assert resolved(path, "/base", HOME) == expected
