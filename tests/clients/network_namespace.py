"""Linux network namespace with only loopback, so that no client reaches the internet."""

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
"""As root, and for other users if the kernel permits it."""


def isolated(words: Sequence[str]) -> list[str]:
    """Wrap a command so that it runs without a network; unchanged if that is not possible."""
    for prefix in _COMMANDS:
        if shutil.which(prefix[0]) and _works([*prefix, "true"]):
            return [*prefix, *words]
    return list(words)


def is_inside() -> bool:
    """Whether this process runs in the namespace."""
    return bool(os.environ.get(INSIDE)) and not any(
        name != "lo" and flags_of(name) & _UP for _, name in socket.if_nameindex()
    )


def raise_loopback() -> None:
    """Bring loopback up, which is down in a new namespace."""
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
