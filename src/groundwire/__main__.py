"""`groundwire`, and `python -m groundwire`."""

from __future__ import annotations

import gc
import sys

from groundwire import __version__


def main() -> int:
    """Run the command line; the result is the exit code."""
    if sys.argv[1:] == ["--version"]:
        print(f"groundwire {__version__}")  # noqa: T201
        return 0
    from groundwire.commands.main import run  # noqa: PLC0415  the version needs nothing else

    code = run(sys.argv[1:])
    # The process ends now. What is left is not searched for garbage, which would take longer than freeing it.
    gc.freeze()
    return code


if __name__ == "__main__":
    raise SystemExit(main())
