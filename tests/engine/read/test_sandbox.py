"""Documents are read in worker processes, so that a bad one does not affect the others."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import pytest
from pypdf import PdfWriter

from groundwire.engine.engines.results import PageOpener, SearchHit
from groundwire.engine.engines.web import WebEngine
from groundwire.engine.read import Document, read, sandbox
from groundwire.engine.read.sandbox import PageReader, read_isolated
from groundwire.errors import GroundwireError, NotFound
from groundwire.transport.fetch import Fetched
from groundwire.transport.workers import WorkerLost, WorkerPool
from tests.engine.engines.fakes import ANY, FakeFetcher, admits
from tests.engine.read.samples import ARTICLE

pytestmark = pytest.mark.server

SOON = 20.0
"""Timeout in seconds for work that must end by itself."""

# libxml2 compares each attribute with those before it.
MANY_ATTRIBUTES = "<p " + " ".join(f"a{number}=1" for number in range(100_000)) + ">timeout</p>"


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerPool]:
    """A separate pool of workers."""
    pool = WorkerPool("groundwire.engine.read.worker", most=3)
    monkeypatch.setattr(sandbox, "POOL", pool)
    yield pool
    pool.close_idle()


def page(text: str) -> str:
    return f"<html><title>T</title><body><main><p>{text}</p></main></body></html>"


def document(markup: str) -> Document:
    return Document(markup.encode(), "text/html", "https://a.example/", headers={"content-language": "en"})


@pytest.mark.usefixtures("pool")
@pytest.mark.parametrize(
    "sample",
    [
        document(ARTICLE),
        document(page("Wörter 🌧️ und mehr <a href='/next'>next</a>")),
        document("<meta name=robots content=noindex>"),
        Document(b"# Title\n\nText.", "text/markdown", title="file.md"),
        Document(b"\x00\x01\x02", "text/plain"),
        Document(b"%PDF-1.4 broken", "application/pdf"),
        Document(b"", "image/png"),
    ],
)
def test_a_document_read_apart_is_the_same_as_one_read_here(sample: Document) -> None:
    assert read_isolated(sample, SOON) == read(sample)


def test_a_document_that_takes_too_long_times_out_and_the_next_is_read(pool: WorkerPool) -> None:
    reading = read_isolated(document(MANY_ATTRIBUTES), 1.0)
    assert reading.page is None
    assert "cannot be read" in reading.why
    assert read_isolated(document(page("Good.")), SOON).page is not None
    assert pool is sandbox.POOL


@pytest.mark.usefixtures("pool")
def test_a_document_of_twenty_thousand_pages_times_out_and_the_next_is_read() -> None:
    writer = PdfWriter()
    for _ in range(20_000):
        writer.add_blank_page(200, 200)
    book = BytesIO()
    writer.write(book)
    assert "within 0.5 seconds" in read_isolated(Document(book.getvalue(), "application/pdf"), 0.5).why
    assert read_isolated(document(ARTICLE), SOON).page is not None


@pytest.mark.usefixtures("pool")
def test_a_bad_document_does_not_affect_the_others() -> None:
    documents = [document(page(f"Good {number}.")) for number in range(5)]
    documents.insert(2, document(MANY_ATTRIBUTES))
    with ThreadPoolExecutor(6) as threads:
        readings = list(
            threads.map(lambda one: read_isolated(one, SOON if one is not documents[2] else 1.0), documents)
        )
    assert [reading.page is not None for reading in readings] == [True, True, False, True, True, True]


GREEDY = """
from groundwire.engine.read import worker
worker.limit_memory()
worker.read = lambda document: bytearray(worker.MEMORY)
print(worker.respond(worker_request).why)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of memory are POSIX")
def test_a_document_that_needs_too_much_memory_is_refused() -> None:
    program = f"worker_request = {sandbox.encode_document(document('x'), SOON)!r}\n{GREEDY}"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=True)  # noqa: S603
    assert "memory" in done.stdout


def test_a_worker_is_used_again_and_ends_on_request(pool: WorkerPool) -> None:
    for number in range(3):
        assert read_isolated(document(page(f"Page {number}.")), SOON).page is not None
    assert pool.running == 1
    pool.close_idle()
    assert pool.running == 0
    assert read_isolated(document(page("Again.")), SOON).page is not None


def test_a_worker_that_ended_while_idle_is_replaced(pool: WorkerPool) -> None:
    read_isolated(document(page("One.")), SOON)
    for process_id in pool.process_ids():
        os.kill(process_id, 9)
    assert read_isolated(document(page("Two.")), SOON).page is not None


def test_workers_do_not_inherit_the_environment(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    pool.warm(1)
    (process_id,) = pool.process_ids()
    with open(f"/proc/{process_id}/environ", "rb") as environment:
        assert b"sk-secret" not in environment.read()


def test_no_more_workers_are_started_than_allowed(pool: WorkerPool) -> None:
    pool.warm(10)
    assert pool.running == 3
    with pytest.raises(WorkerLost), ThreadPoolExecutor(4) as threads:
        list(
            threads.map(
                lambda _: pool.call(sandbox.encode_document(document(MANY_ATTRIBUTES), 1.0), 1.0), range(4)
            )
        )


@pytest.mark.usefixtures("pool")
async def test_a_search_warns_about_an_unreadable_page_and_keeps_the_others() -> None:
    hits = [SearchHit(f"https://{number}.example/", "", f"snippet {number}") for number in range(4)]
    bodies: dict[str, Fetched | GroundwireError | str] = {
        hit.url: Fetched(hit.url, 200, "text/html", "", page(f"An asyncio timeout on {hit.url}.").encode())
        for hit in hits
    }
    bad = hits[1].url
    bodies[bad] = Fetched(bad, 200, "text/html", "", MANY_ATTRIBUTES.encode())

    opener = PageOpener(admits, fetcher=FakeFetcher(bodies), read=PageReader(3.0))
    found = await WebEngine(opener, search=lambda _: hits).find("asyncio timeout", ANY)
    texts = {passage.url: passage.text for passage in found.passages}
    assert texts[bad] == "snippet 1"
    assert all("An asyncio timeout" in text for url, text in texts.items() if url != bad)
    assert [warning.code for warning in found.warnings] == ["page_unreadable"]
    with pytest.raises(NotFound, match="cannot be read"):
        await opener.page(bad)
