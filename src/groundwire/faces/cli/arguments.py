"""Arguments of every command, and their help.

Only argparse is imported here, so that help and completion are fast. The types of the configuration check
arguments; they are imported when there is a value to check.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from decimal import Decimal

__all__ = ["COMMANDS", "OVERVIEW", "CommandParser", "CommandSpec", "UsageError", "spread_domains"]

_DOMAIN_FLAGS = ("--allow", "--block")
_DOMAIN = re.compile(r"[^\s.,/]+(?:\.[^\s.,/]+)+(?:/\S*)?")


class UsageError(Exception):
    """The command line is not valid."""

    def __init__(self, message: str, prog: str = "groundwire") -> None:
        super().__init__(message)
        self.message = message
        self.prog = prog


class CommandParser(argparse.ArgumentParser):
    """An argument parser that raises `UsageError` instead of exiting."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Raise `UsageError`."""
        raise UsageError(message, self.prog)


class CommandSpec:
    """A command: its help and its arguments. `run_NAME` in `groundwire.commands` runs it."""

    def __init__(
        self, summary: str, define: Callable[[CommandParser], None], description: str, *examples: str
    ) -> None:
        self.summary = summary
        self.define = define
        self.description = description
        self.examples = examples

    def parser(self, name: str) -> CommandParser:
        """The parser of the arguments."""
        parser = CommandParser(
            prog=f"groundwire {name}",
            description=self.description,
            epilog="\n".join(["examples:", *(f"  {example}" for example in self.examples)]),
            formatter_class=_formatter,
            allow_abbrev=False,
            add_help=False,
        )
        self.define(parser)
        parser.add_argument("-h", "--help", action="help", help="show this text and end")
        return parser


def spread_domains(words: list[str]) -> list[str]:
    """`--allow a.com b.com` as `--allow=a.com --allow=b.com`, so that a list does not swallow the question.

    The first word after the option is always a domain, those after it only if they look like one.
    """
    spread: list[str] = []
    flag = ""
    for index, word in enumerate(words):
        if word == "--":
            return [*spread, *words[index:]]
        if word in _DOMAIN_FLAGS:
            flag = word
            spread.append(word)
        elif flag and spread[-1] == flag:
            spread[-1] = f"{flag}={word}"
        elif flag and _DOMAIN.fullmatch(word):
            spread.append(f"{flag}={word}")
        else:
            flag = ""
            spread.append(word)
    return spread


def _formatter(prog: str) -> argparse.HelpFormatter:
    # Without a width, argparse imports shutil, which takes longer than the rest of the help.
    try:
        columns = os.get_terminal_size().columns
    except OSError:
        columns = 100
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=26, width=min(columns, 100) - 2)


_EXPECTED = {"DOMAINS": "expected a bare host such as example.com"}


def checked(kind: str) -> Callable[[str], str]:
    """An argument type that accepts what the configuration accepts for a setting of this type."""

    def check(text: str) -> str:
        from groundwire.config import kinds  # noqa: PLC0415  imported only to check a value
        from groundwire.errors import ConfigError  # noqa: PLC0415

        try:
            getattr(kinds, kind).check([text] if kind == "DOMAINS" else text, kinds.Context("", "", 0.0))
        except ConfigError as error:
            expected = _EXPECTED.get(kind) or error.message.partition(", found")[0]
            raise argparse.ArgumentTypeError(f"{text!r}: {expected}") from None
        return text

    return check


def domains(text: str) -> list[str]:
    """Host names, separated by commas."""
    check = checked("DOMAINS")
    return [check(domain) for domain in text.split(",")]


def count(text: str) -> int:
    """A whole number from 1."""
    if not text.isdecimal() or not 0 < len(text) < 10 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number from 1")
    return int(text)


def count_or_none(text: str) -> int | str:
    """A whole number from 1, or `none`."""
    return text if text == "none" else count(text)


def texts(text: str) -> list[str]:
    """Texts, separated by commas."""
    return text.split(",")


def amount(text: str) -> Decimal:
    """A number of dollars from 0."""
    from decimal import Decimal, InvalidOperation  # noqa: PLC0415  imported only to check a value

    try:
        usd = Decimal(text.removeprefix("$"))
    except InvalidOperation:
        usd = Decimal(-1)
    if not usd.is_finite() or usd < 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected an amount in USD, such as 0.05")
    return usd


def pause(text: str) -> int:
    """A whole number from 0."""
    return 0 if text == "0" else count(text)


def address(text: str) -> str:
    """An http or https URL without query and fragment."""
    from groundwire.text.urls import safe_url  # noqa: PLC0415  imported only to check a value

    safe = safe_url(text)
    if not safe or "?" in safe or "#" in safe:
        raise argparse.ArgumentTypeError(f"{text!r}: expected an address such as https://docs.example.com/")
    return safe


def language(text: str) -> str:
    """A language code of two letters."""
    if len(text) != 2 or not text.isascii() or not text.isalpha():
        raise argparse.ArgumentTypeError(f"{text!r}: expected two letters, such as de")
    return text.lower()


def python_version(text: str) -> str:
    """A version of Python: two or three numbers."""
    numbers = text.split(".")
    if len(numbers) not in (2, 3) or not all(part.isascii() and part.isdecimal() for part in numbers):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a version such as 3.12")
    return text


def port(text: str) -> int:
    """A port number."""
    if not text.isdecimal() or len(text) > 5 or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number up to 65535")
    return int(text)


FORMATS = ("openai-responses", "openai-chat", "anthropic", "gemini", "mcp")
LANGUAGES = ("en", "de")
CLIENTS = (
    "opencode",
    "claude-code",
    "codex",
    "gemini-cli",
    "qwen-code",
    "openclaw",
    "cline",
    "kilo",
    "crush",
    "goose",
    "cursor",
    "vscode",
    "zed",
    "windsurf",
    "continue",
    "claude-desktop",
    "librechat",
    "open-webui",
)
SHELLS = ("bash", "zsh", "fish")
LOG_LEVELS = ("debug", "info", "warning", "error")
KEY_ACTIONS = ("create", "list", "change", "revoke", "import", "log")
ROLES = ("member", "admin", "owner")
BIBLIOGRAPHIES = ("bibtex", "ris", "csl-json", "markdown")
INDEX_ACTIONS = ("add", "list", "show", "remove", "stats", "refresh")


def _data_dir(parser: CommandParser) -> None:
    parser.add_argument("--data-dir", metavar="DIR", help="where groundwire keeps its data")


def _search_arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("query", nargs="+", metavar="QUERY", help="the question; words are joined, - reads it from stdin")
    _target(parser)
    add = parser.add_argument_group("output").add_argument
    add("--json", action="store_true", help="the whole answer as one JSON object")
    add("--jsonl", action="store_true", help="every event as it comes, one JSON object a line")
    add("--markdown", action="store_true", help="Markdown, with numbers that are links")
    add("--raw", action="store_true", help="the words alone, without numbers and sources")
    add("--format", choices=BIBLIOGRAPHIES, help="only the sources, as a bibliography")
    add("--no-stream", action="store_true", help="show nothing before the answer is complete")
    add("--verify", action="store_true", help="read the cited pages, and say what they do not support")
    add(
        "--resolve",
        action="store_true",
        default=None,
        help="the addresses of pages instead of Gemini's redirects",
    )
    _answer_options(parser)
    _data_dir(parser)


def _target(parser: CommandParser) -> None:
    add = parser.add_argument
    add("--provider", metavar="NAME", default="", help="whom to ask (default: the first you can use)")
    add("--model", metavar="NAME", default="", help="which of its models")
    add("-t", "--template", metavar="NAME", default="", help="a template of the configuration")


def _answer_options(parser: CommandParser) -> None:
    """Add the options of every search that is answered."""
    add = _search_options(parser).add_argument
    add("--max-sources", metavar="N", type=count, help="how many sources to use")
    add("--max-uses", metavar="N", type=count, help="how many searches to make")
    add("--max-cost", metavar="USD", type=amount, help="do not ask if the answer could cost more")
    add("--context", choices=("low", "medium", "high"), help="how much of the pages the model reads")


def _find(parser: CommandParser) -> None:
    add = parser.add_argument
    add("query", nargs="+", metavar="QUERY", help="what to find; words are joined, - reads it from stdin")
    add("--provider", metavar="NAME", default="auto", help="the engine (default: the first you can use)")
    add("--json", action="store_true", help="as JSON")
    add = _search_options(parser).add_argument
    add("--count", metavar="N", dest="max_sources", type=count, help="how many links (default: 10)")
    _data_dir(parser)


def _search_options(parser: CommandParser) -> argparse._ArgumentGroup:
    """Add the options of every search; returns their group."""
    group = parser.add_argument_group(
        "search", "Restrictions are kept or refused. Hints are used where the provider can, else reported."
    )
    add = group.add_argument
    add("--allow", metavar="DOMAIN…", action="extend", type=domains, help="search only these sites")
    add("--block", metavar="DOMAIN…", action="extend", type=domains, help="never use these sites")
    add("--no-live", dest="live", action="store_const", const=False, help="only what the provider has stored")
    add("--country", metavar="CODE", type=checked("COUNTRY"), help="where you are, two letters: DE")
    add("--city", metavar="NAME", type=checked("TEXT"), help="where you are")
    add("--region", metavar="NAME", type=checked("TEXT"), help="where you are")
    add("--timezone", metavar="NAME", type=checked("TEXT"), help="where you are: Europe/Berlin")
    add("--language", metavar="CODE", type=checked("TEXT"), help="preferred language of the pages: de")
    add("--since", metavar="WHEN", type=checked("SINCE"), help="only pages from then on: 7d, 2026-01-01")
    return group


def _chat(parser: CommandParser) -> None:
    add = parser.add_argument
    add("-c", "--continue", dest="resume", action="store_true", help="continue the last conversation")
    _target(parser)
    _answer_options(parser)
    _data_dir(parser)


def _history(parser: CommandParser) -> None:
    add = parser.add_argument
    add(
        "query",
        nargs="*",
        metavar="QUERY",
        help="words to search for; or `show ID`: one conversation, by the beginning of its id",
    )
    add("--limit", metavar="N", type=count, default=20, help="how many to list (default: 20)")
    add("--json", action="store_true", help="as JSON")
    add("--markdown", action="store_true", help="show: as Markdown, with footnotes")
    _data_dir(parser)


def _open(parser: CommandParser) -> None:
    parser.add_argument("number", metavar="N", type=count, help="the number of the source")
    parser.add_argument("--print", dest="only_print", action="store_true", help="print its address instead")
    _data_dir(parser)


def _verify(parser: CommandParser) -> None:
    add = parser.add_argument
    add("answer", nargs="?", default="-", metavar="ANSWER", help="a saved answer; - or nothing reads stdin")
    add("--json", action="store_true", help="all facts as one JSON object")
    add("--all", action="store_true", help="details of supported citations as well")
    add("--fix", action="store_true", help="ask the provider once more, with what failed")
    add = parser.add_argument_group("pages", "Only addresses that the answer cites are fetched.").add_argument
    add("--offline", action="store_true", help="only pages that are stored here")
    add(
        "--pages", metavar="FOLDER", default="", help="stored pages: FOLDER/HOST/PATH, as wget -x writes them"
    )
    add("--follow", action="store_true", help="follow redirects to other sites")
    add(
        "--resolve",
        action="store_true",
        default=None,
        help="the addresses of pages instead of Gemini's redirects",
    )
    add("--allow", metavar="DOMAIN…", action="extend", type=domains, help="sources must be of these sites")
    add("--block", metavar="DOMAIN…", action="extend", type=domains, help="sources must not be of these")
    _data_dir(parser)


def seconds(text: str) -> float:
    """A positive number of seconds."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r}: expected seconds, up to 3600")
    return number


def _compare(parser: CommandParser) -> None:
    add = parser.add_argument
    add("query", nargs="+", metavar="QUERY", help="the question; words are joined, - reads it from stdin")
    add(
        "--providers",
        metavar="A,B,…",
        default="",
        help="whom to ask, also as provider/model (default: all usable)",
    )
    add("--timeout", metavar="S", type=seconds, default=120.0, help="seconds for all of it (default 120)")
    add(
        "--wait",
        metavar="S",
        type=seconds,
        help="seconds for a silent provider when the others have finished",
    )
    add = parser.add_argument_group("output").add_argument
    add("--json", action="store_true", help="the whole comparison as one JSON object")
    add("--html", metavar="FILE", default="", help="also write a page")
    add("--svg", metavar="FILE", default="", help="also write a picture")
    add("--png", metavar="FILE", default="", help="the same as PNG; needs groundwire[pictures]")
    add = parser.add_argument_group("search options").add_argument
    add("--allow", metavar="DOMAIN…", action="extend", type=domains, help="search only these sites")
    add("--block", metavar="DOMAIN…", action="extend", type=domains, help="never use these sites")
    add("--language", metavar="CODE", type=checked("TEXT"), help="preferred language of the pages: de")
    add("--since", metavar="WHEN", type=checked("SINCE"), help="only pages from then on: 7d, 2026-01-01")
    _data_dir(parser)


def _cite(parser: CommandParser) -> None:
    add = parser.add_argument
    add("answer", nargs="?", default="-", metavar="ANSWER", help="a saved answer; - or nothing reads stdin")
    add("--format", choices=BIBLIOGRAPHIES, default="bibtex", help="the form (default: bibtex)")


def _tool(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a tool; `groundwire tools` lists them")
    parser.add_argument(
        "arguments", metavar="ARGUMENTS", nargs="?", default="{}", help="a JSON object; - reads it from stdin"
    )
    _data_dir(parser)


def _tools(parser: CommandParser) -> None:
    parser.add_argument("--format", choices=FORMATS, help="definitions for an API (default: a list to read)")
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help="language of the descriptions")
    parser.add_argument(
        "--special",
        action="store_true",
        help="webSearch and googleSearch, which the model's provider runs: their definitions, or with "
        "--format the entry that declares them",
    )


def _providers(parser: CommandParser) -> None:
    parser.add_argument("--all", action="store_true", help="also those that you have not set up")
    parser.add_argument("--json", action="store_true", help="as JSON")
    _data_dir(parser)


def _doctor(parser: CommandParser) -> None:
    parser.add_argument("--live", dest="ask", action="store_true", help="also ask each provider for one word")
    parser.add_argument("--json", action="store_true", help="as JSON")
    _data_dir(parser)


def _config(parser: CommandParser) -> None:
    parser.add_argument("action", choices=("show",), help="show: every setting that is not empty")
    parser.add_argument("--origin", action="store_true", help="with the place each setting comes from")
    parser.add_argument("--json", action="store_true", help="as JSON")
    _data_dir(parser)


def _index(parser: CommandParser) -> None:
    add = parser.add_argument
    add("action", choices=INDEX_ACTIONS, help="what to do")
    add("what", nargs="*", metavar="WHAT", help="add: files, folders, addresses; show, remove: addresses")
    add("--collection", metavar="NAME", help="the collection that is meant, or to add to")
    add("--json", action="store_true", help="as JSON")
    add = parser.add_argument_group("add").add_argument
    add("--base-url", metavar="URL", type=address, help="URL of the file or folder on the web")
    add("--as-html", action="store_true", help="there, Markdown and reStructuredText end in .html")
    add("--max-depth", metavar="N", type=count, help="follow links within the site, so many deep")
    add("--max-pages", metavar="N", type=count, help="follow links, at most so many pages (default: 200)")
    add("--language", metavar="CODE", type=language, help="of pages that do not say theirs: de")
    add("--private", action="store_true", help="the addresses may be in your own network")
    add = parser.add_argument_group("add python").add_argument
    add("--version", metavar="X.Y", dest="docs_version", type=python_version, help="of the documentation")
    add("--all", action="store_true", dest="everything", help="with the C API and how to extend Python")
    add = parser.add_argument_group("add package").add_argument
    add("--download", action="store_true", help="let pip fetch the source archive")
    add = parser.add_argument_group("list").add_argument
    add("--prefix", metavar="URL", help="only addresses that begin so")
    _data_dir(parser)


def _mcp(parser: CommandParser) -> None:
    parser.add_argument("--all", action="store_true", help="offer every tool, also those without a key")
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help="language of the descriptions")
    _data_dir(parser)


def _connect(parser: CommandParser) -> None:
    add = parser.add_argument
    add("client", nargs="?", choices=CLIENTS, metavar="PROGRAM", help="the program; --list names all")
    add(
        "--list",
        action="store_true",
        help="list the programs: which are installed, and where their files are",
    )
    add("--write", action="store_true", help="edit its file, and keep a copy of what was there")
    add("--undo", action="store_true", help="put back what was there")
    add = parser.add_argument_group("which way (default: groundwire mcp, started by the client)").add_argument
    add("--http", action="store_true", help="the MCP server of a running gateway")
    add("--gateway", action="store_true", help="its own model requests, through a running gateway")
    add("--tools", action="store_true", help="custom tools with fixed names (opencode)")
    add("--url", metavar="URL", type=address, help="where the gateway is (default: http://127.0.0.1:8484)")


class _ListArgument(TypedDict):
    action: str
    type: Callable[[str], list[str]]


_LIST: _ListArgument = {"action": "extend", "type": texts}


def _serve(parser: CommandParser) -> None:
    add = parser.add_argument
    add("--host", metavar="ADDRESS", help="where to listen (default: 127.0.0.1); any other needs keys")
    add("--port", metavar="N", type=port, help="the port (default: 8484); 0 takes one that is free")
    add("--workers", metavar="N", type=count, default=1, help="how many processes (default: 1)")
    add("--drain", metavar="SECONDS", type=count, default=30, help="how long answers may go on at the end")
    add("--drain-delay", metavar="SECONDS", type=pause, default=0, help="before it, only /readyz fails")
    add("--log-level", choices=LOG_LEVELS, default="info", help="what is logged, as JSON lines on stderr")
    _data_dir(parser)


def _keys(parser: CommandParser) -> None:
    add = parser.add_argument
    add("action", choices=KEY_ACTIONS, help="what to do")
    add("which", nargs="?", default="", metavar="KEY", help="change, revoke: its id or its name")
    add("--name", default="", help="create: whose key it is, for the list")
    add("--keep-children", action="store_true", help="revoke: not the keys that it has created")
    add("--json", action="store_true", help="as JSON")
    add = parser.add_argument_group(
        "create, change", "What the key may do; without an option, everything. `any` and `none` lift one."
    ).add_argument
    add("--role", choices=ROLES, help="admins and owners manage keys (default: member)")
    add("--owner", metavar="NAME", help="create: keys of one owner share sessions, agents and usage")
    add("--expires", metavar="WHEN", help="30d, 12h, 2027-01-01, never")
    add("--route", dest="routes", metavar="GROUP", **_LIST, help="only these paths: messages, search, mcp, …")
    add("--provider", dest="providers", metavar="NAME", **_LIST, help="only these providers")
    add(
        "--model",
        dest="models",
        metavar="PATTERN",
        **_LIST,
        help="only these models: gemini-*, openai/gpt-5*",
    )
    add("--allow", dest="allowed_domains", metavar="DOMAIN…", **_LIST, help="search only these sites")
    add("--no-search", dest="may_search", action="store_const", const=False, help="no web search at all")
    add("--search", dest="may_search", action="store_const", const=True, help="change: web search again")
    add("--requests-per-minute", metavar="N", type=count_or_none, help="at most so many requests")
    add("--tokens-per-minute", metavar="N", type=count_or_none, help="at most so many tokens")
    add("--usd-per-day", metavar="USD", help="at most so much a day (UTC): 2.50")
    add("--usd-per-month", metavar="USD", help="at most so much a month (UTC)")
    _data_dir(parser)


def _backup(parser: CommandParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the archive to create; it must not exist")
    parser.add_argument("--no-index", action="store_true", help="without the pages of the index")
    _data_dir(parser)


def _restore(parser: CommandParser) -> None:
    parser.add_argument("file", metavar="FILE", help="an archive of `groundwire backup`")
    parser.add_argument("--replace", action="store_true", help="overwrite the data that is there")
    _data_dir(parser)


def _login(parser: CommandParser) -> None:
    add = parser.add_argument
    add("provider", nargs="?", default="", metavar="PROVIDER", help="whose key; without one: who takes a key")
    add("--remove", action="store_true", help="remove the stored key")
    # A key on the command line would be in the shell history; it is refused and not repeated.
    add("key", nargs="*", help=argparse.SUPPRESS)
    _data_dir(parser)


def _completion(parser: CommandParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell to complete in")


COMMANDS: dict[str, CommandSpec] = {
    "search": CommandSpec(
        "search the web and print a cited answer",
        _search_arguments,
        "Search the web and print an answer whose claims name their sources.",
        'groundwire search "who maintains SQLite?"',
        "groundwire search --provider gemini --since 7d news about Rust",
        'groundwire search "PEP 703 status" --allow python.org peps.python.org',
        "groundwire search -t compare uv and poetry",
        'groundwire search "weather tomorrow" --city Hamburg --country DE --json | jq .sources',
        "echo 'what changed in Python 3.14?' | groundwire search - --markdown > answer.md",
    ),
    "find": CommandSpec(
        "find links, without an answer",
        _find,
        "Print the links that a search engine finds: title, address, date, snippet.\n"
        "Search engines come first; if you have none, the sources of a model are printed.",
        "groundwire find sqlite write-ahead log",
        "groundwire find --provider local asyncio timeout --count 3",
        "groundwire find news about Rust --since 7d --json | jq -r '.links[].url'",
    ),
    "chat": CommandSpec(
        "ask and follow up, with citations",
        _chat,
        "A conversation with cited answers. Lines are questions; /help lists the commands. Ctrl-C stops an\n"
        "answer and keeps what came, Ctrl-D ends. In a pipe, every line is a question. Conversations are\n"
        "stored on this machine, with those of the chat page.",
        "groundwire chat",
        "groundwire chat -c                   # go on where you stopped",
        "groundwire chat --provider gemini --allow python.org",
        "printf 'what is asyncio?\\nand since when?\\n' | groundwire chat",
    ),
    "history": CommandSpec(
        "list, search and show past conversations",
        _history,
        "Conversations of the terminal and of the chat page, the last used first. With words, those that\n"
        "contain all of them.",
        "groundwire history",
        "groundwire history sqlite wal",
        "groundwire history show 3f2a --markdown > conversation.md",
        "groundwire history --json | jq -r '.conversations[].title'",
    ),
    "open": CommandSpec(
        "open a source of the last answer in the browser",
        _open,
        "Open the source with this number: of the last answer of `groundwire search` or `groundwire chat`,\n"
        "or of the last list of `groundwire find`.",
        "groundwire open 1",
        "groundwire open 2 --print | xargs curl -L",
    ),
    "verify": CommandSpec(
        "check whether cited pages say what is claimed",
        _verify,
        "Read the pages that a saved answer cites. Say of each citation whether its address leads to a\n"
        "page, whether its quote is there, and what the page has of its claim. Supported means word for\n"
        "word, or confirmed by the model of `verify.model` with a quote that is in the page.\n\n"
        "The exit code is 6 if a citation fails, and 0 otherwise.",
        'groundwire search "height of the Eiffel Tower" --json > answer.json; groundwire verify answer.json',
        "groundwire search --jsonl PEP 703 | groundwire verify --json | jq '.citations[] | select(.fails)'",
        "groundwire verify answer.json --fix",
        "groundwire verify answer.json --offline --pages mirror/",
    ),
    "compare": CommandSpec(
        "ask several providers and compare their answers",
        _compare,
        "Ask several providers at once, and show what they agree on, where they contradict each other,\n"
        "what only one says, and which sources they share. A provider that fails or stays silent does not\n"
        "hold up the others.",
        'groundwire compare "who maintains SQLite?" --providers gemini,anthropic,web',
        "groundwire compare how long is the Nile --json | jq '.claims[] | {agreement, sides}'",
        'groundwire compare "PEP 703 status" --html comparison.html --svg comparison.svg',
    ),
    "cite": CommandSpec(
        "print the sources of a saved answer as a bibliography",
        _cite,
        "Print the sources of a saved answer for a reference manager: BibTeX, RIS, CSL JSON or Markdown.",
        "groundwire cite answer.json --format ris > sources.ris",
        'groundwire search "PEP 703" --json | groundwire cite --format csl-json',
    ),
    "tool": CommandSpec(
        "run one of the tools and print its JSON result",
        _tool,
        "Run a tool as an agent would, and print its result: llmContent, returnDisplay, sources, error.",
        """groundwire tool websearch_gemini '{"query": "latest CPython release"}'""",
        """groundwire tool websearch '{"query": "SQLite", "provider": "anthropic", "max_uses": 2}'""",
        "groundwire tool geminisearch - < arguments.json",
    ),
    "tools": CommandSpec(
        "list the tools, or print their definitions",
        _tools,
        "List the tools, or print their definitions for an API.",
        "groundwire tools",
        "groundwire tools --format openai-responses",
        "groundwire tools --format mcp --lang de",
        "groundwire tools --special --format openai-responses",
    ),
    "providers": CommandSpec(
        "show whom you can ask, and what each can do",
        _providers,
        "Show the providers: whether each can be used, why, with which model, and which options it knows.",
        "groundwire providers",
        "groundwire providers --all",
        "groundwire providers --json | jq '.providers[] | select(.usable) | .name'",
    ),
    "login": CommandSpec(
        "store a vendor's key",
        _login,
        "Store the key of a vendor in credentials.toml, which only you can read. It is entered at a\n"
        "prompt without echo, or read from standard input. A key in the environment is used first.",
        "groundwire login gemini",
        "pass show brave | groundwire login brave",
        "groundwire login openai --remove",
        "groundwire login    # which providers take a key, and which have one",
    ),
    "doctor": CommandSpec(
        "find out what works and what is missing",
        _doctor,
        "Say what was found where. Nothing is sent to anybody, unless with --live.",
        "groundwire doctor",
        "groundwire doctor --live",
    ),
    "config": CommandSpec(
        "show the configuration of this run",
        _config,
        "Show the settings of this run; keys are never shown.",
        "groundwire config show",
        "groundwire config show --origin",
    ),
    "index": CommandSpec(
        "add, list, show and remove pages of your own",
        _index,
        "Pages that `groundwire search --provider local` finds: add them, look at them, remove them.\n\n"
        "add takes files, folders, web archives, web addresses and sitemaps. HTML, Markdown,\n"
        "reStructuredText, text and PDF are read. Links are followed only with --max-depth or\n"
        "--max-pages. What has not changed is not stored again; what was interrupted goes on.\n\n"
        "add python stores Python's documentation: of a folder or archive that you name, else Debian's\n"
        "python3-doc, else the archive of docs.python.org.\n\n"
        "add package stores the documents inside an installed package, a wheel or a source archive.",
        "groundwire index add docs/ --base-url https://docs.example.com/ --as-html",
        "groundwire index add https://docs.example.com/ --max-depth 3 --max-pages 500",
        "groundwire index add https://example.com/sitemap.xml crawl.warc.gz handbook.pdf",
        "groundwire index add http://wiki.intranet/ --private --max-depth 2 --collection wiki",
        "groundwire index add python",
        "groundwire index add python python-3.12-docs-html.zip --version 3.12",
        "groundwire index add package lxml",
        "groundwire index add package lxml --download",
        "groundwire index list --prefix https://docs.example.com/",
        "groundwire index show https://docs.example.com/install.html",
        "groundwire index remove --collection wiki",
        "groundwire index refresh    # what comes with Python: its library, installed packages",
    ),
    "mcp": CommandSpec(
        "serve the tools to an MCP client",
        _mcp,
        "Serve the search tools over the Model Context Protocol, on standard input and output.\n"
        "Clients start this themselves; `groundwire connect` says how to set them up.",
        "groundwire mcp",
        "groundwire mcp --all --lang de",
    ),
    "connect": CommandSpec(
        "connect Claude Code, Codex, Cline, Zed and others",
        _connect,
        "Show what a client needs in its configuration to search with groundwire, or put it there.\n"
        "Comments and order are kept; a copy of the file is kept next to it until --undo.",
        "groundwire connect --list",
        "groundwire connect claude-code",
        "groundwire connect codex --write",
        "groundwire connect opencode --tools --write",
        "groundwire connect claude-code --gateway --write",
        "groundwire connect cursor --undo",
    ),
    "serve": CommandSpec(
        "answer the clients of other vendors' APIs",
        _serve,
        "Serve the APIs of Anthropic, OpenAI and Google with cited web search.\n"
        "Ctrl-C ends it: running requests may finish, new ones are refused.",
        "groundwire serve",
        "groundwire serve --port 9000 --workers 2",
        "groundwire serve --host 0.0.0.0      # after groundwire keys create",
        "ANTHROPIC_BASE_URL=http://127.0.0.1:8484 claude",
    ),
    "keys": CommandSpec(
        "make, list, change and revoke keys for the gateway",
        _keys,
        "Keys for users of `groundwire serve`. A key is shown once, when it is made.",
        "groundwire keys create --name laptop",
        "groundwire keys create --name ci --provider gemini --usd-per-day 2 --expires 30d",
        "groundwire keys create --name team --owner acme --role admin",
        "groundwire keys list",
        "groundwire keys change ci --usd-per-day 5 --model any",
        "groundwire keys revoke laptop",
        "groundwire keys log                  # who created, changed and revoked keys",
        "groundwire keys import               # to a shared store",
    ),
    "backup": CommandSpec(
        "copy sessions, keys and index to an archive",
        _backup,
        "Copy the data of this machine to one archive: sessions and usage, keys of the gateway, pages of\n"
        "the index. A gateway may be running. The archive holds conversations and the secret that signs\n"
        "logins: keep it as safe as the data directory.",
        "groundwire backup groundwire.tar",
        "groundwire backup --no-index groundwire.tar",
    ),
    "restore": CommandSpec(
        "put the data of an archive back",
        _restore,
        "Put back what `groundwire backup` has saved. Stop the gateway first.",
        "groundwire restore groundwire.tar",
        "groundwire restore --replace groundwire.tar",
    ),
    "completion": CommandSpec(
        "print a script for completion in your shell",
        _completion,
        "Print a script that completes commands and options.",
        'eval "$(groundwire completion bash)"     # in ~/.bashrc',
        'eval "$(groundwire completion zsh)"      # in ~/.zshrc, after compinit',
        "groundwire completion fish > ~/.config/fish/completions/groundwire.fish",
    ),
}

OVERVIEW = "\n".join(
    [
        "usage: groundwire COMMAND …",
        "",
        "Cited web search with whatever key you have.",
        "",
        "commands:",
        *(f"  {name:<12}{command.summary}" for name, command in COMMANDS.items()),
        "",
        "options:",
        "  -h, --help    show this text and end",
        "  --version     show the version and end",
        "",
        'Start with: groundwire search "your question"',
        "Every command explains itself: groundwire search --help",
    ]
)
