"""Streams, both ways: reading in `decoder`, writing in `encoder`."""

from groundwire.dialects.gemini_interactions.decoder import Decoder
from groundwire.dialects.gemini_interactions.encoder import Encoder

__all__ = ["Decoder", "Encoder"]
