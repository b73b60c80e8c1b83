"""Crawls the documentation inside source archives, wheels and installed distributions of Python packages.

An archive is read like a folder: its documents get the address of the archive with their path below it.
Nothing is unpacked to disk. Documents of a distribution have the addresses of their files. Sources, tests,
licenses and changelogs are left out.
"""

from __future__ import annotations

import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import AsyncGenerator, Iterator
from email.parser import Parser
from importlib.metadata import Distribution
from pathlib import Path, PurePath, PurePosixPath
from typing import NamedTuple

from groundwire.engine.crawl.results import CrawlOptions, CrawlResult, SkippedSource, crawl_result
from groundwire.engine.knowledge.package_documents import is_package_document
from groundwire.engine.read import Document
from groundwire.engine.read.document import media_type_of
from groundwire.engine.read.sandbox import read_isolated
from groundwire.transport.threads import run_in_thread

_SUFFIXES = (".whl", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")
_LARGEST_ARCHIVE = 200_000_000
_LARGEST_DOCUMENT = 20_000_000
_MOST_DOCUMENTS = 5000
_NAME = re.compile(r"(.+?)-v?\d")
_BROKEN = (OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile, RuntimeError, ValueError)
"""What is raised for damaged, encrypted and unsupported archives."""


class ArchivedFile(NamedTuple):
    """A file of an archive: its path below the top folder, and its content."""

    path: PurePosixPath
    data: bytes


def is_package_archive(name: str) -> bool:
    """By its name: is it a wheel or a source archive?"""
    return name.lower().endswith(_SUFFIXES)


def archive_name(name: str) -> str:
    """The name of the package: what is before the version in the name of its archive."""
    found = _NAME.match(name)
    return found[1] if found else name


async def crawl_package_archive(path: Path, scope: CrawlOptions) -> AsyncGenerator[CrawlResult, None]:
    """Every document of an archive."""
    outcomes = _outcomes(path, scope)
    while (outcome := await run_in_thread(lambda: next(outcomes, None))) is not None:
        yield outcome


def _outcomes(path: Path, scope: CrawlOptions) -> Iterator[CrawlResult]:
    from groundwire.engine.crawl.files import file_url, shown  # noqa: PLC0415  it imports this module

    where = shown(path)
    count = 0
    try:
        if path.stat().st_size > _LARGEST_ARCHIVE:
            yield SkippedSource(where, f"larger than {_LARGEST_ARCHIVE // 1_000_000} MB")
            return
        for count, file in enumerate(archived_documents(path), 1):
            if count > _MOST_DOCUMENTS:
                yield SkippedSource(where, f"more than {_MOST_DOCUMENTS:,} documents")
                return
            address = file_url(path / file.path, path, scope.base_url, as_html=scope.as_html)
            document = _document(file, address)
            yield crawl_result(read_isolated(document), f"{where}/{file.path}")
    except _BROKEN as error:
        yield SkippedSource(where, f"cannot be read: {str(error) or type(error).__name__}")
        return
    if not count:
        yield SkippedSource(where, "it has no documents")


def _document(file: ArchivedFile, address: str) -> Document:
    if file.path.name != "METADATA":
        return Document(file.data, media_type_of(file.path.name), address, title=file.path.name)
    metadata = Parser().parsestr(file.data.decode("utf-8", "replace"))
    media_type = str(metadata.get("Description-Content-Type", "text/x-rst")).partition(";")[0].strip()
    payload = metadata.get_payload()
    text = payload if isinstance(payload, str) and payload.strip() else str(metadata.get("Description", ""))
    title = f"{metadata.get('Name', '')} {metadata.get('Version', '')}"
    return Document(text.encode(), media_type, address, title=title)


def archived_documents(path: Path) -> Iterator[ArchivedFile]:
    """The documents of an archive, sorted by path; of a wheel the description too."""
    if path.name.lower().endswith((".whl", ".zip")):
        with zipfile.ZipFile(path) as archive:
            sizes = {item.filename: item.file_size for item in archive.infolist() if not item.is_dir()}
            for name, inner in _documents(sizes):
                yield ArchivedFile(inner, archive.read(name))
        return
    with tarfile.open(path) as tar:
        members = {item.name: item for item in tar.getmembers() if item.isfile()}
        for name, inner in _documents({name: item.size for name, item in members.items()}):
            if (file := tar.extractfile(members[name])) is not None:
                yield ArchivedFile(inner, file.read(_LARGEST_DOCUMENT))


def _documents(sizes: dict[str, int]) -> Iterator[tuple[str, PurePosixPath]]:
    """The names of documents, and their paths without the folder that all files are in."""
    tops = {name.partition("/")[0] for name in sizes}
    has_top = len(tops) == 1 and all("/" in name for name in sizes)
    for name in sorted(sizes):
        inner = PurePosixPath(name.partition("/")[2] if has_top else name)
        if os.path.isabs(name) or ".." in inner.parts or sizes[name] > _LARGEST_DOCUMENT:
            continue
        if is_package_document(inner) or _is_description(inner):
            yield name, inner


def _is_description(path: PurePath) -> bool:
    return path.name == "METADATA" and path.parent.suffix == ".dist-info"


async def crawl_distribution(
    distribution: Distribution, scope: CrawlOptions
) -> AsyncGenerator[CrawlResult, None]:
    """The description of an installed distribution, and every document that is installed with it."""
    outcomes = _installed_outcomes(distribution, scope)
    while (outcome := await run_in_thread(lambda: next(outcomes, None))) is not None:
        yield outcome


def _installed_outcomes(distribution: Distribution, scope: CrawlOptions) -> Iterator[CrawlResult]:
    from groundwire.engine.crawl.files import file_url, shown  # noqa: PLC0415  it imports this module

    root = Path(str(distribution.locate_file("")))
    files = sorted(file for file in distribution.files or () if ".." not in file.parts)
    documents = [file for file in files if is_package_document(file) or _is_description(file)]
    for file in documents[:_MOST_DOCUMENTS]:
        path = root / file
        try:
            with path.open("rb") as opened:
                data = opened.read(_LARGEST_DOCUMENT)
        except OSError as error:
            yield SkippedSource(shown(path), f"cannot be read: {error.strerror or error}")
            continue
        address = file_url(path, root, scope.base_url, as_html=scope.as_html)
        document = _document(ArchivedFile(PurePosixPath(file), data), address)
        yield crawl_result(read_isolated(document), shown(path))
    if not documents:
        yield SkippedSource(str(distribution.name), "it has no documents")
