"""The search index: passages in a tantivy index in a folder, derived from the page table.

Title, headings, names and text of a passage are one field, all but the text repeated: weighted term
frequencies then add up before BM25 saturates them (as in BM25F), and a query reads one posting list for each
word. A second field has the unstemmed words, for prefixes. What a search returns is stored too, so that
searching reads no other file.

Pages are stemmed by their language, queries by all languages, since a query seldom declares one. German pages
also have the English words for theirs, so that English questions find them. tantivy analyses pages while
Python prepares the next ones. Every Chinese and Japanese character is a word of its own.
"""

from __future__ import annotations

import os
import re
from binascii import b2a_base64
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock

import tantivy
from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from groundwire.engine.dense.texts import VectorKey, passage_text, vector_key
from groundwire.engine.index.page_table import StoredPage, short_fingerprint
from groundwire.engine.outline import Section
from groundwire.engine.pages import Page, describe_passages, section_url, strip_passage
from groundwire.engine.retrieve.filters import host_and_parents, published_timestamp
from groundwire.engine.retrieve.translate import english_words
from groundwire.engine.words import (
    camel_parts,
    dotted_names,
    guess_language,
    url_words,
)
from groundwire.files.text_file import make_private_files, make_private_folder

ANALYSIS_VERSION = 9
"""Incremented with every change of the terms or the stored fields: the search index is then rebuilt."""

_STEMMERS = {"en": "english", "de": "german"}
_LONGEST_WORD = 80
_REMEMBERED = 4096
_GUESSED_FROM = 4
_DOT, _UNDERSCORE = "\u02d0", "\u02d1"
_AS_LETTERS = str.maketrans({".": _DOT, "_": _UNDERSCORE})
"""Letters that stand for the signs within a name: the tokeniser splits at those."""


def _analyzer(stemmer: str = "") -> TextAnalyzer:
    builder = TextAnalyzerBuilder(Tokenizer.simple())
    builder = builder.filter(Filter.remove_long(_LONGEST_WORD)).filter(Filter.lowercase())
    if stemmer:
        builder = builder.filter(Filter.stemmer(stemmer))
    return builder.filter(Filter.ascii_fold()).build()


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
        self._all = tuple(one.analyze for one in (*self._stemming.values(), self._plain))
        # Queries share most of their words.
        self.forms = lru_cache(_REMEMBERED)(self._forms)

    def language_of(self, page: StoredPage) -> str:
        """The language whose stemmer a page needs: the declared one, or the one that its beginning is in;
        empty if there is no stemmer for it."""
        code = page.page.language.partition("-")[0].lower()
        if not code:
            code = guess_language("".join([piece.text for piece in page.pieces[:_GUESSED_FROM]]))
        return code if code in self._stemming else ""

    def for_language(self, code: str) -> TextAnalyzer:
        """The analyzer for pages in a language."""
        return self._stemming.get(code, self._plain)

    def unstemmed(self, text: str) -> str:
        """The unstemmed words of a text, separated by spaces."""
        return " ".join(self._plain.analyze(text))

    def plain(self, words: str) -> list[str]:
        """The unstemmed words, without case and accents."""
        return self._plain.analyze(space_cjk(words))

    def name(self, name: str) -> list[str]:
        """The term of a name."""
        return self._plain.analyze(name_as_word(name))

    def _forms(self, words: str) -> tuple[tuple[str, ...], ...]:
        """The terms of a word or phrase, in every language in which they differ."""
        spaced_words = space_cjk(words)
        found = dict.fromkeys([tuple(terms) for analyze in self._all if (terms := analyze(spaced_words))])
        return tuple(found)


def name_as_word(name: str) -> str:
    """A dotted name as one word for the tokeniser. Its last letter is in no ending, so that no stemmer makes
    one name of `json.load` and `json.loads`."""
    return name.translate(_AS_LETTERS) + _DOT


def space_cjk(text: str) -> str:
    """The text with spaces around Chinese and Japanese characters."""
    return text if text.isascii() else _unspaced().sub(r" \g<0> ", text)


@cache
def _unspaced() -> re.Pattern[str]:
    """A character without spaces around it. Compiled on demand: most queries are ASCII."""
    return re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


_HEAP = 100_000_000
"""Bytes that tantivy may use before it writes a segment: enough for a whole batch of pages."""
_TERM_BITS = 32
_ADDED_AT_ONCE = 32
"""Passages. With one at a time, tantivy's thread waits for each; with hundreds, they have left the cache when
it reads them, and indexing takes up to a tenth more CPU time."""
_TITLE_WEIGHT = 3
_NAME_WEIGHT = 2
_HEADING_WEIGHT = 2
"""How often the title, the names and the headings above a passage are repeated. Chosen by hand;
`bench/ranking.py` measures the result."""

_TERMS = "terms"
"""The analyzer of the text of a page, by the language of the page."""
_ANALYZERS = {_TERMS: _analyzer, "tokens": token_analyzer, "silent": stored_only_analyzer}

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
    builder.add_text_field("text", tokenizer_name=_TERMS, index_option="position")
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

    def writer(self) -> PassageWriter:
        """Adds and deletes passages. Only one process may have one."""
        return PassageWriter(self)

    def open_writer(self) -> tantivy.IndexWriter:
        """A writer of tantivy."""
        return self._index.writer(_HEAP, 1)

    def stem(self, language: str) -> None:
        """Analyse the pages that are added after the next commit by the rules of a language."""
        self._index.register_tokenizer(_TERMS, self.analysis.for_language(language))

    def documents(self, page: StoredPage, rules: str) -> Iterator[tantivy.Document]:
        """The passages of a page as documents, analysed by the rules of a language."""
        about = page.page
        weighted = _page_words(about)
        hosts, timestamp = host_and_parents(about.url), published_timestamp(about.published)
        language = about.language.partition("-")[0].lower()
        headings = _HeadingWords(about.title) if about.outline else None
        title = self.analysis.unstemmed(about.title)
        described = describe_passages(about, [piece[:2] for piece in page.pieces])
        fingerprint = _compact(page.words)
        is_alone = len(page.pieces) == 1
        for (start, piece, tokens), (section, outline) in zip(page.pieces, described, strict=True):
            before, text = strip_passage(piece)
            if not text:
                continue
            document = tantivy.Document()
            add_text = document.add_text
            for about_page in weighted:
                add_text("text", about_page)
            words = f"{title} {tokens if tokens.isascii() else self.analysis.unstemmed(text)}"
            if section.headings and headings is not None:
                for heading in headings(section):
                    add_text("text", heading)
                words = f"{words} {self.analysis.unstemmed(' '.join(section.headings))}"
            add_text("text", space_cjk(text))
            if parts := camel_parts(text):
                add_text("text", space_cjk(parts))
            if rules == "de":
                english = english_words("\n".join((about.title, *section.headings, text)), rules)
                add_text("text", english)
                words = f"{words} {english}"
            add_text("words", words)
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
            kept = (str(page.id), fingerprint, words_of_passage, _separated(shown), text)
            add_text(STORED_FIELD, SEPARATOR.join(kept))
            yield document

    def _stamp(self) -> tuple[int, int, int]:
        found = os.stat(self._meta)
        return found.st_ino, found.st_mtime_ns, found.st_size


class PassageWriter:
    """Adds and deletes passages; nothing is visible, or survives a crash, before the commit.

    All documents of a commit are analysed by the rules of one language: pages in another one than the first
    wait for a commit of their own.
    """

    def __init__(self, index: SearchIndex) -> None:
        self._index = index
        self._writer = index.open_writer()
        self._language: str | None = None
        self._waiting: list[tantivy.Document] = []
        self._others: dict[str, list[StoredPage]] = {}
        self.last = 0
        """The id of the last page that was added; 0 if there is none."""

    def add(self, page: StoredPage) -> None:
        """Adds the passages of a page."""
        self.last = page.id
        language = self._index.analysis.language_of(page)
        if self._language is None:
            self._begin(language)
        if language == self._language:
            self._add(page)
        else:
            self._others.setdefault(language, []).append(page)

    def remove(self, pages: Iterable[int]) -> None:
        """Deletes the passages of pages."""
        for page in pages:
            self._writer.delete_documents_by_term("page", page)

    def commit(self) -> None:
        """Makes all changes visible and permanent; the writer is closed."""
        self._flush()
        for language, pages in self._others.items():
            self._writer.commit()
            self._begin(language)
            for page in pages:
                self._add(page)
            self._flush()
        self._writer.commit()
        self._writer.wait_merging_threads()
        make_private_files(self._index.folder)

    def _begin(self, language: str) -> None:
        self._language = language
        self._index.stem(language)

    def _add(self, page: StoredPage) -> None:
        self._waiting += self._index.documents(page, self._language or "")
        if len(self._waiting) >= _ADDED_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        for document in self._waiting:
            self._writer.add_document(document)
        self._waiting = []


def _separated(values: tuple[str, ...]) -> str:
    joined = SEPARATOR.join(values)
    if joined.count(SEPARATOR) < len(values):
        return joined
    return SEPARATOR.join([part.replace(SEPARATOR, " ") for part in values])


def _page_words(page: Page) -> list[str]:
    """The words that all passages of a page have, repeated by their weight."""
    title = space_cjk(page.title)
    others = space_cjk(f"{url_words(page.url)} {camel_parts(page.title)}")
    names = map(name_as_word, dotted_names(page.title))
    return [*filter(str.strip, (*(title,) * _TITLE_WEIGHT, *(others,) * _NAME_WEIGHT, *names))]


def _compact(fingerprint: int) -> str:
    """A fingerprint in 8 characters: it does not compress."""
    return b2a_base64(fingerprint.to_bytes(6, "big", signed=True), newline=False).decode()


class _HeadingWords:
    """The words of the headings above a passage; consecutive passages share most of them."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._known: tuple[Section, list[str]] = (Section(), [])

    def __call__(self, section: Section) -> list[str]:
        if self._known[0] != section:
            # The heading of the whole page is its title, which is a field of all passages already.
            words = " ".join(heading for heading in section.headings if heading not in self._title)
            names = map(name_as_word, dotted_names(words))
            repeated = (*(space_cjk(f"{words} {camel_parts(words)}"),) * _HEADING_WEIGHT, *names)
            self._known = (section, [*filter(str.strip, repeated)])
        return self._known[1]
