"""Where the Copilot CLI runs: a private folder, and a sandbox where bubblewrap is installed.

The folder is made for one run and removed after it: an empty working directory, and a home that holds nothing
but the CLI's login. Of the CLI's configuration only what belongs to the login is copied; what it would load
or start besides (servers, hooks, trusted folders) stays behind.

In the sandbox the CLI sees the system's programs and its own, read-only, the private folder, and no process
but its own. It has no network but a loopback of its own, where a relay (`copilot_relay`) leads to the hosts
that it needs (`copilot_egress`). Secrets are given by the environment, never by arguments, which every user
of the machine can read: so the sandbox clears no environment, because there is nothing in it that the CLI
must not have.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from shutil import rmtree, which

from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ConfigError, UpstreamWireError
from groundwire.model.value import value
from groundwire.providers import copilot_relay
from groundwire.providers.copilot_command import CopilotSettings
from groundwire.transport.process import ResourceLimits, with_resource_limits

_LOGIN_FILES = ("config.json", "settings.json")
_LOGIN_KEYS = re.compile(r"log(?:ged)?_?in|token|auth|user|host", re.IGNORECASE)
_LARGEST_LOGIN = 256 * 1024
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC = (
    *("alternatives", "ca-certificates", "group", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d"),
    *("localtime", "nsswitch.conf", "passwd", "pki", "resolv.conf", "ssl"),
)
_NAMESPACES = ("--unshare-all", "--die-with-parent", "--cap-drop", "ALL")
_RELAY = os.path.realpath(copilot_relay.__file__)
_PORT = "3128"
_PROXY_SUFFIX = "_proxy"
_FILE_BYTES = 512 * 1024 * 1024  # the CLI unpacks itself into its home: 200 MB
_PROCESSES = 512


@value
class Folder:
    """A private place on the disk for one run."""

    root: str

    @property
    def home(self) -> str:
        return f"{self.root}/home"

    @property
    def work(self) -> str:
        return f"{self.root}/work"

    @property
    def door(self) -> str:
        """The socket that leads out of the sandbox."""
        return f"{self.root}/door"

    @property
    def login(self) -> str:
        """The CLI's own folder, `COPILOT_HOME`."""
        return f"{self.home}/.copilot"

    def remove(self) -> None:
        """Remove everything that was left in it."""
        rmtree(self.root, ignore_errors=True)


def make_folder(login: str) -> Folder:
    """A fresh folder with a copy of the login."""
    try:
        folder = Folder(tempfile.mkdtemp(prefix="groundwire-"))
    except OSError as error:
        raise _no_folder(error) from None
    try:
        _fill(folder, login)
    except OSError as error:
        folder.remove()
        raise _no_folder(error) from None
    return folder


def _no_folder(error: OSError) -> ConfigError:
    reason = error.strerror or type(error).__name__
    return ConfigError(f"no private folder can be made for the Copilot CLI: {reason}; check TMPDIR")


def _fill(folder: Folder, login: str) -> None:
    for path in (folder.home, folder.work, folder.login):
        Path(path).mkdir(mode=0o700)
    for name in _LOGIN_FILES if login else ():
        text = _login_part(Path(login) / name)
        if text:
            descriptor = os.open(f"{folder.login}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)


def _login_part(path: Path) -> str:
    """What a file of the CLI's says about the login; empty if it says nothing."""
    try:
        with path.open("rb") as file:
            settings = load_json(file.read(_LARGEST_LOGIN), UpstreamWireError)
    except (OSError, UpstreamWireError):
        return ""
    if not isinstance(settings, dict):
        return ""
    kept = {key: item for key, item in settings.items() if _LOGIN_KEYS.search(key)}
    return dump_json(kept) if kept else ""


def find_program(path: str, search: str) -> str:
    """The CLI's file."""
    found = which(path, path=search)
    if found is None:
        raise ConfigError(
            f"the Copilot CLI is not there ({path}): install it with `npm install -g @github/copilot`, or "
            "set COPILOT_PATH"
        )
    return os.path.abspath(found)


@value
class Tools:
    """What is there to confine with: paths, empty where a program is not installed."""

    bwrap: str = ""
    prlimit: str = ""
    keeps_network: bool = False
    """Where the kernel allows no network of the sandbox's own, it keeps ours."""


def find_tools(search: str) -> Tools:
    """Look for the programs that confine others, in the path and where systems keep them."""
    places = f"{search}:/usr/bin:/bin"
    return Tools(which("bwrap", path=places) or "", which("prlimit", path=places) or "")


def environment(folder: Folder, tools: Tools, settings: CopilotSettings) -> dict[str, str]:
    """All that the CLI is told."""
    env = {**settings.env, "HOME": folder.home, "COPILOT_HOME": folder.login, "PATH": settings.search}
    if not tools.bwrap or tools.keeps_network:
        return env
    env = {name: text for name, text in env.items() if not name.lower().endswith(_PROXY_SUFFIX)}
    relay = f"http://127.0.0.1:{_PORT}"
    # The CLI reads the first two; the third makes the runtime it is written for do so as well.
    return {**env, "HTTPS_PROXY": relay, "https_proxy": relay, "NODE_USE_ENV_PROXY": "1"}


def confined(
    argv: tuple[str, ...], folder: Folder, tools: Tools, settings: CopilotSettings
) -> tuple[str, ...]:
    """The command line that runs a program in its folder, with as much confinement as there are tools."""
    usage = ResourceLimits(cpu_seconds=max(1, int(settings.seconds * 4)), file_bytes=_FILE_BYTES)
    if not tools.bwrap:
        return with_resource_limits(argv, usage, tools.prlimit)
    home = settings.home
    real = os.path.realpath(argv[0])
    own = {*_own_places(real, home), *_interpreter_places(real, settings)}
    # Inside, users and their processes are counted afresh, so a limit on them hits nobody else.
    usage = ResourceLimits(usage.cpu_seconds, usage.file_bytes, _PROCESSES)
    inside = _relayed((real, *argv[1:]), folder.door, tools)
    return (
        *(*_walls(tools), *_shown(own)),
        *("--bind", folder.root, folder.root, "--remount-ro", "/", "--chdir", folder.work, "--"),
        *with_resource_limits(inside, usage, tools.prlimit if _is_shared(tools.prlimit) else ""),
    )


def probe(tools: Tools) -> tuple[str, ...]:
    """A command that succeeds where the sandbox works."""
    nothing = (which("true", path="/usr/bin:/bin") or "true",)
    return (*_walls(tools), "--remount-ro", "/", "--", *_relayed(nothing, "/nowhere", tools))


def _walls(tools: Tools) -> Iterator[str]:
    yield from (tools.bwrap, *_NAMESPACES)
    if tools.keeps_network:
        yield "--share-net"
    yield from _system_view()
    if not tools.keeps_network:
        yield from _shown(_relay_places())


def _relayed(argv: tuple[str, ...], door: str, tools: Tools) -> tuple[str, ...]:
    if tools.keeps_network:
        return argv
    return (os.path.realpath(sys.executable), "-IS", _RELAY, door, _PORT, *argv)


def _relay_places() -> Iterator[str]:
    """Our interpreter with its library, and one module of ours."""
    yield from (os.path.realpath(sys.executable), _RELAY, sysconfig.get_path("stdlib"))
    libraries = Path(sysconfig.get_config_var("LIBDIR") or "/nowhere")
    yield from (str(path) for path in libraries.glob("libpython*.so*"))


def _shown(places: Iterable[str]) -> Iterator[str]:
    for path in sorted(path for path in set(places) if not _is_shared(path)):
        yield from ("--ro-bind", path, path)


def _system_view() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for path in _SYSTEM:
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            yield from ("--ro-bind", path, path)
    for name in _ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    yield from ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")  # noqa: S108  inside the sandbox


def _own_places(real: str, home: str) -> Iterator[str]:
    """What belongs to a program: the packages beside it, or else its file alone."""
    before, found, _ = real.partition("/node_modules/")
    packages = f"{before}/node_modules"
    yield packages if found and not _holds(packages, home) else real


def _interpreter_places(real: str, settings: CopilotSettings) -> Iterator[str]:
    """The interpreter that a script names in its first line, with its library."""
    try:
        with open(real, "rb") as file:
            line = file.readline(512)
    except OSError:
        return
    if not line.startswith(b"#!"):
        return
    words = line[2:].decode("utf-8", "replace").split()
    if len(words) > 1 and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    found = which(words[0], path=settings.search) if words else None
    if found is None:
        return
    interpreter = os.path.realpath(found)
    prefix = os.path.dirname(os.path.dirname(interpreter))
    yield from (os.path.abspath(found), interpreter)
    if (
        os.path.isdir(f"{prefix}/lib")
        and not _holds(prefix, settings.home)
        and not prefix.endswith("/.local")
    ):
        yield prefix


def _is_shared(path: str) -> bool:
    """Is it seen anyway?"""
    return path.startswith(("/usr/", *(f"{place}/" for place in _SYSTEM)))


def _holds(path: str, home: str) -> bool:
    """Would showing this show a whole home, or the whole disk?"""
    return os.path.realpath(home or "/").startswith(path.rstrip("/") + "/") or os.path.realpath(home) == path
