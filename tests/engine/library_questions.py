"""Questions about the standard library, derived from the docstrings of the running interpreter.

No code of the engine is used. The expected page follows the rule of docs.python.org: each module has a page
with its name, and built-ins are divided among a few pages.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import NamedTuple

MODULES = """
    json re os os.path pathlib datetime time collections functools math random string subprocess csv argparse
    logging threading shutil glob tempfile copy pickle hashlib base64 statistics dataclasses contextlib
    textwrap urllib.parse heapq bisect secrets uuid decimal fractions difflib zipfile tarfile gzip
    configparser inspect calendar ipaddress sqlite3 queue traceback linecache fnmatch html mimetypes getpass
    platform locale unicodedata struct shlex pprint timeit
"""
LIBRARY = "https://docs.python.org/3/library/"
TYPES = (str, bytes, bytearray, list, dict, set, frozenset, tuple)
EMPTY = """
    a an and are as at be by for from if in into is it its of on or that the this to used using which with
    return returns given not was will whether than then when where one all any no self object objects method
    function
"""
COUNT = 200
USUAL = """
How do I parse JSON in Python?|json
How can I write a dict to a JSON file?|json
list the files in a directory|os glob pathlib
How do I join two paths?|os.path pathlib
run a shell command and capture its output|subprocess
read a CSV file|csv
parse command line arguments|argparse optparse
pick a random element from a list|random
shuffle a list|random
convert a string to upper case|stdtypes
How do I split a string?|stdtypes re
compute the square root|math
What is the greatest common divisor?|math
copy a file|shutil
delete a directory tree|shutil
create a temporary directory|tempfile
match a regular expression|re
current date and time|datetime time
format a date|datetime time
count how often items occur in a list|collections
cache the results of a function|functools
run coroutines concurrently|asyncio-task
wait for a coroutine with a timeout|asyncio-task
start a thread|threading _thread
thread pool|concurrent.futures multiprocessing
SHA-256 hash of a file|hashlib
encode bytes as base64|base64
median of a list of numbers|statistics
wrap text to a line width|textwrap
deep copy of an object|copy
open a zip file|zipfile
parse a URL|urllib.parse
send an email over SMTP|smtplib
download a URL|urllib.request
compare two files|filecmp
sort a list|stdtypes functions compound_stmts
What does the with statement do?|compound_stmts
What is a lambda expression?|expressions
operator precedence|expressions
generate a secure random token|secrets
log a message with severity error|logging
parse TOML|tomllib
mock an object in a test|unittest.mock
pretty print a data structure|pprint
priority queue|queue heapq asyncio-queue
measure execution time of small code snippets|timeit
exact decimal arithmetic|decimal
IP network contains address|ipaddress
unicode name of a character|unicodedata
how to walk a directory tree|os pathlib
copy a directory tree|shutil
largest element of a list|functions heapq
remove a file|os pathlib
"""
"""Typical user questions, and the pages that answer them. None was derived from a docstring."""

UNTUNED = """
create a directory if it does not exist|os pathlib
check if a file exists|os.path pathlib
get the size of a file|os.path os pathlib
How do I rename a file?|os shutil pathlib
How do I read an environment variable?|os
get the current working directory|os pathlib
sleep for five seconds|time asyncio-task
parse a date string|datetime time email.utils
difference between two dates|datetime
How do I convert a timestamp to a datetime?|datetime
replace text in a string|stdtypes re
strip whitespace from a string|stdtypes
check whether a string starts with a prefix|stdtypes
How do I reverse a list?|stdtypes functions
largest of several numbers|functions heapq
sum of a list of numbers|functions math
round a number|functions
convert a string to an integer|functions stdtypes
What does yield do?|simple_stmts expressions
catch an exception|compound_stmts executionmodel
import a module by name at runtime|importlib functions
How do I make an HTTP request?|urllib.request http.client
start a simple web server|http.server wsgiref socketserver
connect to a SQLite database|sqlite3
extract a tar archive|tarfile shutil
compress data with gzip|gzip zlib
escape HTML special characters|html xml.sax.utils
parse XML|xml.etree.elementtree xml.dom.minidom xml.sax pyexpat
generate a UUID|uuid
all combinations of a list|itertools
group items by key|itertools
default value for missing dictionary keys|collections stdtypes
run a function in another process|multiprocessing concurrent.futures
mutual exclusion lock|threading asyncio-sync multiprocessing _thread
How do I create a named tuple?|collections typing
print without a newline|functions
read a file line by line|functions fileinput io linecache
standard deviation|statistics
pad a number with zeros|stdtypes
serialize an object to bytes|pickle marshal
read an INI file|configparser
prompt for a password|getpass
name of the operating system|platform os sys
trace memory allocations|tracemalloc
profile a program|profile
set a breakpoint|pdb functions bdb
show the differences between two texts|difflib
open a page in the web browser|webbrowser
Is it a leap year?|calendar
binary search in a sorted list|bisect
suppress an exception|contextlib
How do I define an abstract base class?|abc
"""
"""More of them, written before any tuning and not used for it."""


class Fact(NamedTuple):
    """A documented object: its name, its first sentence, and its page."""

    name: str
    sentence: str
    page: str


class LibraryQuestion(NamedTuple):
    text: str
    fact: Fact
    names_it: bool


def usual_questions(rows_of: str) -> list[tuple[str, tuple[str, ...]]]:
    """The questions, each with the expected URLs."""
    rows = (line.split("|") for line in rows_of.strip().splitlines())
    return [(query, tuple(f"/{page}.html" for page in pages.split())) for query, pages in rows]


def questions(start: int = 0) -> list[LibraryQuestion]:
    """`COUNT` questions, a quarter of each kind, the same in every run of one Python version. Other questions
    are made from `COUNT` on; weights are fitted on these."""
    facts = sorted(_facts(), key=lambda fact: hashlib.sha256(fact.name.encode()).digest())
    made: list[LibraryQuestion] = []
    for number, fact in enumerate(facts[start : start + COUNT]):
        ask, names_it = KINDS[number % len(KINDS)]
        made.append(LibraryQuestion(ask(fact), fact, names_it))
    return made


def _facts() -> Iterator[Fact]:
    """Public functions, classes and methods with a useful first sentence, each sentence once."""
    seen: set[str] = set()
    for name, item, page in _documented():
        sentence = _first_sentence(inspect.getdoc(item) or "", name)
        if len(content(sentence)) >= 4 and sentence not in seen:
            seen.add(sentence)
            yield Fact(name, sentence, page)


def _documented() -> Iterator[tuple[str, object, str]]:
    for kind in TYPES:
        yield from _methods(kind.__name__, kind, f"{LIBRARY}stdtypes.html")
    for module in MODULES.split():
        page = f"{LIBRARY}{module}.html"
        loaded = import_module(module)
        for name in getattr(loaded, "__all__", None) or vars(loaded):
            item = getattr(loaded, name)
            if name.startswith("_") or _home(item) not in (
                module.partition(".")[0],
                "posixpath",
                "genericpath",
            ):
                continue
            yield f"{module}.{name}", item, page
            if inspect.isclass(item):
                yield from _methods(f"{module}.{name}", item, page)


def _methods(owner: str, kind: type, page: str) -> Iterator[tuple[str, object, str]]:
    for name, item in vars(kind).items():
        if not name.startswith("_") and inspect.isroutine(item):
            yield f"{owner}.{name}", item, page


def _home(item: object) -> str:
    """The public name of the defining module; empty for objects other than functions and classes."""
    if not (inspect.isroutine(item) or inspect.isclass(item)):
        return ""
    return (item.__module__ or "").partition(".")[0].lstrip("_").replace("pydatetime", "datetime")


def _first_sentence(doc: str, name: str) -> str:
    """The sentence on one line; empty if it is a signature, too long, or contains the name."""
    paragraph = " ".join(doc.partition("\n\n")[0].split())
    sentence = re.split(r"(?<=[a-z\)\]'])\.(?:\s|$)", paragraph)[0].rstrip(".")
    own = name.rpartition(".")[2].lower()
    if re.search(r"->|--|::|>>>|\w\(.*\)", sentence) or not 5 <= len(sentence.split()) <= 24:
        return ""
    return "" if own in re.findall(r"\w+", sentence.lower()) else sentence


def content(text: str) -> list[str]:
    """The words without stop words, each once."""
    words = [word for word in re.findall(r"[A-Za-z][\w'-]+", text) if word.lower() not in EMPTY.split()]
    return list(dict.fromkeys(words))


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _how(fact: Fact) -> str:
    return f"How do I {_lowered(fact.sentence)}?"


def _what(fact: Fact) -> str:
    return f"What does {fact.name} do?"


def _which(fact: Fact) -> str:
    verb, _, rest = _lowered(fact.sentence).partition(" ")
    ending = "es" if verb.endswith(("s", "sh", "ch", "x")) else "s"
    return f"Which function {verb if verb.endswith('s') else verb + ending} {rest}?"


def _keywords(fact: Fact) -> str:
    return " ".join(content(fact.sentence)[:7])


KINDS: tuple[tuple[Callable[[Fact], str], bool], ...] = (
    (_how, False),
    (_what, True),
    (_which, False),
    (_keywords, False),
)
