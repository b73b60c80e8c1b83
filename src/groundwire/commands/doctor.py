"""`groundwire doctor`: checks versions, configuration, data directory, credentials and providers.

Without `--live` no request is sent. Each check has a state and, if there is a problem, what to do.
"""

from __future__ import annotations

import asyncio
import time
from argparse import Namespace
from collections.abc import Iterable, Mapping
from contextlib import aclosing

from groundwire.client import ProviderStatus
from groundwire.client_protocol import SearchClient
from groundwire.commands.config import load_config
from groundwire.commands.providers import SWITCHED_OFF, encode_status, listed, switched_off
from groundwire.commands.runner import error_line, report_error
from groundwire.dialects.json import dump_json
from groundwire.errors import ConfigError, GroundwireError, TimedOut
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.console import BOLD, DIM, RED, Console, styled
from groundwire.model import Failed, Json, JsonObject, Limits, Message, Request, Text
from groundwire.model.value import value
from groundwire.server.diagnostics import (
    Check,
    CheckState,
    config_files,
    credentials,
    data_checks,
    extras,
    versions,
)
from groundwire.text.sanitise import escape_invisible_json, one_line

_PROBE = Request((Message("user", (Text("Reply with the one word: ok"),)),), limits=Limits(64), stream=True)
_PROBE_TIMEOUT = 60.0


@value
class ProbeResult:
    """A test request to a provider: how long it took, and its error."""

    name: str
    seconds: float
    error: GroundwireError | None = None


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


_ABSENT = ("not set", "no such file")
_SYMBOLS: Mapping[CheckState, str] = {"ok": "+", "problem": "!", "note": " "}
_STYLES: Mapping[CheckState, str] = {"ok": "", "problem": RED, "note": DIM}


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
    checks["data"] = data_checks(client.config, console.env)
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
        _print_checks(console, _notable(credentials(client.findings(status.name), console.clock())), "    ")
    for name in switched_off(client.config):
        console.print(f"  {one_line(name)}: {SWITCHED_OFF}")
    if more:
        console.print(f"  {more} more need a key or a server: groundwire providers --all")
    console.write("\n")


def _notable(checks: Iterable[Check]) -> Iterable[Check]:
    """Each check once; none if all places are simply empty, because the reason says what to set."""
    found = list(dict.fromkeys(checks))
    return () if all(check.detail in _ABSENT for check in found) else found


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
