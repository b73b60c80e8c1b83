"""Rules for every source file. Each test lists the violations."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.architecture.tree import SOURCE, TESTS, name_of, python_files, tree_of

FILES = python_files(SOURCE)
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}
CORE = ("errors.py", "model", "text", "dialects")
JSON_MODULE = SOURCE / "dialects" / "json.py"
ONE_IN_EACH_DIALECT = {"Decoder", "Encoder"}


def imported_modules(tree: ast.Module) -> Iterator[str]:
    """The absolute names of the modules that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def is_broad(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches every exception."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException"))
        for kind in kinds
    )


def test_the_source_tree_is_found() -> None:
    assert len(FILES) > 30


def test_no_file_or_folder_has_a_generic_name() -> None:
    offenders = [
        name_of(path)
        for path in [*FILES, *python_files(TESTS)]
        if FORBIDDEN_NAMES & {path.stem, *path.relative_to(SOURCE.parents[1]).parts[:-1]}
    ]
    assert offenders == []


def test_broad_exception_handlers_exist_only_in_faces_and_the_server() -> None:
    offenders = [
        f"{name_of(path)}:{node.lineno}"
        for path in FILES
        if not {"faces", "server", "commands"} & set(path.relative_to(SOURCE).parts)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ExceptHandler) and is_broad(node)
    ]
    assert offenders == []


def test_every_file_of_the_core_has_a_docstring() -> None:
    offenders = [
        name_of(path)
        for path in FILES
        if path.relative_to(SOURCE).parts[0] in CORE
        and path.read_text("utf-8").strip()
        and not ast.get_docstring(tree_of(path))
    ]
    assert offenders == []


def test_the_core_reads_and_writes_json_in_one_module() -> None:
    offenders = [
        name_of(path)
        for path in FILES
        if path.relative_to(SOURCE).parts[0] in CORE
        and path != JSON_MODULE
        and any(name.split(".")[0] == "json" for name in imported_modules(tree_of(path)))
    ]
    assert offenders == []


def test_no_comment_announces_unfinished_work() -> None:
    offenders = [
        name_of(path)
        for path in FILES
        if any(word in path.read_text("utf-8") for word in ("TODO", "FIXME", "XXX"))
    ]
    assert offenders == []


def test_a_class_name_exists_once() -> None:
    files = defaultdict(list)
    for path in FILES:
        for name in Counter(node.name for node in tree_of(path).body if isinstance(node, ast.ClassDef)):
            files[name].append(name_of(path))
    offenders = {name: paths for name, paths in files.items() if len(paths) > 1}
    assert {name: paths for name, paths in offenders.items() if name not in ONE_IN_EACH_DIALECT} == {}
