"""The searchable passages: a tantivy index in a folder, made from the page store and never the only copy.

Title, names and text of a passage are one field, the title and the names several times over: term
frequencies then add up over the fields by weight before BM25 flattens them, and a query costs one list of
postings for each word. Words as they are written are a second field, for prefixes. What a search shows is
kept beside them, so that searching touches no other file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

import tantivy

from groundwire.engine.index.analysis import Analysis, parting_analyzer, plain_analyzer, silent_analyzer
from groundwire.engine.index.cut import trimmed
from groundwire.engine.index.domains import hosts_above
from groundwire.engine.index.moments import published_at
from groundwire.engine.index.records import Piece
from groundwire.engine.index.words import address_words, dotted_names, split_names
from groundwire.engine.pages import Page
from groundwire.files.text_file import make_private_files, make_private_folder
from groundwire.model.value import value

_HEAP = 50_000_000
_TITLE_WEIGHT = 3
_NAME_WEIGHT = 2

_ANALYZERS = {"parting": parting_analyzer, "plain": plain_analyzer, "silent": silent_analyzer}

KEPT = "kept"
"""The field of what a search shows."""
PARTED = "\x1f"
"""Stands between what is kept: the page, its words, the passage's words, start, address, title, date,
language, text. The words are numbers, equal where the words are the same."""

BROKEN = (ValueError, OSError)
"""What tantivy raises when its files are not what they should be."""


@value
class Pieces:
    """A page as it is indexed: without its text, but with its words and its pieces."""

    id: int
    words: int
    page: Page
    pieces: tuple[Piece, ...]


def schema() -> tantivy.Schema:
    """The fields of a passage."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="parting", index_option="position")
    builder.add_text_field("words", tokenizer_name="plain", index_option="basic")
    builder.add_text_field("host", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("language", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("published", indexed=True, fast=True)
    # Signed: tantivy-py 0.27 finds nothing to delete by the term of an unsigned field.
    builder.add_integer_field("page", indexed=True)
    builder.add_text_field(KEPT, stored=True, tokenizer_name="silent", index_option="basic")
    return builder.build()


class Passages:
    """An open folder of passages. Searchers are renewed when somebody, here or elsewhere, has committed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.schema = schema()
        self.analysis = Analysis()
        make_private_folder(folder)
        self._index = tantivy.Index(self.schema, str(folder))
        make_private_files(folder)
        for name, analyzer in _ANALYZERS.items():
            self._index.register_tokenizer(name, analyzer())
        self._index.config_reader("manual")
        self._meta = folder / "meta.json"
        self._seen = self._stamp()
        self._index.reload()
        self._lock = Lock()

    def searcher(self) -> tantivy.Searcher:
        """What is searched now."""
        stamp = self._stamp()
        if stamp != self._seen:
            with self._lock:
                self._index.reload()
                self._seen = stamp
        return self._index.searcher()

    @contextmanager
    def writing(self) -> Iterator[tantivy.IndexWriter]:
        """A writer whose work is committed at the end, or not at all."""
        writer = self._index.writer(_HEAP, 1)
        yield writer
        writer.commit()
        writer.wait_merging_threads()
        make_private_files(self.folder)

    def add(self, writer: tantivy.IndexWriter, page: Pieces) -> None:
        """Make the passages of a page searchable."""
        about = page.page
        terms = self.analysis.for_page(about.language, "".join(text for _, text, _ in page.pieces[:4]))
        weighted = [
            *(terms(about.title),) * _TITLE_WEIGHT,
            *(terms(f"{address_words(about.url)} {split_names(about.title)}"),) * _NAME_WEIGHT,
            *(self.analysis.whole(name) for name in dotted_names(about.title)),
        ]
        shown = [
            part.replace(PARTED, " ") for part in (about.url, about.title, about.published, about.language)
        ]
        hosts, moment = hosts_above(about.url), published_at(about.published)
        language = about.language.partition("-")[0].lower()
        for start, piece, words in page.pieces:
            before, text = trimmed(piece)
            if not text:
                continue
            document = tantivy.Document()
            for field in (*weighted, terms(text), terms(split_names(text))):
                if field:
                    document.add_text("text", field)
            document.add_text("words", f"{about.title} {text}")
            for host in hosts:
                document.add_text("host", host)
            document.add_text("language", language)
            if moment is not None:
                document.add_integer("published", moment)
            document.add_integer("page", page.id)
            about_hit = (page.id, page.words, words, start + before, *shown)
            document.add_text(KEPT, PARTED.join((*map(str, about_hit), text)))
            writer.add_document(document)

    def remove(self, writer: tantivy.IndexWriter, pages: Iterable[int]) -> None:
        """Make pages unsearchable."""
        for page in pages:
            writer.delete_documents_by_term("page", page)

    def _stamp(self) -> tuple[int, int, int]:
        found = os.stat(self._meta)
        return found.st_ino, found.st_mtime_ns, found.st_size
