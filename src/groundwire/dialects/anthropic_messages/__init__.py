"""Anthropic Messages, API versions 2023-06-01 and 2026-10-21."""

from groundwire.dialects.anthropic_messages.decoder import Decoder
from groundwire.dialects.anthropic_messages.encoder import LOSSES, Encoder
from groundwire.dialects.anthropic_messages.errors import decode_error, encode_error
from groundwire.dialects.anthropic_messages.request import decode_request, encode_request, with_key
from groundwire.dialects.anthropic_messages.response import decode_response, encode_response, for_request
from groundwire.dialects.anthropic_messages.search import NAME
from groundwire.dialects.anthropic_messages.usage import usage_of
from groundwire.dialects.base import Dialect

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
    for_request=for_request,
    with_key=with_key,
)
