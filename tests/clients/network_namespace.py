"""A network of nothing but loopback, so that no client reaches anybody: a namespace of Linux."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Sequence

INSIDE = "GROUNDWIRE_TEST_JAILED"
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_COMMANDS = (("unshare", "--net"), ("unshare", "--map-root-user", "--net"))
"""As root; and for everybody else, where the kernel lets them."""


def isolated(words: Sequence[str]) -> list[str]:
    """The command that runs a command without a network; the command itself where that is impossible."""
    for prefix in _COMMANDS:
        if shutil.which(prefix[0]) and _works([*prefix, "true"]):
            return [*prefix, *words]
    return list(words)


def is_inside() -> bool:
    """Was this process started in the jail?"""
    return bool(os.environ.get(INSIDE)) and not any(
        name != "lo" and flags_of(name) & _UP for _, name in socket.if_nameindex()
    )


def raise_loopback() -> None:
    """Loopback is down in a new namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("16sh14x", b"lo", flags_of("lo") | _UP)
        fcntl.ioctl(probe, _SET_FLAGS, request)


def flags_of(interface: str) -> int:
    """The flags of a network interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        response = fcntl.ioctl(probe, _GET_FLAGS, struct.pack("16sh14x", interface.encode(), 0))
    flags: int = struct.unpack("16sh14x", response)[1]
    return flags


def _works(words: Sequence[str]) -> bool:
    done = subprocess.run(words, capture_output=True, check=False, timeout=20)  # noqa: S603
    return done.returncode == 0
