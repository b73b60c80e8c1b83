"""What is encoded of a passage, and the key of a vector: a hash of the encoded text.

So a vector belongs to a text, wherever that is: a page that changes keeps the vectors of the passages that
did not, and an index that is built again finds all of them. Nothing here needs numpy.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TypeAlias

VectorKey: TypeAlias = int
"""Fits a signed 64-bit integer."""

PASSAGES, PHRASES = "vectors", "phrases"
"""What vectors are of: passages, or the phrases about purposes. Files are named so."""
TEXT_VERSION = 1
"""Incremented with every change of `passage_text`; the analysis version of the search index changes too."""
_LONGEST_TEXT = 600
"""Characters of a passage that are encoded: the cost is linear, and passages seldom change their subject."""


def passage_text(title: str, text: str) -> str:
    """What is encoded of a passage: its title, and the beginning of its text."""
    beginning = text.strip()[:_LONGEST_TEXT]
    return f"{title}. {beginning}" if title else beginning


def vector_key(text: str) -> VectorKey:
    """The key of the vector of a text."""
    digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
