"""Documents that users put into the embedded index: read in worker processes, stored as pages.

They have addresses of the form `local:documents/NAME`, and one collection. A document with the name of an
earlier one replaces it. They are found by their words at once; vectors for search by meaning are computed by
the next `groundwire index refresh`.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import quote

from groundwire.config.schema import Config
from groundwire.engine.crawl.files import LARGEST_FILE
from groundwire.engine.index.base import Index, PageInfo
from groundwire.engine.index.location import open_configured_index
from groundwire.engine.read.document import SUFFIXES, Document, media_type_of
from groundwire.engine.read.sandbox import read_isolated
from groundwire.model.value import replace, value

COLLECTION = "documents"
ADDRESS = f"local:{COLLECTION}/"
LONGEST_NAME = 150
MAX_DOCUMENT_BYTES = LARGEST_FILE
ENDINGS = tuple(SUFFIXES)

Outcome: TypeAlias = Literal["added", "updated", "unchanged", "skipped"]


@value
class DocumentResult:
    """What became of a document; `why` says why it was skipped, in English."""

    name: str
    outcome: Outcome
    why: str = ""


def document_name(name: str) -> str:
    """A file name without its folder and without control characters; empty if nothing is left."""
    last = name.replace("\\", "/").rpartition("/")[2]
    visible = "".join(sign for sign in last if unicodedata.category(sign)[0] != "C")
    return " ".join(visible.split())[-LONGEST_NAME:].strip(". ")


def address_of(name: str) -> str:
    """The address of a document in the index."""
    return ADDRESS + quote(name, safe="")


def add_document(config: Config, name: str, data: bytes) -> DocumentResult:
    """Read a document and store it. Blocks, at most for the time that a document may take."""
    media_type = media_type_of(name)
    if not media_type:
        return DocumentResult(name, "skipped", f"not a document; these can be read: {', '.join(ENDINGS)}")
    reading = read_isolated(Document(data, media_type, address_of(name), title=name))
    if reading.page is None:
        return DocumentResult(name, "skipped", reading.why)
    # A document may declare an address of its own; here it is what the user called it.
    page = replace(reading.page, url=address_of(name), collection=COLLECTION)
    with _open(config) as index:
        stored = index.put([page])
    if stored.updated:
        return DocumentResult(name, "updated")
    return DocumentResult(name, "unchanged" if stored.unchanged else "added")


def documents(config: Config) -> list[PageInfo]:
    """The documents in the index, by name. Blocks."""
    if not config.store and not _folder(config).is_dir():
        return []
    with _open(config) as index:
        return list(index.pages(COLLECTION))


def remove_document(config: Config, url: str) -> bool:
    """Remove a document from the index; False if there is none. Blocks."""
    if not url.startswith(ADDRESS):
        return False
    with _open(config) as index:
        return index.remove(urls=[url]) > 0


def _open(config: Config) -> Index:
    return open_configured_index(_folder(config), config.store)


def _folder(config: Config) -> Path:
    return Path(config.data_dir) / "index"
