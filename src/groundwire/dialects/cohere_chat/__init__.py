"""Cohere Chat, version 2 (`/v2/chat`)."""

from groundwire.dialects.base import Dialect
from groundwire.dialects.cohere_chat.decoder import Decoder
from groundwire.dialects.cohere_chat.encoder import LOSSES, Encoder
from groundwire.dialects.cohere_chat.errors import decode_error, encode_error
from groundwire.dialects.cohere_chat.request import decode_request, encode_request
from groundwire.dialects.cohere_chat.response import decode_response, encode_response
from groundwire.dialects.cohere_chat.search import NAME
from groundwire.dialects.cohere_chat.usage import usage_of

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
