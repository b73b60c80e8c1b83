"""Opens search by meaning for an index, if there are vectors next to it; else numpy is not imported."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from groundwire.engine.dense.packages import READER, usable_packages
from groundwire.engine.index.base import Index

if TYPE_CHECKING:
    from groundwire.engine.dense.stage import DenseStage


def models_folder(index: Path) -> Path:
    """The folder of prepared encoders, next to the folder of an index."""
    return index.parent / "models"


def open_stage(index: Index) -> DenseStage | None:
    """Search by meaning; None without vectors, and without the extra that they are compared with."""
    packages = usable_packages()
    store = index.passage_store() if packages else None
    if store is None or not any(store.has_vectors(package.name) for package in packages):
        return None
    from groundwire.engine.dense.cross_encoder import load_cross_encoder  # noqa: PLC0415  imports numpy
    from groundwire.engine.dense.stage import DenseStage  # noqa: PLC0415

    models = models_folder(store.folder)
    reads = None if READER.problem() else partial(load_cross_encoder, models)
    return DenseStage(store, models, load_cross_encoder=reads)
