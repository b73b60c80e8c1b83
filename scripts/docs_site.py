"""Write the documentation site to a folder: `docs_site.py FOLDER`. It needs no server: open index.html."""

from __future__ import annotations

import sys
from pathlib import Path

from groundwire.faces.gateway.docs_site.site import HOME, DocsSite

DOCS = Path(__file__).parents[1] / "docs"


def write_site(folder: Path) -> int:
    """Write all files of the site; returns their number."""
    site = DocsSite(DOCS)
    for path in site.paths:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(site.read(path).data)
    return len(site.paths)


if __name__ == "__main__":
    output = Path(sys.argv[1])
    print(f"{write_site(output)} files; open {output / HOME}")
