"""Streams, both ways."""

from groundwire.dialects.openai_responses.decoder import Decoder
from groundwire.dialects.openai_responses.encoder import Encoder

__all__ = ["Decoder", "Encoder"]
