"""Questions that were written before the answers of the engine had been seen, and the expected first pages.

They use a beginner's words, not those of docstrings: keywords and sentences, a few typing errors, a few in
German. No question was removed because it failed. A row is a question, and the ends of the URLs that an
expert would open first.
"""

from __future__ import annotations

from typing import NamedTuple


class Fresh(NamedTuple):
    """A question, and the expected URLs: their ends for the library, otherwise parts of them."""

    query: str
    pages: tuple[str, ...]

    def is_answered_by(self, url: str) -> bool:
        """Whether a URL is one of the expected pages."""
        address = url.partition("#")[0]
        return any(
            address.endswith(page) if page.endswith(".html") else page in url.lower() for page in self.pages
        )


def fresh(rows: str, page: str = "{}") -> list[Fresh]:
    """The questions of a table."""
    parts = (line.split("|") for line in rows.strip().splitlines())
    return [Fresh(query, tuple(page.format(name) for name in names.split())) for query, names in parts]


LIBRARY = """
how can I find out how much disk space is left|shutil os
get file extension from filename|os.path pathlib
change file permissions from python|os pathlib shutil
make a symlink|os pathlib
find all .txt files in subfolders|glob pathlib
what folder is the user's home directory|os.path pathlib
unzip an archive|zipfile shutil
watch out for memory leaks, which objects are alive|gc tracemalloc weakref
how do I stop my program with an error code|sys
read what the user types on the keyboard|functions
turn a number into binary digits|functions
absolute value|functions math
logarithm base 10|math
round up to the next whole number|math
random number between 1 and 6|random
weighted random choice|random
get the last n lines or items seen, bounded buffer|collections
merge several dictionaries into one lookup|collections stdtypes
loop over two lists at the same time|functions itertools
loop with a counter|functions
endless counter|itertools
flatten a list of lists|itertools
check if all values are true|functions
remove an item from a list by value|stdtypes
insert at the beginning of a list|stdtypes collections
check if a key is in a dict|stdtypes
make a string lowercase for caseless comparison|stdtypes
join list of strings with comma|stdtypes
remove accents from characters|unicodedata
remove common leading indentation from a multiline string|textwrap
template with $ placeholders|string
find all matches of a pattern in text|re
replace with regular expression|re
convert between time zones|zoneinfo datetime
add 3 days to a date|datetime
which weekday is a date|datetime calendar
print a calendar for a month|calendar
how long did my code take to run|timeit time
run something every few seconds later in the same thread|sched asyncio-eventloop threading
kill a child process|subprocess multiprocessing os
communicate between threads safely|queue threading
wait until another thread signals|threading
asyncio producer consumer|asyncio-queue
start many downloads concurrently with async|asyncio-task concurrent.futures
handle ctrl-c|signal exceptions
verify a password hash in constant time|hmac secrets
make an md5 checksum|hashlib
talk to an FTP server|ftplib
read mails from an imap mailbox|imaplib
resolve a host name to an ip address|socket
open a TCP connection to a server|socket asyncio-stream
save python objects to a file and load them back|pickle shelve
key value store on disk|dbm shelve
show a stack trace of an exception as text|traceback
mark a function as deprecated|warnings
wie lese ich eine CSV-Datei|csv
JSON in String umwandeln|json
Zufallszahl erzeugen|random secrets
how to pars comand line argumnets|argparse optparse
conect to sqlite databse|sqlite3
"""
"""About the standard library, with the name of the page."""

PACKAGES = """
what is tantivy|tantivy
keyless web search library|ddgs
library for html sanitizing|nh3
which package parses PDF files|pypdf
read and write WARC files|warcio
http client and server for asyncio|aiohttp
template engine|jinja
markdown parser|markdown-it-py
ASGI server|uvicorn
PostgreSQL driver|psycopg
how do I add my own documents to the groundwire index|groundwire/search-index
use groundwire with Claude Code|local:groundwire
groundwire MCP server setup|groundwire/mcp
which exit code does groundwire return when nothing was found|groundwire/cli groundwire/search-index
where does groundwire look for its configuration file|groundwire/configuration
"""
"""About installed packages and groundwire itself, with a part of the URL."""

UNANSWERABLE = """
weather in Hamburg tomorrow
who is the chancellor of Germany
price of a barrel of oil
who won the football world cup in 2022
best pizza in Naples
how tall is Mount Everest
train from Berlin to Munich on Sunday
what is the capital of Mongolia
iphone 17 release date
symptoms of appendicitis
how many calories does a banana have
bitcoin exchange rate today
lyrics of Yesterday by the Beatles
when was Johann Sebastian Bach born
cheap hotels in Lisbon
"""
"""Questions that no page of the index answers."""

LATER_LIBRARY = """
what time is it in UTC|datetime time
how do I remove duplicates from a list|stdtypes functions
reverse a string|functions stdtypes expressions
check if string contains substring|stdtypes expressions re
generate a random password|secrets random
get the name of the current function|inspect sys
read a binary file in chunks|functions io
append a line to an existing text file|functions io
get modification date of a file|os.path os pathlib
convert hex string to number|functions stdtypes binascii
percent encode special chars in url|urllib.parse
how many days between two dates|datetime
stopwatch|time timeit
limit the number of simultaneous tasks|asyncio-sync threading concurrent.futures
make class attributes read only|functions dataclasses
call a function when the interpreter shuts down|atexit
transpose rows and columns|functions
split a big list into chunks|itertools
rolling log files|logging.handlers
write log messages to a file|logging logging.handlers
look up the mime type of a picture|mimetypes
parse html and extract links|html.parser
terminal width|shutil os
shorten long text with ellipsis|textwrap
get the ip address of my computer|socket
swallow errors silently|contextlib compound_stmts
which python version am I running|sys platform
find similar words, spelling suggestions|difflib
Datei löschen|os pathlib
multithreadding exampel|threading concurrent.futures _thread
"""
"""Written after the tuning with the questions above, and not used for tuning."""

LATER_PACKAGES = """
which library validates JSON schema|jsonschema
property based testing|hypothesis
measure test coverage|coverage
type checker|mypy
syntax highlighting library|pygments
linter written in Rust|ruff
groundwire environment variables for keys|local:groundwire
run groundwire in docker or behind a proxy|groundwire/deployment
"""

LATER_UNANSWERABLE = """
current president of France
recipe for apple pie
flights to Tokyo in March
share price of Siemens
how old is Madonna
what is the distance from earth to the moon
opening hours of the British Museum
translate good morning into Spanish
side effects of ibuprofen
next solar eclipse in Europe
"""
