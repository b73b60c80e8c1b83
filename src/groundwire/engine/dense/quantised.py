"""Reads the weights of a BERT whose matrices are bytes from an ONNX file.

A matrix that values are multiplied by has a scale and a zero for each column, a table of embeddings one for
all numbers. All other arrays are 32-bit numbers. The file is a protobuf message, of which only the arrays are
read; the order of the matrices is that of the layers and of the steps in a layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from groundwire.engine.dense.arrays import Floats, Numbers, np

_VARINT, _LONG, _BYTES, _SHORT = 0, 1, 2, 5
"""How protobuf stores a field: a number of any length, 8 bytes, a length and so many bytes, 4 bytes."""
_GRAPH, _ARRAY = 7, 5
"""The field of a model with its graph, and that of a graph with an array."""
_SHAPE, _TYPE, _FLOATS, _VARINTS, _NAME, _CONTENT = 1, 2, 4, 5, 8, 9
"""The fields of an array. Large ones have plain content, others a list of numbers."""
_TYPES = {1: "<f4", 2: "u1", 3: "i1"}
_STEPS = (
    *(f"attention.self.{part}" for part in ("query", "key", "value")),
    *("attention.output.dense", "intermediate.dense", "output.dense"),
)
"""The matrices of a layer, in the order of the file."""
_MATRIX = re.compile(r"onnx::MatMul_(\d+)_quantized")
_QUANTISED = "_quantized"


def read_quantised(path: Path) -> dict[str, Floats]:
    """The weights by their names in safetensors files, in the same form."""
    arrays = dict(_arrays(memoryview(np.memmap(path, np.uint8, "r"))))
    weights = {name: array for name, array in arrays.items() if name.startswith(("embeddings.", "encoder."))}
    found: dict[str, Floats] = {}
    for name, array in weights.items():
        if name.endswith(_QUANTISED):
            about = name.removesuffix(_QUANTISED)
            found[about] = _numbers(arrays, about)
        elif not name.endswith(("_scale", "_zero_point")):
            found[name] = array
    matrices = sorted((match for name in arrays if (match := _MATRIX.fullmatch(name))), key=_place)
    for at, match in enumerate(matrices):
        layer, step = divmod(at, len(_STEPS))
        # The file has the matrix as it is multiplied, the others have it transposed.
        matrix = _numbers(arrays, match[0].removesuffix(_QUANTISED)).T
        found[f"encoder.layer.{layer}.{_STEPS[step]}.weight"] = matrix
    return found


def _place(match: re.Match[str]) -> int:
    return int(match[1])


def _numbers(arrays: Mapping[str, Numbers], name: str) -> Floats:
    """An array as numbers, from its bytes."""
    numbers = arrays[f"{name}{_QUANTISED}"].astype(np.float32)
    numbers -= arrays[f"{name}_zero_point"].astype(np.float32)
    numbers *= arrays[f"{name}_scale"]
    return numbers


class _Field(NamedTuple):
    number: int
    value: int
    content: memoryview


def _fields(message: memoryview) -> Iterator[_Field]:
    """The fields of a message; those of 4 and 8 bytes are left out."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            number, at = _varint(message, at)
            yield _Field(tag >> 3, number, message[:0])
        elif kind == _BYTES:
            length, at = _varint(message, at)
            yield _Field(tag >> 3, 0, message[at : at + length])
            at += length
        elif kind in (_LONG, _SHORT):
            at += 8 if kind == _LONG else 4
        else:
            raise ValueError(f"protobuf has no wire type {kind}")


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def _arrays(model: memoryview) -> Iterator[tuple[str, Numbers]]:
    """The arrays of a model, as far as they are bytes or 32-bit numbers."""
    for graph in _fields(model):
        if graph.number != _GRAPH:
            continue
        for array in _fields(graph.content):
            if array.number == _ARRAY and (found := _array(array.content)) is not None:
                yield found


def _array(message: memoryview) -> tuple[str, Numbers] | None:
    shape: list[int] = []
    name, kind, content = "", 0, message[:0]
    numbers: list[int] = []
    for field in _fields(message):
        if field.number == _SHAPE:
            shape.append(field.value)
        elif field.number == _TYPE:
            kind = field.value
        elif field.number == _NAME:
            name = bytes(field.content).decode()
        elif field.number in (_FLOATS, _CONTENT):
            content = field.content
        elif field.number == _VARINTS:
            numbers = [*_varints(field.content)]
    if kind not in _TYPES:
        return None
    array = np.array(numbers, _TYPES[kind]) if numbers else np.frombuffer(content, _TYPES[kind])
    return name, array.reshape(shape)


def _varints(message: memoryview) -> Iterator[int]:
    at = 0
    while at < len(message):
        number, at = _varint(message, at)
        yield number
