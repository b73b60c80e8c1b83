"""Import time of the core, compared with `json` and `dataclasses`: whole interpreter starts, interleaved."""

from __future__ import annotations

import os
import subprocess
import sys
from statistics import median
from time import perf_counter

ROUNDS = 21
# Users have compiled modules cached, so this environment must not disable it.
COMPILED = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
CORE = (
    "import groundwire.errors, groundwire.model, groundwire.text.markdown, groundwire.dialects.base, "
    "groundwire.dialects.registry"
)
PROGRAMS = {
    "nothing": "pass",
    "json, dataclasses": "import json, dataclasses",
    "the core": CORE,
    "the core and one dialect": CORE
    + "; from groundwire.dialects.registry import dialect; dialect('anthropic_messages')",
    "the core and all dialects": CORE
    + "; from groundwire.dialects.registry import DIALECTS, dialect; [dialect(name) for name in DIALECTS]",
}


def start(program: str) -> float:
    begin = perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, env=COMPILED)
    return perf_counter() - begin


def main() -> None:
    for program in PROGRAMS.values():
        start(program)
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for _ in range(ROUNDS):
        for name, program in PROGRAMS.items():
            times[name].append(start(program))
    base = median(times["json, dataclasses"])
    print("| import | ms | ratio to json, dataclasses |\n|---|--:|--:|")
    for name, seconds in times.items():
        print(f"| {name} | {median(seconds) * 1000:.1f} | {median(seconds) / base:.2f} |")


if __name__ == "__main__":
    main()
