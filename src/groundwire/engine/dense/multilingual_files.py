"""The files of the multilingual encoder: those of its package, and those that are prepared from them."""

from __future__ import annotations

import struct
from pathlib import Path

from groundwire.engine.dense.arrays import np
from groundwire.engine.dense.multilingual import ARRAYS, DIMENSIONS, TABLE_PARTS, MultilingualModel
from groundwire.engine.dense.packages import MULTILINGUAL
from groundwire.engine.dense.prepared import Facts, load_prepared, map_arrays, write_arrays
from groundwire.engine.dense.protobuf import read_fields
from groundwire.engine.dense.unigram import UnigramTokenizer, encode_pieces

_NAME = f"{MULTILINGUAL.name}/4"
"""Changed with every change of the prepared files."""
_TABLE, _ARRAYS, _PIECES = "table.npy", "arrays.npy", "pieces.txt"


def load_multilingual(cache: Path) -> tuple[UnigramTokenizer, MultilingualModel]:
    """Tokenizer and model; their prepared files are in a folder below `cache`."""
    return load_prepared(cache, _NAME, _read, _write)


def _read(folder: Path, facts: Facts) -> tuple[UnigramTokenizer, MultilingualModel]:
    table = np.load(folder / _TABLE, mmap_mode="r", allow_pickle=False)
    arrays = map_arrays(folder / _ARRAYS, facts["arrays"])
    tokenizer = UnigramTokenizer((folder / _PIECES).read_bytes().split(b"\n"), arrays.pop("scores"))
    return tokenizer, MultilingualModel(table, arrays, float(str(facts["eps"])))


def _write(folder: Path) -> Facts:
    package = MULTILINGUAL
    pieces, scores = _read_vocabulary(package.checked(package.vocabulary).read_bytes())
    with np.load(package.checked(package.weights), allow_pickle=False) as weights:
        rows = weights["q1"].shape[0]
        table = np.empty((rows * TABLE_PARTS, DIMENSIONS), np.uint8)
        for part in range(TABLE_PARTS):
            table[part::TABLE_PARTS] = weights[f"q{part + 1}"]
        arrays = {name: weights[name].astype(np.float32) for name in ARRAYS}
        eps = float(weights["eps"])
    np.save(folder / _TABLE, table)
    (folder / _PIECES).write_bytes(b"\n".join(encode_pieces(pieces)))
    listed = write_arrays(folder / _ARRAYS, {**arrays, "scores": np.array(scores, np.float32)})
    return {"eps": eps, "arrays": listed}


def _read_vocabulary(data: bytes) -> tuple[list[str], list[float]]:
    """The pieces and scores of a SentencePiece model: messages in field 1, with the piece in field 1 and its
    score in field 2."""
    pieces, scores = [], []
    for message in read_fields(memoryview(data)):
        if message.number == 1:
            fields = {field.number: field.content for field in read_fields(message.content)}
            pieces.append(bytes(fields[1]).decode("utf-8"))
            scores.append(struct.unpack("<f", fields[2])[0] if 2 in fields else 0.0)
    return pieces, scores
