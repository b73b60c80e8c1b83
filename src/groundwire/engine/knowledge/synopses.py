"""What each documented module is for, in a line: the titles of their pages on docs.python.org.

Docstrings of modules are written for maintainers, who know what a module is for; readers ask by purpose.
"""

from __future__ import annotations

from collections.abc import Mapping

_LINES = """
__future__: future statement definitions
_thread: low-level threading API
abc: abstract base classes
annotationlib: functionality for introspecting annotations
argparse: parser for command-line options, arguments and subcommands
array: efficient arrays of numeric values
ast: abstract syntax trees
asyncio: asynchronous I/O
atexit: exit handlers
base64: Base16, Base32, Base64, Base85 data encodings
bdb: debugger framework
binascii: convert between binary and ASCII
bisect: array bisection algorithm
builtins: built-in functions
bz2: support for bzip2 compression
calendar: general calendar-related functions
cmath: mathematical functions for complex numbers
cmd: support for line-oriented command interpreters
code: interpreter base classes
codecs: codec registry and base classes
codeop: compile Python code
collections: container datatypes
collections.abc: abstract base classes for containers
colorsys: conversions between color systems
compileall: byte-compile Python libraries
compression.zstd: compression compatible with the Zstandard format
concurrent.futures: launching parallel tasks
configparser: configuration file parser
contextlib: utilities for with-statement contexts
contextvars: context variables
copy: shallow and deep copy operations
copyreg: register pickle support functions
cProfile: the Python profilers
csv: CSV file reading and writing
ctypes: a foreign function library for Python
curses: terminal handling for character-cell displays
curses.ascii: utilities for ASCII characters
curses.panel: a panel stack extension for curses
dataclasses: data classes
datetime: basic date and time types
dbm: interfaces to Unix databases
decimal: decimal fixed-point and floating-point arithmetic
difflib: helpers for computing deltas
dis: disassembler for Python bytecode
doctest: test interactive Python examples
email: an email and MIME handling package
email.charset: representing character sets
email.contentmanager: managing MIME content
email.encoders: encoders
email.errors: exception and defect classes
email.generator: generating MIME documents
email.header: internationalized headers
email.headerregistry: custom header objects
email.iterators: iterators
email.message: representing an email message
email.parser: parsing email messages
email.policy: policy objects
email.utils: miscellaneous utilities
ensurepip: bootstrapping the pip installer
enum: support for enumerations
errno: standard errno system symbols
faulthandler: dump the Python traceback
fcntl: the fcntl and ioctl system calls
filecmp: file and directory comparisons
fileinput: iterate over lines from multiple input streams
fnmatch: Unix filename pattern matching
fractions: rational numbers
ftplib: FTP protocol client
functools: higher-order functions and operations on callable objects
gc: garbage collector interface
getopt: C-style parser for command line options
getpass: portable password input
gettext: multilingual internationalization services
glob: Unix style pathname pattern expansion
graphlib: functionality to operate with graph-like structures
grp: the group database
gzip: support for gzip files
hashlib: secure hashes and message digests
heapq: heap queue algorithm
hmac: keyed-hashing for message authentication
html: HyperText Markup Language support
html.entities: definitions of HTML general entities
html.parser: simple HTML and XHTML parser
http: HTTP modules
http.client: HTTP protocol client
http.cookiejar: cookie handling for HTTP clients
http.cookies: HTTP state management
http.server: HTTP servers
imaplib: IMAP4 protocol client
importlib: the implementation of import
importlib.metadata: accessing package metadata
importlib.resources: package resource reading, opening and access
importlib.resources.abc: abstract base classes for resources
inspect: inspect live objects
io: core tools for working with streams
ipaddress: IPv4/IPv6 manipulation library
itertools: functions creating iterators for efficient looping
json: JSON encoder and decoder
keyword: testing for Python keywords
linecache: random access to text lines
locale: internationalization services
logging: logging facility for Python
logging.config: logging configuration
logging.handlers: logging handlers
lzma: compression using the LZMA algorithm
mailbox: manipulate mailboxes in various formats
marshal: internal Python object serialization
math: mathematical functions
mimetypes: map filenames to MIME types
mmap: memory-mapped file support
modulefinder: find modules used by a script
multiprocessing: process-based parallelism
multiprocessing.shared_memory: shared memory for direct access across processes
netrc: netrc file processing
numbers: numeric abstract base classes
operator: standard operators as functions
optparse: parser for command line options
os: miscellaneous operating system interfaces
os.path: common pathname manipulations
pathlib: object-oriented filesystem paths
pdb: the Python debugger
pickle: Python object serialization
pickletools: tools for pickle developers
pkgutil: package extension utility
platform: access to underlying platform's identifying data
plistlib: generate and parse Apple plist files
poplib: POP3 protocol client
pprint: data pretty printer
profile: the Python profilers
pstats: statistics of the profilers
pty: pseudo-terminal utilities
pwd: the password database
py_compile: compile Python source files
pyclbr: Python module browser support
pydoc: documentation generator and online help system
queue: a synchronized queue class
quopri: encode and decode MIME quoted-printable data
random: generate pseudo-random numbers
re: regular expression operations
readline: GNU readline interface
reprlib: alternate repr implementation
resource: resource usage information
rlcompleter: completion function for GNU readline
runpy: locating and executing Python modules
sched: event scheduler
secrets: generate secure random numbers for managing secrets
select: waiting for I/O completion
selectors: high-level I/O multiplexing
shelve: Python object persistence
shlex: simple lexical analysis
shutil: high-level file operations
signal: set handlers for asynchronous events
site: site-specific configuration hook
smtplib: SMTP protocol client
socket: low-level networking interface
socketserver: a framework for network servers
sqlite3: DB-API 2.0 interface for SQLite databases
ssl: TLS/SSL wrapper for socket objects
stat: interpreting stat results
statistics: mathematical statistics functions
string: common string operations
string.templatelib: support for template string literals
stringprep: internet string preparation
struct: interpret bytes as packed binary data
subprocess: subprocess management
symtable: access to the compiler's symbol tables
sys: system-specific parameters and functions
sysconfig: access to Python's configuration information
syslog: Unix syslog library routines
tabnanny: detection of ambiguous indentation
tarfile: read and write tar archive files
tempfile: generate temporary files and directories
termios: POSIX style tty control
textwrap: text wrapping and filling
threading: thread-based parallelism
time: time access and conversions
timeit: measure execution time of small code snippets
tkinter: Python interface to Tcl/Tk
tkinter.colorchooser: color choosing dialog
tkinter.dnd: drag and drop support
tkinter.font: Tkinter font wrapper
tkinter.messagebox: Tkinter message prompts
tkinter.scrolledtext: scrolled text widget
tkinter.ttk: Tk themed widgets
token: constants used with Python parse trees
tokenize: tokenizer for Python source
tomllib: parse TOML files
trace: trace or track Python statement execution
traceback: print or retrieve a stack traceback
tracemalloc: trace memory allocations
tty: terminal control functions
turtle: turtle graphics
types: dynamic type creation and names for built-in types
typing: support for type hints
unicodedata: Unicode database
unittest: unit testing framework
unittest.mock: mock object library
urllib.error: exception classes raised by urllib.request
urllib.parse: parse URLs into components
urllib.request: extensible library for opening URLs
urllib.robotparser: parser for robots.txt
uuid: UUID objects according to RFC 9562
venv: creation of virtual environments
warnings: warning control
wave: read and write WAV files
weakref: weak references
webbrowser: convenient web-browser controller
xml.dom: the Document Object Model API
xml.dom.minidom: minimal DOM implementation
xml.dom.pulldom: support for building partial DOM trees
xml.etree.ElementTree: the ElementTree XML API
xml.parsers.expat: fast XML parsing using Expat
xml.sax: support for SAX2 parsers
xml.sax.handler: base classes for SAX handlers
xml.sax.saxutils: SAX utilities
xml.sax.xmlreader: interface for XML parsers
xmlrpc.client: XML-RPC client access
xmlrpc.server: basic XML-RPC servers
zipapp: manage executable Python zip archives
zipfile: work with ZIP archives
zipimport: import modules from zip archives
zlib: compression compatible with gzip
zoneinfo: IANA time zone support
"""
SYNOPSES: Mapping[str, str] = dict(line.split(": ", 1) for line in _LINES.strip().splitlines())
