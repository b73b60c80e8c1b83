"""The search index: passages in a tantivy index in a folder, derived from the page table.

Title, headings, names and text of a passage are one field, all but the text repeated: weighted term
frequencies then add up before BM25 saturates them (as in BM25F), and a query reads one posting list for each
word. A second field has the unstemmed words, for prefixes. What a search returns is stored too, so that
searching reads no other file.

Pages are stemmed by their language, queries by all languages, since a query seldom declares one. Every
Chinese and Japanese character is a word of its own.
"""

from __future__ import annotations

import os
import re
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock

import tantivy
from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from groundwire.engine.dense.texts import VectorKey, passage_text, vector_key
from groundwire.engine.index.page_table import CutPassage, StoredPage, short_fingerprint
from groundwire.engine.outline import Section
from groundwire.engine.pages import Page, describe_passages, section_url, strip_passage
from groundwire.engine.retrieve.filters import host_and_parents, published_timestamp
from groundwire.engine.words import (
    camel_parts,
    dotted_names,
    guess_language,
    url_words,
)
from groundwire.files.text_file import make_private_files, make_private_folder

ANALYSIS_VERSION = 7
"""Incremented with every change of the terms or the stored fields: the search index is then rebuilt."""

_STEMMERS = {"en": "english", "de": "german"}
_LONGEST_WORD = 80
_REMEMBERED = 4096
_GUESSED_FROM = 4
_MOST_KNOWN_WORDS = 200_000


def _analyzer(stemmer: str = "") -> TextAnalyzer:
    builder = TextAnalyzerBuilder(Tokenizer.simple())
    builder = builder.filter(Filter.remove_long(_LONGEST_WORD)).filter(Filter.lowercase())
    if stemmer:
        builder = builder.filter(Filter.stemmer(stemmer))
    return builder.filter(Filter.ascii_fold()).build()


def whitespace_analyzer() -> TextAnalyzer:
    """Splits terms that are already analysed at spaces: cheaper than passing tokens one by one."""
    return TextAnalyzerBuilder(Tokenizer.whitespace()).build()


def token_analyzer() -> TextAnalyzer:
    """Splits tokens at spaces, and leaves out those that are too long for a term."""
    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.remove_long(_LONGEST_WORD)).build()


def stored_only_analyzer() -> TextAnalyzer:
    """No terms at all, for fields that are only stored."""
    return TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.remove_long(1)).build()


class Analyzers:
    """tantivy's tokeniser and stemmers for all languages, the same for pages and queries."""

    def __init__(self) -> None:
        self._plain = _analyzer()
        self._stemming = {code: _analyzer(stemmer) for code, stemmer in _STEMMERS.items()}
        whole = TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.remove_long(_LONGEST_WORD))
        self._all = tuple(one.analyze for one in (*self._stemming.values(), self._plain))
        self._whole = whole.filter(Filter.lowercase()).filter(Filter.ascii_fold()).build()
        self._page_terms = {
            code: PageTerms(analyzer) for code, analyzer in {**self._stemming, "": self._plain}.items()
        }
        # Queries share most of their words.
        self.forms = lru_cache(_REMEMBERED)(self._forms)

    def for_page(self, language: str, pieces: Sequence[CutPassage]) -> PageTerms:
        """The analyzer for a page: by its declared language, or by the one that its beginning is in."""
        code = language.partition("-")[0].lower()
        if not code:
            code = guess_language("".join([piece.text for piece in pieces[:_GUESSED_FROM]]))
        return self._page_terms[code if code in self._stemming else ""]

    def whole(self, names: str) -> str:
        """Names separated by spaces, each as one term."""
        return " ".join(self._whole.analyze(names))

    def unstemmed(self, text: str) -> str:
        """The unstemmed words of a text, separated by spaces."""
        return " ".join(self._plain.analyze(text))

    def plain(self, words: str) -> list[str]:
        """The unstemmed words, without case and accents."""
        return self._plain.analyze(space_cjk(words))

    def name(self, name: str) -> list[str]:
        """The term of a name."""
        return self._whole.analyze(name)

    def _forms(self, words: str) -> tuple[tuple[str, ...], ...]:
        """The terms of a word or phrase, in every language in which they differ."""
        spaced_words = space_cjk(words)
        found = dict.fromkeys([tuple(terms) for analyze in self._all if (terms := analyze(spaced_words))])
        return tuple(found)


class PageTerms:
    """The terms of texts. Most words are looked up: analysing a word costs more than finding it again."""

    def __init__(self, analyzer: TextAnalyzer) -> None:
        self._analyzer = analyzer
        self._known = _KnownTerms(analyzer)

    def of(self, text: str) -> str:
        """The terms, separated by spaces."""
        return " ".join(self._analyzer.analyze(space_cjk(text)))

    def of_tokens(self, text: str, tokens: str) -> str:
        """The terms of a text whose tokens are known, separated by spaces."""
        if not tokens.isascii():
            return self.of(text)
        if len(self._known) > _MOST_KNOWN_WORDS:
            self._known.clear()
        return " ".join(map(self._known.__getitem__, tokens.split()))


class _KnownTerms(dict[str, str]):
    """The terms of words; those of a new word are found when it is looked up."""

    def __init__(self, analyzer: TextAnalyzer) -> None:
        self._analyze = analyzer.analyze

    def __missing__(self, word: str) -> str:
        terms = " ".join(self._analyze(word))
        # One object for both takes half the memory, and so half the time where there are many words.
        found = self[word] = word if terms == word else terms
        return found


def space_cjk(text: str) -> str:
    """The text with spaces around Chinese and Japanese characters."""
    return text if text.isascii() else _unspaced().sub(r" \g<0> ", text)


@cache
def _unspaced() -> re.Pattern[str]:
    """A character without spaces around it. Compiled on demand: most queries are ASCII."""
    return re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


_HEAP = 50_000_000
_TERM_BITS = 32
_ADDED_AT_ONCE = 256
_TITLE_WEIGHT = 3
_NAME_WEIGHT = 2
_HEADING_WEIGHT = 2
"""How often the title, the names and the headings above a passage are repeated. Chosen by hand;
`bench/ranking.py` measures the result."""

_ANALYZERS = {"terms": whitespace_analyzer, "tokens": token_analyzer, "silent": stored_only_analyzer}

STORED_FIELD = "kept"
"""The stored field with what a search returns."""
VECTOR_FIELD = "vector"
"""The term of a passage's vector."""
SEPARATOR = "\x1f"
"""Separates the stored values: page id, page fingerprint, passage fingerprint, language, date, headings,
outline, start, URL, title, text. Those that neighbours share are next to each other, which compresses best.
The only passage of a page has no fingerprint of its own."""

TANTIVY_ERRORS = (ValueError, OSError)
"""What tantivy raises for damaged or missing files."""


def vector_term(key: VectorKey) -> int:
    """What a vector is looked up by: half of its key. The other half rules out the few passages that have the
    same term by chance."""
    return key >> _TERM_BITS


def schema() -> tantivy.Schema:
    """The fields of a passage."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="terms", index_option="position")
    builder.add_text_field("words", tokenizer_name="tokens", index_option="basic")
    builder.add_text_field("host", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("language", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("published", indexed=True, fast=True)
    # Signed: tantivy-py 0.27 finds nothing to delete by the term of an unsigned field.
    builder.add_integer_field("page", indexed=True)
    builder.add_integer_field(VECTOR_FIELD, indexed=True)
    builder.add_text_field(STORED_FIELD, stored=True, tokenizer_name="silent", index_option="basic")
    return builder.build()


class SearchIndex:
    """An open tantivy index. Searchers are renewed after a commit of this or another process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.schema = schema()
        self.analysis = Analyzers()
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
        """A searcher of the latest commit."""
        stamp = self._stamp()
        if stamp != self._seen:
            with self._lock:
                self._index.reload()
                self._seen = stamp
        return self._index.searcher()

    @contextmanager
    def writing(self) -> Iterator[tantivy.IndexWriter]:
        """A writer that commits at the end, or not at all after an error."""
        writer = self._index.writer(_HEAP, 1)
        yield writer
        writer.commit()
        writer.wait_merging_threads()
        make_private_files(self.folder)

    def add(self, writer: tantivy.IndexWriter, pages: Iterable[StoredPage], unsure: int = 0) -> int:
        """Adds the passages of pages; returns the id of the last one. The index may have passages of pages up
        to `unsure`, which are deleted first.

        Many passages are added at once, so that tantivy's thread need not wait for each of them."""
        last = 0
        waiting: list[tantivy.Document] = []
        for page in pages:
            if page.id <= unsure:
                self.remove(writer, (page.id,))
            last = page.id
            waiting += self._documents(page)
            if len(waiting) >= _ADDED_AT_ONCE:
                _add_all(writer, waiting)
                waiting = []
        _add_all(writer, waiting)
        return last

    def _documents(self, page: StoredPage) -> Iterator[tantivy.Document]:
        about = page.page
        terms = self.analysis.for_page(about.language, page.pieces)
        weighted = self._page_terms(about, terms)
        hosts, timestamp = host_and_parents(about.url), published_timestamp(about.published)
        language = about.language.partition("-")[0].lower()
        headings = _HeadingTerms(self.analysis, terms.of, about.title) if about.outline else None
        title = self.analysis.unstemmed(about.title)
        described = describe_passages(about, [(start, piece) for start, piece, _ in page.pieces])
        fingerprint = _compact(page.words)
        is_alone = len(page.pieces) == 1
        for (start, piece, tokens), (section, outline) in zip(page.pieces, described, strict=True):
            before, text = strip_passage(piece)
            if not text:
                continue
            document = tantivy.Document()
            add_text = document.add_text
            for field in weighted:
                add_text("text", field)
            words = [title, tokens if tokens.isascii() else self.analysis.unstemmed(text)]
            if section.headings and headings is not None:
                for field in headings(section):
                    add_text("text", field)
                words.append(self.analysis.unstemmed(" ".join(section.headings)))
            add_text("text", terms.of_tokens(text, tokens))
            if parts := camel_parts(text):
                add_text("text", terms.of(parts))
            add_text("words", " ".join(words))
            for host in hosts:
                add_text("host", host)
            add_text("language", language)
            if timestamp is not None:
                document.add_integer("published", timestamp)
            document.add_integer("page", page.id)
            document.add_integer(VECTOR_FIELD, vector_term(vector_key(passage_text(about.title, text))))
            words_of_passage = "" if is_alone else _compact(short_fingerprint(tokens))
            shown = (
                *(about.language, about.published, "\n".join(section.headings), outline),
                *(str(start + before), section_url(about.url, section), about.title),
            )
            kept = SEPARATOR.join(shown)
            if kept.count(SEPARATOR) >= len(shown):
                kept = SEPARATOR.join([part.replace(SEPARATOR, " ") for part in shown])
            add_text(STORED_FIELD, SEPARATOR.join((str(page.id), fingerprint, words_of_passage, kept, text)))
            yield document

    def _page_terms(self, page: Page, terms: PageTerms) -> list[str]:
        """The terms that all passages of a page have, repeated by their weight."""
        title = terms.of(page.title)
        names = terms.of(f"{url_words(page.url)} {camel_parts(page.title)}")
        whole = [self.analysis.whole(name) for name in dotted_names(page.title)]
        return [*filter(None, (*(title,) * _TITLE_WEIGHT, *(names,) * _NAME_WEIGHT, *whole))]

    def remove(self, writer: tantivy.IndexWriter, pages: Iterable[int]) -> None:
        """Deletes the passages of pages."""
        for page in pages:
            writer.delete_documents_by_term("page", page)

    def _stamp(self) -> tuple[int, int, int]:
        found = os.stat(self._meta)
        return found.st_ino, found.st_mtime_ns, found.st_size


def _add_all(writer: tantivy.IndexWriter, documents: Iterable[tantivy.Document]) -> None:
    for document in documents:
        writer.add_document(document)


def _compact(fingerprint: int) -> str:
    """A fingerprint in 8 characters: it does not compress."""
    return b2a_base64(fingerprint.to_bytes(6, "big", signed=True), newline=False).decode()


class _HeadingTerms:
    """The terms of the headings above a passage; consecutive passages share most of them."""

    def __init__(self, analysis: Analyzers, terms: Callable[[str], str], title: str) -> None:
        self._analysis = analysis
        self._terms = terms
        self._title = title
        self._known: tuple[Section, list[str]] = (Section(), [])

    def __call__(self, section: Section) -> list[str]:
        if self._known[0] != section:
            # The heading of the whole page is its title, which is a field of all passages already.
            words = " ".join(heading for heading in section.headings if heading not in self._title)
            names = (self._analysis.whole(name) for name in dotted_names(words))
            heading_terms = self._terms(f"{words} {camel_parts(words)}")
            repeated = (*(heading_terms,) * _HEADING_WEIGHT, *names)
            self._known = (section, [*filter(None, repeated)])
        return self._known[1]
