"""Images in terminals: the sequences decode to the same image, and are sent only to terminals that can."""

from __future__ import annotations

import re
from base64 import b64decode

import pytest

from groundwire.commands.compare import _show_image
from groundwire.compare.comparison import Comparison
from groundwire.compare.run import compared
from groundwire.faces.cli.images import encode_image, image_protocol
from tests.compare.answers import contribution
from tests.faces.fakes import Bench

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40


def comparison() -> Comparison:
    nile = ("The Nile is 6,650 km long.", "https://a.example/nile")
    return compared("How long is the Nile?", [contribution(name, nile) for name in ("alpha", "beta")], None)


def decoded_kitty(text: str) -> bytes:
    """What a terminal puts together, by the rules of the protocol."""
    sequences = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", text)
    controls = [dict(pair.split("=") for pair in control.split(",")) for control, _ in sequences]
    assert (controls[0]["a"], controls[0]["f"]) == ("T", "100")
    assert [control["m"] for control in controls] == ["1"] * (len(controls) - 1) + ["0"]
    assert all(len(data) <= 4096 for _, data in sequences)
    return b64decode("".join(data for _, data in sequences))


@pytest.mark.parametrize("image", [PNG, b"\x89PNG"])
def test_an_image_is_encoded_for_kitty_in_chunks(image: bytes) -> None:
    assert decoded_kitty(encode_image(image, "kitty")) == image


def test_an_image_is_encoded_for_iterm() -> None:
    found = re.fullmatch(r"\x1b\]1337;File=([^:]*):([^\x07]*)\x07\n", encode_image(PNG, "iterm"))
    assert found is not None
    assert f"size={len(PNG)}" in found[1].split(";")
    assert b64decode(found[2]) == PNG


@pytest.mark.parametrize(
    ("env", "protocol"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty"}, "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "iterm"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "vscode"}, ""),
        ({"TERM": "tmux-256color", "TMUX": "socket,1,0", "KITTY_WINDOW_ID": "1"}, ""),
        ({}, ""),
    ],
)
def test_terminals_are_known_by_their_environment(env: dict[str, str], protocol: str) -> None:
    assert image_protocol(env) == protocol


def test_a_comparison_is_drawn_in_a_terminal_that_shows_images_and_nowhere_else() -> None:
    kitty = {"TERM": "xterm-kitty"}
    shown = Bench(terminal=True, env=kitty)
    _show_image(shown.console, comparison())
    assert decoded_kitty(shown.stdout).startswith(b"\x89PNG\r\n")
    for other in (Bench(terminal=True), Bench(env=kitty)):
        _show_image(other.console, comparison())
        assert other.stdout == ""
