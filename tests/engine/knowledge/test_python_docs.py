"""Pages about the standard library, compared with the running interpreter."""

from __future__ import annotations

import inspect
import pydoc
import re
import subprocess
import sys
from importlib import import_module

import pytest

from groundwire.engine.knowledge.inventory import CORE_MODULES, DOCUMENTED_MODULES, module_url
from groundwire.engine.knowledge.library import StandardLibrary
from groundwire.engine.knowledge.python_docs import module_pages, topic_pages
from groundwire.engine.pages import Page

pytestmark = pytest.mark.server

LIVE = ("json", "shutil", "textwrap", "os.path", "functools", "math", "glob", "tempfile", "inspect")
LIBRARY = "https://docs.python.org/3/library/"


def pages_of(module: str) -> dict[str, Page]:
    return {page.url: page for page in module_pages(StandardLibrary(), module)}


def named(module: str, name: str) -> Page:
    pages = [page for page in pages_of(module).values() if page.title.partition(" — ")[0] == name]
    assert len(pages) == 1
    return pages[0]


def test_modules_have_the_addresses_that_pydoc_gives_them() -> None:
    judged = 0
    for module in CORE_MODULES:
        documented = pydoc.HTMLDoc().getdocloc(import_module(module))
        if documented is not None and module not in ("builtins", "os.path"):
            assert module_url(module) == re.sub(r"/3\.\d+/", "/3/", documented)
            judged += 1
    assert judged > 30


@pytest.mark.parametrize("module", LIVE)
def test_the_pages_of_functions_match_the_interpreter(module: str) -> None:
    loaded = import_module(module)
    pages = pages_of(module)
    compared = 0
    for name in getattr(loaded, "__all__", dir(loaded)):
        item = getattr(loaded, name)
        if (
            name.startswith("_")
            or not (inspect.isfunction(item) or (inspect.isbuiltin(item) and module == "math"))
            or not item.__doc__
        ):
            continue
        page = pages[f"{LIBRARY}{module}.html#{module}.{name}"]
        signature, _, doc = page.text.partition("\n\n")
        assert signature.startswith(f"{module}.{name}(")
        assert doc == (inspect.getdoc(item) or "")
        if inspect.isfunction(item):
            assert (
                re.findall(r"\w+", signature.partition("(")[2])[:1]
                == [*inspect.signature(item).parameters][:1]
            )
        compared += 1
    assert compared >= 2


def test_a_class_has_a_page_with_its_constructor_and_with_its_methods() -> None:
    text = named("json", "json.JSONDecoder").text
    assert text.startswith("class json.JSONDecoder(*, object_hook=None,")
    assert "Simple JSON" in text
    assert "``object_hook``, if specified" in text
    assert "json.JSONDecoder.raw_decode: Decode a JSON document" in text
    assert named("json", "json.JSONDecoder.raw_decode").text.startswith(
        "json.JSONDecoder.raw_decode(s, idx=0)\n\n"
    )


def test_names_are_documented_under_their_public_module() -> None:
    assert not any("json.decoder." in url for url in pages_of("json"))
    assert named("unittest", "unittest.TestCase").url == f"{LIBRARY}unittest.html#unittest.TestCase"
    pool = named("concurrent.futures", "concurrent.futures.ThreadPoolExecutor")
    assert pool.url == f"{LIBRARY}concurrent.futures.html#concurrent.futures.ThreadPoolExecutor"
    mapping = named("collections.abc", "collections.abc.Mapping")
    assert mapping.url == f"{LIBRARY}collections.abc.html#collections.abc.Mapping"
    assert not any(url.endswith("#array.ArrayType") for url in pages_of("array"))


@pytest.mark.parametrize(
    ("module", "name", "page"),
    [
        ("builtins", "print", "functions.html#print"),
        ("builtins", "int", "functions.html#int"),
        ("builtins", "int.bit_length", "stdtypes.html#int.bit_length"),
        ("builtins", "dict", "stdtypes.html#dict"),
        ("builtins", "list.append", "stdtypes.html#list.append"),
        ("builtins", "KeyError", "exceptions.html#KeyError"),
        ("asyncio", "asyncio.gather", "asyncio-task.html#asyncio.gather"),
        ("asyncio", "asyncio.Queue.get", "asyncio-queue.html#asyncio.Queue.get"),
        ("asyncio", "asyncio.run", "asyncio-runner.html#asyncio.run"),
        ("asyncio", "asyncio.get_running_loop", "asyncio-eventloop.html#asyncio.get_running_loop"),
        ("xml.sax.saxutils", "xml.sax.saxutils.escape", "xml.sax.utils.html#xml.sax.saxutils.escape"),
        ("pstats", "pstats.Stats", "profile.html#pstats.Stats"),
        ("os", "os.listdir", "os.html#os.listdir"),
        ("random", "random.choice", "random.html#random.choice"),
        ("bisect", "bisect.insort", "bisect.html#bisect.insort"),
        ("io", "io.IOBase.readline", "io.html#io.IOBase.readline"),
        ("multiprocessing", "multiprocessing.Pool", "multiprocessing.html#multiprocessing.Pool"),
        ("functools", "functools.reduce", "functools.html#functools.reduce"),
    ],
)  # fmt: skip
def test_objects_documented_on_another_page_have_its_url(module: str, name: str, page: str) -> None:
    assert named(module, name).url == LIBRARY + page


def test_an_address_is_lower_case_and_its_fragment_is_as_written() -> None:
    page = named("xml.etree.ElementTree", "xml.etree.ElementTree.parse")
    assert page.url == f"{LIBRARY}xml.etree.elementtree.html#xml.etree.ElementTree.parse"


def test_methods_that_the_language_explains_have_its_text() -> None:
    pages = {page.url: page for page in topic_pages()}
    joined = pages[f"{LIBRARY}stdtypes.html#str.join"]
    assert joined.text.startswith("str.join(iterable)\n\nReturn a string which is the concatenation")
    assert "str.join" not in pages[f"{LIBRARY}stdtypes.html#string-methods"].text
    statement = pages["https://docs.python.org/3/reference/compound_stmts.html#for"]
    assert statement.title.startswith('The "for" statement — loop over ')
    assert statement.title.endswith(" — Python documentation")
    assert "***" not in statement.text


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
from groundwire.engine.knowledge.python_docs import topic_pages
library, taken, seen = StandardLibrary(), set(), set()
for module in DOCUMENTED_MODULES:
    for page in module_pages(library, module):
        assert page.url not in seen, page.url
        assert page.text.strip() and page.language == "en" and page.collection == "python", page
        seen.add(page.url)
print(len(seen))
for package in installed()[:20]:
    list(package_pages(package, taken))
print(*sorted(name for name in {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
      if name not in ("groundwire", "__main__", "__mp_main__") and not name.startswith("_")))
print(*[name for name in ("tkinter", "turtle", "antigravity", "readline", "sqlite3", "multiprocessing")
        if name in sys.modules])
"""


def test_pages_are_built_without_importing_modules() -> None:
    command = [sys.executable, "-W", "error", "-c", PROBE]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603
    assert result.returncode == 0, result.stderr
    pages, third_party, running = result.stdout.split("\n")[:3]
    assert int(pages) > 5000
    assert third_party == ""
    assert running == ""
