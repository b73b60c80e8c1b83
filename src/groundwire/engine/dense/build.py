"""Computes the vectors that an index does not have yet. It can be interrupted at any time and goes on later.

The encoder that takes the least time comes first, so that questions find pages by meaning soon; before the
passages come the phrases about purposes, because they are few and many questions match them. Next to a fast
encoder, a slow one encodes only the pages that the user added: it would take minutes for the built-in ones,
which are found by the phrases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

from groundwire.engine.dense.encoder import FindEncoders, SentenceEncoder, find_encoders
from groundwire.engine.dense.location import models_folder
from groundwire.engine.dense.packages import ENGLISH, MeaningUnavailable, encoder_problem, usable_packages
from groundwire.engine.dense.stored_vectors import VectorSink
from groundwire.engine.dense.texts import PASSAGES, PHRASES, VectorKey, vector_key
from groundwire.engine.index.base import Index, PassageStore, StoredText
from groundwire.engine.knowledge.addresses import is_built_in
from groundwire.engine.knowledge.purposes import purpose_index
from groundwire.errors import TimedOut

ReportVectors: TypeAlias = Callable[[int, int], None]
"""Called with the number of vectors that are computed, and of all that are wanted."""
ShouldStop: TypeAlias = Callable[[], bool]

_BATCH = 128
"""Texts in one batch, a few seconds of work: the most that a kill loses, and two syncs to disk."""
_STALE_SHARE = 0.2
"""Share of vectors of removed passages above which a file is compacted. Chosen."""


def ignore_vectors(done: int, total: int) -> None:
    """Does not report progress."""


def complete_vectors(
    index: Index,
    report: ReportVectors = ignore_vectors,
    should_stop: ShouldStop = bool,
    finder: FindEncoders | None = None,
    pages: Sequence[str] | None = None,
) -> int:
    """Computes the vectors that are missing, of all pages or only of those with the URLs `pages`; returns
    their number, 0 without the extra.

    It asks `should_stop` after each batch. What another process is computing is left to that. Raises
    `MeaningUnavailable` if the vectors cannot be stored.
    """
    if finder is None and encoder_problem():
        return 0
    if (store := index.passage_store()) is None:
        return 0
    try:
        encoders = (finder or _checked_encoders)(models_folder(store.folder))
        jobs = list(
            _jobs(store, encoders) if pages is None else _jobs_of_pages(index, store, encoders, pages)
        )
        total = sum(job.wanted for job in jobs)
        done = new = 0
        for job in jobs:
            if should_stop():
                break
            for added, present in _run(job, should_stop):
                new += added
                report(done + present, total)
            done += job.wanted
    except OSError as error:
        raise MeaningUnavailable(
            f"The vectors in {store.folder} cannot be stored ({error.strerror or error}). "
            "Searches match words; `groundwire index refresh` continues."
        ) from error
    return new


def purpose_phrases() -> list[str]:
    """The phrases about purposes, each once."""
    return list(dict.fromkeys(purpose.phrase for purpose in purpose_index().purposes))


class _Job(NamedTuple):
    """The texts that some vectors are of, their number, and how the vectors are written."""

    encoder: SentenceEncoder
    writing: Callable[[], AbstractContextManager[VectorSink]]
    texts: Callable[[], Iterator[str]]
    wanted: int
    is_all: bool = True
    """Are these all texts that should have a vector? Then vectors of other texts are stale."""


def _jobs(store: PassageStore, encoders: Sequence[SentenceEncoder]) -> Iterator[_Job]:
    phrases = purpose_phrases()
    for encoder in reversed(encoders):
        writing = partial(store.writing_vectors, encoder)
        yield _Job(encoder, partial(writing, PHRASES), lambda: iter(phrases), len(phrases))

        def texts(encoder: SentenceEncoder = encoder) -> Iterator[str]:
            return (stored.text for stored in store.texts() if _suits(encoder, stored, encoders))

        count = len({vector_key(text) for text in texts()})
        yield _Job(encoder, partial(writing, PASSAGES), texts, count)


def _jobs_of_pages(
    index: Index, store: PassageStore, encoders: Sequence[SentenceEncoder], pages: Sequence[str]
) -> Iterator[_Job]:
    from groundwire.engine.index.embedded import page_texts  # noqa: PLC0415  imports the search engine

    stored = [text for url in pages if (page := index.page(url)) is not None for text in page_texts(page)]
    for encoder in reversed(encoders):
        texts = dict.fromkeys(text.text for text in stored if _suits(encoder, text, encoders))
        writing = partial(store.writing_vectors, encoder, PASSAGES)
        yield _Job(encoder, writing, partial(iter, texts), len(texts), is_all=False)


def _suits(encoder: SentenceEncoder, stored: StoredText, encoders: Sequence[SentenceEncoder]) -> bool:
    """Is the encoder, one of several, meant for a text? Any language is right if it is not known: code,
    tables."""
    if encoder.languages and stored.language and stored.language not in encoder.languages:
        return False
    return encoder.is_fast or not (is_built_in(stored.url) and any(other.is_fast for other in encoders))


def _run(job: _Job, should_stop: ShouldStop) -> Iterator[tuple[int, int]]:
    """Computes what is missing: after each batch its size, and the number of vectors there are."""
    try:
        with job.writing() as writer:
            wanted = {vector_key(text) for text in job.texts()}
            known = _kept_keys(writer, wanted) if job.is_all else wanted.intersection(writer.keys())
            yield 0, len(known)
            for batch in _batches(job.texts(), known):
                vectors = job.encoder.encode(list(batch.values()))
                writer.append(list(batch), vectors)
                yield len(batch), len(known)
                if should_stop():
                    return
    except TimedOut:
        yield 0, job.wanted


def _kept_keys(writer: VectorSink, wanted: set[VectorKey]) -> set[VectorKey]:
    """The wanted keys that are stored. If many others are, they are removed."""
    keys = writer.keys()
    known = wanted.intersection(keys)
    if len(keys) - len(known) > _STALE_SHARE * len(keys):
        writer.compact(wanted)
    return known


def _batches(texts: Iterable[str], known: set[VectorKey]) -> Iterator[dict[VectorKey, str]]:
    """Texts whose keys are not known, which then are."""
    new = ((key, text) for text in texts if (key := vector_key(text)) not in known)
    while batch := dict(islice(new, _BATCH)):
        known.update(batch)
        yield batch


def _checked_encoders(models: Path) -> list[SentenceEncoder]:
    """The encoders, after a check of the files that are mapped as they are installed."""
    if ENGLISH in usable_packages():
        ENGLISH.checked(ENGLISH.weights)
        ENGLISH.checked(ENGLISH.vocabulary)
    return find_encoders(models)
