"""The embedded engine from scratch: the first answer in an empty data directory, the build, later answers.

Each figure is for a whole process, as in a shell: it includes imports, opening the index, searching and
composing. The target of a later `groundwire search` is less than 0.4 s.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from groundwire.engine.dense.build import complete_vectors
from groundwire.engine.dense.encoder import find_encoders
from groundwire.engine.dense.packages import SWITCH, encoder_problem
from groundwire.engine.index.location import open_index
from groundwire.engine.knowledge import is_complete, refresh

ROUNDS = 7
# Users have compiled modules cached, so this environment must not disable it.
COMPILED = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
COMPILED["GROUNDWIRE_BUILD_INDEX"] = "0"
SEARCH = """
import asyncio, sys
from pathlib import Path
from groundwire.engine.compose.answer import compose
from groundwire.engine.engines.local import LocalEngine
from groundwire.model import SearchOptions
async def main():
    engine = LocalEngine(Path(sys.argv[1]))
    found = await engine.find(sys.argv[2], SearchOptions())
    await engine.close()
    assert compose(sys.argv[2], found.passages).found
asyncio.run(main())
"""
QUESTION = "How do I serialize an object to JSON?"


def time_search(folder: Path) -> float:
    """Seconds from the start of a process to its answer."""
    start = perf_counter()
    subprocess.run([sys.executable, "-c", SEARCH, str(folder), QUESTION], check=True, env=COMPILED)
    return perf_counter() - start


def time_command(data: Path, *, by_meaning: bool) -> tuple[float, float]:
    """Seconds of `groundwire search`, and of CPU."""
    command = [sys.executable, "-m", "groundwire", "search", "--provider", "local", "--data-dir", str(data)]
    environment = {**COMPILED, SWITCH: "1" if by_meaning else "0"}
    start = perf_counter()
    process = subprocess.Popen([*command, QUESTION], env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    elapsed = perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0  # noqa: S101
    return elapsed, used.ru_utime + used.ru_stime


def describe_commands(data: Path, *, by_meaning: bool) -> str:
    """The figures of a warm question on the command line: everything that it reads was read before."""
    time_command(data, by_meaning=by_meaning)
    wall, cpu = zip(*(time_command(data, by_meaning=by_meaning) for _ in range(ROUNDS)), strict=True)
    return f"{median(wall):.2f} s (least {min(wall):.2f}), CPU {median(cpu):.2f} s (least {min(cpu):.2f})"


def add_vectors(folder: Path) -> int:
    """Compute the vectors of the encoder that takes the least time; returns their number."""
    with open_index(folder) as index:
        return complete_vectors(
            index, finder=lambda models: [encoder for encoder in find_encoders(models) if encoder.is_fast]
        )


def main() -> None:
    rows: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as root:
        firsts = [time_search(Path(root, f"empty{number}")) for number in range(3)]
        rows.append(("first answer, empty data directory (whole process)", f"{median(firsts):.2f} s"))
        folder = Path(root, "data", "index")
        with open_index(folder) as index:
            start = perf_counter()
            refresh(index)
            rows.append(("the whole build", f"{perf_counter() - start:.2f} s"))
            start = perf_counter()
            refresh(index)
            rows.append(("the whole build again, nothing new", f"{perf_counter() - start:.2f} s"))
            start = perf_counter()
            assert is_complete(index)  # noqa: S101
            rows.append(("checking that the index is complete", f"{perf_counter() - start:.2f} s"))
            stats = index.stats()
        rows.append(("pages, passages", f"{stats.pages}, {stats.passages}"))
        rows.append(("index on disk", f"{stats.bytes_on_disk / 1e6:.1f} MB"))
        later = [time_search(folder) for _ in range(ROUNDS)]
        rows.append(("a later answer (whole process)", f"{median(later):.2f} s"))
        by_words = describe_commands(folder.parent, by_meaning=False)
        rows.append(("a later `groundwire search`, by words", by_words))
        if not encoder_problem() and add_vectors(folder):
            by_meaning = describe_commands(folder.parent, by_meaning=True)
            rows.append(("a later `groundwire search`, by meaning", by_meaning))
    print("| step | measured |\n|---|--:|")
    for what, measured in rows:
        print(f"| {what} | {measured} |")


if __name__ == "__main__":
    main()
