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
        kind, _, words = message.partition(": ")
        if kind == "the following arguments are required":
            message = self._missing()
        elif kind == "unrecognized arguments":
            message = self._unknown(words.split(" ")[0])
        raise UsageError(message, self.prog)

    def _missing(self) -> str:
        """Names the first argument that is required; argparse also names those that are not."""
        first = next(action for action in self._get_positional_actions() if action.nargs not in ("*", "?"))
        if first.choices:
            return f"missing {first.dest}: choose one of {', '.join(map(str, first.choices))}"
        return f"missing argument {first.metavar or first.dest}"

    def _unknown(self, word: str) -> str:
        if not word.startswith("-"):
            return f"unexpected argument {word!r}"
        from difflib import get_close_matches  # noqa: PLC0415  imported only for an error

        options = [option for action in self._actions for option in action.option_strings]
        near = get_close_matches(word.partition("=")[0], options, 1, _CLOSE)
        return f"unknown option {word}" + (f"; did you mean {near[0]}?" if near else "")


_CLOSE = 0.75
"""Similarity from which on an option is suggested; the dashes alone make short ones alike."""


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
        parser.add_argument("-h", "--help", action="help", help="show this help and exit")
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


class _HelpFormatter(argparse.HelpFormatter):
    """Wraps the paragraphs of a description; the examples stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("examples:"):
            return text
        fill = super()._fill_text
        return "\n\n".join(fill(paragraph, width, indent) for paragraph in text.split("\n\n"))


def _formatter(prog: str) -> argparse.HelpFormatter:
    # Without a width, argparse imports shutil, which takes longer than the rest of the help.
    try:
        columns = os.get_terminal_size().columns
    except OSError:
        columns = 100
    return _HelpFormatter(prog, max_help_position=26, width=min(columns, 100) - 2)


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
    parser.add_argument("--data-dir", metavar="DIR", help="directory of sessions, index and keys")


def _search_arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("query", nargs="+", metavar="QUERY", help="the question; several words need no quotes; - reads stdin")
    _target(parser)
    add = parser.add_argument_group("output").add_argument
    add("--json", action="store_true", help="print the answer as one JSON object")
    add("--jsonl", action="store_true", help="print each event as it arrives, one JSON object per line")
    add("--markdown", action="store_true", help="print Markdown; citation numbers are links")
    add("--raw", action="store_true", help="print the text without citation numbers and sources")
    add("--format", choices=BIBLIOGRAPHIES, help="print only the sources, as a bibliography")
    add("--no-stream", action="store_true", help="wait until the answer is complete")
    add("--verify", action="store_true", help="read the cited pages and check the claims against them")
    add(
        "--resolve",
        action="store_true",
        default=None,
        help="replace Gemini's redirect URLs by the URLs of the pages",
    )
    _answer_options(parser)
    _data_dir(parser)


def _target(parser: CommandParser) -> None:
    add = parser.add_argument
    add("--provider", metavar="NAME", default="", help="the provider (default: the first usable one)")
    add("--model", metavar="NAME", default="", help="the model, or provider/model, or an alias")
    add("-t", "--template", metavar="NAME", default="", help="use a template from the configuration")


def _answer_options(parser: CommandParser) -> None:
    """Add the options of every search that is answered."""
    add = _search_options(parser).add_argument
    add("--max-sources", metavar="N", type=count, help="maximum number of sources")
    add("--max-uses", metavar="N", type=count, help="maximum number of searches")
    add("--max-cost", metavar="USD", type=amount, help="refuse the request if its answer could cost more")
    add("--context", choices=("low", "medium", "high"), help="how much of each page the model reads")


def _find(parser: CommandParser) -> None:
    add = parser.add_argument
    add("query", nargs="+", metavar="QUERY", help="the query; several words need no quotes; - reads stdin")
    add("--provider", metavar="NAME", default="auto", help="the engine (default: the first usable one)")
    add("--json", action="store_true", help="print JSON")
    add = _search_options(parser).add_argument
    add("--count", metavar="N", dest="max_sources", type=count, help="number of links (default: 10)")
    _data_dir(parser)


def _search_options(parser: CommandParser) -> argparse._ArgumentGroup:
    """Add the options of every search; returns their group."""
    group = parser.add_argument_group(
        "search options",
        "If the provider cannot apply --allow, --block or --no-live, the request is refused. If it cannot\n"
        "apply another option, a warning is printed.",
    )
    add = group.add_argument
    add("--allow", metavar="DOMAIN…", action="extend", type=domains, help="search only these sites")
    add("--block", metavar="DOMAIN…", action="extend", type=domains, help="never use these sites")
    add(
        "--no-live",
        dest="live",
        action="store_const",
        const=False,
        help="use only pages that the provider has stored",
    )
    add("--country", metavar="CODE", type=checked("COUNTRY"), help="your country, as two letters: DE")
    add("--city", metavar="NAME", type=checked("TEXT"), help="your city")
    add("--region", metavar="NAME", type=checked("TEXT"), help="your region or state")
    add("--timezone", metavar="NAME", type=checked("TEXT"), help="your time zone: Europe/Berlin")
    add("--language", metavar="CODE", type=checked("TEXT"), help="preferred language of the pages: de")
    add("--since", metavar="WHEN", type=checked("SINCE"), help="only pages newer than this: 7d, 2026-01-01")
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
        help="words to search for, or `show ID` to print one conversation",
    )
    add("--limit", metavar="N", type=count, default=20, help="number of conversations to list (default: 20)")
    add("--json", action="store_true", help="print JSON")
    add("--markdown", action="store_true", help="with show: print Markdown with footnotes")
    _data_dir(parser)


def _open(parser: CommandParser) -> None:
    parser.add_argument("number", metavar="N", type=count, help="number of the source")
    parser.add_argument("--print", dest="only_print", action="store_true", help="print the address instead")
    _data_dir(parser)


def _verify(parser: CommandParser) -> None:
    add = parser.add_argument
    add("answer", nargs="?", default="-", metavar="ANSWER", help="file with a saved answer (default: stdin)")
    add("--json", action="store_true", help="print all facts as one JSON object")
    add("--all", action="store_true", help="show details of supported citations too")
    add("--fix", action="store_true", help="ask the provider again, with a list of what failed")
    add = parser.add_argument_group("pages", "Only addresses that the answer cites are fetched.").add_argument
    add("--offline", action="store_true", help="use only stored pages; send no request")
    add(
        "--pages",
        metavar="FOLDER",
        default="",
        help="folder of stored pages: HOST/PATH, as wget -x writes them",
    )
    add("--follow", action="store_true", help="follow redirects to other sites")
    add(
        "--resolve",
        action="store_true",
        default=None,
        help="replace Gemini's redirect URLs by the URLs of the pages",
    )
    add(
        "--allow",
        metavar="DOMAIN…",
        action="extend",
        type=domains,
        help="fail if a source is from another site",
    )
    add(
        "--block",
        metavar="DOMAIN…",
        action="extend",
        type=domains,
        help="fail if a source is from one of these sites",
    )
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
    add("query", nargs="+", metavar="QUERY", help="the question; several words need no quotes; - reads stdin")
    add(
        "--providers",
        metavar="A,B,…",
        default="",
        help="providers, or provider/model (default: all usable ones)",
    )
    add(
        "--timeout",
        metavar="S",
        type=seconds,
        default=120.0,
        help="time limit for the comparison, in seconds (default: 120)",
    )
    add(
        "--wait",
        metavar="S",
        type=seconds,
        help="time limit for the last provider after the others, in seconds",
    )
    add = parser.add_argument_group("output").add_argument
    add("--json", action="store_true", help="print the comparison as one JSON object")
    add("--html", metavar="FILE", default="", help="also write a web page")
    add("--svg", metavar="FILE", default="", help="also write a picture")
    add("--png", metavar="FILE", default="", help="the same as PNG; needs groundwire[pictures]")
    add(
        "--no-image",
        action="store_true",
        help="show no picture in terminals that can (kitty, Ghostty, iTerm2, WezTerm)",
    )
    add = parser.add_argument_group("search options").add_argument
    add("--allow", metavar="DOMAIN…", action="extend", type=domains, help="search only these sites")
    add("--block", metavar="DOMAIN…", action="extend", type=domains, help="never use these sites")
    add("--language", metavar="CODE", type=checked("TEXT"), help="preferred language of the pages: de")
    add("--since", metavar="WHEN", type=checked("SINCE"), help="only pages newer than this: 7d, 2026-01-01")
    _data_dir(parser)


def _cite(parser: CommandParser) -> None:
    add = parser.add_argument
    add("answer", nargs="?", default="-", metavar="ANSWER", help="file with a saved answer (default: stdin)")
    add("--format", choices=BIBLIOGRAPHIES, default="bibtex", help="format (default: bibtex)")


def _tool(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the tool; `groundwire tools` lists them")
    parser.add_argument(
        "arguments",
        metavar="ARGUMENTS",
        nargs="?",
        default="{}",
        help="arguments as a JSON object; - reads stdin",
    )
    _data_dir(parser)


def _tools(parser: CommandParser) -> None:
    parser.add_argument("--format", choices=FORMATS, help="print definitions for this API")
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help="language of the descriptions")
    parser.add_argument(
        "--special",
        action="store_true",
        help="print webSearch and googleSearch, which the model's provider runs itself; with --format, the "
        "entry that enables them in a request",
    )


def _providers(parser: CommandParser) -> None:
    parser.add_argument("--all", action="store_true", help="also list providers that you have not set up")
    parser.add_argument("--json", action="store_true", help="print JSON")
    _data_dir(parser)


def _doctor(parser: CommandParser) -> None:
    parser.add_argument(
        "--live", dest="ask", action="store_true", help="also send a short request to each provider"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    _data_dir(parser)


def _config(parser: CommandParser) -> None:
    parser.add_argument("action", choices=("show",), help="show: print every setting that has a value")
    parser.add_argument("--origin", action="store_true", help="add where each setting comes from")
    parser.add_argument("--json", action="store_true", help="print JSON")
    _data_dir(parser)


def _index(parser: CommandParser) -> None:
    add = parser.add_argument
    add("action", choices=INDEX_ACTIONS, help="what to do with the index")
    add("what", nargs="*", metavar="WHAT", help="add: files, folders, URLs; show, remove: URLs of pages")
    add("--collection", metavar="NAME", help="add to, list or remove this collection")
    add("--json", action="store_true", help="print JSON")
    add = parser.add_argument_group("add").add_argument
    add("--base-url", metavar="URL", type=address, help="URL of the file or folder on the web")
    add("--as-html", action="store_true", help="on the web, .md and .rst files end in .html")
    add("--max-depth", metavar="N", type=count, help="follow links within the site, up to this depth")
    add(
        "--max-pages", metavar="N", type=count, help="follow links, up to this number of pages (default: 200)"
    )
    add("--language", metavar="CODE", type=language, help="language of pages that do not declare one: de")
    add("--private", action="store_true", help="allow URLs in your private network")
    add = parser.add_argument_group("add python").add_argument
    add("--version", metavar="X.Y", dest="docs_version", type=python_version, help="Python version")
    add(
        "--all",
        action="store_true",
        dest="everything",
        help="include the C API and the guide to extending Python",
    )
    add = parser.add_argument_group("add package").add_argument
    add("--download", action="store_true", help="download the source archive with pip")
    add = parser.add_argument_group("list").add_argument
    add("--prefix", metavar="URL", help="only URLs that begin with this")
    _data_dir(parser)


def _mcp(parser: CommandParser) -> None:
    parser.add_argument(
        "--all", action="store_true", help="offer every tool, even if its provider has no key"
    )
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help="language of the descriptions")
    _data_dir(parser)


def _connect(parser: CommandParser) -> None:
    add = parser.add_argument
    add(
        "client",
        nargs="?",
        choices=CLIENTS,
        metavar="PROGRAM",
        help="name of the program, as --list prints it",
    )
    add(
        "--list",
        action="store_true",
        help="list the programs, whether they are installed, and their configuration files",
    )
    add("--write", action="store_true", help="edit the configuration file of the program; a backup is kept")
    add("--undo", action="store_true", help="restore the file as it was before --write")
    add = parser.add_argument_group(
        "kind of connection (default: the program starts `groundwire mcp`)"
    ).add_argument
    add("--http", action="store_true", help="use the MCP server of a running gateway")
    add("--gateway", action="store_true", help="send its model requests through a running gateway")
    add("--tools", action="store_true", help="install custom tools with fixed names (opencode only)")
    add("--url", metavar="URL", type=address, help="URL of the gateway (default: http://127.0.0.1:8484)")


class _ListArgument(TypedDict):
    action: str
    type: Callable[[str], list[str]]


_LIST: _ListArgument = {"action": "extend", "type": texts}


def _serve(parser: CommandParser) -> None:
    add = parser.add_argument
    add("--host", metavar="ADDRESS", help="address to bind (default: 127.0.0.1); others need a key")
    add("--port", metavar="N", type=port, help="port (default: 8484); 0 chooses a free one")
    add("--workers", metavar="N", type=count, default=1, help="number of processes (default: 1)")
    add(
        "--drain",
        metavar="SECONDS",
        type=count,
        default=30,
        help="time for running answers at shutdown (default: 30)",
    )
    add(
        "--drain-delay",
        metavar="SECONDS",
        type=pause,
        default=0,
        help="time before that in which only /readyz fails (default: 0)",
    )
    add(
        "--log-level",
        choices=LOG_LEVELS,
        default="info",
        help="log level of the JSON lines on stderr (default: info)",
    )
    _data_dir(parser)


def _keys(parser: CommandParser) -> None:
    add = parser.add_argument
    add("action", choices=KEY_ACTIONS, help="what to do with the keys")
    add("which", nargs="?", default="", metavar="KEY", help="change, revoke: id or name of the key")
    add("--name", default="", help="create: a name, shown by list")
    add("--keep-children", action="store_true", help="revoke: keep the keys that were created with it")
    add("--json", action="store_true", help="print JSON")
    add = parser.add_argument_group(
        "create, change", "Limits of the key; without options it has none. `any` or `none` removes a limit."
    ).add_argument
    add("--role", choices=ROLES, help="admins and owners may manage keys (default: member)")
    add("--owner", metavar="NAME", help="create: keys of the same owner share sessions, agents and usage")
    add("--expires", metavar="WHEN", help="30d, 12h, 2027-01-01 or never")
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
    add("--no-search", dest="may_search", action="store_const", const=False, help="forbid web search")
    add(
        "--search", dest="may_search", action="store_const", const=True, help="change: allow web search again"
    )
    add(
        "--requests-per-minute", metavar="N", type=count_or_none, help="maximum number of requests per minute"
    )
    add("--tokens-per-minute", metavar="N", type=count_or_none, help="maximum number of tokens per minute")
    add("--usd-per-day", metavar="USD", help="budget per day (UTC): 2.50")
    add("--usd-per-month", metavar="USD", help="budget per month (UTC)")
    _data_dir(parser)


def _backup(parser: CommandParser) -> None:
    parser.add_argument("file", metavar="FILE", help="archive to create; it must not exist yet")
    parser.add_argument("--no-index", action="store_true", help="leave out the pages of the index")
    _data_dir(parser)


def _restore(parser: CommandParser) -> None:
    parser.add_argument("file", metavar="FILE", help="archive that `groundwire backup` created")
    parser.add_argument("--replace", action="store_true", help="overwrite existing data")
    _data_dir(parser)


def _login(parser: CommandParser) -> None:
    add = parser.add_argument
    add(
        "provider",
        nargs="?",
        default="",
        metavar="PROVIDER",
        help="the provider; without one, list the providers that take a key",
    )
    add("--remove", action="store_true", help="remove the stored key")
    # A key on the command line would be in the shell history; it is refused and not repeated.
    add("key", nargs="*", help=argparse.SUPPRESS)
    _data_dir(parser)


def _completion(parser: CommandParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="your shell")


COMMANDS: dict[str, CommandSpec] = {
    "search": CommandSpec(
        "search the web and print a cited answer",
        _search_arguments,
        "Search the web and print an answer with citations.",
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
        "If no search engine is usable, print the sources that a model found.",
        "groundwire find sqlite write-ahead log",
        "groundwire find --provider local asyncio timeout --count 3",
        "groundwire find news about Rust --since 7d --json | jq -r '.links[].url'",
    ),
    "chat": CommandSpec(
        "ask and follow up, with citations",
        _chat,
        "Start a conversation with cited answers. Each line is a question; /help lists the commands. Ctrl-C\n"
        "stops an answer and keeps the received part, Ctrl-D exits. In a pipe, each line is a question.\n"
        "Conversations are stored, and the chat page shows them too.",
        "groundwire chat",
        "groundwire chat -c                   # continue the last conversation",
        "groundwire chat --provider gemini --allow python.org",
        "printf 'what is asyncio?\\nand since when?\\n' | groundwire chat",
    ),
    "history": CommandSpec(
        "list, search and show past conversations",
        _history,
        "List conversations of the terminal and of the chat page, the last used first. With words, list\n"
        "those that contain all of them. `show ID` prints one; the beginning of its id is enough.",
        "groundwire history",
        "groundwire history sqlite wal",
        "groundwire history show 3f2a --markdown > conversation.md",
        "groundwire history --json | jq -r '.conversations[].title'",
    ),
    "open": CommandSpec(
        "open a source of the last answer in the browser",
        _open,
        "Open a source of the last answer of `groundwire search` or `groundwire chat`, or a link of the\n"
        "last `groundwire find`, in the browser.",
        "groundwire open 1",
        "groundwire open 2 --print | xargs curl -L",
    ),
    "verify": CommandSpec(
        "check whether cited pages say what is claimed",
        _verify,
        "Read the pages that a saved answer cites, and report for each citation whether the page exists,\n"
        "contains the quote and supports the claim. Supported means that the claim is in the page word for\n"
        "word, or that the model of `verify.model` confirmed it with a quote from the page.\n\n"
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
        "what only one says, and which sources they share. A provider that fails or does not answer does\n"
        "not delay the others.",
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
        "list the providers and what each supports",
        _providers,
        "List the providers: whether each is usable and why, its model, and the search options it supports.",
        "groundwire providers",
        "groundwire providers --all",
        "groundwire providers --json | jq '.providers[] | select(.usable) | .name'",
    ),
    "login": CommandSpec(
        "store the API key of a provider",
        _login,
        "Store the API key of a provider in credentials.toml, which only you can read. The key is entered\n"
        "at a prompt without echo, or read from standard input. A key in the environment takes precedence.",
        "groundwire login gemini",
        "pass show brave | groundwire login brave",
        "groundwire login openai --remove",
        "groundwire login    # which providers take a key, and which have one",
    ),
    "doctor": CommandSpec(
        "check the setup: what works, what is missing",
        _doctor,
        "Check the setup: versions, configuration, data, credentials, providers. No request is sent unless\n"
        "you add --live.",
        "groundwire doctor",
        "groundwire doctor --live",
    ),
    "config": CommandSpec(
        "show the settings in effect",
        _config,
        "Show the settings in effect. Secrets are never shown.",
        "groundwire config show",
        "groundwire config show --origin",
    ),
    "index": CommandSpec(
        "add, list, show and remove your own pages",
        _index,
        "Manage the pages that `groundwire search --provider local` searches.\n\n"
        "`add` takes files, folders, web archives, URLs and sitemaps, and reads HTML, Markdown,\n"
        "reStructuredText, plain text and PDF. It follows links only with --max-depth or --max-pages, and\n"
        "skips unchanged pages. If it is interrupted, the same command continues.\n\n"
        "`add python` stores Python's documentation: from the folder or archive that you name, otherwise\n"
        "from Debian's python3-doc, otherwise from docs.python.org.\n\n"
        "`add package` stores the documents in an installed package, a wheel or a source archive.",
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
        "groundwire index refresh    # Python's library and installed packages",
    ),
    "mcp": CommandSpec(
        "run the MCP server on stdin and stdout",
        _mcp,
        "Serve the search tools over the Model Context Protocol, on standard input and output.\n"
        "MCP clients start this command themselves; `groundwire connect` configures them.",
        "groundwire mcp",
        "groundwire mcp --all --lang de",
    ),
    "connect": CommandSpec(
        "connect Claude Code, Codex, Cline, Zed and others",
        _connect,
        "Print the configuration that a program needs to search with groundwire, or write it (--write).\n"
        "Comments and order in its file are preserved, and a backup is kept until --undo.",
        "groundwire connect --list",
        "groundwire connect claude-code",
        "groundwire connect codex --write",
        "groundwire connect opencode --tools --write",
        "groundwire connect claude-code --gateway --write",
        "groundwire connect cursor --undo",
    ),
    "serve": CommandSpec(
        "run the gateway: vendors' APIs, chat page, MCP",
        _serve,
        "Run the gateway: the APIs of Anthropic, OpenAI and Google with cited web search, the chat page and\n"
        "an MCP server. Ctrl-C stops it: running requests finish, new ones are refused.",
        "groundwire serve",
        "groundwire serve --port 9000 --workers 2",
        "groundwire serve --host 0.0.0.0      # after groundwire keys create",
        "ANTHROPIC_BASE_URL=http://127.0.0.1:8484 claude",
    ),
    "keys": CommandSpec(
        "create, list, change and revoke keys of the gateway",
        _keys,
        "Manage the keys that clients of `groundwire serve` send. A key is shown once, when it is created.",
        "groundwire keys create --name laptop",
        "groundwire keys create --name ci --provider gemini --usd-per-day 2 --expires 30d",
        "groundwire keys create --name team --owner acme --role admin",
        "groundwire keys list",
        "groundwire keys change ci --usd-per-day 5 --model any",
        "groundwire keys revoke laptop",
        "groundwire keys log                  # who created, changed and revoked keys",
        "groundwire keys import               # copy the keys of this machine to a shared store",
    ),
    "backup": CommandSpec(
        "copy sessions, keys and index to an archive",
        _backup,
        "Copy the data of this machine to one archive: sessions, usage, keys of the gateway, and pages of\n"
        "the index. The gateway may be running. The archive contains conversations and the secret that\n"
        "signs logins, so protect it like the data directory.",
        "groundwire backup groundwire.tar",
        "groundwire backup --no-index groundwire.tar",
    ),
    "restore": CommandSpec(
        "restore data from an archive",
        _restore,
        "Restore what `groundwire backup` saved. Stop the gateway first.",
        "groundwire restore groundwire.tar",
        "groundwire restore --replace groundwire.tar",
    ),
    "completion": CommandSpec(
        "print a completion script for your shell",
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
        "Cited web search for every model, client and provider.",
        "",
        "commands:",
        *(f"  {name:<12}{command.summary}" for name, command in COMMANDS.items()),
        "",
        "options:",
        "  -h, --help    show this help and exit",
        "  --version     print the version and exit",
        "",
        'Start with: groundwire search "your question"',
        "Help for a command: groundwire search --help",
    ]
)
