"""The official package `mcp`, which only those have who installed the extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from groundwire.errors import ConfigError


@contextmanager
def needing_package() -> Iterator[None]:
    """Around an import: says what to install if something of the package is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "groundwire":
            raise
        raise ConfigError(
            "MCP needs a package that is not installed: pip install 'groundwire[mcp]'"
        ) from None
