"""Web archives (WARC): the pages that were recorded, under the addresses they had."""

from __future__ import annotations

import os
import zlib
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from groundwire.engine.crawl.outcomes import Outcome, Skipped, outcome_of
from groundwire.engine.read import document_of
from groundwire.engine.read.apart import read_apart
from groundwire.engine.read.formats import MEDIA_TYPES
from groundwire.engine.read.pagemaking import missing_extra
from groundwire.text.urls import safe_url
from groundwire.transport.fetch import Fetched, media_of
from groundwire.transport.threads import in_thread

if TYPE_CHECKING:
    from warcio.recordloader import ArcWarcRecord

_LARGEST_RECORD = 20_000_000


def is_warc(name: str) -> bool:
    """By its name."""
    return name.lower().endswith((".warc", ".warc.gz"))


async def gather_warc(path: Path) -> AsyncGenerator[Outcome, None]:
    """Every page of an archive; pictures and the like are passed over in silence."""
    outcomes = _outcomes(path)
    while True:
        outcome = await in_thread(lambda: next(outcomes, None))
        if outcome is None:
            return
        yield outcome


def _outcomes(path: Path) -> Iterator[Outcome]:
    for found in _records(path):
        yield found if isinstance(found, Skipped) else outcome_of(read_apart(document_of(found)), found.url)


def _records(path: Path) -> Iterator[Fetched | Skipped]:
    """The responses that may hold a page."""
    where = os.fsencode(path).decode("utf-8", "replace")
    try:
        from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415  comes with an extra
        from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415
        from warcio.statusandheaders import StatusAndHeadersParserException  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if not (why := missing_extra(error)):
            raise
        yield Skipped(where, why)
        return
    # Its parser meets whatever bytes there are with whatever Python raises for them.
    broken = (
        *(ArchiveLoadFailed, StatusAndHeadersParserException, zlib.error, ValueError, EOFError),
        *(AttributeError, TypeError, LookupError),
    )
    try:
        with path.open("rb") as file:
            any_record = False
            for record in ArchiveIterator(file):
                # The older ARC has no mark to know it by: it takes any line with five words for one.
                if record.format != "warc":
                    continue
                any_record = True
                if (fetched := _page_in(record)) is not None:
                    yield fetched
        if not any_record:
            yield Skipped(where, "it is no web archive, or an empty one")
    except OSError as error:
        yield Skipped(where, f"cannot be read: {error.strerror or error}")
    except broken:
        yield Skipped(where, "it is broken from there on")


def _page_in(record: ArcWarcRecord) -> Fetched | None:
    """What a record holds; None if it is no page."""
    url = safe_url(record.rec_headers.get_header("WARC-Target-URI") or "")
    if record.rec_type not in ("response", "resource") or not url:
        return None
    fetched = _fetched(record, url)
    usable = 200 <= fetched.status < 300 and fetched.content_type in MEDIA_TYPES
    return fetched if usable else None


def _fetched(record: ArcWarcRecord, url: str) -> Fetched:
    """The record as if it had just come from the network."""
    http = record.http_headers
    if http is None:
        status, headers = 200, {"content-type": record.rec_headers.get_header("Content-Type") or ""}
    else:
        code = http.get_statuscode()
        status = int(code) if code.isdecimal() else 0
        headers = {name.lower(): text for name, text in http.headers}
    media_type, charset = media_of(headers.get("content-type", ""))
    body = record.content_stream().read(_LARGEST_RECORD) if media_type in MEDIA_TYPES else b""
    return Fetched(url, status, media_type, charset, body, tuple(headers.items()))
