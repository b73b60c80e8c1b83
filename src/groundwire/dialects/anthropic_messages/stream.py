"""Streams, both ways."""

from groundwire.dialects.anthropic_messages.decoder import Decoder
from groundwire.dialects.anthropic_messages.encoder import Encoder

__all__ = ["Decoder", "Encoder"]
