"""Networks in a form that is memory-mapped.

Unpacking the files of a package takes up to two seconds of CPU, too long for a command that answers in less
than half a second. The first use writes them, unpacked, to a folder of the data directory, which has a
manifest with the sizes of its files.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

from groundwire.engine.dense.arrays import Floats, np
from groundwire.engine.dense.packages import MeaningUnavailable
from groundwire.files.lock import locked
from groundwire.files.text_file import make_private_files, make_private_folder

Facts: TypeAlias = Mapping[str, object]
Network = TypeVar("Network")

_LOCK_TIMEOUT = 60.0
_MANIFEST = "manifest.json"
_UNREADABLE = (OSError, ValueError, LookupError, TypeError)


def load_prepared(
    cache: Path, name: str, read: Callable[[Path, Facts], Network], write: Callable[[Path], Facts]
) -> Network:
    """What `read` makes of the prepared files of a network, and of the facts in their manifest. If they are
    missing, damaged or of another name, `write` writes them into a new folder below `cache`, and returns the
    facts. Raises `MeaningUnavailable` if that fails."""
    folder = cache / name.partition("/")[0]
    found = _read(folder, name, read)
    if found is None:
        try:
            _prepare(cache, folder, name, read, write)
        except _UNREADABLE as error:
            raise MeaningUnavailable(f"{folder.name} cannot be prepared in {cache} ({error})") from error
        found = _read(folder, name, read)
    if found is None:
        raise MeaningUnavailable(f"The network in {folder} cannot be read")
    return found


def write_arrays(path: Path, arrays: Mapping[str, Floats]) -> list[tuple[str, tuple[int, ...]]]:
    """Writes arrays into one file; returns their names and shapes."""
    np.save(path, np.concatenate([array.ravel() for array in arrays.values()]))
    return [(name, array.shape) for name, array in arrays.items()]


def map_arrays(path: Path, listed: object) -> dict[str, Floats]:
    """The arrays of a file, mapped into memory, by the names and shapes that `write_arrays` returned."""
    if not isinstance(listed, Sequence):
        raise TypeError("no list of arrays")
    flat = np.load(path, mmap_mode="r", allow_pickle=False)
    arrays: dict[str, Floats] = {}
    at = 0
    for name, shape in listed:
        size = int(np.prod(shape))
        arrays[name] = np.asarray(flat[at : at + size]).reshape(shape)
        at += size
    return arrays


def _read(folder: Path, name: str, read: Callable[[Path, Facts], Network]) -> Network | None:
    """None if the files are missing or not intact."""
    try:
        manifest = json.loads((folder / _MANIFEST).read_text("utf-8"))
        sizes = manifest["sizes"].items()
        if manifest["name"] != name or any((folder / file).stat().st_size != size for file, size in sizes):
            return None
        return read(folder, manifest)
    except (*_UNREADABLE, AttributeError):
        return None


def _prepare(
    cache: Path,
    folder: Path,
    name: str,
    read: Callable[[Path, Facts], Network],
    write: Callable[[Path], Facts],
) -> None:
    """Writes the files into a new folder, which then gets its name: readers never see a part."""
    make_private_folder(cache)
    with locked(cache / "models.lock", _LOCK_TIMEOUT):
        if _read(folder, name, read) is not None:  # another process was faster
            return
        new = folder.with_name(f"{folder.name}.new")
        for unusable in (new, folder):
            shutil.rmtree(unusable, ignore_errors=True)
        make_private_folder(new)
        try:
            facts = write(new)
            sizes = {path.name: path.stat().st_size for path in new.iterdir()}
            manifest = {"name": name, "sizes": sizes, **facts}
            (new / _MANIFEST).write_text(json.dumps(manifest), "utf-8")
            make_private_files(new)
            os.replace(new, folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
