"""Answers say who gave them: at their start to whoever writes heads, at their end to whoever keeps them."""

from __future__ import annotations

from groundwire.model import Event, Finished, Started
from groundwire.model.extras import Extras, merge_extras
from groundwire.model.value import replace


def signed(event: Event, provider: str, model: str) -> Event:
    """The event; a start with the provider's name, an end with `extras["groundwire"]`."""
    if isinstance(event, Started):
        return replace(event, provider=provider)
    if isinstance(event, Finished):
        signature: Extras = {"groundwire": {"provider": provider, "model": model}}
        return replace(event, extras=merge_extras(event.extras, signature))
    return event
