"""`groundwire serve`: runs the gateway."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from groundwire.client_protocol import SearchClient
from groundwire.commands.config import load_config
from groundwire.commands.http_app import ListenOptions, base_url, open_socket, serve
from groundwire.commands.keys import open_keys
from groundwire.commands.runner import redactor
from groundwire.config.schema import Config
from groundwire.faces.cli.console import BOLD, Console
from groundwire.server.access_log import set_up_logging
from groundwire.server.auth import check_bind, is_expired
from groundwire.server.keys import KeyFile, load_secret
from groundwire.server.shared_access import check_own_keys
from groundwire.store.open import is_shared


def run_serve(arguments: Namespace, console: Console) -> int:
    """Serve until interrupted."""
    config = load_config(arguments, console)
    place = ListenOptions(
        arguments.host or config.gateway.host,
        config.gateway.port if arguments.port is None else arguments.port,
        arguments.workers,
        arguments.drain,
        arguments.drain_delay,
    )
    with open_keys(config) as stored:
        entries = stored.entries()
    if is_shared(config.store):
        own = KeyFile(config.data_dir)
        check_own_keys(entries, own.entries(), str(own.path))
        load_secret(config.data_dir, console.env, shared=True)
    keys = sum(not key.revoked and not is_expired(key.rights, console.clock()) for key in entries)
    check_bind(place.host, has_keys=keys > 0)
    with open_socket(place) as listener:
        connect = _connect(config, console)
        usable = [name for name, ok in connect().usable().items() if ok]
        _announce(console, base_url(listener, place.host), usable, keys)
        set_up_logging(arguments.log_level, console.stderr, redactor(console.env).redact)
        return serve(place, listener, connect, console.env)


def _connect(config: Config, console: Console) -> Callable[[], SearchClient]:
    return lambda: console.connect(config, console.env)


def _announce(console: Console, address: str, usable: list[str], keys: int) -> None:
    """Print the URL, and how to configure clients."""
    note = console.note
    note(f"groundwire: serving at {address} (Ctrl-C stops it)", BOLD)
    note(f"  chat page      {address}/")
    note(f"  documentation  {address}/docs")
    note(f"  providers      {', '.join(usable) or 'none is usable; `groundwire doctor` shows why'}")
    note(f"  keys           {_keys(keys)}")
    note(f"  Claude Code    ANTHROPIC_BASE_URL={address} claude")
    note(f"  OpenAI SDK     OPENAI_BASE_URL={address}/v1  (Codex, OpenCode: the same base URL)")
    note(f"  Gemini CLI     GOOGLE_GEMINI_BASE_URL={address} gemini")


def _keys(count: int) -> str:
    if not count:
        return "not needed on this machine; any key is accepted"
    return f"required; {count} {'key is' if count == 1 else 'keys are'} valid (groundwire keys list)"
