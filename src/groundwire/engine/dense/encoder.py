"""Sentence encoders: texts to vectors whose dot product says how close their meanings are.

`ENGLISH` is all-MiniLM-L6-v2, better for English questions about English texts. `MULTILINGUAL` is the
Universal Sentence Encoder for 16 languages, which also compares texts of two languages, and takes a fifth of
the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from groundwire.engine.dense.packages import (
    ENGLISH,
    MULTILINGUAL,
    EncoderPackage,
    MeaningUnavailable,
    usable_packages,
)

if TYPE_CHECKING:
    from groundwire.engine.dense.arrays import Floats


_MULTILINGUAL_SCALE = 1.2
"""The multilingual encoder finds texts less similar than the English one. Chosen on the tuning questions of
tests/engine/questions, so that it alone gives no more wrong answers than words alone."""


class SentenceEncoder(Protocol):
    """Encodes texts as vectors of length 1."""

    @property
    def name(self) -> str:
        """Vectors are comparable if the names of their encoders are equal."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        ...

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of texts that it is meant for; empty for any."""
        ...

    @property
    def scale(self) -> float:
        """What its cosines are multiplied by, so that those of all encoders mean the same."""
        ...

    def encode(self, texts: Sequence[str]) -> Floats:
        """The vectors of texts, one in each row."""
        ...


class Tokenizer(Protocol):
    """Cuts texts into pieces of a vocabulary."""

    def ids(self, text: str) -> list[int]:
        """The ids of the pieces of a text."""
        ...


class Model(Protocol):
    """The forward pass of an encoder."""

    def encode(self, texts: Sequence[Sequence[int]]) -> Floats:
        """The vectors of texts that are given as ids of pieces, one in each row."""
        ...


FindEncoders: TypeAlias = Callable[[Path], Sequence[SentenceEncoder]]


def find_encoders(cache: Path) -> list[SentenceEncoder]:
    """The installed encoders, preferred ones first; none without the extra.

    The first call writes about 80 MB to the folder `cache`. Raises `MeaningUnavailable` if that fails.
    """
    return [_load(package, cache) for package in usable_packages()]


class PackagedEncoder:
    """Tokenizer and model of a package."""

    def __init__(self, package: EncoderPackage, tokenizer: Tokenizer, model: Model, dimensions: int) -> None:
        self.name = package.name
        self.dimensions = dimensions
        self.languages = ("en",) if package == ENGLISH else ()
        self.scale = 1.0 if package == ENGLISH else _MULTILINGUAL_SCALE
        self._tokenizer = tokenizer
        self._model = model

    def encode(self, texts: Sequence[str]) -> Floats:
        """The vectors of texts, one in each row."""
        return self._model.encode([self._tokenizer.ids(text) for text in texts])


def _load(package: EncoderPackage, cache: Path) -> SentenceEncoder:
    # numpy takes a tenth of a second to import.
    from groundwire.engine.dense import minilm, multilingual  # noqa: PLC0415
    from groundwire.engine.dense.prepared import load_multilingual  # noqa: PLC0415
    from groundwire.engine.dense.word_pieces import read_tokenizer  # noqa: PLC0415

    if package == MULTILINGUAL:
        return PackagedEncoder(package, *load_multilingual(cache), multilingual.DIMENSIONS)
    weights, vocabulary = package.path(package.weights), package.path(package.vocabulary)
    if weights is None or vocabulary is None:
        raise MeaningUnavailable(package.problem())
    try:
        tokenizer = read_tokenizer(vocabulary, minilm.LONGEST_INPUT)
        model = minilm.MiniLm(minilm.read_safetensors(weights))
    except (OSError, ValueError, KeyError) as error:
        raise MeaningUnavailable(f"{weights.parent} cannot be read ({error})") from error
    return PackagedEncoder(package, tokenizer, model, minilm.DIMENSIONS)
