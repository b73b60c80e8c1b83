"""Observers of attempts: called when an attempt begins and when it ends, never for an event in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from groundwire.model import Request, Usage
from groundwire.model.value import value
from groundwire.providers.spec import Provider

CANCELLED = "CANCELLED"
"""The error of an attempt whose answer is no longer needed."""


@value
class AttemptResult:
    """How an attempt ended. It holds nothing of the content."""

    model: str
    """The model that answered, as the provider names it; empty if it does not."""
    usage: Usage
    finish: str
    """The finish reason; empty if there was an error."""
    error: str
    """The code of the error; empty if there was none."""
    first_event: float | None
    """Seconds until the first visible event; None if there was none."""


ReportEnd: TypeAlias = Callable[[AttemptResult], None]
AttemptObserver: TypeAlias = Callable[[Provider, Request], ReportEnd]
"""Called in the task of the attempt, before the provider."""
