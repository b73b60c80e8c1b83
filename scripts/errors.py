"""Generate docs/errors.md: every error class, every error code of the servers, and every warning code.

Codes, statuses and meanings come from `groundwire.errors`, exit codes from the command line, the meaning of
warnings from the English locale of the chat page, and all other text from errors.toml. With `--check`,
nothing is written; the exit status is 1 if the page is out of date.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from groundwire import errors
from groundwire.errors import AllTargetsFailed, GroundwireError, TurnedAway
from groundwire.faces.cli.exit_codes import exit_status

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "errors.md"
TEXTS = ROOT / "scripts" / "errors.toml"
LOCALE = ROOT / "src" / "groundwire" / "faces" / "web" / "locales" / "en.json"


def error_classes() -> list[type[GroundwireError]]:
    """All classes of `groundwire.errors`, in the order of the module."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    return [kind for kind in kinds if issubclass(kind, GroundwireError)]


def render(texts: Mapping[str, Any], locale: Mapping[str, str]) -> str:
    """Return the page as Markdown, from the texts of errors.toml and of the chat page."""
    classes = error_classes()
    _complete("advice", texts["advice"], {kind.__name__ for kind in classes})
    named = {key.removeprefix("error_") for key in locale if key.startswith("error_")}
    codes = {code for code in named if code.isupper()} - {kind.code for kind in classes}
    _complete("server_codes", texts["server_codes"], codes)
    warnings = {key.removeprefix("warning_") for key in locale if key.startswith("warning_")}
    _complete("warning_advice", texts["warning_advice"], warnings)
    lines = [
        *(texts["introduction"], *_class_table(classes, texts["advice"]), ""),
        *(texts["server_codes_introduction"], *_code_table(texts["server_codes"]), ""),
        *(texts["warnings_introduction"], *_warning_table(texts["warning_advice"], locale)),
    ]
    return "\n".join(lines) + "\n"


def _class_table(classes: Iterable[type[GroundwireError]], advice: Mapping[str, str]) -> Iterator[str]:
    yield _row("class", "code", "status", "exit", "retry", "meaning", "what to do")
    yield _row("---", "---", "--:", "--:", "---", "---", "---")
    for kind in classes:
        meaning = " ".join((kind.__doc__ or "").partition("\n\n")[0].split())
        yield _row(f"`{kind.__name__}`", f"`{kind.code}`", *_outcome(kind), meaning, advice[kind.__name__])


def _outcome(kind: type[GroundwireError]) -> tuple[str, str, str]:
    """HTTP status, exit code, and whether to retry."""
    if kind is AllTargetsFailed:
        return "as the last attempt", "as the attempts if they agree, else 5", "varies"
    status = "varies" if kind is TurnedAway else str(kind.status_hint)
    return status, str(exit_status(kind("")).code), "yes" if kind.retryable else "no"


def _code_table(codes: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    yield _row("code", "status", "meaning", "what to do")
    yield _row("---", "--:", "---", "---")
    for code, entry in codes.items():
        yield _row(f"`{code}`", entry["status"], entry["meaning"], entry["advice"])


def _warning_table(advice: Mapping[str, str], locale: Mapping[str, str]) -> Iterator[str]:
    yield _row("code", "meaning", "what to do")
    yield _row("---", "---", "---")
    for code in sorted(advice):
        yield _row(f"`{code}`", locale[f"warning_{code}"], advice[code])


def _complete(table: str, entries: Iterable[str], expected: set[str]) -> None:
    missing, unknown = sorted(expected - {*entries}), sorted({*entries} - expected)
    if missing or unknown:
        raise SystemExit(f"scripts/errors.toml: [{table}] lacks {missing} and has unknown entries {unknown}")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main(arguments: Sequence[str]) -> int:
    """Write the page; with `--check`, compare it."""
    page = render(tomllib.loads(TEXTS.read_text("utf-8")), json.loads(LOCALE.read_text("utf-8")))
    if "--check" not in arguments:
        PAGE.write_text(page, encoding="utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page:
        return 0
    print(f"{PAGE.name} is out of date: run scripts/errors.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
