"""Asking a provider how many tokens a request has, where its API says so.

The client's own body goes there as it is. Where it cannot, or where the speaker of a dialect lacks the
endpoint, nobody has counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import time

from groundwire.credentials.redact import Redactor
from groundwire.credentials.secret import Credential
from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.dialects.registry import dialect
from groundwire.errors import UpstreamWireError
from groundwire.model import JsonObject, Request, Wire
from groundwire.model.value import replace, value
from groundwire.providers.passthrough.rules import forwarded_headers
from groundwire.providers.response_reader import error_from_response
from groundwire.providers.spec import LOOP_HEADER, ProviderSpec
from groundwire.transport.http import Call, Http

_OURS = b'"gw1.'
_NOT_THERE = (404, 405, 501)


@value
class _Place:
    """Where a vendor counts, and under which name its answer has the number."""

    url: Callable[[str], str]
    """From the address at which it is asked."""
    field: str
    named: bool
    """Does the body name the model?"""


_PLACES: Mapping[str, _Place] = {
    "anthropic_messages": _Place(lambda url: f"{url}/count_tokens", "input_tokens", named=True),
    "gemini": _Place(
        lambda url: f"{url.removesuffix(':generateContent')}:countTokens", "totalTokens", named=False
    ),
}


def can_count(row: ProviderSpec, wire: Wire | None) -> bool:
    """Can this provider count for this client? Blocks of our own making only we can read."""
    return wire is not None and wire.dialect == row.dialect in _PLACES and _OURS not in wire.data


async def count_tokens(
    row: ProviderSpec, http: Http, credential: Credential | None, redactor: Redactor, request: Request
) -> int | None:
    """The tokens of a request, as the provider counts them; None if it does not."""
    wire = request.wire
    if wire is None or not can_count(row, wire):
        return None
    place = _PLACES[row.dialect]
    asked = replace(request, model=request.model or row.model, stream=False)
    body: JsonObject = {**wire.body, "model": asked.model} if place.named else wire.body
    headers = {
        "content-type": "application/json",
        "accept": "application/json",
        LOOP_HEADER: "1",
        **row.headers(credential),
        **forwarded_headers(wire, row.forwards),
    }
    call = Call("POST", place.url(row.url(row.base_url, asked)), headers, dump_json(body).encode())
    async with http.open(call, row.deadlines) as exchange:
        if exchange.status in _NOT_THERE:
            return None
        if not 200 <= exchange.status < 300:
            error = await error_from_response(row.name, dialect(row.dialect), exchange, time())
            error.message = redactor.redact(error.message)
            error.args = (error.message,)
            raise error
        counted = as_object(load_json(await exchange.body(), UpstreamWireError)).get(place.field)
    if not isinstance(counted, int):
        raise UpstreamWireError("there is no count in it", f"$.{place.field}")
    return counted
