"""Which web address a file has: by where it lies under a base address, else its own as a file."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote, urljoin

_INDEXES = frozenset(("index.html", "index.htm", "index.xhtml"))
_SOURCES = (".md", ".markdown", ".rst")
_SOURCE_INDEXES = frozenset(("readme.md", "readme.rst", "index.md", "index.rst"))


def address_of(path: Path, root: Path, base_url: str, *, as_html: bool = False) -> str:
    """The address of a file under a root. An index page stands for its folder.

    With `as_html`, Markdown and reStructuredText have the address of the page they are rendered to.
    """
    if not base_url:
        return "file://" + quote(os.fsencode(path.absolute()))
    base = base_url if base_url.endswith("/") else base_url + "/"
    folder, name = os.path.split(path.relative_to(root))
    if name.lower() in _INDEXES or (as_html and name.lower() in _SOURCE_INDEXES):
        name = ""
    elif as_html and name.lower().endswith(_SOURCES):
        name = os.path.splitext(name)[0] + ".html"
    relative = "/".join(filter(None, folder.split(os.sep))) + ("/" if folder else "") + name
    # A colon in the first part would make it a scheme.
    return urljoin(base, "./" + quote(os.fsencode(relative)))
