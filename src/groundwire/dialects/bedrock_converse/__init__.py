"""Amazon Bedrock: Converse and ConverseStream."""

from groundwire.dialects.base import Dialect
from groundwire.dialects.bedrock_converse.decoder import Decoder
from groundwire.dialects.bedrock_converse.encoder import LOSSES, Encoder
from groundwire.dialects.bedrock_converse.errors import decode_error, encode_error
from groundwire.dialects.bedrock_converse.request import decode_request, encode_request
from groundwire.dialects.bedrock_converse.response import decode_response, encode_response
from groundwire.dialects.bedrock_converse.search import NAME
from groundwire.dialects.bedrock_converse.usage import usage_of

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
