"""Every dialect looks the same from outside: seven files, one public name."""

from __future__ import annotations

import ast
from importlib import import_module

import pytest

from groundwire.dialects.base import Dialect, StreamDecoder, StreamEncoder
from groundwire.dialects.registry import DIALECTS, dialect
from tests.architecture.tree import SOURCE, python_files, tree_of

FOLDER = SOURCE / "dialects"
SEVEN = ("__init__", "errors", "parts", "request", "response", "search", "stream")
HOMES = {
    "decode_request": "request",
    "encode_request": "request",
    "decode_response": "response",
    "encode_response": "response",
    "decode_error": "errors",
    "encode_error": "errors",
}


def test_every_folder_is_in_the_registry_and_every_name_has_a_folder() -> None:
    folders = {path.parent.name for path in FOLDER.glob("*/__init__.py")}
    assert folders == set(DIALECTS)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_has_its_seven_files(name: str) -> None:
    stems = {path.stem for path in (FOLDER / name).glob("*.py")}
    assert set(SEVEN) <= stems


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_has_one_public_name(name: str) -> None:
    module = import_module(f"groundwire.dialects.{name}")
    tree = tree_of(FOLDER / name / "__init__.py")
    bound = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and not target.id.startswith("_")
    }
    bound |= {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }
    assert bound == {"DIALECT"}
    assert list(getattr(module, "__all__", ["DIALECT"])) == ["DIALECT"]
    assert isinstance(module.DIALECT, Dialect)


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("function", HOMES)
def test_what_a_dialect_does_stands_where_everybody_looks_for_it(name: str, function: str) -> None:
    home = import_module(f"groundwire.dialects.{name}.{HOMES[function]}")
    assert getattr(dialect(name), function) is getattr(home, function)


@pytest.mark.parametrize("name", DIALECTS)
def test_decoder_and_encoder_stand_in_stream(name: str) -> None:
    stream = import_module(f"groundwire.dialects.{name}.stream")
    assert issubclass(stream.Decoder, StreamDecoder)
    assert issubclass(stream.Encoder, StreamEncoder)
    assert dialect(name).decoder is stream.Decoder
    assert dialect(name).encoder is stream.Encoder


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_names_no_other(name: str) -> None:
    for path in python_files(FOLDER / name):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom):
                _, _, inside = (node.module or "").partition("groundwire.dialects.")
                assert inside.split(".")[0] not in set(DIALECTS) - {name}, path
