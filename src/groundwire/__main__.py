"""`groundwire`, and `python -m groundwire`."""

from __future__ import annotations

import sys

from groundwire import __version__


def main() -> int:
    """Run the command line; the result is the exit code."""
    if sys.argv[1:] == ["--version"]:
        print(f"groundwire {__version__}")  # noqa: T201
        return 0
    from groundwire.commands.main import run  # noqa: PLC0415  the version needs nothing else

    return run(sys.argv[1:])


if __name__ == "__main__":
    raise SystemExit(main())
