"""Pages about the standard library, compared with the running interpreter."""

from __future__ import annotations

import inspect
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from groundwire.engine.knowledge.addresses import documentation_link, titled_name
from groundwire.engine.knowledge.inventory import DOCUMENTED_MODULES
from groundwire.engine.knowledge.library import StandardLibrary
from groundwire.engine.knowledge.python_docs import module_pages
from groundwire.engine.pages import Page

pytestmark = pytest.mark.server

LIVE = ("json", "shutil", "textwrap", "os.path", "functools", "math", "glob", "tempfile", "inspect")
VERSION = sys.version.partition(" ")[0]
SOURCES = f"https://github.com/python/cpython/blob/v{VERSION}/Lib/"
DOCS = f"https://docs.python.org/{sys.version_info.major}.{sys.version_info.minor}/library/"


def pages_of(module: str) -> dict[str, Page]:
    return {titled_name(page.title): page for page in module_pages(StandardLibrary(), module, set())}


def source_of(item: Callable[..., object]) -> str:
    """The address of a function's or a class's statement."""
    lines, first = inspect.getsourcelines(item)
    decorators = next(count for count, line in enumerate(lines) if line.lstrip().startswith(("def", "class")))
    file = Path(inspect.getsourcefile(item) or "").relative_to(sysconfig.get_path("stdlib"))
    return f"{SOURCES}{file.as_posix()}#L{first + decorators}"


@pytest.mark.parametrize("module", LIVE)
def test_the_pages_of_functions_match_the_interpreter(module: str) -> None:
    loaded = import_module(module)
    pages = pages_of(module)
    compared = 0
    for name in getattr(loaded, "__all__", dir(loaded)):
        item = getattr(loaded, name)
        is_written = inspect.isfunction(item)
        is_documented = callable(item) and bool(item.__doc__) and "\\" not in item.__doc__
        if name.startswith("_") or not (is_written or module == "math") or not is_documented:
            continue
        page = pages[f"{module}.{name}"]
        assert page.text.endswith(inspect.getdoc(item) or "")
        if module == "math":
            assert page.url == f"local:python/{VERSION}/math.{name}"
        elif page.text.startswith("def ") and module != "os.path":  # which is frozen into the interpreter
            assert page.url == source_of(item)
        compared += 1
    assert compared >= 2


def test_a_class_has_its_statement_its_docstring_and_its_constructor() -> None:
    import json

    pages = pages_of("json")
    decoder = pages["json.JSONDecoder"]
    assert decoder.url == source_of(json.JSONDecoder)
    assert decoder.text.startswith("class JSONDecoder(object):\n\nSimple JSON")
    assert "def __init__(self, *, object_hook=None," in decoder.text
    assert "``object_hook``, if specified" in decoder.text
    method = pages["json.JSONDecoder.raw_decode"]
    assert method.text.startswith("def raw_decode(self, s, idx=0):\n\n")
    assert method.url == source_of(json.JSONDecoder.raw_decode)


@pytest.mark.parametrize(
    ("module", "name", "file"),
    [
        ("unittest", "unittest.TestCase", "unittest/case.py"),
        ("concurrent.futures", "concurrent.futures.ThreadPoolExecutor", "concurrent/futures/thread.py"),
        ("collections.abc", "collections.abc.Mapping", "_collections_abc.py"),
        ("multiprocessing", "multiprocessing.Pool", "multiprocessing/context.py"),
        ("os", "os.walk", "os.py"),
        ("random", "random.choice", "random.py"),
        ("asyncio", "asyncio.Queue.get", "asyncio/queues.py"),
    ],
)
def test_names_are_cited_in_the_file_that_defines_them(module: str, name: str, file: str) -> None:
    assert pages_of(module)[name].url.startswith(f"{SOURCES}{file}#L")


def test_a_second_name_for_the_same_line_has_a_local_address() -> None:
    pages = pages_of("bisect")
    first, second = sorted((pages["bisect.insort"], pages["bisect.insort_right"]), key=lambda page: page.url)
    assert first.url.startswith(f"{SOURCES}bisect.py#L")
    assert second.url.startswith(f"local:python/{VERSION}/bisect.insort")
    assert first.text == second.text


@pytest.mark.parametrize(
    ("module", "name", "page"),
    [
        ("builtins", "print", "functions.html#print"),
        ("builtins", "int", "functions.html#int"),
        ("builtins", "int.bit_length", "stdtypes.html#int.bit_length"),
        ("builtins", "dict", "stdtypes.html#dict"),
        ("builtins", "KeyError", "exceptions.html#KeyError"),
        ("asyncio", "asyncio.gather", "asyncio-task.html#asyncio.gather"),
        ("asyncio", "asyncio.Queue.get", "asyncio-queue.html#asyncio.Queue.get"),
        ("xml.sax.saxutils", "xml.sax.saxutils.escape", "xml.sax.utils.html#xml.sax.saxutils.escape"),
        ("pstats", "pstats.Stats", "profile.html#pstats.Stats"),
        ("os", "os", "os.html#module-os"),
        ("os", "os.listdir", "os.html#os.listdir"),
        ("bisect", "bisect.insort", "bisect.html#bisect.insort"),
        ("io", "io.IOBase.readline", "io.html#io.IOBase.readline"),
        ("_thread", "_thread.start_new_thread", "_thread.html#thread.start_new_thread"),
        ("xml.etree.ElementTree", "xml.etree.ElementTree.parse",
         "xml.etree.elementtree.html#xml.etree.ElementTree.parse"),
    ],
)  # fmt: skip
def test_documented_names_have_a_further_link(module: str, name: str, page: str) -> None:
    found = pages_of(module)[name]
    assert documentation_link(found.url, found.title) == DOCS + page


def test_names_that_are_not_documented_have_no_further_link() -> None:
    found = pages_of("multiprocessing")["multiprocessing.Pool"]
    assert documentation_link(found.url, found.title) == ""
    assert documentation_link("https://team.example/os.walk", "os.walk — at home") == ""


def test_private_and_test_modules_are_left_out() -> None:
    assert not {"test", "idlelib", "this", "antigravity", "lib2to3", "turtledemo", "pydoc_data"} & set(
        DOCUMENTED_MODULES
    )
    assert [name for name in DOCUMENTED_MODULES if name.startswith("_")] == ["_thread", "__future__"]
    assert len(DOCUMENTED_MODULES) == len(set(DOCUMENTED_MODULES))


PROBE = """
import sys
from groundwire.engine.knowledge.inventory import DOCUMENTED_MODULES
from groundwire.engine.knowledge.library import StandardLibrary
from groundwire.engine.knowledge.packages import installed, package_pages
from groundwire.engine.knowledge.python_docs import module_pages
library, taken, seen = StandardLibrary(), set(), set()
step = int(sys.argv[1])
acting = ("tkinter", "turtle", "antigravity", "readline", "sqlite3", "multiprocessing")
for number, module in enumerate(DOCUMENTED_MODULES):
    if number % step and not module.startswith(acting):
        continue
    for page in module_pages(library, module, taken):
        assert page.url not in seen, page.url
        assert page.text.strip() and page.language == "en" and page.collection == "python", page
        seen.add(page.url)
print(len(seen))
for package in installed()[:20]:
    list(package_pages(package))
print(*sorted(name for name in {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
      if name not in ("groundwire", "__main__", "__mp_main__") and not name.startswith("_")))
print(*[name for name in acting if name in sys.modules])
"""


@pytest.mark.parametrize(("step", "least"), [(5, 1000), pytest.param(1, 5000, marks=pytest.mark.thorough)])
def test_pages_are_built_without_importing_modules(step: int, least: int) -> None:
    command = [sys.executable, "-W", "error", "-c", PROBE, str(step)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603
    assert result.returncode == 0, result.stderr
    pages, third_party, running = result.stdout.split("\n")[:3]
    assert int(pages) > least
    readers = {"lxml", "cython_runtime", "markdown_it", "mdurl"}
    assert set(third_party.split()) <= readers
    assert running == ""
