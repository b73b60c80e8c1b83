"""The contract of the web search tools: a query goes in, one JSON result comes out.

Its reader is a model that called a tool, so the result holds the answer to read and its sources. The
extension holds only warnings and what is needed to read the text back without guessing.
"""

from __future__ import annotations

from groundwire.dialects.base import Dialect
from groundwire.dialects.websearch.decoder import Decoder
from groundwire.dialects.websearch.encoder import LOSSES, Encoder
from groundwire.dialects.websearch.errors import decode_error, encode_error
from groundwire.dialects.websearch.request import decode_request, encode_request
from groundwire.dialects.websearch.response import decode_response, encode_response
from groundwire.dialects.websearch.search import NAME
from groundwire.dialects.websearch.usage import usage_of

__all__ = ["DIALECT"]

DIALECT = Dialect(
    name=NAME,
    decode_request=decode_request,
    encode_request=encode_request,
    decode_response=decode_response,
    encode_response=encode_response,
    usage_of=usage_of,
    decoder=Decoder,
    encoder=Encoder,
    decode_error=decode_error,
    encode_error=encode_error,
    losses=LOSSES,
)
