"""`groundwire doctor`: checks versions, configuration, data directory, credentials and providers.

Without `--live` no request is sent. Each check has a state and, if there is a problem, what to do.
"""

from __future__ import annotations

import asyncio
import os
import platform
import re
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from contextlib import aclosing
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal, TypeAlias

from groundwire import __version__
from groundwire.client import ProviderStatus
from groundwire.client_protocol import SearchClient
from groundwire.commands.config import load_config
from groundwire.commands.providers import SWITCHED_OFF, encode_status, listed, switched_off
from groundwire.commands.runner import error_line, report_error
from groundwire.config import opencode, paths
from groundwire.credentials.lookup import LookupResult
from groundwire.dialects.json import dump_json
from groundwire.engine.dense.packages import ENGLISH, MULTILINGUAL, encoder_problem
from groundwire.engine.knowledge.background import read_status
from groundwire.errors import ConfigError, GroundwireError, TimedOut
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.console import BOLD, DIM, RED, Console, styled
from groundwire.model import Failed, Json, JsonObject, Limits, Message, Request, Text
from groundwire.model.value import value
from groundwire.server.keys import SECRET_VARIABLE
from groundwire.store.migrations import ON_POSTGRES
from groundwire.store.open import is_shared
from groundwire.text.sanitise import escape_invisible_json, one_line

State: TypeAlias = Literal["ok", "problem", "note"]

_LIBRARIES = ("tantivy", "httptools", "mcp")
_EXTRAS: Mapping[str, str] = {
    "documents": "PDF, reStructuredText and web archives for `groundwire index add`",
    "otel": "traces and metrics for an OpenTelemetry collector",
    "postgres": "sessions and index in PostgreSQL",
    "redis": "limits, cache and breakers that several gateways share",
    "semantic": "search by meaning in the embedded index, in 16 languages",
}
_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
_PACKAGE = re.compile(r"[\w.-]+")
_PROBE = Request((Message("user", (Text("Reply with the one word: ok"),)),), limits=Limits(64), stream=True)
_PROBE_TIMEOUT = 60.0
_DAY = 86400
_BUILD_STATES: Mapping[str, State] = {"complete": "ok", "failed": "problem"}


@value
class Check:
    """Result of one check."""

    state: State
    what: str
    detail: str = ""


@value
class ProbeResult:
    """A test request to a provider: how long it took, and its error."""

    name: str
    seconds: float
    error: GroundwireError | None = None


def versions() -> Iterator[Check]:
    """Versions of groundwire, Python and the libraries."""
    yield Check(
        "ok", f"groundwire {__version__}", f"Python {platform.python_version()}, {platform.platform()}"
    )
    yield Check("ok", "interpreter", sys.executable)
    for name in _LIBRARIES:
        try:
            yield Check("ok", name, version(name))
        except PackageNotFoundError:
            yield Check("problem", name, "not installed; run: pip install --force-reinstall groundwire")


def extras(store: str, redis: str = "") -> Iterator[Check]:
    """The optional extras, and the command that installs a missing one."""
    needed = {"postgres": store.startswith("postgres"), "redis": bool(redis)}
    for name, packages in _extra_packages().items():
        if name not in _EXTRAS:
            continue  # `all` includes the others
        about = _EXTRAS[name]
        missing = [package for package in packages if not _is_installed(package)]
        if not missing:
            yield _semantic(about) if name == "semantic" else Check("ok", name, about)
            continue
        detail = f"{about}: {', '.join(missing)} not installed; run: pip install 'groundwire[{name}]'"
        yield Check("problem" if needed.get(name) else "note", name, detail)


def shared_redis(url: str) -> Iterator[Check]:
    """Can the configured Redis be used?"""
    if not url or not _is_installed("redis"):
        return
    # Imported on demand: the library of Redis is optional, and takes half a second.
    from groundwire.transport.redis import probe  # noqa: PLC0415

    usable, detail = probe(url)
    yield Check("ok" if usable else "problem", "redis", detail)


def _semantic(about: str) -> Check:
    """The extra for search by meaning is installed: can it be used, and is there the encoder for English?"""
    if problem := encoder_problem() or MULTILINGUAL.problem():
        return Check("note", "semantic", f"{about}: {problem}")
    if ENGLISH.problem():
        return Check("ok", "semantic", f"{about}; better for English: {ENGLISH.install}")
    return Check("ok", "semantic", f"{about}, with an encoder for English")


def _extra_packages() -> dict[str, list[str]]:
    """The packages of each extra, from the package metadata."""
    try:
        required = requires("groundwire") or []
    except PackageNotFoundError:
        return {}
    found: dict[str, list[str]] = {}
    for line in required:
        extra, package = _EXTRA.search(line), _PACKAGE.match(line)
        if extra and package:
            found.setdefault(extra[1], []).append(package[0])
    return found


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def config_files(env: Mapping[str, str], home: str, cwd: str) -> Iterator[Check]:
    """The configuration files; those of OpenCode only if they exist."""
    own = env.get("GROUNDWIRE_CONFIG") or os.path.join(paths.config_dir(env, home), paths.USER_FILE)
    for path in (own, os.path.join(cwd, paths.PROJECT_FILE)):
        yield Check("ok", path, "read") if os.path.exists(path) else Check("note", path, "not there")
    for file in opencode.config_files(env, home, cwd, opencode.managed_dir()):
        if file.text is not None or os.path.exists(file.path):
            yield Check("ok", file.origin, "read")


def data_directory(path: str) -> Check:
    """Is the data directory writable?"""
    if os.path.isdir(path):
        if _is_writable(path):
            return Check("ok", path, "writable")
        return Check("problem", path, "not writable; change its owner, or choose another with --data-dir")
    if os.path.lexists(path):
        return Check("problem", path, "not a directory; remove it, or choose another with --data-dir")
    above = os.path.dirname(path)
    while above != os.path.dirname(above) and not os.path.isdir(above):
        above = os.path.dirname(above)
    if _is_writable(above):
        return Check("ok", path, "will be made when it is needed")
    return Check("problem", path, f"cannot be made in {above}; choose another with --data-dir")


def built_index(data_dir: str) -> Check:
    """Is the embedded index complete?"""
    status = read_status(Path(data_dir, "index"))
    return Check(_BUILD_STATES.get(status.phase, "note"), "embedded index", status.summary)


def shared_store(store: str, env: Mapping[str, str]) -> Iterator[Check]:
    """Does the store that gateways share answer, which version has it, and is the common secret set?"""
    if not is_shared(store):
        return
    try:
        from groundwire.store.postgres import postgres_version  # noqa: PLC0415  imports the driver

        found = postgres_version(store)
    except GroundwireError as error:
        yield Check("problem", "shared store", error.message)
    else:
        yield Check(*_store_version(found, ON_POSTGRES[-1].version))
    if env.get(SECRET_VARIABLE):
        yield Check("ok", SECRET_VARIABLE, "set; it must be the same for all gateways")
    else:
        yield Check("problem", SECRET_VARIABLE, "not set, and all gateways of a shared store need the same")


def _store_version(found: int, known: int) -> tuple[State, str, str]:
    what = "shared store"
    if found == known:
        return "ok", what, f"answers, version {found}"
    if found > known:
        return (
            "note",
            what,
            f"answers; a newer groundwire has migrated it to version {found}, this knows {known}",
        )
    return "note", what, f"answers; the next gateway that starts migrates it from version {found} to {known}"


def meaning_in_store(store: str) -> Iterator[Check]:
    """Can an index in PostgreSQL be searched by meaning?"""
    if not store.startswith(("postgresql://", "postgres://")) or encoder_problem():
        return
    try:
        from groundwire.engine.index.postgres_vectors import extension_state  # noqa: PLC0415  brings psycopg

        version, problem = extension_state(store)
    except GroundwireError as error:
        yield Check("problem", "PostgreSQL", error.message)
        return
    detail = problem or f"in PostgreSQL, by pgvector {version}"
    yield Check("note" if problem else "ok", "search by meaning", detail)


def _is_writable(directory: str) -> bool:
    # Permissions are not enough: root has all of them, also on a read-only file system.
    try:
        with TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def credentials(findings: Iterable[LookupResult], now: float) -> Iterator[Check]:
    """Where credentials were found."""
    for finding in findings:
        detail = finding.detail + _expiry(finding.expires, now)
        yield Check("ok" if finding.found else "note", finding.place, detail)
        for warning in finding.warnings:
            yield Check("note", finding.place, warning)


async def probe_each(client: SearchClient, names: Iterable[str]) -> list[ProbeResult]:
    """Send a test request to each provider, concurrently."""
    return list(await asyncio.gather(*(_probe(client, name) for name in names)))


async def _probe(client: SearchClient, name: str) -> ProbeResult:
    began = time.monotonic()
    error: GroundwireError | None = None
    try:
        async with asyncio.timeout(_PROBE_TIMEOUT), aclosing(client.stream(_PROBE, provider=name)) as events:
            async for event in events:
                if isinstance(event, Failed):
                    error = event.error
    except TimeoutError:
        error = TimedOut(f"no answer within {_PROBE_TIMEOUT:.0f} seconds")
    except GroundwireError as caught:
        error = caught
    return ProbeResult(name, time.monotonic() - began, error)


def _expiry(expires: float | None, now: float) -> str:
    if expires is None:
        return ""
    left = expires - now
    if left <= 0:
        return ", expired: it will be refreshed when it is used"
    return f", good for {left / _DAY:.0f} days" if left > 2 * _DAY else f", good for {left / 3600:.0f} hours"


_SYMBOLS: Mapping[State, str] = {"ok": "+", "problem": "!", "note": " "}
_STYLES: Mapping[State, str] = {"ok": "", "problem": RED, "note": DIM}


def run_doctor(arguments: Namespace, console: Console) -> int:
    """Run all checks, and print the results."""
    checks = {
        "versions": list(versions()),
        "configuration": list(config_files(console.env, console.home, console.cwd)),
    }
    try:
        client = console.connect(load_config(arguments, console), console.env)
    except ConfigError as error:
        if not arguments.json:
            _print_sections(console, checks)
        return report_error(error, console)
    checks["extras"] = list(extras(client.config.store, client.config.redis))
    checks["data"] = [
        data_directory(client.config.data_dir),
        built_index(client.config.data_dir),
        *shared_store(client.config.store, console.env),
        *meaning_in_store(client.config.store),
        *shared_redis(client.config.redis),
    ]
    client.find_servers()
    everything = client.providers()
    statuses = listed(everything, client.config)
    probes = asyncio.run(_live(client, statuses)) if arguments.ask else []
    if arguments.json:
        body = _encode_report(client, checks, statuses, probes, console)
        console.write(escape_invisible_json(dump_json(body)) + "\n")
    else:
        _print_sections(console, checks)
        _print_providers(console, client, statuses, len(everything) - len(statuses))
        _print_answers(console, probes)
        _print_verdict(console, client, statuses)
    return _code(checks, statuses, probes)


async def _live(client: SearchClient, statuses: Iterable[ProviderStatus]) -> list[ProbeResult]:
    try:
        return await probe_each(client, [status.name for status in statuses if status.usable])
    finally:
        await client.aclose()


def _code(
    checks: Mapping[str, list[Check]], statuses: list[ProviderStatus], probes: list[ProbeResult]
) -> int:
    failed = {exit_codes.exit_status(item.error).code for item in probes if item.error is not None}
    if failed:
        return max(failed)
    broken = any(check.state == "problem" for group in checks.values() for check in group)
    usable = any(status.usable for status in statuses)
    return exit_codes.OK if usable and not broken else exit_codes.CONFIGURATION


def _print_sections(console: Console, checks: Mapping[str, list[Check]]) -> None:
    for title, group in checks.items():
        _title(console, title.capitalize())
        _print_checks(console, group)
        console.write("\n")


def _print_providers(
    console: Console, client: SearchClient, statuses: list[ProviderStatus], more: int
) -> None:
    _title(console, "Providers")
    for status in statuses:
        symbol = _SYMBOLS["ok" if status.usable else "note"]
        console.print(f"{symbol} {one_line(status.name)}" + ("" if status.usable else f": {status.reason}"))
        _print_checks(console, credentials(client.findings(status.name), console.clock()), "    ")
    for name in switched_off(client.config):
        console.print(f"  {one_line(name)}: {SWITCHED_OFF}")
    if more:
        console.print(f"  {more} more need a key or a server: groundwire providers --all")
    console.write("\n")


def _print_answers(console: Console, probes: list[ProbeResult]) -> None:
    if not probes:
        return
    _title(console, "Answers")
    for item in probes:
        if item.error is None:
            check = Check("ok", item.name, f"answered in {item.seconds:.1f} s")
        else:
            message = f"{error_line(item.error, console.env)} {exit_codes.exit_status(item.error).advice}"
            check = Check("problem", item.name, message.strip())
        _print_checks(console, [check])
    console.write("\n")


def _print_verdict(console: Console, client: SearchClient, statuses: list[ProviderStatus]) -> None:
    usable = [status.name for status in statuses if status.usable]
    first = next((name for name in client.order if name in usable and client.can_search(name)), "")
    if first:
        console.print(f"You can ask {', '.join(usable)}; `groundwire search` asks {first} first.")
        if not any(status.usable and status.dialect != "engine" for status in statuses):
            console.print("To add a vendor, set its variable above or run `groundwire login PROVIDER`.")
    elif usable:
        console.print(f"You can ask {', '.join(usable)}, by name: groundwire search --provider {usable[0]} …")
    else:
        console.print(
            "No provider can be used yet: set one of the variables above, or store a key with "
            "`groundwire login PROVIDER`."
        )


def _print_checks(console: Console, checks: Iterable[Check], indent: str = "") -> None:
    for check in checks:
        line = one_line(f"{check.what}: {check.detail}").replace(console.home + "/", "~/")
        style = _STYLES[check.state] if console.colored else ""
        console.write(f"{indent}{_SYMBOLS[check.state]} {styled(line, style)}\n")


def _title(console: Console, text: str) -> None:
    console.write((styled(text, BOLD) if console.colored else text) + "\n")


def _encode_report(
    client: SearchClient,
    checks: Mapping[str, list[Check]],
    statuses: list[ProviderStatus],
    probes: list[ProbeResult],
    console: Console,
) -> JsonObject:
    answers = {item.name: item for item in probes}
    providers: list[Json] = []
    for status in statuses:
        findings = credentials(client.findings(status.name), console.clock())
        entry: JsonObject = {
            **encode_status(status),
            "findings": [_encode_check(check) for check in findings],
        }
        if status.name in answers:
            answer = answers[status.name]
            entry["answered"] = answer.error is None
            entry["seconds"] = round(answer.seconds, 3)
            entry["error"] = error_line(answer.error, console.env) if answer.error else None
        providers.append(entry)
    groups: JsonObject = {title: [_encode_check(check) for check in group] for title, group in checks.items()}
    return {"version": 1, **groups, "providers": providers, "warnings": list(client.config.warnings)}


def _encode_check(check: Check) -> JsonObject:
    return {"state": check.state, "what": check.what, "detail": check.detail}
