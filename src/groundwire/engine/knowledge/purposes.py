"""What the most used names of the library are for, in the words of somebody who does not know them yet.

A docstring tells how a function behaves to readers who have found it; it seldom says what they looked for:
that of `os.path.splitext` does not speak of filenames in its first sentence, that of `zip` no two lists.
"""

from __future__ import annotations

from collections.abc import Mapping

_LINES = """
abs: absolute value of a number
all: check whether all values are true
any: check whether at least one value is true
bin: binary digits of a number as a string
breakpoint: stop in the debugger at this line
callable: check whether an object can be called like a function
chr: character for a code point, the inverse of ord
classmethod: method that gets the class, for alternative constructors
dir: list the attributes and methods of an object
divmod: quotient and remainder of a division
enumerate: loop with a counter, index and item together
eval: evaluate an expression given as a string
exec: run Python code given as a string
filter: keep the items for which a function is true
float: convert a string to a floating point number, a decimal fraction
getattr: get an attribute by its name given as a string
hasattr: check whether an object has an attribute
hash: hash value of an object for dictionaries
help: show the documentation of an object
hex: hexadecimal digits of a number as a string
id: identity, the memory address of an object
input: ask the user, read a line from the keyboard
int: convert a string to an integer, a whole number
isinstance: check the type of an object
len: length, number of items or characters
map: apply a function to every item
max: largest of several values
min: smallest of several values
next: next item of an iterator or generator
open: open a file for reading or writing
ord: code point, the number of a character
pow: raise a number to a power
print: print text to the screen, with separator and line end
property: computed attribute with getter and setter
range: sequence of numbers to count in a loop
repr: representation of an object for debugging
reversed: go through a sequence backwards
round: round a number to some decimal places
setattr: set an attribute by its name given as a string
sorted: sorted list of any items, by a key or in reverse
staticmethod: method without an instance
sum: add up numbers
super: call the method of the parent class
type: type of an object
zip: loop over two or more lists at the same time, in parallel
str.capitalize: first letter in upper case
str.casefold: lower case for comparing without regard to case
str.count: count how often a substring occurs
str.encode: convert a string to bytes in an encoding such as UTF-8
str.endswith: check whether a string ends with a suffix
str.find: position of a substring
str.format: insert values into a string
str.isalpha: check whether a string consists of letters only
str.isdigit: check whether a string consists of digits only
str.isnumeric: check whether a string is a number
str.isspace: check whether a string is blank, white space only
str.join: join a list of strings with a separator such as a comma
str.ljust: pad text with spaces on the right
str.lower: convert to lower case
str.lstrip: strip white space on the left
str.partition: split at the first separator
str.removeprefix: remove a prefix
str.removesuffix: remove a suffix
str.replace: replace text in a string
str.rjust: pad text with spaces on the left
str.rstrip: strip white space or a newline at the end
str.split: split a string into a list of words
str.splitlines: split text into lines
str.startswith: check whether a string starts with a prefix
str.strip: remove white space at both ends, trim
str.title: title case, every word capitalized
str.translate: replace or delete single characters by a table
str.upper: convert to upper case
str.zfill: pad a number with leading zeros
bytes.decode: convert bytes to a string
bytes.fromhex: bytes from hexadecimal digits
bytes.hex: bytes as hexadecimal digits
int.from_bytes: integer from bytes
int.to_bytes: integer as bytes
list.append: add an item to the end of a list
list.clear: empty a list
list.count: count how often a value occurs in a list
list.extend: add all items of another list, concatenate
list.index: position of a value in a list
list.insert: insert an item at a position, such as the beginning
list.pop: remove and return the last item or the one at a position
list.remove: remove an item by its value
list.reverse: reverse a list in place
list.sort: sort a list in place
dict: dictionary of keys and values
dict.fromkeys: dictionary with the same value for all keys
dict.get: value of a key, or a default if the key is missing
dict.items: loop over keys and values of a dictionary
dict.keys: the keys of a dictionary
dict.pop: remove a key from a dictionary
dict.setdefault: set a value if the key is missing
dict.update: merge another dictionary into this one
dict.values: the values of a dictionary
set: collection of unique items without duplicates
set.difference: items of one set that are not in another
set.intersection: items that two sets have in common
set.union: items of both sets together
argparse.ArgumentParser: parse command line arguments and options
ast.literal_eval: evaluate a string with a Python literal safely
asyncio.Lock: lock for coroutines
asyncio.Queue: pass work between coroutines, producer and consumer
asyncio.Semaphore: limit how many coroutines run at once
asyncio.create_task: start a coroutine in the background
asyncio.gather: run several coroutines concurrently and collect their results
asyncio.open_connection: open a TCP connection to a server
asyncio.run: run an async main function
asyncio.sleep: pause a coroutine
asyncio.start_server: TCP server
asyncio.to_thread: run a blocking function without blocking the event loop
asyncio.wait_for: give a coroutine a timeout
atexit.register: call a function when the program ends
base64.b64decode: decode base64
base64.b64encode: encode bytes as base64
bisect.bisect_left: binary search in a sorted list
bisect.insort: insert into a sorted list
calendar.isleap: check for a leap year
calendar.monthrange: number of days in a month
collections.ChainMap: search several dictionaries as one
collections.Counter: count how often items occur, most common items
collections.OrderedDict: dictionary that remembers order and can be reordered
collections.defaultdict: dictionary with a default value for missing keys
collections.deque: queue with fast appends and pops at both ends, keeps the last n items
collections.namedtuple: tuple with named fields
concurrent.futures.ProcessPoolExecutor: pool of processes for work that needs the CPU
concurrent.futures.ThreadPoolExecutor: pool of threads, run functions concurrently
configparser.ConfigParser: read and write INI configuration files
contextlib.contextmanager: write a context manager as a generator
contextlib.redirect_stdout: capture or redirect what is printed
contextlib.suppress: ignore an exception
copy.copy: shallow copy of an object
copy.deepcopy: deep copy of an object, nested lists included
csv.reader: read a CSV file
csv.writer: write a CSV file
dataclasses.asdict: convert a dataclass to a dictionary
dataclasses.dataclass: class that mainly stores data, with init and repr made for it
datetime.date.today: date of today
datetime.datetime.fromisoformat: parse a date and time in ISO format
datetime.datetime.fromtimestamp: convert a Unix timestamp to date and time
datetime.datetime.isoformat: date and time as an ISO string
datetime.datetime.now: current date and time
datetime.date.strftime: format a date as text
datetime.datetime.strptime: parse a date from text by a format
datetime.datetime.timestamp: Unix timestamp of a date
datetime.date.weekday: day of the week of a date
datetime.timedelta: difference between two dates, add days or hours to a date
datetime.timezone: time zone with a fixed offset, UTC
decimal.Decimal: exact decimal numbers, such as money
difflib.get_close_matches: similar words, fuzzy matching of misspelled words
difflib.unified_diff: differences between two texts, as a patch
enum.Enum: enumeration, named constants
filecmp.cmp: compare two files
fnmatch.fnmatch: match a file name with wildcards
fractions.Fraction: rational numbers, exact fractions
ftplib.FTP: talk to an FTP server, upload and download files
functools.cache: remember the results of a function
functools.lru_cache: remember the latest results of a function
functools.partial: function with some arguments filled in
functools.reduce: combine all items to one value step by step
functools.wraps: keep name and docstring of a decorated function
gc.collect: free memory, run the garbage collector
gc.get_objects: objects that are alive, to find memory leaks
getpass.getpass: ask for a password without showing it
glob.glob: find files by a pattern with wildcards such as *.txt, in subfolders too
gzip.open: read and write gzip compressed files
hashlib.file_digest: checksum of a file
hashlib.md5: MD5 hash, checksum of data
hashlib.sha256: SHA-256 hash, checksum of data
heapq.heappush: priority queue, add an item
heapq.nlargest: the n largest items
heapq.nsmallest: the n smallest items
hmac.compare_digest: compare secrets and password hashes in constant time
html.escape: escape special characters for HTML
html.unescape: turn HTML entities into characters
http.client.HTTPConnection: HTTP connection to a server
http.cookies.SimpleCookie: read and write cookies
http.server.HTTPServer: simple web server
http.server.SimpleHTTPRequestHandler: serve the files of a directory over HTTP
imaplib.IMAP4: read mails from an IMAP mailbox
importlib.import_module: import a module by its name given as a string
importlib.reload: load a changed module again
inspect.getsource: source code of a function or class
inspect.signature: parameters of a function
io.BytesIO: file in memory for bytes
io.StringIO: file in memory for text
ipaddress.ip_address: parse and check an IP address
itertools.accumulate: running totals, cumulative sums
itertools.chain: one sequence out of several, chain lists together
itertools.chain.from_iterable: flatten a list of lists
itertools.combinations: all combinations of items
itertools.count: endless counter
itertools.cycle: repeat a sequence endlessly
itertools.groupby: group consecutive items by a key
itertools.islice: first n items of an iterator
itertools.permutations: all orders of items
itertools.product: all pairs, nested loops over several lists
itertools.zip_longest: loop over lists of different lengths in parallel
json.dump: write an object to a JSON file
json.dumps: convert an object to a JSON string
json.load: read a JSON file
json.loads: parse a JSON string
logging.basicConfig: set up logging, level, format and file
logging.exception: log an error with its traceback
logging.getLogger: logger of a module
logging.handlers.RotatingFileHandler: log files that are rotated by size
math.ceil: round up to the next whole number
math.dist: distance between two points
math.factorial: factorial of a number
math.floor: round down to a whole number
math.gcd: greatest common divisor
math.isclose: compare floating point numbers with a tolerance
math.lcm: least common multiple
math.log10: logarithm with base 10
math.prod: product of numbers
math.radians: convert degrees to radians
math.sqrt: square root
mimetypes.guess_type: MIME type of a file by its name
multiprocessing.Pool: spread work over several processes
os.chdir: change the current directory
os.chmod: change file permissions
os.cpu_count: number of processors
os.getcwd: current working directory
os.getenv: read an environment variable
os.getpid: number of this process
os.kill: send a signal to a process, stop it
os.listdir: list the files in a directory
os.makedirs: create a directory with its parents
os.mkdir: create a directory
os.readlink: where a symbolic link points
os.remove: delete a file
os.rename: rename a file
os.rmdir: remove an empty directory
os.scandir: go through the files of a directory
os.stat: size, owner and modification time of a file
os.symlink: make a symbolic link, a symlink
os.system: run a shell command
os.walk: go through a directory tree
os.path.abspath: absolute path of a file
os.path.basename: filename without its directory
os.path.dirname: directory of a file
os.path.exists: check if a file exists
os.path.expanduser: home directory of the user
os.path.getmtime: when a file was last changed
os.path.getsize: size of a file in bytes
os.path.isdir: check if a path is a directory
os.path.isfile: check if a path is a file
os.path.join: join parts of a path
os.path.splitext: split off the file extension of a filename
pathlib.Path: paths as objects
pathlib.Path.exists: check if a file or directory exists
pathlib.Path.glob: find files by a pattern with wildcards
pathlib.Path.home: home directory of the user
pathlib.Path.iterdir: list the files in a directory
pathlib.Path.mkdir: create a directory
pathlib.Path.read_text: read a whole file as a string
pathlib.Path.readlink: where a symbolic link points
pathlib.Path.rglob: find files by a pattern in all subfolders
pathlib.Path.unlink: delete a file
pathlib.Path.write_text: write a string to a file
pathlib.PurePath.stem: filename without its extension
pathlib.PurePath.suffix: file extension of a filename
pickle.dump: save a Python object to a file
pickle.dumps: serialize a Python object to bytes
pickle.load: load a Python object that was saved to a file
platform.system: name of the operating system
poplib.POP3: read mails from a POP3 mailbox
pprint.pprint: print nested data readably
queue.PriorityQueue: queue that gives the smallest item first, for threads
queue.Queue: communicate between threads safely, producer and consumer
random.choice: pick a random item of a list
random.choices: weighted random choice
random.gauss: normally distributed random number
random.randint: random whole number between two bounds, roll a dice
random.random: random number between 0 and 1
random.sample: several different random items
random.seed: same random numbers in every run
random.shuffle: shuffle a list
random.uniform: random floating point number between two bounds
re.compile: prepare a regular expression
re.escape: escape special characters for a regular expression
re.findall: find all matches of a pattern in a text
re.finditer: go through all matches of a pattern
re.fullmatch: check whether a whole string matches a pattern
re.match: match a regular expression at the beginning
re.search: find a regular expression anywhere in a text
re.split: split a string by a regular expression
re.sub: replace text by a regular expression
sched.scheduler: run functions at a later time, in the same thread
secrets.compare_digest: compare secrets in constant time
secrets.token_hex: secure random token as hexadecimal text
secrets.token_urlsafe: secure random token for URLs and password resets
shelve.open: dictionary on disk, key value store
dbm.open: key value store on disk
shlex.quote: escape an argument for the shell
shlex.split: split a command line like a shell
shutil.copy: copy a file
shutil.copyfile: copy the contents of a file
shutil.copytree: copy a directory with everything in it
shutil.disk_usage: free disk space
shutil.make_archive: pack a directory into a zip or tar archive
shutil.move: move a file or directory
shutil.rmtree: delete a directory with everything in it
shutil.unpack_archive: unpack a zip or tar archive
shutil.which: find where a program is installed
signal.signal: handle a signal such as Ctrl-C
smtplib.SMTP: send an e-mail
smtplib.SMTP.send_message: send an e-mail
socket.create_connection: open a TCP connection to a host
socket.getaddrinfo: resolve a host name to addresses
socket.gethostbyname: resolve a host name to an IP address
socket.gethostname: name of this computer
socket.socket: network socket, TCP and UDP connections
sqlite3.connect: open an SQLite database
sqlite3.Cursor.execute: run an SQL statement
sqlite3.Connection.commit: save changes to the database
statistics.mean: average
statistics.median: median, middle value
statistics.mode: most common value
statistics.stdev: standard deviation
string.Template: template with $ placeholders
struct.pack: pack values into binary data
struct.unpack: unpack values from binary data
subprocess.run: run a command and capture its output
subprocess.Popen: start a program without waiting for it
subprocess.Popen.kill: kill a child process
subprocess.Popen.terminate: stop a child process
sys.exit: stop the program with an exit code
sys.getrecursionlimit: how deep functions may call themselves
sys.getsizeof: memory that an object takes
sys.setrecursionlimit: allow deeper recursion
tarfile.open: open a tar archive
tempfile.NamedTemporaryFile: temporary file with a name
tempfile.TemporaryDirectory: temporary directory that is removed afterwards
textwrap.dedent: remove common leading indentation
textwrap.fill: wrap text to a line width
textwrap.indent: indent lines of text
textwrap.shorten: shorten text to a length
threading.Event: wait until another thread gives a signal
threading.Lock: only one thread at a time, mutual exclusion
threading.Thread: run a function in a thread
threading.Thread.join: wait until a thread has finished
threading.Timer: call a function later, after some seconds
time.monotonic: clock that never goes back, for timeouts
time.perf_counter: measure how long code takes to run
time.sleep: wait some seconds, pause the program
time.strftime: format a time as text
time.time: seconds since 1970, Unix timestamp
timeit.timeit: measure how long a piece of code takes to run
tomllib.load: read a TOML file
traceback.format_exc: traceback of the current exception as a string
traceback.print_exc: print the traceback of the current exception
tracemalloc.start: find out where memory is allocated, memory leaks
typing.NamedTuple: tuple with named and typed fields
typing.Optional: value that may be None
typing.Union: one of several types
unicodedata.name: name of a Unicode character
unicodedata.normalize: normal form of Unicode text, take accents off characters
unittest.TestCase: write unit tests
unittest.mock.patch: replace an object while a test runs
urllib.parse.parse_qs: parameters of a URL query string
urllib.parse.quote: escape characters for a URL
urllib.parse.urlencode: query string for a URL
urllib.parse.urljoin: absolute address of a relative link
urllib.parse.urlparse: take a URL apart
urllib.request.urlopen: fetch a URL, make an HTTP request
urllib.request.urlretrieve: download a URL to a file
uuid.uuid4: random UUID
warnings.filterwarnings: switch warnings off
warnings.warn: warn that something is deprecated
webbrowser.open: open a page in the web browser
xml.etree.ElementTree.parse: parse an XML file
zipfile.ZipFile: read and write zip archives
zipfile.ZipFile.extractall: unzip, extract all files of a zip archive
zlib.crc32: CRC-32 checksum
zoneinfo.ZoneInfo: time zone by its name, to convert between time zones
"""
PURPOSES: Mapping[str, str] = dict(line.split(": ", 1) for line in _LINES.strip().splitlines())
