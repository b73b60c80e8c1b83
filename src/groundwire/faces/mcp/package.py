"""The official package `mcp`, which is imported late because that takes a second."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from groundwire.errors import ConfigError

_MISSING = "The package `mcp` is missing or incomplete; run: pip install --force-reinstall groundwire"


def need_package() -> None:
    """Say what to install if the package is missing, without the time that importing it takes."""
    if find_spec("mcp") is None:
        raise ConfigError(_MISSING)


def imported(module: str) -> None:
    """Import a module of ours that needs the package; says what to install if something of it is missing."""
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "groundwire":
            raise
        raise ConfigError(_MISSING) from None
