"""Run a test for many recordings, in one test for each dialect.

A test for each recording would take several times as long to start as to run. All recordings that fail are
reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

import pytest


class Named(Protocol):
    """A recording or a stream."""

    @property
    def name(self) -> str: ...
    @property
    def dialect(self) -> str: ...


T = TypeVar("T", bound=Named)


def each(items: Iterable[T]) -> Callable[[Callable[[T], None]], Callable[[str], None]]:
    """Decorate a test that takes one of these items as its argument."""
    by_dialect: dict[str, list[T]] = {}
    for item in items:
        by_dialect.setdefault(item.dialect, []).append(item)

    def decorate(test: Callable[[T], None]) -> Callable[[str], None]:
        @pytest.mark.parametrize("name", by_dialect)
        def check(name: str) -> None:
            failed: list[Exception] = []
            for item in by_dialect[name]:
                try:
                    test(item)
                except Exception as error:  # noqa: BLE001  all are raised below
                    error.add_note(f"recording: {item.name}")
                    failed.append(error)
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(by_dialect[name])} failed", failed)

        check.__name__, check.__qualname__, check.__doc__ = test.__name__, test.__qualname__, test.__doc__
        check.__module__ = test.__module__
        return check

    return decorate
