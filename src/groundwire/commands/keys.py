"""`groundwire keys`: creates, lists and revokes keys of the gateway."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from groundwire.commands.config import load_config
from groundwire.config.schema import Config
from groundwire.dialects.json import dump_json
from groundwire.errors import ConfigError
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import Console
from groundwire.faces.cli.style import align_columns
from groundwire.model import JsonObject
from groundwire.server.keys import KeyFile, KeyStore
from groundwire.server.shared_access import ACCESS_TOPIC, StoredKeys
from groundwire.store.base import ApiKey
from groundwire.store.open import is_shared, open_store
from groundwire.text.sanitise import escape_invisible_json, one_line

_LONGEST_NAME = 100


def run_keys(arguments: Namespace, console: Console) -> int:
    """Run an action."""
    _check(arguments)
    config = load_config(arguments, console)
    with open_keys(config) as keys:
        if arguments.action == "import":
            return _import(keys, KeyFile(config.data_dir), arguments, console)
        return _ACTIONS[arguments.action](keys, arguments, console)


@contextmanager
def open_keys(config: Config) -> Iterator[KeyStore]:
    """The keys of the gateway: in a store that gateways share, or in a file of the data directory."""
    if not is_shared(config.store):
        yield KeyFile(config.data_dir)
        return
    with open_store(config.store) as store:
        yield StoredKeys(store, announcer(config.redis))


def announcer(redis: str) -> Callable[[], None]:
    """What tells the other gateways that keys or logins have changed; without Redis, nothing does."""

    def announce() -> None:
        # The change itself is stored; without the message it is known half a second later.
        with suppress(ConfigError):
            if redis:
                # Imported on demand: the library of Redis is optional, and takes half a second.
                from groundwire.transport.redis import announce as publish  # noqa: PLC0415

                publish(redis, ACCESS_TOPIC)

    return announce


def _check(arguments: Namespace) -> None:
    if arguments.action == "revoke" and not arguments.which:
        raise UsageError("`keys revoke` needs the id or the name of a key")
    if arguments.action != "revoke" and arguments.which:
        raise UsageError(f"{arguments.which!r} does not go with `keys {arguments.action}`")
    if arguments.action != "create" and arguments.name:
        raise UsageError(f"--name does not go with `keys {arguments.action}`")
    if len(arguments.name) > _LONGEST_NAME:
        raise UsageError(f"--name: at most {_LONGEST_NAME} characters")


def _import(keys: KeyStore, file: KeyFile, arguments: Namespace, console: Console) -> int:
    """Copy the keys of the data directory to the shared store."""
    if not isinstance(keys, StoredKeys):
        raise UsageError(
            "`keys import` copies keys to a shared store; set GROUNDWIRE_STORE to postgresql://…"
        )
    added = keys.add(file.entries())
    if arguments.json:
        _print_json(console, {"imported": added})
    else:
        console.print(f"imported {added} {'key' if added == 1 else 'keys'} from {file.path}")
    return exit_codes.OK


def _create(keys: KeyStore, arguments: Namespace, console: Console) -> int:
    shown, made = keys.create(arguments.name, console.clock())
    if arguments.json:
        _print_json(console, {"key": shown, **_encode(made)})
    else:
        console.print(shown)
    console.note(f"This is the only time {made.id} is shown. From now on the gateway asks for a key.")
    return exit_codes.OK


def _list(keys: KeyStore, arguments: Namespace, console: Console) -> int:
    entries = keys.entries()
    if arguments.json:
        _print_json(console, {"keys": [_encode(key) for key in entries]})
        return exit_codes.OK
    if not entries:
        console.note("groundwire: there are no keys; make one with: groundwire keys create")
        return exit_codes.OK
    rows = [("ID", "NAME", "CREATED", "REVOKED")]
    rows += [(key.id, one_line(key.name), key.created, key.revoked) for key in entries]
    for line in align_columns(rows):
        console.write(line + "\n")
    return exit_codes.OK


def _revoke(keys: KeyStore, arguments: Namespace, console: Console) -> int:
    ended = keys.revoke(arguments.which, console.clock())
    if arguments.json:
        _print_json(console, {"revoked": [key.id for key in ended]})
    elif ended:
        console.print(f"revoked {', '.join(key.id for key in ended)}")
    if not ended:
        console.note(f"groundwire: there is no valid key called {one_line(arguments.which)}")
        return exit_codes.NOTHING_FOUND
    if all(key.revoked for key in keys.entries()):
        console.note(f"No key is left, so the gateway refuses all requests. {keys.reset_hint()}")
    return exit_codes.OK


_ACTIONS = {"create": _create, "list": _list, "revoke": _revoke}


def _encode(key: ApiKey) -> JsonObject:
    return {"id": key.id, "name": key.name, "created": key.created, "revoked": key.revoked}


def _print_json(console: Console, body: JsonObject) -> None:
    console.write(escape_invisible_json(dump_json({"version": 1, **body})) + "\n")
