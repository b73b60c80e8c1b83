"""No text of a request becomes code, SQL, a template or a shell command, and no queue grows without a limit.

ruff checks the same in part; here every exception is listed, so that a new one is a decision.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import pytest

from tests.architecture.tree import SOURCE, python_files, tree_of
from tests.figures import Figures

FILES = python_files(SOURCE)
EVALUATES = {"eval", "exec", "__import__"}
UNSAFE_MODULES = {"pickle", "marshal", "shelve", "dill", "yaml", "code", "codeop"}
SHELLS = {"system", "popen", "create_subprocess_shell", "getoutput", "getstatusoutput"}
TEMPLATES = {"from_string", "Template", "SandboxedEnvironment"}
EXECUTES = {"execute", "executemany", "executescript"}

ALLOWED = {
    # Field names of value classes become an `__init__`, as in dataclasses.
    ("evaluation", "model/value.py", "_compiled_init"),
    # Names of tables and columns, pragmas and question marks; values are parameters.
    ("formatted SQL", "engine/index/page_table.py", "_with_fingerprints"),
    ("formatted SQL", "engine/index/page_table.py", "upgrade"),
    ("formatted SQL", "engine/index/page_table.py", "connect"),
    ("formatted SQL", "engine/index/page_table.py", "load_page"),
    ("formatted SQL", "engine/index/page_table.py", "pages_after"),
    ("formatted SQL", "engine/index/page_table.py", "pages_before"),
    ("formatted SQL", "engine/index/page_table.py", "_select"),
    # A thread reads standard input; the client at its other end is the user's own.
    ("unbounded queue", "faces/mcp/stdio.py", "__init__"),
}


SUSPECT = re.compile(
    r"\b(?:eval|exec|__import__|system|popen|getoutput|getstatusoutput|create_subprocess_shell|from_string|"
    r"Template|SandboxedEnvironment|\w*Queue|execute|executemany|executescript)\(|\bshell=|"
    r"\b(?:import|from) (?:pickle|marshal|shelve|dill|yaml|code|codeop)\b"
)
"""Without such a text no rule can be broken: most files need not be parsed."""


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def evaluation(node: ast.AST) -> bool:
    """Runs text as Python."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in EVALUATES


def unsafe_module(node: ast.AST) -> bool:
    """Imports a module that makes objects of any class from data."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = [node.module]
    return any(name.split(".")[0] in UNSAFE_MODULES for name in names)


def shell(node: ast.AST) -> bool:
    """Starts a shell."""
    return isinstance(node, ast.Call) and (
        called(node) in SHELLS or any(keyword.arg == "shell" for keyword in node.keywords)
    )


def template(node: ast.AST) -> bool:
    """Makes a template that is not a file of the package."""
    return isinstance(node, ast.Call) and called(node) in TEMPLATES


def formatted_sql(node: ast.AST) -> bool:
    """Executes a statement that is put together from parts."""
    return (
        isinstance(node, ast.Call)
        and called(node) in EXECUTES
        and bool(node.args)
        and (
            isinstance(node.args[0], ast.JoinedStr | ast.BinOp)
            or (isinstance(node.args[0], ast.Call) and called(node.args[0]) in ("format", "join", "replace"))
        )
    )


def unbounded_queue(node: ast.AST) -> bool:
    """Makes a queue without a maximum size."""
    return (
        isinstance(node, ast.Call)
        and called(node) in ("Queue", "LifoQueue", "PriorityQueue", "SimpleQueue")
        and not (node.args or node.keywords)
    )


def function_around(tree: ast.Module, line: int) -> str:
    """The name of the innermost function that contains a line."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno).name if around else ""


RULES: dict[str, Callable[[ast.AST], bool]] = {
    "evaluation": evaluation,
    "unsafe module": unsafe_module,
    "shell": shell,
    "template": template,
    "formatted SQL": formatted_sql,
    "unbounded queue": unbounded_queue,
}

VIOLATIONS = {
    "evaluation": "eval(text)",
    "unsafe module": "from pickle import loads",
    "shell": "subprocess.run(line, shell=True)",
    "template": "environment.from_string(text)",
    "formatted SQL": "db.execute(f'SELECT * FROM t WHERE name = {name}')",
    "unbounded queue": "asyncio.Queue()",
}


def test_no_source_file_breaks_a_rule_and_every_exception_is_needed(figures: Figures) -> None:
    found = set()
    for path in FILES:
        if SUSPECT.search(path.read_text("utf-8")):
            tree = tree_of(path)
            for node in ast.walk(tree):
                for rule in (rule for rule, breaks in RULES.items() if breaks(node)):
                    line = getattr(node, "lineno", 0)
                    found.add((rule, path.relative_to(SOURCE).as_posix(), function_around(tree, line)))
    figures.add("S13", "source files that were read", len(FILES))
    figures.add("S13", "exceptions that are listed with their reason", len(found))
    assert found == ALLOWED


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_detects_its_violation(rule: str) -> None:
    assert SUSPECT.search(VIOLATIONS[rule])
    assert any(map(RULES[rule], ast.walk(ast.parse(VIOLATIONS[rule]))))
    assert not any(map(RULES[rule], ast.walk(ast.parse("db.execute('SELECT ?', (name,))"))))
