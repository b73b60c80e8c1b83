"""`groundwire doctor`: what was found where, and what is missing; asks nobody, unless told to."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Iterable, Mapping

from groundwire.client import ProviderStatus
from groundwire.dialects.json import dump_json
from groundwire.errors import ConfigError
from groundwire.faces.cli import checkup, exits
from groundwire.faces.cli.checkup import Asked, Check, State
from groundwire.faces.cli.commands.providers import SWITCHED_OFF, encode_status, switched_off
from groundwire.faces.cli.console import BOLD, DIM, RED, Console, styled
from groundwire.faces.cli.edge import report, sentence
from groundwire.faces.cli.session import Asker, configure
from groundwire.model import Json, JsonObject
from groundwire.text.sanitise import escape_invisible_json, one_line

_SIGNS: Mapping[State, str] = {"ok": "+", "problem": "!", "note": " "}
_STYLES: Mapping[State, str] = {"ok": "", "problem": RED, "note": DIM}


def run(arguments: Namespace, console: Console) -> int:
    """Look at everything, and say how it is."""
    checks = {
        "versions": list(checkup.versions()),
        "configuration": list(checkup.config_files(console.env, console.home, console.cwd)),
    }
    try:
        asker = console.connect(configure(arguments, console), console.env)
    except ConfigError as error:
        if not arguments.json:
            _print_sections(console, checks)
        return report(error, console)
    checks["extras"] = list(checkup.extras(asker.config.store))
    checks["data"] = [checkup.data_directory(asker.config.data_dir)]
    statuses = asker.providers()
    asked = asyncio.run(_live(asker, statuses)) if arguments.ask else []
    if arguments.json:
        body = _encode(asker, checks, statuses, asked, console)
        console.write(escape_invisible_json(dump_json(body)) + "\n")
    else:
        _print_sections(console, checks)
        _print_providers(console, asker, statuses)
        _print_answers(console, asked)
        _print_verdict(console, asker, statuses)
    return _code(checks, statuses, asked)


async def _live(asker: Asker, statuses: Iterable[ProviderStatus]) -> list[Asked]:
    try:
        return await checkup.ask_each(asker, [status.name for status in statuses if status.usable])
    finally:
        await asker.aclose()


def _code(checks: Mapping[str, list[Check]], statuses: list[ProviderStatus], asked: list[Asked]) -> int:
    failed = {exits.ending_of(item.error).code for item in asked if item.error is not None}
    if failed:
        return max(failed)
    broken = any(check.state == "problem" for group in checks.values() for check in group)
    usable = any(status.usable for status in statuses)
    return exits.OK if usable and not broken else exits.CONFIGURATION


def _print_sections(console: Console, checks: Mapping[str, list[Check]]) -> None:
    for title, group in checks.items():
        _title(console, title.capitalize())
        _print_checks(console, group)
        console.write("\n")


def _print_providers(console: Console, asker: Asker, statuses: list[ProviderStatus]) -> None:
    _title(console, "Providers")
    for status in statuses:
        sign = _SIGNS["ok" if status.usable else "note"]
        console.print(f"{sign} {one_line(status.name)}" + ("" if status.usable else f": {status.reason}"))
        _print_checks(console, checkup.credentials(asker.findings(status.name), console.clock()), "    ")
    for name in switched_off(asker.config):
        console.print(f"  {one_line(name)}: {SWITCHED_OFF}")
    console.write("\n")


def _print_answers(console: Console, asked: list[Asked]) -> None:
    if not asked:
        return
    _title(console, "Answers")
    for item in asked:
        if item.error is None:
            check = Check("ok", item.name, f"answered in {item.seconds:.1f} s")
        else:
            said = f"{sentence(item.error, console.env)} {exits.ending_of(item.error).advice}"
            check = Check("problem", item.name, said.strip())
        _print_checks(console, [check])
    console.write("\n")


def _print_verdict(console: Console, asker: Asker, statuses: list[ProviderStatus]) -> None:
    usable = [status.name for status in statuses if status.usable]
    first = next((name for name in asker.order if name in usable), "")
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
        console.write(f"{indent}{_SIGNS[check.state]} {styled(line, style)}\n")


def _title(console: Console, text: str) -> None:
    console.write((styled(text, BOLD) if console.colored else text) + "\n")


def _encode(
    asker: Asker,
    checks: Mapping[str, list[Check]],
    statuses: list[ProviderStatus],
    asked: list[Asked],
    console: Console,
) -> JsonObject:
    answers = {item.name: item for item in asked}
    providers: list[Json] = []
    for status in statuses:
        findings = checkup.credentials(asker.findings(status.name), console.clock())
        entry: JsonObject = {
            **encode_status(status),
            "findings": [_encode_check(check) for check in findings],
        }
        if status.name in answers:
            answer = answers[status.name]
            entry["answered"] = answer.error is None
            entry["seconds"] = round(answer.seconds, 3)
            entry["error"] = sentence(answer.error, console.env) if answer.error else None
        providers.append(entry)
    groups: JsonObject = {title: [_encode_check(check) for check in group] for title, group in checks.items()}
    return {"version": 1, **groups, "providers": providers, "warnings": list(asker.config.warnings)}


def _encode_check(check: Check) -> JsonObject:
    return {"state": check.state, "what": check.what, "detail": check.detail}
