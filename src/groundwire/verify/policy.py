"""What a verification may fetch. Imports nothing heavy: the faces use it."""

from __future__ import annotations

from collections.abc import Callable

from groundwire.model.value import value


def _all(_: str) -> bool:
    return True


@value
class VerifyPolicy:
    """Where the cited pages may come from."""

    offline: bool = False
    """Only pages of the index and of the folder."""
    follow: bool = False
    """Are redirects to other sites followed? Otherwise they are reported."""
    seconds: float = 30.0
    """For all pages of an answer together."""
    folder: str = ""
    """A folder with stored pages, which are used before the web."""
    is_allowed: Callable[[str], bool] = _all
    """May this address be fetched from the web?"""
