"""Reads the weights of a BERT whose matrices are bytes from an ONNX file.

A matrix that values are multiplied by has a scale and a zero for each column, a table of embeddings one for
all numbers. All other arrays are 32-bit numbers. The file is a protobuf message, of which only the arrays are
read; the order of the matrices is that of the layers and of the steps in a layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from groundwire.engine.dense.arrays import Floats, Numbers, np
from groundwire.engine.dense.protobuf import read_fields, read_varints

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
_PREFIX = "bert."
"""Begins the names of a network that has something after its layers."""
_PARTS = ("embeddings.", "encoder.", "pooler.", "classifier.")
_AFTER_LAYERS = ("pooler.", "classifier.")


def read_quantised(path: Path) -> dict[str, Floats]:
    """The weights by their names in safetensors files, in the same form."""
    arrays = dict(_arrays(memoryview(path.read_bytes())))
    arrays = {name.removeprefix(_PREFIX): array for name, array in arrays.items()}
    found: dict[str, Floats] = {}
    for name, array in arrays.items():
        if not name.startswith(_PARTS):
            continue
        if name.endswith(_QUANTISED):
            about = name.removesuffix(_QUANTISED)
            numbers = _numbers(arrays, about)
            found[about] = numbers.T if name.startswith(_AFTER_LAYERS) else numbers
        elif not name.endswith(("_scale", "_zero_point")):
            found[name] = array.astype(np.float32, copy=False)
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
    numbers *= arrays[f"{name}_scale"].astype(np.float32)
    return numbers


def _arrays(model: memoryview) -> Iterator[tuple[str, Numbers]]:
    """The arrays of a model, as far as they are bytes or 32-bit numbers."""
    for graph in read_fields(model):
        if graph.number != _GRAPH:
            continue
        for array in read_fields(graph.content):
            if array.number == _ARRAY and (found := _array(array.content)) is not None:
                yield found


def _array(message: memoryview) -> tuple[str, Numbers] | None:
    shape: list[int] = []
    name, kind, content = "", 0, message[:0]
    numbers: list[int] = []
    for field in read_fields(message):
        if field.number == _SHAPE:
            shape.append(field.value)
        elif field.number == _TYPE:
            kind = field.value
        elif field.number == _NAME:
            name = bytes(field.content).decode()
        elif field.number in (_FLOATS, _CONTENT):
            content = field.content
        elif field.number == _VARINTS:
            numbers = [*read_varints(field.content)]
    if kind not in _TYPES:
        return None
    array = np.array(numbers, _TYPES[kind]) if numbers else np.frombuffer(content, _TYPES[kind])
    return name, array.reshape(shape)
