"""Images in a terminal: PNG data as the escape sequences of the kitty graphics protocol or of iTerm2.

Terminals cannot be asked without reading their reply from the keyboard's input, so they are known by their
environment. tmux and screen do not pass images on.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Literal, TypeAlias

ImageProtocol: TypeAlias = Literal["kitty", "iterm", ""]

_KITTY_TERMINALS = ("xterm-kitty", "xterm-ghostty")
_ITERM_PROGRAMS = ("iTerm.app", "WezTerm", "mintty")
_KITTY_CHUNK = 4096
"""Bytes of base64 in one sequence: https://sw.kovidgoyal.net/kitty/graphics-protocol/"""


def image_protocol(env: Mapping[str, str]) -> ImageProtocol:
    """The protocol that a terminal supports; empty if none is known."""
    if env.get("TMUX") or env.get("STY"):
        return ""
    if env.get("KITTY_WINDOW_ID") or env.get("TERM", "") in _KITTY_TERMINALS:
        return "kitty"
    return "iterm" if env.get("TERM_PROGRAM", "") in _ITERM_PROGRAMS else ""


def encode_image(png: bytes, protocol: ImageProtocol) -> str:
    """A PNG image as escape sequences, followed by a line break."""
    data = b64encode(png).decode("ascii")
    if protocol == "iterm":
        return f"\x1b]1337;File=inline=1;size={len(png)};preserveAspectRatio=1:{data}\x07\n"
    chunks = [data[start : start + _KITTY_CHUNK] for start in range(0, len(data), _KITTY_CHUNK)]
    sequences = []
    for number, chunk in enumerate(chunks, 1):
        first = "a=T,f=100," if number == 1 else ""
        sequences.append(f"\x1b_G{first}m={int(number < len(chunks))};{chunk}\x1b\\")
    return "".join(sequences) + "\n"
