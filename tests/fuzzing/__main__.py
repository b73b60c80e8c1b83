"""Coverage-guided fuzzing with atheris: `python -m tests.fuzzing [--seconds 600] [TARGET…]`.

The time is divided among the targets, and each runs in a process of its own. An input that breaks a property
is printed and kept in `.fuzz/`, with the inputs that reached new code, from which the next run starts.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / ".fuzz"
NAMES = ("sse", "json", "offsets", "response_head", "request_head")
MAX_BYTES = 4096


def run_target(name: str, seconds: int) -> None:
    """Fuzz one target in this process; does not return."""
    import atheris

    with atheris.instrument_imports(include=["groundwire"]):
        from tests.fuzzing.targets import TARGETS
    check, seeds = TARGETS[name]
    corpus = FOLDER / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    arguments = [
        *(sys.argv[0], str(corpus), f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}"),
        *("-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", f"-artifact_prefix={FOLDER}/{name}-"),
    ]
    atheris.Setup(arguments, check)
    atheris.Fuzz()


def fuzz(name: str, seconds: int) -> bool:
    """Fuzz one target in a process, and print how many inputs were tried; True if none broke a property."""
    command = [sys.executable, "-m", "tests.fuzzing", "--child", "--seconds", str(seconds), name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    counts = [line for line in done.stderr.splitlines() if "number_of_executed_units" in line]
    count = counts[-1].split(":")[-1].strip() if counts else "no"
    print(f"{name}: {count} inputs in {seconds} s", flush=True)  # noqa: T201
    if done.returncode:
        report = [line for line in done.stderr.splitlines() if not line.startswith("INFO")]
        print("\n".join((done.stdout[-4000:], *report[-20:])), flush=True)  # noqa: T201
    return done.returncode == 0


def main() -> int:
    """Run the targets one after the other; returns 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(NAMES))
    parser.add_argument("--seconds", type=int, default=600, help="for all targets together (default 600)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    targets = options.targets or list(NAMES)
    if unknown := set(targets).difference(NAMES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(NAMES)}")
    if options.child:
        run_target(targets[0], options.seconds)
    seconds = max(1, options.seconds // len(targets))
    failed = [name for name in targets if not fuzz(name, seconds)]
    if failed:
        print(f"failed: {', '.join(failed)}; the inputs are in {FOLDER}")  # noqa: T201
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
