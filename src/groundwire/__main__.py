"""`groundwire`, and `python -m groundwire`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; the result is the exit code."""
    if sys.argv[1:] == ["--version"]:
        from groundwire.faces.cli.version import VERSION  # noqa: PLC0415  nothing else is needed

        print(f"groundwire {VERSION}")  # noqa: T201
        return 0
    from groundwire.faces.cli.main import run  # noqa: PLC0415

    return run(sys.argv[1:])


if __name__ == "__main__":
    raise SystemExit(main())
