"""Documentation inside wheels and source archives."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from groundwire.engine.crawl.crawler import collection_of
from groundwire.engine.crawl.files import crawl_path
from groundwire.engine.crawl.results import CrawledPage, CrawlOptions, SkippedSource
from groundwire.engine.knowledge.package_documents import is_package_document

pytestmark = pytest.mark.server

FILES = {
    "thing-1.2/README.md": "# Thing\n\nThing turns the crank of the machine.\n",
    "thing-1.2/docs/usage.md": "# Usage\n\nCall `turn` to turn the crank twice.\n",
    "thing-1.2/docs/conf.py": "project = 'Thing'",
    "thing-1.2/CHANGELOG.md": "# 1.2\n\nThe crank is faster.\n",
    "thing-1.2/LICENSE.md": "Do what you want.",
    "thing-1.2/tests/data.md": "# Data\n\nNothing to read here.\n",
    "thing-1.2/src/thing/__init__.py": "",
}
METADATA = """Metadata-Version: 2.4
Name: thing
Version: 1.2
Description-Content-Type: text/markdown

# Thing

Thing turns the crank of the größte machine.
"""


@pytest.fixture
def sdist(tmp_path: Path) -> Path:
    path = tmp_path / "thing-1.2.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in FILES.items():
            data = text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "thing-1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("thing/__init__.py", "")
        archive.writestr("thing/docs/usage.md", FILES["thing-1.2/docs/usage.md"])
        archive.writestr("thing-1.2.dist-info/METADATA", METADATA)
        archive.writestr("thing-1.2.dist-info/licenses/LICENSE.md", "Do what you want.")
        archive.writestr("../outside.md", "# Outside\n\nNot part of the archive.\n")
    return path


async def crawled(path: Path, scope: CrawlOptions | None = None) -> dict[str, str]:
    outcomes = [outcome async for outcome in crawl_path(path, scope or CrawlOptions())]
    assert not [outcome for outcome in outcomes if isinstance(outcome, SkippedSource)]
    return {item.page.url: item.page.text for item in outcomes if isinstance(item, CrawledPage)}


async def test_a_source_archive_is_read_like_a_folder(sdist: Path) -> None:
    assert collection_of(sdist) == "thing"
    pages = await crawled(sdist)
    assert list(pages) == [f"file://{sdist}/README.md", f"file://{sdist}/docs/usage.md"]
    assert "turn the crank twice" in pages[f"file://{sdist}/docs/usage.md"]


async def test_documents_of_an_archive_may_have_web_addresses(sdist: Path) -> None:
    pages = await crawled(sdist, CrawlOptions(base_url="https://thing.example/", as_html=True))
    assert list(pages) == ["https://thing.example/", "https://thing.example/docs/usage.html"]


async def test_a_wheel_has_its_description_and_its_documents(wheel: Path) -> None:
    pages = await crawled(wheel)
    assert list(pages) == [
        f"file://{wheel}/thing-1.2.dist-info/METADATA",
        f"file://{wheel}/thing/docs/usage.md",
    ]
    assert "the größte machine" in pages[f"file://{wheel}/thing-1.2.dist-info/METADATA"]


@pytest.mark.parametrize("content", [b"", b"PK\3\4 broken", b"\x1f\x8b broken"])
@pytest.mark.parametrize("name", ["a-1.tar.gz", "a-1.whl"])
async def test_a_damaged_archive_is_skipped(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    outcomes = [outcome async for outcome in crawl_path(path, CrawlOptions())]
    assert [type(outcome) for outcome in outcomes] == [SkippedSource]


async def test_an_archive_in_a_folder_is_not_opened(sdist: Path) -> None:
    outcomes = [outcome async for outcome in crawl_path(sdist.parent, CrawlOptions())]
    assert outcomes == [SkippedSource(str(sdist), "not a document (.gz)")]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("README.rst", True),
        ("docs/index.txt", True),
        ("thing/data.txt", False),
        ("thing/_vendor/other/README.md", False),
        ("thing/lib/README.md", True),
        ("HISTORY.rst", False),
        ("thing-1.2.dist-info/AUTHORS.md", False),
        (".github/bug.md", False),
    ],
)
def test_which_files_are_documents(path: str, expected: bool) -> None:
    assert is_package_document(PurePosixPath(path)) is expected
