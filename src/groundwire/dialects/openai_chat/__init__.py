"""OpenAI Chat Completions, as used by OpenAI, OpenRouter, Perplexity and other compatible servers."""

from groundwire.dialects.base import Dialect
from groundwire.dialects.openai_chat.decoder import Decoder
from groundwire.dialects.openai_chat.encoder import Encoder
from groundwire.dialects.openai_chat.errors import decode_error, encode_error
from groundwire.dialects.openai_chat.request import decode_request, encode_request
from groundwire.dialects.openai_chat.response import LOSSES, decode_response, encode_response
from groundwire.dialects.openai_chat.search import NAME
from groundwire.dialects.openai_chat.usage import usage_of

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
