"""The indexed pages: invented facts at URLs that exist only here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

BASE = "https://docs.groundwire.test/"
QUESTION = "When was the Kestrel Point lighthouse first lit?"
ANSWER_URL = f"{BASE}kestrel/history.html"
FACT = "3 November 1931"
PAGES = {
    "kestrel/history.html": (
        "History of the Kestrel Point lighthouse",
        "The Kestrel Point lighthouse was first lit on 3 November 1931. It replaced a wooden tower.",
    ),
    "kestrel/lamp.html": (
        "The lamp of Kestrel Point",
        "The lamp of the Kestrel Point lighthouse turns once in forty seconds, and weighs two tonnes.",
    ),
    "ferry/timetable.html": (
        "Timetable of the Oar Bay ferry",
        "The ferry from Oar Bay to Sedge Island sails at seven, at noon and at six in the evening.",
    ),
}
_ADDRESS = re.compile(re.escape(BASE) + r"[\w./-]*\w")


def write_pages(folder: Path) -> None:
    """Write all pages below a folder."""
    for name, (title, text) in PAGES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"<!doctype html><html lang=en><title>{title}</title><h1>{title}</h1><p>{text}</p></html>",
            "utf-8",
        )


def urls_in(texts: Iterable[str]) -> list[str]:
    """The URLs of the indexed pages in texts, each once, in order."""
    return list(dict.fromkeys(found for text in texts for found in _ADDRESS.findall(text)))
