"""OpenAI Responses as used by all compatible servers; also decodes Perplexity and Mistral agents."""

from groundwire.dialects.base import Dialect
from groundwire.dialects.openai_responses.decoder import Decoder
from groundwire.dialects.openai_responses.encoder import Encoder
from groundwire.dialects.openai_responses.errors import decode_error, encode_error
from groundwire.dialects.openai_responses.request import decode_request, encode_request
from groundwire.dialects.openai_responses.response import LOSSES, decode_response, encode_response
from groundwire.dialects.openai_responses.search import NAME
from groundwire.dialects.openai_responses.usage import usage_of

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
