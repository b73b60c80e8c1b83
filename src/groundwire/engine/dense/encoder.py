"""Sentence encoders: texts to vectors whose dot product says how close their meanings are.

`ENGLISH` is all-MiniLM-L6-v2, better for English questions about English texts. `MULTILINGUAL` is the
Universal Sentence Encoder for 16 languages, which also compares texts of two languages, and takes a fifth of
the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
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
_UNRELATED, _MULTILINGUAL_UNRELATED = 0.2, 0.38
"""Similarities of phrases about unrelated things. Of the tuning questions without an answer, half have a name
whose three closest phrases reach .44 by the English encoder and .56 by the multilingual one; of the others,
.72 and .83. That of the multilingual one was chosen so that it alone gives few wrong answers."""


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

    @property
    def unrelated(self) -> float:
        """The similarity, on that scale, of phrases about unrelated things."""
        ...

    @property
    def is_fast(self) -> bool:
        """Can it encode some passages while a question waits?"""
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

    They are loaded when they first encode something. The multilingual one then writes about 80 MB to the
    folder `cache`, once.
    """
    loaders: dict[EncoderPackage, Load] = {
        ENGLISH: _load_english,
        MULTILINGUAL: partial(_load_multilingual, cache),
    }
    return [PackagedEncoder(package, loaders[package]) for package in usable_packages()]


Load: TypeAlias = Callable[[], tuple[Tokenizer, Model]]


class PackagedEncoder:
    """The encoder of a package. Raises `MeaningUnavailable` if its files cannot be used."""

    def __init__(self, package: EncoderPackage, load: Load) -> None:
        self.name = package.name
        self.dimensions = package.dimensions
        self.languages = package.languages
        self.is_fast = package == MULTILINGUAL
        self.scale = _MULTILINGUAL_SCALE if self.is_fast else 1.0
        self.unrelated = _MULTILINGUAL_UNRELATED if self.is_fast else _UNRELATED
        self._load = load
        self._loading = Lock()
        self._loaded: tuple[Tokenizer, Model] | None = None

    def encode(self, texts: Sequence[str]) -> Floats:
        """The vectors of texts, one in each row."""
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            tokenizer, model = self._loaded
        return model.encode([tokenizer.ids(text) for text in texts])


def _load_multilingual(cache: Path) -> tuple[Tokenizer, Model]:
    from groundwire.engine.dense.multilingual_files import load_multilingual  # noqa: PLC0415  imports numpy

    return load_multilingual(cache)


def _load_english() -> tuple[Tokenizer, Model]:
    from groundwire.engine.dense import minilm  # noqa: PLC0415  imports numpy
    from groundwire.engine.dense.bert import read_safetensors  # noqa: PLC0415
    from groundwire.engine.dense.word_pieces import read_tokenizer  # noqa: PLC0415

    weights, vocabulary = ENGLISH.path(ENGLISH.weights), ENGLISH.path(ENGLISH.vocabulary)
    if weights is None or vocabulary is None:
        raise MeaningUnavailable(ENGLISH.problem())
    try:
        tokenizer = read_tokenizer(vocabulary, minilm.LONGEST_INPUT)
        return tokenizer, minilm.MiniLm(read_safetensors(weights))
    except (OSError, ValueError, KeyError) as error:
        raise MeaningUnavailable(f"{weights.parent} cannot be read ({error})") from error
