"""Python's documentation: a page for each object and each section of a copy of its HTML pages.

A copy is a folder, a zip or a tar file, as Debian's python3-doc, a build of one's own or the archive on
docs.python.org. Pages are parsed in this process: they come from python.org or from the user.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from groundwire.engine.index.base import Index, Stored
from groundwire.engine.knowledge import DOCUMENTATION
from groundwire.engine.knowledge.addresses import DOCS_SITE
from groundwire.engine.knowledge.inventory import DOCUMENTED_MODULES
from groundwire.engine.knowledge.local_copy import INVENTORY, inventory_version
from groundwire.engine.knowledge.python_docs import titled
from groundwire.engine.outline import Block, encode_outline
from groundwire.engine.pages import Page
from groundwire.engine.read.html import blocks_of, joined, parse
from groundwire.errors import RequestError
from groundwire.model.value import value

_LARGEST_FILE = 20_000_000
_ARCHIVES = (
    "https://docs.python.org/{short}/archives/python-{short}-docs-html.zip",
    "https://www.python.org/ftp/python/doc/{full}/python-{full}-docs-html.zip",
)
_LEFT_OUT = re.compile(
    r"(?:genindex.*|py-modindex|search|contents|index|download|copyright|license|bugs|about"
    r"|whatsnew/changelog)\.html"
)
_OPTIONAL = ("c-api/", "extending/", "distutils/", "distributing/", "install/", "installing/")
_SECTION_NUMBER = re.compile(r"(?:\d+\.)+\s+")
_LONGEST_NAME = 100
_MODULES = frozenset(DOCUMENTED_MODULES)
_SIGNATURE_LEVEL = 7
"""Below all headings."""


@value
class DocumentationCopy:
    """A copy of the documentation: its version, and its pages by their path on the site."""

    version: str
    files: tuple[str, ...]
    read: Callable[[str], bytes]

    def paths(self, *, everything: bool) -> Iterator[str]:
        """The pages to index. The C API and the like are left out unless everything is wanted."""
        for path in self.files:
            is_optional = path.startswith(_OPTIONAL) and not everything
            if path.endswith(".html") and not _LEFT_OUT.fullmatch(path) and not is_optional:
                yield path


def open_copy(path: Path) -> DocumentationCopy:
    """Opens a folder, zip or tar file; raises `RequestError` if it is not a copy of the documentation."""
    try:
        if path.is_dir():
            return _folder_copy(path)
        if zipfile.is_zipfile(path):
            archive = zipfile.ZipFile(path)
            names = {item.filename: item.file_size for item in archive.infolist()}
            return _copy(names, archive.read)
        if tarfile.is_tarfile(path):
            return _tar_copy(tarfile.open(path))
    except (OSError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise RequestError(f"{path} cannot be read: {error}") from None
    raise RequestError(f"{path} is not a folder, a zip file or a tar file.")


def archive_urls(version: str) -> list[str]:
    """Where the archive of a version may be downloaded: of `3.11` the newest, of `3.11.7` this one."""
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    short = ".".join(version.split(".")[:2])
    full = version if version != short else sys.version.partition(" ")[0] if short == running else ""
    newest, released = (url.format(short=short, full=full) for url in _ARCHIVES)
    if version != short:
        return [released]
    return [newest, released] if full else [newest]


def _folder_copy(path: Path) -> DocumentationCopy:
    found = (file for pattern in ("*.html", INVENTORY) for file in path.rglob(pattern))
    return _copy(
        {file.relative_to(path).as_posix(): file.stat().st_size for file in found},
        lambda name: (path / name).read_bytes(),
    )


def _tar_copy(archive: tarfile.TarFile) -> DocumentationCopy:
    def read(name: str) -> bytes:
        file = archive.extractfile(name)
        return file.read() if file is not None else b""

    return _copy({item.name: item.size for item in archive.getmembers() if item.isfile()}, read)


def _copy(sizes: dict[str, int], read: Callable[[str], bytes]) -> DocumentationCopy:
    """The files below the folder that has the inventory."""
    inventory = min((name for name in sizes if Path(name).name == INVENTORY), key=len, default="")
    version = inventory_version(read(inventory)) if inventory else ""
    if not version:
        raise RequestError("This is not a copy of Python's HTML documentation: it has no objects.inv.")
    root = inventory.removesuffix(INVENTORY)
    names = sorted(name for name, size in sizes.items() if name.startswith(root) and size <= _LARGEST_FILE)
    return DocumentationCopy(
        version, tuple(name.removeprefix(root) for name in names), lambda path: read(root + path)
    )


def file_address(path: str, version: str) -> str:
    """The address of an HTML file; those of its pages have an anchor too."""
    return f"{DOCS_SITE}{version}/{path}"


def file_pages(data: bytes, path: str, version: str) -> list[Page]:
    """The pages of an HTML file: each object and each section, without the text of those inside it."""
    root = parse(data.decode("utf-8", "replace"))
    main = None if root is None else next(filter(_is_main, root.iter("main", "div")), None)
    if main is None:
        return []
    address = file_address(path, version)
    heading = _words(next(main.iter("h1"), None))
    units = [item for item in main.iter("dt", "section", "div") if _is_unit(item)]
    pages: list[Page] = []
    # From the end, so that inner units are taken out before the text of the outer ones is read.
    for unit in reversed(units):
        read = _object(unit) if unit.tag == "dt" else _section(unit, heading)
        if read.text:
            title = f"{read.title} — Python {version} documentation"
            url = f"{address}#{unit.get('id')}"
            outline = encode_outline(read.outline)
            pages.append(
                Page(url, title, read.text, language="en", collection=DOCUMENTATION, outline=outline)
            )
    return pages[::-1]


def _is_main(element: etree._Element) -> bool:
    return "main" in (element.tag, element.get("role"))


def _is_unit(element: etree._Element) -> bool:
    """A section, or the first of the signatures above a description."""
    if not element.get("id"):
        return False
    if element.tag != "dt":
        return "section" in (element.tag, element.get("class"))
    before = element.getprevious()
    return before is None or bool(before.tag != "dt")


class _ReadUnit(NamedTuple):
    """What is read of an object or a section; without text if there is nothing below its heading."""

    title: str = ""
    text: str = ""
    outline: tuple[Block, ...] = ()


def _object(first: etree._Element) -> _ReadUnit:
    """An object: its signatures and its description."""
    parts = [first]
    while (after := parts[-1].getnext()) is not None and parts[-1].tag == "dt":
        parts.append(after)
    signatures = "\n".join(_words(part) for part in parts if part.tag == "dt")
    body, blocks = joined([block for part in parts if part.tag == "dd" for block in blocks_of(part)])
    name = _name(first) or signatures.partition("\n")[0][:_LONGEST_NAME]
    for part in parts:
        _take_out(part)
    if not body:
        return _ReadUnit()
    before = len(signatures) + 2
    moved = (block._replace(start=block.start + before, end=block.end + before) for block in blocks)
    outline = (Block("signature", 0, len(signatures), _SIGNATURE_LEVEL), *moved)
    return _ReadUnit(titled(name, _module_of(name)), f"{signatures}\n\n{body}", outline)


def _section(section: etree._Element, page: str) -> _ReadUnit:
    """A section without the sections and objects inside it."""
    found = next(section.iter("h1", "h2", "h3", "h4", "h5", "h6"), None)
    heading = _words(found)
    text, blocks = joined(blocks_of(section))
    _take_out(section)
    if not heading or len(text) <= len(heading) + 1:
        return _ReadUnit()
    subject = _SECTION_NUMBER.sub("", heading, count=1)
    module = (section.get("id") or "").partition("module-")[2]
    if module:
        return _ReadUnit(titled(module, module), text, blocks)
    above = _SECTION_NUMBER.sub("", page, count=1)
    return _ReadUnit(f"{subject} — {above}" if above != subject else subject, text, blocks)


def _take_out(element: etree._Element) -> None:
    """Removes an element, not the text that follows it."""
    parent, before = element.getparent(), element.getprevious()
    if parent is None:
        return
    if element.tail and before is not None:
        before.tail = (before.tail or "") + element.tail
    elif element.tail:
        parent.text = (parent.text or "") + element.tail
    parent.remove(element)


def _name(signature: etree._Element) -> str:
    """The dotted name of one of Python's objects: `asyncio.loop.stop` where `loop.stop()` is shown."""
    spans = (item for item in signature.iter("span", "code") if _is_name(item.get("class", "").split()))
    shown = "".join(_words(span) for span in spans)
    anchor = signature.get("id", "")
    # Sphinx drops leading underscores from anchors.
    return shown if not shown or shown.lstrip("_") == anchor else anchor


def _is_name(classes: Iterable[str]) -> bool:
    return not {"descclassname", "descname"}.isdisjoint(classes)


def _module_of(name: str) -> str:
    module = name
    while module and module not in _MODULES:
        module = module.rpartition(".")[0]
    return module or "builtins"


def _words(element: etree._Element | None) -> str:
    if element is None:
        return ""
    return " ".join("".join(element.itertext()).replace("¶", "").split())


class DocumentationBuild:
    """Adds a copy of the documentation to an index.

    The pages of a file are stored together, so that a file is there as a whole or not at all. With `resumes`,
    files that are there are not read again.
    """

    def __init__(self, index: Index, path: Path, *, resumes: bool) -> None:
        self._index = index
        self._copy = open_copy(path)
        self._paths = list(self._copy.paths(everything=False))
        self._resumes = resumes

    @property
    def files(self) -> int:
        """The number of files."""
        return len(self._paths)

    def run(self, report: Callable[[int, str], None], batch_size: int) -> Stored:
        """Adds all pages, and removes those that the copy no longer has."""
        copy, paths = self._copy, self._paths
        before = self._stored_files() if self._resumes else set()
        known: set[str] = set()
        stored = Stored()
        batch: list[Page] = []
        for number, path in enumerate(paths, 1):
            if file_address(path, copy.version) not in before:
                batch += file_pages(copy.read(path), path, copy.version)
            if len(batch) >= batch_size or number == len(paths):
                stored += self._index.put(batch)
                known.update(page.url for page in batch)
                batch = []
            report(number, path.removesuffix(".html"))
        # Files that were left out here may have been added with `--all`.
        left_out = {file_address(path, copy.version) for path in set(copy.files).difference(paths)}
        self._remove_others(known, before | left_out)
        return stored

    def _stored_files(self) -> set[str]:
        return {info.url.partition("#")[0] for info in self._index.pages(DOCUMENTATION)}

    def _remove_others(self, known: set[str], files: set[str]) -> None:
        gone = [
            info.url
            for info in self._index.pages(DOCUMENTATION)
            if info.url not in known and info.url.partition("#")[0] not in files
        ]
        if gone:
            self._index.remove(urls=gone)
