"""The modules of the standard library that have documentation, and where on docs.python.org it stands.

What is not named here is not told about: private, undocumented and test modules, and those that are removed
from Python (PEP 594): their pages do not say any more what older Pythons say of them. A module that this
Python does not have (yet, or any more) is simply not found when it is looked for.
"""

from __future__ import annotations

BASE = "https://docs.python.org/3/"
CONTENTS = f"{BASE}library/index.html"
"""The table of contents."""
PART_OF = "part of "
"""How the titles of pages about the modules of packages go on behind their names."""

_FIRST = """
    builtins json re os os.path sys pathlib datetime time collections itertools functools math random string
    subprocess csv argparse logging threading shutil glob tempfile io copy pickle hashlib base64 statistics
    typing dataclasses enum contextlib textwrap urllib.parse operator heapq bisect secrets uuid
    urllib.request sqlite3 zipfile gzip configparser tomllib traceback warnings calendar zoneinfo getpass
    platform signal queue concurrent.futures timeit unicodedata gc decimal
"""
ASKED_FIRST = tuple(_FIRST.split())
"""What most questions are about: told before anything else."""

_REST = """
    asyncio urllib.error urllib.response urllib.robotparser socket tarfile zlib bz2 lzma unittest
    unittest.mock multiprocessing multiprocessing.shared_memory multiprocessing.pool
    multiprocessing.managers multiprocessing.connection multiprocessing.sharedctypes inspect http
    http.client http.server http.cookies http.cookiejar html html.parser html.entities abc
    collections.abc weakref types fractions numbers cmath struct array difflib fnmatch fileinput filecmp
    linecache stat locale gettext select selectors ssl socketserver smtplib imaplib poplib ftplib
    mailbox mimetypes email email.message email.policy email.parser email.generator email.headerregistry
    email.contentmanager email.mime.base email.mime.text email.mime.multipart email.mime.image
    email.mime.audio email.mime.application email.mime.message email.mime.nonmultipart email.header
    email.charset email.encoders email.errors email.utils email.iterators xml.etree.ElementTree xml.dom
    xml.dom.minidom xml.dom.pulldom xml.sax xml.sax.handler xml.sax.saxutils xml.sax.xmlreader
    xml.parsers.expat xmlrpc.client xmlrpc.server logging.config logging.handlers importlib
    importlib.abc importlib.machinery importlib.util importlib.metadata importlib.resources
    importlib.resources.abc contextvars sched graphlib hmac binascii codecs pprint reprlib cProfile
    profile pstats trace tracemalloc pdb bdb doctest faulthandler dis ast tokenize token keyword
    symtable code codeop cmd shlex pydoc venv zipapp zipimport pkgutil modulefinder runpy site sysconfig
    atexit errno ctypes ctypes.util mmap shelve dbm dbm.dumb dbm.gnu dbm.ndbm dbm.sqlite3 marshal
    copyreg plistlib netrc quopri wave colorsys ipaddress webbrowser wsgiref.util wsgiref.headers
    wsgiref.simple_server wsgiref.validate wsgiref.handlers wsgiref.types turtle tkinter tkinter.ttk
    tkinter.font tkinter.messagebox tkinter.colorchooser tkinter.filedialog tkinter.simpledialog
    tkinter.scrolledtext tkinter.dnd curses curses.ascii curses.panel curses.textpad pwd grp termios tty
    pty fcntl resource syslog readline rlcompleter stringprep optparse getopt py_compile compileall
    pyclbr pickletools tabnanny _thread __future__ ensurepip json.tool annotationlib string.templatelib
    concurrent.interpreters compression.zstd pathlib.types winreg winsound msvcrt
"""
DOCUMENTED = ASKED_FIRST + tuple(_REST.split())

_HARMLESS = """
    builtins sys math cmath itertools time gc errno marshal atexit faulthandler array binascii zlib select
    unicodedata mmap pwd grp termios fcntl resource syslog pyexpat posix nt _thread _io _ast _abc
    _collections _functools _operator _struct _socket _ssl _sqlite3 _csv _json _bisect _heapq _random
    _statistics _datetime _decimal _elementtree _contextvars _weakref _signal _string _tracemalloc _warnings
    _hashlib _lzma _bz2 _zoneinfo _queue _pickle _locale _stat _codecs _curses _ctypes _typing _tokenize
    _zstd _interpreters _symtable _imp _types
"""
NATIVE = frozenset(_HARMLESS.split())
"""Modules written in C that may be imported to read their docstrings: nothing happens when they are."""

_PAGES = {
    "profile": "profile",
    "cProfile": "profile",
    "pstats": "profile",
    "xml.sax.saxutils": "xml.sax.utils",
    "xml.sax.xmlreader": "xml.sax.reader",
    "xml.parsers.expat": "pyexpat",
    "urllib.response": "urllib.request",
    "json.tool": "json",
    "ctypes.util": "ctypes",
    "curses.textpad": "curses",
    "importlib.abc": "importlib",
    "importlib.machinery": "importlib",
    "importlib.util": "importlib",
    "tkinter.filedialog": "dialog",
    "tkinter.simpledialog": "dialog",
    "multiprocessing.shared_memory": "multiprocessing.shared_memory",
    "builtins": "functions",
}
_FAMILIES = {
    "wsgiref": "wsgiref",
    "dbm": "dbm",
    "email.mime": "email.mime",
    "multiprocessing": "multiprocessing",
}
"""Packages whose modules share one page."""

_ASYNCIO = {
    "asyncio-runner": "run Runner",
    "asyncio-task": (
        "Task TaskGroup create_task current_task all_tasks sleep gather wait_for shield wait timeout "
        "timeout_at to_thread run_coroutine_threadsafe as_completed iscoroutine iscoroutinefunction Timeout "
        "eager_task_factory create_eager_task_factory"
    ),
    "asyncio-queue": "Queue PriorityQueue LifoQueue QueueEmpty QueueFull QueueShutDown",
    "asyncio-sync": "Lock Event Condition Semaphore BoundedSemaphore Barrier BrokenBarrierError",
    "asyncio-stream": (
        "open_connection open_unix_connection start_server start_unix_server StreamReader StreamWriter "
        "StreamReaderProtocol"
    ),
    "asyncio-subprocess": "create_subprocess_exec create_subprocess_shell subprocess",
    "asyncio-exceptions": (
        "TimeoutError CancelledError InvalidStateError SendfileNotAvailableError IncompleteReadError "
        "LimitOverrunError"
    ),
    "asyncio-future": "Future isfuture ensure_future wrap_future",
    "asyncio-protocol": (
        "BaseTransport ReadTransport WriteTransport Transport DatagramTransport SubprocessTransport "
        "BaseProtocol Protocol BufferedProtocol DatagramProtocol SubprocessProtocol"
    ),
    "asyncio-policy": (
        "get_event_loop_policy set_event_loop_policy AbstractEventLoopPolicy DefaultEventLoopPolicy "
        "WindowsSelectorEventLoopPolicy WindowsProactorEventLoopPolicy AbstractChildWatcher SafeChildWatcher "
        "FastChildWatcher ThreadedChildWatcher MultiLoopChildWatcher PidfdChildWatcher get_child_watcher "
        "set_child_watcher"
    ),
    "asyncio-extending": "BaseEventLoop",
    "asyncio-graph": (
        "capture_call_graph print_call_graph format_call_graph FrameCallGraphEntry FutureCallGraph"
    ),
}
_ASYNCIO_PAGES = {name: page for page, names in _ASYNCIO.items() for name in names.split()}

_TYPES = frozenset(
    ("list", "tuple", "range", "str", "bytes", "bytearray", "memoryview", "set", "frozenset", "dict")
)
_NUMBERS = frozenset(("int", "float", "complex", "bool"))


def module_address(module: str) -> str:
    """Where a module is documented."""
    page = _page_of(module)
    fragment = "" if page == module.lower() or module == "builtins" else f"#module-{module}"
    return f"{BASE}library/{page}.html{fragment}"


def member_address(module: str, name: str, *, is_exception: bool = False) -> str:
    """Where a class, a function or, with its class before the dot, a method is documented."""
    if module == "builtins":
        return f"{BASE}library/{_builtin_page(name, is_exception=is_exception)}.html#{name}"
    page = _page_of(module)
    if module == "asyncio":
        page = _ASYNCIO_PAGES.get(name.partition(".")[0], "asyncio-eventloop")
    return f"{BASE}library/{page}.html#{module}.{name}"


def _page_of(module: str) -> str:
    if module in _PAGES:
        return _PAGES[module]
    for family, page in _FAMILIES.items():
        if module == family or module.startswith(f"{family}."):
            return page
    return module.lower()


def _builtin_page(name: str, *, is_exception: bool) -> str:
    owner, _, method = name.partition(".")
    if is_exception:
        return "exceptions"
    return "stdtypes" if owner in _TYPES or (method and owner in _NUMBERS) else "functions"
