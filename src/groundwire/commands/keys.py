"""`groundwire keys`: creates, lists and revokes keys of the gateway."""

from __future__ import annotations

from argparse import Namespace

from groundwire.commands.config import load_config
from groundwire.dialects.json import dump_json
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import Console
from groundwire.faces.cli.style import align_columns
from groundwire.model import JsonObject
from groundwire.server.keys import ApiKey, KeyFile
from groundwire.text.sanitise import escape_invisible_json, one_line

_LONGEST_NAME = 100


def run_keys(arguments: Namespace, console: Console) -> int:
    """Run an action."""
    _check(arguments)
    file = KeyFile(load_config(arguments, console).data_dir)
    if arguments.action == "create":
        return _create(file, arguments, console)
    if arguments.action == "revoke":
        return _revoke(file, arguments, console)
    return _list(file, arguments, console)


def _check(arguments: Namespace) -> None:
    if arguments.action == "revoke" and not arguments.which:
        raise UsageError("`keys revoke` needs the id or the name of a key")
    if arguments.action != "revoke" and arguments.which:
        raise UsageError(f"{arguments.which!r} does not go with `keys {arguments.action}`")
    if arguments.action != "create" and arguments.name:
        raise UsageError(f"--name does not go with `keys {arguments.action}`")
    if len(arguments.name) > _LONGEST_NAME:
        raise UsageError(f"--name: at most {_LONGEST_NAME} characters")


def _create(file: KeyFile, arguments: Namespace, console: Console) -> int:
    shown, made = file.create(arguments.name, console.clock())
    if arguments.json:
        _print_json(console, {"key": shown, **_encode(made)})
    else:
        console.print(shown)
    console.note(f"This is the only time {made.id} is shown. From now on the gateway asks for a key.")
    return exit_codes.OK


def _list(file: KeyFile, arguments: Namespace, console: Console) -> int:
    keys = file.entries()
    if arguments.json:
        _print_json(console, {"keys": [_encode(key) for key in keys]})
        return exit_codes.OK
    if not keys:
        console.note("groundwire: there are no keys; make one with: groundwire keys create")
        return exit_codes.OK
    rows = [("ID", "NAME", "CREATED", "REVOKED")]
    rows += [(key.id, one_line(key.name), key.created, key.revoked) for key in keys]
    for line in align_columns(rows):
        console.write(line + "\n")
    return exit_codes.OK


def _revoke(file: KeyFile, arguments: Namespace, console: Console) -> int:
    ended = file.revoke(arguments.which, console.clock())
    if arguments.json:
        _print_json(console, {"revoked": [key.id for key in ended]})
    elif ended:
        console.print(f"revoked {', '.join(key.id for key in ended)}")
    if not ended:
        console.note(f"groundwire: there is no valid key called {one_line(arguments.which)}")
        return exit_codes.NOTHING_FOUND
    if all(key.revoked for key in file.entries()):
        console.note(
            f"No key is left, so the gateway refuses all requests. Remove {file.path} to use it without keys."
        )
    return exit_codes.OK


def _encode(key: ApiKey) -> JsonObject:
    return {"id": key.id, "name": key.name, "created": key.created, "revoked": key.revoked}


def _print_json(console: Console, body: JsonObject) -> None:
    console.write(escape_invisible_json(dump_json({"version": 1, **body})) + "\n")
