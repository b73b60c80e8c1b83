"""Search by meaning: finds passages and purposes whose vectors are close to that of the question.

A question in English is compared with the vectors of the English encoder, and with those of the multilingual
one where a passage has no other; every other question with the multilingual ones. `build.py` computes the
vectors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, islice
from pathlib import Path
from threading import Lock

from groundwire.engine.compiled import Sections, compiled_table, find_value
from groundwire.engine.compose.sentences import Segment, split_blocks, split_sentences
from groundwire.engine.dense.arrays import Floats
from groundwire.engine.dense.cross_encoder import CrossEncoder, passage_input
from groundwire.engine.dense.encoder import FindEncoders, SentenceEncoder, find_encoders
from groundwire.engine.dense.stored_vectors import StoredVectors
from groundwire.engine.dense.texts import PASSAGES, PHRASES, VectorKey, passage_text, vector_key
from groundwire.engine.index.base import PassageStore
from groundwire.engine.knowledge.purposes import (
    OPPOSED,
    PurposeMatch,
    closeness,
    purpose_index,
    soft_maximum,
)
from groundwire.engine.outline import decode_outline
from groundwire.engine.pages import ClosestSentence, Passage
from groundwire.engine.retrieve.translate import gloss, is_german
from groundwire.engine.words import guess_language, stop_words, text_language, tokenize, word_list
from groundwire.model import SearchOptions

_SPARE = 4
"""Vectors that are looked up for each passage that is returned: some are of one page, or have equal text."""
_FILTERED = 2000
"""Vectors that are looked up if filters restrict the passages."""
_SOFTNESS = 0.08
"""Similarities of phrases that differ by this count in the ratio 1 to e. Of 470 tuning questions in English,
the best target was right for 327 when all phrases counted (300 with the maximum; 321 with .05, 317 with
.12)."""
_CACHED_QUESTIONS = 64
_MOST_ENCODED = 32
"""Passages that are encoded for one question: a quarter of a second."""
_COMPARED_SENTENCES = ("prose", "item", "row")
_MOST_SENTENCES = 160
_LONGEST_SENTENCE = 240
_CACHED_SENTENCES = 2048
"""Sentences that are compared for one question, their characters, and the vectors that are kept for the next
questions: 4 MB. A sentence takes about half a millisecond."""
_READ = ("en", "de", "")
"""Languages of passages that the cross-encoder reads, German as its words are in English. That of code and
tables is often unknown."""
_FOREIGN_WORDS = 2
"""One may be a name or a variable: `del`, `la`."""


class _EncoderVectors:
    """An encoder with its vectors."""

    def __init__(self, encoder: SentenceEncoder, store: PassageStore) -> None:
        self.encoder = encoder
        self._passages = store.vector_source(encoder, PASSAGES)
        self._phrases = store.vector_source(encoder, PHRASES)
        self.question = lru_cache(_CACHED_QUESTIONS)(self._question)
        self._sentences: dict[str, Floats] = {}

    def vectors(self, *, phrases: bool = False) -> StoredVectors | None:
        """The vectors of passages or phrases; None if there are none."""
        found = (self._phrases if phrases else self._passages).now()
        return found or None  # a file may be empty

    def similarity(self, cosine: float) -> float:
        """The cosine on a scale that all encoders share."""
        return min(1.0, self.encoder.scale * cosine)

    def relatedness(self, cosine: float) -> float:
        """The similarity beyond that of phrases about unrelated things."""
        return max(0.0, (self.similarity(cosine) - self.encoder.unrelated) / (1 - self.encoder.unrelated))

    def sentence_similarities(self, query: str, sentences: Sequence[str]) -> list[float]:
        """The similarities of sentences. Their vectors are kept for the next questions."""
        known = self._sentences
        if missing := [text for text in dict.fromkeys(sentences) if text not in known]:
            vectors = dict(zip(missing, self.encoder.encode(missing), strict=True))
            known = {**known, **vectors}
            self._sentences = known if len(known) <= _CACHED_SENTENCES else vectors
        question = self.question(query)
        return [self.similarity(float(known[text] @ question)) for text in sentences]

    def _question(self, query: str) -> Floats:
        found: Floats = self.encoder.encode([query])[0]
        return found


class DenseStage:
    """Searches the vectors of an index. Raises `MeaningUnavailable` if encoder or vectors are damaged."""

    def __init__(
        self,
        store: PassageStore,
        models: Path,
        finder: FindEncoders = find_encoders,
        load_cross_encoder: Callable[[], CrossEncoder] | None = None,
    ) -> None:
        self._store = store
        self._models = models
        self._finder = finder
        self._loading = Lock()
        self._loaded: list[_EncoderVectors] | None = None
        self._load_cross_encoder = load_cross_encoder
        self._cross_encoder: CrossEncoder | None = None

    def search(self, query: str, options: SearchOptions, limit: int) -> list[Passage]:
        """The passages closest in meaning, best first, scored by similarity; none without vectors."""
        wanted = _FILTERED if _restricts(options) else _SPARE * limit
        found = self._store.passages(self._nearest(query, wanted), options, limit)
        if len(found) < limit and _restricts(options):
            admitted = self._store.admitted_keys(options, _FILTERED)
            found = self._store.passages(self._nearest(query, wanted, admitted), options, limit)
        return found

    def similarities(self, query: str, passages: Sequence[Passage]) -> list[float | None]:
        """The similarities of passages. Of those without a vector, the first ones are encoded now, as far as
        that is fast: while vectors are being computed, passages that have one must not gain from it. None
        for all others."""
        texts = [passage_text(item.title, item.text) for item in passages]
        similarities = self._similarities(query, list(map(vector_key, texts)))
        missing = [at for at, known in enumerate(similarities) if known is None and passages[at].text]
        fast = next((about for about in self._encoders(query) if about.encoder.is_fast), None)
        if missing and fast is not None:
            chosen = missing[:_MOST_ENCODED]
            cosines = fast.encoder.encode([texts[at] for at in chosen]) @ fast.question(query)
            for at, cosine in zip(chosen, cosines.tolist(), strict=True):
                similarities[at] = fast.similarity(cosine)
        return similarities

    def closest_sentences(self, query: str, passages: Sequence[Passage]) -> list[ClosestSentence | None]:
        """In each passage the sentence that is closest in meaning: a passage has several subjects, of which
        its vector is an average. None for passages without sentences, and beyond the limit for a question."""
        fast = next((about for about in self._encoders(query) if about.encoder.is_fast), None)
        if fast is None:
            return [None] * len(passages)
        ranges = [
            (at, segment.start, segment.end)
            for at, passage in enumerate(passages)
            for segment in _sentences(passage)
        ][:_MOST_SENTENCES]
        texts = [passages[at].text[start:end][:_LONGEST_SENTENCE] for at, start, end in ranges]
        closest: dict[int, ClosestSentence] = {}
        for (at, start, end), similarity in zip(
            ranges, fast.sentence_similarities(query, texts), strict=True
        ):
            if at not in closest or similarity > closest[at].similarity:
                closest[at] = ClosestSentence(start, end, similarity)
        return [closest.get(at) for at in range(len(passages))]

    def answer_odds(self, query: str, passages: Sequence[Passage]) -> list[float | None]:
        """For each passage the logarithm of the odds that it answers the question, by the cross-encoder; None
        without one, and where question or passage is in another language than English or German."""
        read = [at for at, passage in enumerate(passages) if _text_language(passage) in _READ]
        odds: list[float | None] = [None] * len(passages)
        language = "de" if is_german(query) else question_language(query)
        if self._load_cross_encoder is None or not read or not language:
            return odds
        with self._loading:
            if self._cross_encoder is None:
                self._cross_encoder = self._load_cross_encoder()
        inputs = [_in_english(passage_input(passages[at]), _text_language(passages[at])) for at in read]
        judged = self._cross_encoder.log_odds(_in_english(query, language), inputs)
        for at, found in zip(read, judged, strict=True):
            odds[at] = found
        return odds

    def purposes(self, query: str, limit: int) -> list[PurposeMatch]:
        """The names and pages whose purposes are closest in meaning, best first."""
        opposed = purpose_index().opposed(query)
        best: dict[str, tuple[str, float]] = {}
        similarities: dict[str, list[float]] = defaultdict(list)
        for key, similarity in self._nearest(query, _SPARE * limit, phrases=True):
            for number in _phrases_with(key):
                target, phrase = purpose_index().purpose(number)
                counted = similarity * OPPOSED if number in opposed else similarity
                if counted > best.get(target, ("", 0.0))[1]:
                    best[target] = phrase, counted
                similarities[target].append(counted)
        matches = [
            PurposeMatch(target, *closest, strength=soft_maximum(similarities[target], _SOFTNESS))
            for target, closest in best.items()
        ]
        return sorted(matches, key=lambda match: -match.strength)[:limit]

    def purpose_closeness(self, query: str, targets: Sequence[str]) -> list[float | None]:
        """How close the phrases about names and pages are in meaning, between 0 (unrelated) and 1; None for
        those without vectors."""
        found: dict[str, float] = {}
        opposed = purpose_index().opposed(query)
        for about in self._encoders(query):
            vectors = about.vectors(phrases=True)
            missing = {target: _phrase_keys(target) for target in targets if target not in found}
            if vectors is None or not missing:
                continue
            cosines = iter(vectors.cosines(about.question(query), [*chain.from_iterable(missing.values())]))
            for target, keys in missing.items():
                known = [
                    cosine * OPPOSED if opposed and not opposed.isdisjoint(_phrases_with(key)) else cosine
                    for key, cosine in zip(keys, islice(cosines, len(keys)), strict=True)
                    if cosine is not None
                ]
                if known:
                    found[target] = about.relatedness(closeness(known))
        return [found.get(target) for target in targets]

    def _nearest(
        self, query: str, limit: int, admitted: Sequence[VectorKey] | None = None, *, phrases: bool = False
    ) -> list[tuple[VectorKey, float]]:
        """The closest vectors: of each encoder those that the preferred one does not have."""
        found: list[tuple[VectorKey, float]] = []
        preferred: StoredVectors | None = None
        for about in self._encoders(query):
            vectors = about.vectors(phrases=phrases)
            if vectors is None:
                continue
            nearest = vectors.nearest(about.question(query), limit, admitted, preferred)
            found += [(key, about.similarity(cosine)) for key, cosine in nearest]
            preferred = vectors
        return sorted(found, key=lambda item: -item[1])[:limit]

    def _similarities(self, query: str, keys: Sequence[VectorKey]) -> list[float | None]:
        similarities: list[float | None] = [None] * len(keys)
        for about in self._encoders(query):
            vectors = about.vectors()
            missing = [at for at, known in enumerate(similarities) if known is None]
            if vectors is not None and missing:
                found = vectors.cosines(about.question(query), [keys[at] for at in missing])
                for at, cosine in zip(missing, found, strict=True):
                    similarities[at] = None if cosine is None else about.similarity(cosine)
        return similarities

    def _encoders(self, query: str) -> list[_EncoderVectors]:
        """The encoders for a question, preferred ones first."""
        with self._loading:
            if self._loaded is None:
                encoders = self._finder(self._models)
                self._loaded = [_EncoderVectors(encoder, self._store) for encoder in encoders]
        language = question_language(query)
        return [
            about
            for about in self._loaded
            if not about.encoder.languages or language in about.encoder.languages
        ]


def _sentences(passage: Passage) -> Iterator[Segment]:
    """The sentences, list items and table rows of a passage."""
    outline = decode_outline(passage.outline) if passage.outline else None
    segments = split_sentences(passage.text) if outline is None else split_blocks(passage.text, outline)
    return (segment for segment in segments if segment.kind in _COMPARED_SENTENCES)


def _text_language(passage: Passage) -> str | None:
    """The language of a passage, empty if it is not known; None if it has no text."""
    if not passage.text:
        return None
    return text_language(passage.language, passage.text)


def _in_english(text: str, language: str | None) -> str:
    return gloss(text) if language == "de" else text


def question_language(query: str) -> str:
    """`en` unless the question is in another language, for all that can be seen from a few words."""
    if _is_foreign(query):
        return ""
    if not query.isascii() or is_german(query):
        return guess_language(query)
    return guess_language(query) or "en"


def _is_foreign(query: str) -> bool:
    """Has it at least two words of a language that is neither English nor German, and fewer English ones?"""
    words = tokenize(query)
    foreign = sum(word in word_list("foreign_words") for word in words)
    return foreign >= _FOREIGN_WORDS and foreign > sum(word in stop_words("en") for word in words)


def _phrases_with(key: VectorKey) -> list[int]:
    """The numbers of the phrases that have a vector of this key."""
    numbers, _ = _phrase_tables()
    return [*map(int, (find_value(numbers, str(key)) or "").split())]


def _phrase_keys(target: str) -> list[VectorKey]:
    """The keys of the vectors of the phrases about a target."""
    _, keys = _phrase_tables()
    return [*map(int, (find_value(keys, target) or "").split())]


@cache
def _phrase_tables() -> Sections:
    """The numbers of phrases by the key of their vector, and the keys by target."""
    return compiled_table("phrase-keys", _compile_keys)


def _compile_keys() -> Sections:
    numbers: defaultdict[VectorKey, list[int]] = defaultdict(list)
    keys: defaultdict[str, list[VectorKey]] = defaultdict(list)
    for number, purpose in enumerate(purpose_index().purposes):
        key = vector_key(purpose.phrase)
        numbers[key].append(number)
        keys[purpose.target].append(key)
    return [
        sorted(f"{key}\t{' '.join(map(str, found))}" for key, found in numbers.items()),
        sorted(f"{target}\t{' '.join(map(str, found))}" for target, found in keys.items()),
    ]


def _restricts(options: SearchOptions) -> bool:
    return bool(options.allowed_domains or options.blocked_domains or options.since or options.until)
