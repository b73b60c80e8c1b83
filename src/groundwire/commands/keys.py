"""`groundwire keys`: creates, lists, changes and revokes keys of the gateway, and shows the audit log."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress

from groundwire.commands.config import load_config
from groundwire.config.schema import Config
from groundwire.dialects.json import dump_json
from groundwire.errors import ConfigError, GroundwireError, RequestError
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.arguments import UsageError
from groundwire.faces.cli.console import Console
from groundwire.faces.cli.style import align_columns
from groundwire.model import Json, JsonObject
from groundwire.model.access import KeyRights
from groundwire.model.value import field_names
from groundwire.providers.catalog import CATALOG
from groundwire.server.audit import AuditLog
from groundwire.server.auth import is_expired
from groundwire.server.key_manager import OPERATOR, KeyManager, describe_rights, key_document
from groundwire.server.keys import KeyFile, KeyStore
from groundwire.server.shared_access import ACCESS_TOPIC, StoredKeys
from groundwire.store.base import ApiKey, AuditEntry, Store
from groundwire.store.clock import StoreClock
from groundwire.store.key_json import rights_fields
from groundwire.store.open import is_shared, open_store, store_address
from groundwire.text.sanitise import escape_invisible_json, one_line

_FIELDS = tuple(rights_fields(KeyRights()))
_WITH_FIELDS = ("create", "change")
_WITH_KEY = ("change", "revoke")
_LIFTED = ("any", "none")
"""Arguments that remove a restriction."""
_LOG_LINES = 100


def run_keys(arguments: Namespace, console: Console) -> int:
    """Run an action."""
    _check(arguments)
    config = load_config(arguments, console)
    if arguments.action == "import":
        with open_keys(config) as keys:
            return _import(keys, KeyFile(config.data_dir), arguments, console)
    with _open_manager(config, console, needs_log=arguments.action != "list") as manager:
        return _ACTIONS[arguments.action](manager, arguments, console)


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


@contextmanager
def _open_manager(config: Config, console: Console, *, needs_log: bool) -> Iterator[KeyManager]:
    with ExitStack() as stack:
        store: Store | None = None
        if is_shared(config.store):
            store = stack.enter_context(open_store(config.store))
        elif needs_log:
            store = _log_store(config, console, stack)
        keys: KeyStore = KeyFile(config.data_dir)
        clock, audit = console.clock, AuditLog(store)
        if is_shared(config.store) and store is not None:
            keys = StoredKeys(store, announcer(config.redis))
            clock = StoreClock(store)
            audit = AuditLog(store, clock)
        known = {*(entry.name for entry in CATALOG), *config.providers}
        yield KeyManager(keys, audit, providers=lambda: known, clock=clock)


def _log_store(config: Config, console: Console, stack: ExitStack) -> Store | None:
    """The store of the audit log. Keys can be managed without it."""
    try:
        return stack.enter_context(open_store(store_address(config.store, config.data_dir)))
    except GroundwireError as error:
        console.note(f"groundwire: the audit log cannot be written: {error.message}")
        return None


def _check(arguments: Namespace) -> None:
    action = arguments.action
    if action in _WITH_KEY and not arguments.which:
        raise UsageError(f"`keys {action}` needs the id or the name of a key")
    if action == "create" and arguments.which:
        raise UsageError(f"the name of a new key is an option: `keys create --name {arguments.which}`")
    if action not in _WITH_KEY and arguments.which:
        raise UsageError(f"{arguments.which!r} cannot be used with `keys {action}`")
    if action != "create" and arguments.name:
        raise UsageError(f"--name cannot be used with `keys {action}`")
    if action != "revoke" and arguments.keep_children:
        raise UsageError(f"--keep-children cannot be used with `keys {action}`")
    given = _fields(arguments)
    if given and action not in _WITH_FIELDS:
        raise UsageError(f"--{_flag(next(iter(given)))} cannot be used with `keys {action}`")
    if action == "change" and not given:
        raise UsageError("`keys change` needs something to change, such as --usd-per-day 5")
    if action == "change" and "owner" in given:
        raise UsageError("--owner cannot be used with `keys change`; create a key for the other owner")


def _flag(field: str) -> str:
    names = {"routes": "route", "providers": "provider", "models": "model", "allowed_domains": "allow"}
    return names.get(field, "no-search" if field == "may_search" else field.replace("_", "-"))


def _fields(arguments: Namespace) -> Mapping[str, Json]:
    """The given fields of a key."""
    given = {name: getattr(arguments, name) for name in _FIELDS if getattr(arguments, name) is not None}
    return {name: None if item in (*_LIFTED, ["any"]) else item for name, item in given.items()}


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


def _create(manager: KeyManager, arguments: Namespace, console: Console) -> int:
    with _usage_errors():
        shown, made = manager.create(OPERATOR, arguments.name, _fields(arguments))
    if arguments.json:
        _print_json(console, {"key": shown, **key_document(made)})
    else:
        console.print(shown)
    console.note(f"This is the only time {made.id} is shown. From now on the gateway asks for a key.")
    return exit_codes.OK


def _change(manager: KeyManager, arguments: Namespace, console: Console) -> int:
    which = arguments.which
    found = [key for key in manager.visible(OPERATOR) if which in (key.id, key.name) and not key.revoked]
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} keys are called {which}; name one: {', '.join(key.id for key in found)}"
        )
    if not found:
        console.note(f"groundwire: there is no valid key called {one_line(which)}")
        return exit_codes.NOTHING_FOUND
    with _usage_errors():
        changed = manager.change(OPERATOR, found[0].id, _fields(arguments))
    if arguments.json:
        _print_json(console, key_document(changed))
    else:
        console.print(
            f"changed {changed.id}: {one_line(describe_rights(changed.rights)) or 'no restrictions'}"
        )
    return exit_codes.OK


def _list(manager: KeyManager, arguments: Namespace, console: Console) -> int:
    entries = manager.visible(OPERATOR)
    if arguments.json:
        _print_json(console, {"keys": [key_document(key) for key in entries]})
        return exit_codes.OK
    if not entries:
        console.note("groundwire: there are no keys; make one with: groundwire keys create")
        return exit_codes.OK
    rows: list[tuple[str, ...]] = [("ID", "NAME", "ROLE", "OWNER", "CREATED", "STATE", "RESTRICTIONS")]
    rows += [_row(key, console.clock()) for key in entries]
    for line in align_columns(rows):
        console.write(line + "\n")
    return exit_codes.OK


def _row(key: ApiKey, now: float) -> tuple[str, ...]:
    rights = key.rights
    state = f"revoked {key.revoked}" if key.revoked else ""
    if not state and rights.expires:
        state = f"{'expired' if is_expired(rights, now) else 'until'} {rights.expires}"
    listed = (part for part in describe_rights(rights).split(" ") if part.partition("=")[0] not in _COLUMNS)
    return (
        *(key.id, one_line(key.name), rights.role, rights.owner, key.created),
        *(state or "valid", one_line(" ".join(listed))),
    )


_COLUMNS = (*field_names(KeyRights)[:3], "")
"""Rights with a column of their own."""


def _revoke(manager: KeyManager, arguments: Namespace, console: Console) -> int:
    ended = manager.revoke_named(OPERATOR, arguments.which, keep_children=arguments.keep_children)
    if arguments.json:
        _print_json(console, {"revoked": [key.id for key in ended]})
    elif ended:
        console.print(f"revoked {', '.join(key.id for key in ended)}")
    if not ended:
        console.note(f"groundwire: there is no valid key called {one_line(arguments.which)}")
        return exit_codes.NOTHING_FOUND
    if all(key.revoked for key in manager.visible(OPERATOR)):
        console.note(f"No key is left, so the gateway refuses all requests. {manager.reset_hint()}")
    return exit_codes.OK


def _log(manager: KeyManager, arguments: Namespace, console: Console) -> int:
    entries = manager.audit.last(_LOG_LINES)
    if arguments.json:
        _print_json(console, {"log": [_entry(entry) for entry in entries]})
        return exit_codes.OK
    if not entries:
        console.note("groundwire: the audit log is empty")
        return exit_codes.OK
    rows = [("TIME", "WHO", "WHAT", "WHICH", "DETAILS")]
    rows += [
        (entry.at[:19] + "Z", entry.actor, entry.action, one_line(entry.subject), one_line(entry.detail))
        for entry in entries
    ]
    for line in align_columns(rows):
        console.write(line + "\n")
    return exit_codes.OK


_ACTIONS: Mapping[str, Callable[[KeyManager, Namespace, Console], int]] = {
    "create": _create,
    "list": _list,
    "change": _change,
    "revoke": _revoke,
    "log": _log,
}


@contextmanager
def _usage_errors() -> Iterator[None]:
    """Report a field that is not valid as a usage error."""
    try:
        yield
    except RequestError as error:
        field, colon, rest = error.message.partition(": ")
        raise UsageError(
            f"--{_flag(field)}: {rest}" if colon and field in _FIELDS else error.message
        ) from None


def _entry(entry: AuditEntry) -> JsonObject:
    return {name: getattr(entry, name) for name in field_names(AuditEntry)}


def _print_json(console: Console, body: JsonObject) -> None:
    console.write(escape_invisible_json(dump_json({"version": 1, **body})) + "\n")
