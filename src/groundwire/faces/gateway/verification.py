"""Verification of citations in the gateway: the report is added to the end of an answer.

The text streams as always. The last event waits until the cited pages were read; its extension field
`groundwire` then has `verification`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from groundwire.errors import InvalidArguments
from groundwire.faces.gateway.handler import Batches
from groundwire.model import Answer, Assembler, Event, Finished, SearchOptions, Warned
from groundwire.model.value import replace

if TYPE_CHECKING:
    from groundwire.client_protocol import SearchClient
    from groundwire.config.schema import GatewaySettings

VERIFY_HEADER = "x-groundwire-verify"
_SWITCH = {"1": True, "true": True, "0": False, "false": False}


def is_verified(headers: Mapping[str, str], settings: GatewaySettings) -> bool:
    """Are the citations of this answer verified? The header decides, unless the setting is `off`."""
    asked = headers.get(VERIFY_HEADER)
    if asked is None:
        return settings.verify == "always"
    if asked.lower() not in _SWITCH:
        raise InvalidArguments(f"{VERIFY_HEADER}: {asked[:40]!r} is neither 1 nor 0")
    if _SWITCH[asked.lower()] and settings.verify == "off":
        raise InvalidArguments(f"{VERIFY_HEADER}: verification is switched off here")
    return _SWITCH[asked.lower()]


async def verified(batches: Batches, client: SearchClient, options: SearchOptions | None) -> Batches:
    """The batches of an answer; the last event carries the report.

    New lists are yielded, so that the fast path, which would skip this, is not taken.
    """
    assembler = Assembler()
    async with aclosing(batches):
        async for batch in batches:
            events: list[Event] = []
            for event in batch:
                assembler.feed(event)
                if isinstance(event, Finished):
                    events += await _finished(event, assembler.answer(), client, options)
                else:
                    events.append(event)
            yield events


async def _finished(
    event: Finished, answer: Answer, client: SearchClient, options: SearchOptions | None
) -> Sequence[Event]:
    """The warnings about citations that fail, and the last event with the report."""
    if not answer.citations:
        return [event]
    from groundwire.verify.encode import with_report  # noqa: PLC0415  few answers are verified

    report = await client.averify(answer, options=options)
    checked = with_report(answer, report)
    warnings: list[Warned] = [warning for warning in checked.warnings if warning not in answer.warnings]
    return [*warnings, replace(event, extras=checked.extras)]
