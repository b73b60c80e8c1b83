"""What is asked: a text, and where to look for an answer. The controls are kept with the question."""

from __future__ import annotations

import re

from groundwire.dialects.fields import Fields
from groundwire.errors import ClientWireError, InvalidArguments, InvalidQuery
from groundwire.model import JsonObject, Location, Message, SearchOptions, Text
from groundwire.model.value import field_names, replace, value
from groundwire.text.domains import is_domain

EXTRAS = "chat"
LONGEST = 200_000
MOST_DOMAINS = 100
_BETWEEN = re.compile(r"[\s,;]+")


@value
class Controls:
    """Where to search, and where the asker is. Empty fields leave it to the configuration."""

    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()
    country: str = ""
    region: str = ""
    city: str = ""
    timezone: str = ""


@value
class Asked:
    """A question of somebody's. `replaces` is the earlier question that it takes the place of."""

    text: str
    owner: str
    session: str = ""
    agent: str = ""
    controls: Controls = Controls()
    replaces: str = ""
    language: str = "en"


def domains_in(text: str) -> tuple[str, ...]:
    """The domains somebody typed, however they are separated; raises `InvalidArguments` for others."""
    entries = tuple(dict.fromkeys(entry.lower() for entry in _BETWEEN.split(text) if entry))
    for entry in entries:
        if not is_domain(entry):
            raise InvalidArguments(f"{entry[:80]!r} is no domain; write it like example.org")
    if len(entries) > MOST_DOMAINS:
        raise InvalidArguments(f"a list of domains has more than {MOST_DOMAINS} entries")
    return entries


def question(asked: Asked) -> Message:
    """The turn that a question is."""
    if not asked.text.strip():
        raise InvalidQuery("the question is empty; ask something")
    if len(asked.text) > LONGEST:
        raise InvalidQuery(f"the question is longer than {LONGEST:,} characters")
    said = _written(asked.controls)
    return Message("user", (Text(asked.text),), extras={EXTRAS: said} if said else {})


def controls_of(message: Message) -> Controls:
    """The controls a question was asked with; raises `ClientWireError` where what was stored is damaged."""
    fields = Fields(message.extras.get(EXTRAS, {}), ClientWireError)
    return Controls(
        fields.texts("allowed_domains"),
        fields.texts("blocked_domains"),
        *(fields.text(name) for name in field_names(Location)[:4]),
    )


def readable_controls(message: Message) -> Controls | None:
    """The same to be shown; None where they cannot be read."""
    try:
        return controls_of(message)
    except ClientWireError:
        return None


def options_for(controls: Controls, configured: SearchOptions) -> SearchOptions:
    """How to search: what the asker says, and what is configured where they say nothing."""
    place = Location(controls.country.upper(), controls.region, controls.city, controls.timezone)
    return replace(
        configured,
        allowed_domains=controls.allowed_domains or configured.allowed_domains,
        blocked_domains=tuple(dict.fromkeys((*configured.blocked_domains, *controls.blocked_domains))),
        location=place if place != Location() else configured.location,
    )


def _written(controls: Controls) -> JsonObject:
    said: JsonObject = {}
    for name in field_names(Controls):
        item = getattr(controls, name)
        if item:
            said[name] = list(item) if isinstance(item, tuple) else item
    return said
