"""Token counting by the provider, where its API has an endpoint for it.

The client's own body is sent there unchanged. Where that is not possible, or a compatible server lacks the
endpoint, the result is None.
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
from groundwire.providers.spec import ProviderSpec
from groundwire.transport.http import LOOP_HEADER, Http, HttpRequest

_OWN_MARK = b'"gw1.'
_NO_ENDPOINT = (404, 405, 501)


@value
class _CountEndpoint:
    """The token counting endpoint of a vendor, and the field of its response."""

    url: Callable[[str], str]
    """From the URL of a completion request."""
    field: str
    model_in_body: bool
    """Is the model a field of the body?"""


_ENDPOINTS: Mapping[str, _CountEndpoint] = {
    "anthropic_messages": _CountEndpoint(
        lambda url: f"{url}/count_tokens", "input_tokens", model_in_body=True
    ),
    "gemini": _CountEndpoint(
        lambda url: f"{url.removesuffix(':generateContent')}:countTokens", "totalTokens", model_in_body=False
    ),
}


def can_count(row: ProviderSpec, wire: Wire | None) -> bool:
    """Can the provider count this body? Not if it contains blocks that groundwire made."""
    return wire is not None and wire.dialect == row.dialect in _ENDPOINTS and _OWN_MARK not in wire.data


async def count_tokens(
    row: ProviderSpec, http: Http, credential: Credential | None, redactor: Redactor, request: Request
) -> int | None:
    """The input tokens of a request as the provider counts them; None if it has no such endpoint."""
    wire = request.wire
    if wire is None or not can_count(row, wire):
        return None
    endpoint = _ENDPOINTS[row.dialect]
    sent = replace(request, model=request.model or row.model, stream=False)
    body: JsonObject = {**wire.body, "model": sent.model} if endpoint.model_in_body else wire.body
    headers = {
        "content-type": "application/json",
        "accept": "application/json",
        LOOP_HEADER: "1",
        **row.headers(credential),
        **forwarded_headers(wire, row.forwards),
    }
    call = HttpRequest("POST", endpoint.url(row.url(row.base_url, sent)), headers, dump_json(body).encode())
    async with http.open(call, row.deadlines) as response:
        if response.status in _NO_ENDPOINT:
            return None
        if not 200 <= response.status < 300:
            error = await error_from_response(row.name, dialect(row.dialect), response, time())
            error.message = redactor.redact(error.message)
            error.args = (error.message,)
            raise error
        counted = as_object(load_json(await response.body(), UpstreamWireError)).get(endpoint.field)
    if not isinstance(counted, int):
        raise UpstreamWireError("the response has no token count", f"$.{endpoint.field}")
    return counted
