"""Starting up: commands and imports as whole processes, interleaved, beside what others cost.

`llm` and `litellm` are installed into a folder of their own for the comparison, unless `--alone` is given.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

ROUNDS = 11
# As users have it: with compiled modules kept, whatever this environment says.
COMPILED = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
SCRIPTS = Path(sysconfig.get_path("scripts"))


def contenders() -> dict[str, list[str]]:
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "groundwire --version": [str(SCRIPTS / "groundwire"), "--version"],
        "groundwire search --help": [str(SCRIPTS / "groundwire"), "search", "--help"],
        "import groundwire.client": [sys.executable, "-c", "import groundwire.client"],
    }


def others(folder: Path) -> dict[str, list[str]]:
    """Peers, in a virtual environment of their own."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "llm", "litellm"]
    subprocess.run(install, check=True)
    return {
        "llm --version": [str(folder / "bin" / "llm"), "--version"],
        'python -c "import litellm"': [python, "-c", "import litellm"],
    }


def taken(command: list[str]) -> float:
    start = perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=COMPILED)
    return perf_counter() - start


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        commands = contenders() | ({} if "--alone" in sys.argv[1:] else others(Path(folder)))
        for command in commands.values():
            taken(command)
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                times[name].append(taken(command))
    base = median(times["python -c pass"])
    print("| command | ms | ratio to python -c pass |\n|---|--:|--:|")
    for name, measured in times.items():
        print(f"| {name} | {median(measured) * 1000:.0f} | {median(measured) / base:.2f} |")


if __name__ == "__main__":
    main()
