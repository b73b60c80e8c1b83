"""Pages in a folder, by their addresses: `HOST/PATH`, as `wget --force-directories` stores them.

`https://example.com/docs/` is `example.com/docs/index.html`; `.html` may be missing in the address.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from groundwire.engine.read.document import Document, media_type_of

MOST_BYTES = 20_000_000


class PageFolder:
    """Finds stored pages. No address leads out of the folder."""

    def __init__(self, folder: Path) -> None:
        self._root = folder.resolve()

    def __call__(self, url: str) -> Document | None:
        """The document of an address; None if it is not in the folder. Blocks."""
        for name in _names(url):
            path = (self._root / name).resolve()
            if path.is_relative_to(self._root) and path.is_file():
                with path.open("rb") as file:
                    data = file.read(MOST_BYTES)
                return Document(data, media_type_of(path.name) or "text/html", url, is_complete=True)
        return None


def _names(url: str) -> list[str]:
    """Where a page may be, best first."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return []
    host = parts.netloc.rpartition("@")[2].lower()
    if not host or host.startswith(".") or "\0" in url:
        return []
    found: list[str] = []
    for path in dict.fromkeys((parts.path, unquote(parts.path))):
        if "\0" in path:
            continue
        name = f"{host}/{path.lstrip('/')}"
        if parts.query:
            found += [f"{name}?{parts.query}", f"{name}?{parts.query}.html"]
        found += [f"{name}index.html"] if name.endswith("/") else [name, f"{name}.html", f"{name}/index.html"]
    return found
