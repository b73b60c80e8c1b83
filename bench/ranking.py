"""Ranking quality: nDCG@10 of the embedded index, plain FTS5 and plain tantivy, in one run.

Known-item search over the documentation strings of the standard library. A page is a documented object: its
title is the dotted name, its text the documentation without the first sentence, which is the query. So the
query's words are the author's, not ours; the object's own name is dropped from it. The object has gain 3,
other objects of its class or module 1. The last kind of query is the words of an object's name.

`ranked.py` has the contenders.

    python bench/ranking.py
"""

from __future__ import annotations

import inspect
import re
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ranked import DEPTH, Document, build_all, ndcg

from groundwire.engine.words import name_parts

MODULES = """
    argparse ast asyncio base64 bisect calendar cmath codecs collections configparser contextlib copy
    csv datetime decimal difflib email.message enum fractions ftplib functools gettext glob gzip hashlib
    heapq html http.client http.cookies imaplib inspect io ipaddress itertools json json.decoder
    json.encoder locale logging logging.handlers mailbox math mimetypes multiprocessing.pool operator os
    os.path pathlib pickle platform poplib pprint queue random re sched selectors shelve shlex shutil
    smtplib socket socketserver sqlite3 ssl statistics string struct subprocess tarfile tempfile
    textwrap threading time timeit tokenize traceback types unicodedata unittest.case urllib.parse
    urllib.request uuid wave weakref xml.dom.minidom xml.etree.ElementTree zipfile zlib
"""
_SENTENCE = re.compile(r"(?<=[.?!])\s+|\n\s*\n")
_LEAST_REST = 60


class Item(NamedTuple):
    """A documented object: its dotted name, the first sentence about it, and the rest."""

    name: str
    first: str
    rest: str

    @property
    def home(self) -> str:
        """The class or module that defines it."""
        return self.name.rpartition(".")[0]


class RankingQuery(NamedTuple):
    """A query and the object it should find."""

    query: str
    item: Item


def items() -> list[Item]:
    found: dict[str, Item] = {}
    for module in MODULES.split():
        for name, documentation in documented(module):
            first, *rest = _SENTENCE.split(documentation.strip(), maxsplit=1)
            if rest and len(rest[0].strip()) >= _LEAST_REST and len(first.split()) >= 4:
                found.setdefault(name, Item(name, " ".join(first.split()), rest[0].strip()))
    texts: dict[str, Item] = {}
    for item in found.values():
        texts.setdefault(item.first + item.rest, item)
    return list(texts.values())


def documented(module: str) -> Iterator[tuple[str, str]]:
    """The public functions, classes and methods of a module with their own documentation."""
    loaded = import_module(module)
    for name, member in sorted(vars(loaded).items()):
        if name.startswith("_") or not (inspect.isroutine(member) or inspect.isclass(member)):
            continue
        home = getattr(member, "__module__", None) or module
        if home.partition(".")[0].strip("_") != module.partition(".")[0]:
            continue
        yield f"{module}.{name}", inspect.cleandoc(member.__doc__ or "")
        for inner, method in sorted(vars(member).items()) if inspect.isclass(member) else ():
            if not inner.startswith("_") and isinstance(getattr(method, "__doc__", None), str):
                yield f"{module}.{name}.{inner}", inspect.cleandoc(method.__doc__)


def queries(found: list[Item]) -> dict[str, list[RankingQuery]]:
    sentences = []
    for item in found:
        own = {part.casefold() for part in name_parts(item.name.rpartition(".")[2])}
        own.add(item.name.rpartition(".")[2].casefold())
        words = [word for word in item.first.split() if re.sub(r"\W", "", word).casefold() not in own]
        if len(words) >= 3:
            sentences.append(RankingQuery(" ".join(words), item))
    questions = [
        RankingQuery(f"How do I {query[:1].lower()}{query[1:].rstrip('.')}?", item)
        for query, item in sentences
    ]
    names = [RankingQuery(" ".join(name_parts(item.name)).lower(), item) for item in found]
    return {"first sentence": sentences, "as a question": questions, "words of the name": names}


def address(item: Item) -> str:
    return f"https://docs.python.org/3/library/{item.home}.html#{item.name}"


def score_of(ranked: list[str], wanted: Item, neighbours: int) -> float:
    gains = [3 if name == wanted.name else name.rpartition(".")[0] == wanted.home for name in ranked]
    return ndcg(gains, [3, *(1 for _ in range(neighbours))])


def main() -> None:
    found = items()
    homes = [item.home for item in found]
    with tempfile.TemporaryDirectory() as root:
        documents = [Document(address(item), item.name, item.rest) for item in found]
        searches = build_all(Path(root), documents)
        print(f"{len(found):,} pages\n")
        print("| queries | engine | nDCG@10 | first | in the first ten |\n|---|---|--:|--:|--:|")
        for kind, ranking_queries in queries(found).items():
            for name, search in searches.items():
                lists = [(names_of(search(query)), item) for query, item in ranking_queries]
                score = sum(score_of(ranked, item, homes.count(item.home) - 1) for ranked, item in lists)
                first = sum(ranked[:1] == [item.name] for ranked, item in lists)
                among = sum(item.name in ranked[:DEPTH] for ranked, item in lists)
                count = len(lists)
                shares = f"{score / count:.3f} | {first / count:.1%} | {among / count:.1%}"
                print(f"| {kind} ({count:,}) | {name} | {shares} |")


def names_of(urls: list[str]) -> list[str]:
    return [url.rpartition("#")[2] for url in urls]


if __name__ == "__main__":
    main()
