"""Gemini: generateContent and streamGenerateContent, of the Developer API and of Vertex AI."""

from groundwire.dialects.base import Dialect
from groundwire.dialects.gemini.decoder import Decoder
from groundwire.dialects.gemini.encoder import LOSSES, NOT_RESENT, Encoder
from groundwire.dialects.gemini.errors import decode_error, encode_error
from groundwire.dialects.gemini.request import decode_request, encode_request
from groundwire.dialects.gemini.response import decode_response, encode_response
from groundwire.dialects.gemini.search import NAME
from groundwire.dialects.gemini.usage import usage_of

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
    not_resent=NOT_RESENT,
)
