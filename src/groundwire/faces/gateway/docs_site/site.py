"""The files of the documentation site, by their path below it.

The gateway serves them at `/docs/`; `make docs` writes them to a folder. Only the files that are listed when
the site is opened can be read.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from groundwire import __version__
from groundwire.dialects.json import dump_json
from groundwire.faces.gateway.docs_site.markdown import DocsArticle, render_article
from groundwire.model import Json
from groundwire.model.value import value

if TYPE_CHECKING:
    from jinja2 import Template

HOME = "index.html"
SEARCH_INDEX = "search-index.js"
_NAVIGATION = "navigation.toml"
_HERE = Path(__file__).parent
_ASSETS = ("docs.css", "docs.js", "icon.svg")
_CONTENT_TYPES: Mapping[str, str] = MappingProxyType(
    {
        ".css": "text/css; charset=utf-8",
        ".html": "text/html; charset=utf-8",
        ".ipynb": "application/json",
        ".js": "text/javascript; charset=utf-8",
        ".json": "application/json",
        ".png": "image/png",
        ".svg": "image/svg+xml",
    }
)


@value
class DocsFile:
    """A file of the site."""

    content_type: str
    data: bytes


class NavigationEntry(NamedTuple):
    """A page in the navigation."""

    path: str
    title: str


class DocsSite:
    """The site of the pages in a folder that its navigation lists.

    `root` is the prefix of its links, empty for relative ones.
    """

    def __init__(self, folder: Path, root: str = "") -> None:
        self._root = root
        self._sections = tomllib.loads((folder / _NAVIGATION).read_text("utf-8"))["sections"]
        names = [name for section in self._sections for name in section["pages"]]
        self._documents = {_page_path(name): folder / name for name in names}
        self._files = {
            path.relative_to(folder).as_posix(): path
            for pattern in ("*.json", "images/*.png")
            for path in sorted(folder.glob(pattern))
        }
        self._files.update((name, _HERE / name) for name in _ASSETS)
        self._cache: dict[str, DocsFile] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all files."""
        return (*self._documents, *self._files, SEARCH_INDEX)

    def read(self, path: str) -> DocsFile:
        """A file of the site, by one of its `paths`."""
        if path not in self._cache:
            self._cache[path] = DocsFile(_CONTENT_TYPES[Path(path).suffix], self._data(path))
        return self._cache[path]

    @cached_property
    def articles(self) -> Mapping[str, DocsArticle]:
        """All pages, by path."""
        return {
            path: render_article(document.read_text("utf-8"), self.resolve)
            for path, document in self._documents.items()
        }

    @cached_property
    def navigation(self) -> Mapping[str, tuple[NavigationEntry, ...]]:
        """The pages of each section, in the order of the navigation."""
        return {
            section["title"]: tuple(
                NavigationEntry(_page_path(name), self.articles[_page_path(name)].title)
                for name in section["pages"]
            )
            for section in self._sections
        }

    def resolve(self, href: str) -> str | None:
        """The address of a link in a Markdown page; None if the site does not have its target."""
        path, _, fragment = href.partition("#")
        if not path or "//" in href:
            return href
        target = _page_path(path)
        if target not in self._documents and target not in self._files:
            return None
        return self._root + target + (f"#{fragment}" if fragment else "")

    def _data(self, path: str) -> bytes:
        if path == SEARCH_INDEX:
            # A script, because pages that are opened from a folder cannot fetch data.
            return f"self.searchIndex = {dump_json(list(self._search_entries()))};\n".encode()
        if path in self._documents:
            return self._page(path).encode()
        return self._files[path].read_bytes()

    def _search_entries(self) -> Iterator[Json]:
        for path, article in self.articles.items():
            for section in article.sections:
                address = self._root + path + (f"#{section.fragment}" if section.level > 1 else "")
                yield [address, article.title, section.heading, section.text]

    def _page(self, path: str) -> str:
        article = self.articles[path]
        entries = [entry for section in self.navigation.values() for entry in section]
        position = next((at for at, entry in enumerate(entries) if entry.path == path), 0)
        return _template().render(
            root=self._root,
            path=path,
            version=__version__,
            article=article,
            outline=[section for section in article.sections if section.level == 2],
            navigation=self.navigation,
            previous=entries[position - 1] if position > 0 else None,
            following=entries[position + 1] if position + 1 < len(entries) else None,
        )


def _page_path(name: str) -> str:
    """`README.md` as `index.html`, `cli.md` as `cli.html`; other names are kept."""
    if name == "README.md":
        return HOME
    return f"{name.removesuffix('.md')}.html" if name.endswith(".md") else name


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  as the Markdown parser

    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html")
