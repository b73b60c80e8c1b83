"""Every dialect folder looks the same: the same files, one public name."""

from __future__ import annotations

import ast
from importlib import import_module

import pytest

from groundwire.dialects.base import Dialect, StreamDecoder, StreamEncoder
from groundwire.dialects.registry import DIALECTS, dialect
from tests.architecture.tree import SOURCE, python_files, tree_of

FOLDER = SOURCE / "dialects"
FILES = {
    "__init__",
    "decoder",
    "encoder",
    "errors",
    "history",
    "request",
    "response",
    "search",
    "tools",
    "usage",
}
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
def test_a_dialect_folder_has_these_files_and_no_others(name: str) -> None:
    assert {path.stem for path in (FOLDER / name).iterdir() if path.suffix == ".py"} == FILES


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
def test_a_codec_function_is_in_the_file_of_its_name(name: str, function: str) -> None:
    home = import_module(f"groundwire.dialects.{name}.{HOMES[function]}")
    assert getattr(dialect(name), function) is getattr(home, function)


@pytest.mark.parametrize("name", DIALECTS)
def test_decoder_and_encoder_are_in_the_files_of_their_names(name: str) -> None:
    decoder = import_module(f"groundwire.dialects.{name}.decoder").Decoder
    encoder = import_module(f"groundwire.dialects.{name}.encoder").Encoder
    assert issubclass(decoder, StreamDecoder)
    assert issubclass(encoder, StreamEncoder)
    assert dialect(name).decoder is decoder
    assert dialect(name).encoder is encoder


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_imports_no_other_dialect(name: str) -> None:
    for path in python_files(FOLDER / name):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom):
                _, _, inside = (node.module or "").partition("groundwire.dialects.")
                assert inside.split(".")[0] not in set(DIALECTS) - {name}, path
