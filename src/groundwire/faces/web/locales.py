"""Texts of the page by language. A language is one JSON file; texts that it lacks are shown in English.

The files of this package, and those in the folder `locales` of the data directory.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import TypeAlias

Texts: TypeAlias = Mapping[str, str]

log = logging.getLogger("groundwire.web")

ENGLISH = "en"
FOLDER = "locales"
_CODE = re.compile(r"[a-z]{2,3}")


def load_locales(data_dir: str = "") -> Mapping[str, Texts]:
    """The texts of every language, by its code: English first, then the others in alphabetical order."""
    own = Path(__file__).parent / FOLDER
    english = _read(own / f"{ENGLISH}.json")
    found = {ENGLISH: MappingProxyType(english)}
    for path in _files(own, *([Path(data_dir) / FOLDER] if data_dir else [])):
        try:
            texts = _read(path)
        except (OSError, ValueError) as error:
            log.warning("the language file %s cannot be used: %s", path, error)
            continue
        usable = {key: text for key, text in texts.items() if _fits(key, text, english)}
        for key in texts.keys() - usable.keys():
            log.warning("%s: the text %r has other placeholders than in English, and is not used", path, key)
        found[path.stem] = MappingProxyType({**english, **usable})
    return found


def _files(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        paths = sorted(folder.glob("*.json")) if folder.is_dir() else []
        yield from (path for path in paths if path.stem != ENGLISH and _CODE.fullmatch(path.stem))


def _read(path: Path) -> dict[str, str]:
    texts = json.loads(path.read_text("utf-8"))
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise ValueError("expected a JSON object of texts")
    return texts


def _fits(key: str, text: str, english: Texts) -> bool:
    """Has a text no placeholder that its English form lacks? A detail is its own English form."""
    try:
        return _placeholders(text) <= _placeholders(english.get(key, key))
    except ValueError:
        return False


def _placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}
