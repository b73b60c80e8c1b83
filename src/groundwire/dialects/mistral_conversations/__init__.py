"""Mistral Conversations (`/v1/conversations`)."""

from groundwire.dialects.base import Dialect
from groundwire.dialects.mistral_conversations.decoder import Decoder
from groundwire.dialects.mistral_conversations.encoder import LOSSES, Encoder
from groundwire.dialects.mistral_conversations.errors import decode_error, encode_error
from groundwire.dialects.mistral_conversations.request import decode_request, encode_request
from groundwire.dialects.mistral_conversations.response import decode_response, encode_response
from groundwire.dialects.mistral_conversations.search import NAME
from groundwire.dialects.mistral_conversations.usage import usage_of

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
