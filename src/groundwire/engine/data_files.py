"""Reads the word lists and tables that the engine is delivered with (`data/*.txt`)."""

from __future__ import annotations

from pathlib import Path


def data_lines(folder: Path, name: str) -> list[str]:
    """The lines of `data/<name>.txt` in a package folder, without comments (`# …`) and blank lines."""
    text = (folder / "data" / f"{name}.txt").read_text("utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("# ")]


def data_words(folder: Path, name: str) -> list[str]:
    """All words of a data file, in order."""
    return [word for line in data_lines(folder, name) for word in line.split()]


def data_table(folder: Path, name: str) -> dict[str, str]:
    """A data file of `key: value` lines."""
    return dict(line.split(": ", 1) for line in data_lines(folder, name))
