"""Sample passages, and the invariants of every composition."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Sequence

from groundwire.engine.compose.answer import Composition
from groundwire.engine.pages import Passage

MODULES = (
    *("argparse", "asyncio", "base64", "bisect", "collections", "contextlib", "copy", "csv", "datetime"),
    *("decimal", "difflib", "fnmatch", "functools", "glob", "hashlib", "heapq", "html", "itertools", "json"),
    *("logging", "math", "operator", "os", "pathlib", "pickle", "queue", "random", "re", "secrets", "shutil"),
    *("socket", "statistics", "string", "struct", "subprocess", "tempfile", "textwrap", "threading", "time"),
    *("typing", "urllib.parse", "uuid", "zipfile", "builtins"),
)


def passage(text: str, site: str = "a", title: str = "", start: int = 0, score: float = 1.0) -> Passage:
    """A passage of a page on the named site."""
    return Passage(f"https://{site}.example/page", title or f"Page {site.upper()}", text, start, score)


def documentation() -> Iterator[Passage]:
    """The docstrings of the standard library, one page per object."""
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", None) or dir(module):
            item = getattr(module, name, None)
            text = inspect.getdoc(item) if callable(item) and not name.startswith("_") else None
            if text:
                full = f"{module_name}.{name}"
                url = f"https://docs.example/{module_name}.html#{full}"
                yield Passage(url, f"{full} — Python documentation", f"{full}()\n\n{text}", 0)


def check(composition: Composition, passages: Sequence[Passage]) -> None:
    """Check that spans are in the text and in order, and that quotes are verbatim text of the cited page."""
    end = 0
    for citation in composition.citations:
        assert citation.span is not None
        assert end <= citation.span.start < citation.span.end <= len(composition.text)
        assert citation.anchor == "claim"
        end = citation.span.end
        assert citation.evidence
        for item in citation.evidence:
            assert item.quote
            assert item.source.state == "cited"
            assert any(item.quote in each.text for each in passages if each.url == item.source.url)
    assert composition.found == bool(composition.citations)
