"""Weights in bytes are read from an ONNX file with their names, scales and zeros."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from groundwire.engine.dense.bert import layer_count
from groundwire.engine.dense.cross_encoder import LONGEST, CrossEncoder
from groundwire.engine.dense.packages import READER
from groundwire.engine.dense.quantised import read_quantised
from groundwire.engine.dense.word_pieces import read_tokenizer

STEPS = ("query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense")


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*found, number))


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def array(name: str, kind: int, shape: Sequence[int], content: bytes, *, listed: bool = False) -> bytes:
    """A tensor of ONNX: its dimensions, type, name, and raw content or a packed list of numbers."""
    dimensions = b"".join(varint(1 << 3) + varint(size) for size in shape)
    data = field({1: 4}.get(kind, 5), content) if listed else field(9, content)
    return field(5, dimensions + varint(2 << 3) + varint(kind) + field(8, name.encode()) + data)


def model(arrays: Sequence[bytes]) -> bytes:
    """A model whose graph has these arrays, between fields that are passed over."""
    version, producer = varint(1 << 3) + varint(8), field(2, b"tests")
    return (
        version + producer + varint(3 << 3 | 5) + b"\0\0\0\0" + field(7, field(1, b"node") + b"".join(arrays))
    )


def quantised(name: str, values: np.ndarray, scale: Sequence[float], zero: Sequence[int]) -> list[bytes]:
    shape = () if len(scale) == 1 else (len(scale),)
    return [
        array(f"{name}_quantized", 2, values.shape, values.astype("u1").tobytes()),
        array(f"{name}_scale", 1, shape, struct.pack(f"<{len(scale)}f", *scale), listed=True),
        array(f"{name}_zero_point", 2, shape, b"".join(map(varint, zero)), listed=True),
    ]


@pytest.fixture
def weights(tmp_path: Path) -> Mapping[str, np.ndarray]:
    chance = np.random.default_rng(1)
    arrays = quantised("embeddings.word", chance.integers(0, 256, (5, 4)), [0.5], [200])
    bias = chance.standard_normal(4).astype("<f4")
    arrays.append(array("encoder.layer.0.output.dense.bias", 1, (4,), bias.tobytes()))
    # In the order of their names, the eleventh comes before the second.
    for number in sorted(range(12), key=str):
        matrix = np.full((3, 4), number)
        arrays += quantised(f"onnx::MatMul_{number + 90}", matrix, [1.0, 2.0, 3.0, 4.0], [0, 0, 0, 200])
    path = tmp_path / "model.onnx"
    path.write_bytes(model(arrays))
    return {**read_quantised(path), "bias": bias, "word": chance.integers(0, 1, 1)}


def test_each_number_is_its_byte_without_the_zero_times_the_scale(weights: Mapping[str, np.ndarray]) -> None:
    values = np.random.default_rng(1).integers(0, 256, (5, 4))
    assert np.array_equal(weights["embeddings.word"], (values - 200.0) * 0.5)
    assert np.array_equal(weights["encoder.layer.0.output.dense.bias"], weights["bias"])


def test_matrices_get_the_names_of_their_places_and_are_transposed(weights: Mapping[str, np.ndarray]) -> None:
    for number in range(12):
        layer, step = divmod(number, 6)
        part = STEPS[step] if step > 2 else f"attention.self.{STEPS[step]}"
        found = weights[f"encoder.layer.{layer}.{part}.weight"]
        assert found.shape == (4, 3)
        assert found[:, 0].tolist() == [number, 2.0 * number, 3.0 * number, (number - 200) * 4.0]


def test_what_comes_after_the_layers_is_transposed_too(tmp_path: Path) -> None:
    values = np.arange(12).reshape(3, 4)
    path = tmp_path / "model.onnx"
    bias = array("bert.pooler.dense.bias", 1, (4,), np.ones(4, "<f4").tobytes())
    path.write_bytes(model([*quantised("bert.pooler.dense.weight", values, [0.5], [2]), bias]))
    found = read_quantised(path)
    assert np.array_equal(found["pooler.dense.weight"], (values.T - 2.0) * 0.5)
    assert found["pooler.dense.bias"].tolist() == [1.0] * 4


@pytest.mark.parametrize("content", [b"", b"\xff", field(7, b"\xff\xff"), model([])[:-3], b"\x0b" * 9])
def test_a_damaged_file_raises_or_has_no_weights(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    try:
        found = read_quantised(path)
    except (ValueError, LookupError):
        return
    assert layer_count(found) == 0


def test_the_published_network_knows_which_sentence_answers_a_question() -> None:
    if READER.problem():
        pytest.skip(f"{READER.problem()}: not run")
    weights = read_quantised(READER.checked(READER.weights))
    assert layer_count(weights) == 12
    network = CrossEncoder(read_tokenizer(READER.checked(READER.vocabulary), sum(LONGEST)), weights)
    sentences = [
        "The probation period is six months.",
        "Lunch is served at noon.",
        "Parking is free.",
    ]
    asked = ["how long is the probation period", "when can I have lunch", "what does it cost to park a car"]
    odds = [network.log_odds(question, sentences) for question in asked]
    assert [one.index(max(one)) for one in odds] == [0, 1, 2]
