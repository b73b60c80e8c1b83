"""Google's Interactions API."""

from __future__ import annotations

from groundwire.dialects.base import Dialect
from groundwire.dialects.gemini_interactions.decoder import Decoder
from groundwire.dialects.gemini_interactions.encoder import LOSSES, Encoder
from groundwire.dialects.gemini_interactions.errors import decode_error, encode_error
from groundwire.dialects.gemini_interactions.request import decode_request, encode_request
from groundwire.dialects.gemini_interactions.response import decode_response, encode_response
from groundwire.dialects.gemini_interactions.search import NAME
from groundwire.dialects.gemini_interactions.usage import usage_of

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
