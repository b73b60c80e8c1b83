"""Sandbox of the Copilot CLI: a private folder for each run, and bubblewrap where it is installed.

The folder is created for one run and removed after it: an empty working directory, and a home that contains
only the CLI's login. Of the CLI's configuration only the login keys are copied; what the CLI would load or
start besides (MCP servers, hooks, trusted folders) is left out.

In the sandbox the CLI sees the system's programs and its own, read-only, the private folder, and no process
but its own. Its only network is a private loopback, where a relay (`relay`) forwards connections to the
egress proxy (`egress`). Secrets are passed by the environment, never by arguments, which every user of the
machine can read. The sandbox therefore does not clear the environment: it holds only what the CLI needs.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ConfigError, UpstreamWireError
from groundwire.model.value import value
from groundwire.providers.copilot import relay
from groundwire.providers.copilot.command import CopilotSettings
from groundwire.text.lazy_pattern import lazy_pattern
from groundwire.transport.process import ResourceLimits, with_resource_limits

_LOGIN_FILES = ("config.json", "settings.json")
_LOGIN_KEYS = lazy_pattern(r"log(?:ged)?_?in|token|auth|user|host", re.IGNORECASE)
_MAX_LOGIN_BYTES = 256 * 1024
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC = (
    *("alternatives", "ca-certificates", "group", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d"),
    *("localtime", "nsswitch.conf", "passwd", "pki", "resolv.conf", "ssl"),
)
_NAMESPACES = ("--unshare-all", "--die-with-parent", "--cap-drop", "ALL")
_RELAY = os.path.realpath(relay.__file__)
_PORT = "3128"
_PROXY_SUFFIX = "_proxy"
_FILE_BYTES = 512 * 1024 * 1024  # the CLI unpacks itself into its home: 200 MB
_PROCESSES = 512


@value
class RunFolder:
    """A temporary folder for one run."""

    root: str

    @property
    def home(self) -> str:
        return f"{self.root}/home"

    @property
    def work(self) -> str:
        return f"{self.root}/work"

    @property
    def egress_socket(self) -> str:
        """The Unix socket of the egress proxy."""
        return f"{self.root}/egress"

    @property
    def login(self) -> str:
        """The CLI's own folder, `COPILOT_HOME`."""
        return f"{self.home}/.copilot"

    def remove(self) -> None:
        """Remove the folder and everything in it."""
        from shutil import rmtree  # noqa: PLC0415  slow to import, and few processes run the CLI

        rmtree(self.root, ignore_errors=True)


def _which(program: str, path: str) -> str | None:
    from shutil import which  # noqa: PLC0415  as above

    return which(program, path=path)


def create_run_folder(login: str) -> RunFolder:
    """Create a folder with a copy of the login."""
    from tempfile import mkdtemp  # noqa: PLC0415  as above

    try:
        folder = RunFolder(mkdtemp(prefix="groundwire-"))
    except OSError as error:
        raise _folder_error(error) from None
    try:
        _fill(folder, login)
    except OSError as error:
        folder.remove()
        raise _folder_error(error) from None
    return folder


def _folder_error(error: OSError) -> ConfigError:
    reason = error.strerror or type(error).__name__
    return ConfigError(f"cannot create a private folder for the Copilot CLI: {reason}; check TMPDIR")


def _fill(folder: RunFolder, login: str) -> None:
    for path in (folder.home, folder.work, folder.login):
        Path(path).mkdir(mode=0o700)
    for name in _LOGIN_FILES if login else ():
        text = _login_part(Path(login) / name)
        if text:
            descriptor = os.open(f"{folder.login}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)


def _login_part(path: Path) -> str:
    """The login keys of one of the CLI's configuration files, as JSON; empty if there are none."""
    try:
        with path.open("rb") as file:
            settings = load_json(file.read(_MAX_LOGIN_BYTES), UpstreamWireError)
    except (OSError, UpstreamWireError):
        return ""
    if not isinstance(settings, dict):
        return ""
    kept = {key: item for key, item in settings.items() if _LOGIN_KEYS.search(key)}
    return dump_json(kept) if kept else ""


def find_program(path: str, search: str) -> str:
    """The path of the CLI."""
    found = _which(path, path=search)
    if found is None:
        raise ConfigError(
            f"the Copilot CLI was not found ({path}): install it with `npm install -g @github/copilot`, or "
            "set COPILOT_PATH"
        )
    return os.path.abspath(found)


@value
class SandboxTools:
    """Paths of the sandbox programs; empty where one is not installed."""

    bwrap: str = ""
    prlimit: str = ""
    keeps_network: bool = False
    """The kernel does not allow a private network namespace, so the sandbox shares ours."""


def find_sandbox_tools(search: str) -> SandboxTools:
    """Find the sandbox programs, in the search path and in the system folders."""
    path = f"{search}:/usr/bin:/bin"
    return SandboxTools(_which("bwrap", path=path) or "", _which("prlimit", path=path) or "")


def environment(folder: RunFolder, tools: SandboxTools, settings: CopilotSettings) -> dict[str, str]:
    """The environment of the CLI."""
    env = {**settings.env, "HOME": folder.home, "COPILOT_HOME": folder.login, "PATH": settings.search}
    if not tools.bwrap or tools.keeps_network:
        return env
    env = {name: text for name, text in env.items() if not name.lower().endswith(_PROXY_SUFFIX)}
    relay = f"http://127.0.0.1:{_PORT}"
    # The CLI reads the first two; the third makes Node.js read them as well.
    return {**env, "HTTPS_PROXY": relay, "https_proxy": relay, "NODE_USE_ENV_PROXY": "1"}


def sandboxed_command(
    argv: tuple[str, ...], folder: RunFolder, tools: SandboxTools, settings: CopilotSettings
) -> tuple[str, ...]:
    """The command line that runs a program in its folder, confined by the tools that are installed."""
    usage = ResourceLimits(cpu_seconds=max(1, int(settings.seconds * 4)), file_bytes=_FILE_BYTES)
    if not tools.bwrap:
        return with_resource_limits(argv, usage, tools.prlimit)
    home = settings.home
    real = os.path.realpath(argv[0])
    own = {*_program_paths(real, home), *_interpreter_paths(real, settings)}
    # In the sandbox the processes of a user are counted separately, so the limit affects no other process.
    usage = ResourceLimits(usage.cpu_seconds, usage.file_bytes, _PROCESSES)
    inside = _with_relay((real, *argv[1:]), folder.egress_socket, tools)
    return (
        *(*_namespace_options(tools), *_read_only_binds(own)),
        *("--bind", folder.root, folder.root, "--remount-ro", "/", "--chdir", folder.work, "--"),
        *with_resource_limits(inside, usage, tools.prlimit if _is_system_path(tools.prlimit) else ""),
    )


def probe_command(tools: SandboxTools) -> tuple[str, ...]:
    """A command that succeeds if the sandbox works."""
    nothing = (_which("true", path="/usr/bin:/bin") or "true",)
    return (*_namespace_options(tools), "--remount-ro", "/", "--", *_with_relay(nothing, "/nowhere", tools))


def _namespace_options(tools: SandboxTools) -> Iterator[str]:
    yield from (tools.bwrap, *_NAMESPACES)
    if tools.keeps_network:
        yield "--share-net"
    yield from _system_view()
    if not tools.keeps_network:
        yield from _read_only_binds(_relay_paths())


def _with_relay(argv: tuple[str, ...], egress_socket: str, tools: SandboxTools) -> tuple[str, ...]:
    if tools.keeps_network:
        return argv
    return (os.path.realpath(sys.executable), "-IS", _RELAY, egress_socket, _PORT, *argv)


def _relay_paths() -> Iterator[str]:
    """The Python interpreter with its standard library, and the relay module."""
    import sysconfig  # noqa: PLC0415  as above

    yield from (os.path.realpath(sys.executable), _RELAY, sysconfig.get_path("stdlib"))
    libraries = Path(sysconfig.get_config_var("LIBDIR") or "/nowhere")
    yield from (str(path) for path in libraries.glob("libpython*.so*"))


def _read_only_binds(paths: Iterable[str]) -> Iterator[str]:
    for path in sorted(path for path in set(paths) if not _is_system_path(path)):
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


def _program_paths(real: str, home: str) -> Iterator[str]:
    """The files of a program: its `node_modules` folder, or its file alone."""
    before, found, _ = real.partition("/node_modules/")
    packages = f"{before}/node_modules"
    yield packages if found and not _contains_home(packages, home) else real


def _interpreter_paths(real: str, settings: CopilotSettings) -> Iterator[str]:
    """The interpreter of a script's shebang line, with its library."""
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
    found = _which(words[0], path=settings.search) if words else None
    if found is None:
        return
    interpreter = os.path.realpath(found)
    prefix = os.path.dirname(os.path.dirname(interpreter))
    yield from (os.path.abspath(found), interpreter)
    if (
        os.path.isdir(f"{prefix}/lib")
        and not _contains_home(prefix, settings.home)
        and not prefix.endswith("/.local")
    ):
        yield prefix


def _is_system_path(path: str) -> bool:
    """Is the path visible in the sandbox anyway?"""
    return path.startswith(("/usr/", *(f"{folder}/" for folder in _SYSTEM)))


def _contains_home(path: str, home: str) -> bool:
    """Would binding this path expose the whole home directory, or the whole disk?"""
    return os.path.realpath(home or "/").startswith(path.rstrip("/") + "/") or os.path.realpath(home) == path
