"""Judged collections of `../shared/data`: Cranfield, and XQuAD-R within and across two languages.

A document of Cranfield is an abstract; all judged relevant ones have gain 1. A document of XQuAD-R is a
sentence; the one that has the answer is relevant. For a German question over English sentences that is the
relevant one of the same question in English.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ranked import ENGINES, FUSED_ENGINES, Document, build_all, ndcg

DATA = Path(__file__).parents[2] / "shared" / "data"
_ABSTRACT = re.compile(r"<docno>(.*?)</docno>.*?<title>(.*?)</title>.*?<text>(.*?)</text>", re.DOTALL)
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)


class Collection(NamedTuple):
    """Documents, and queries with the addresses of what is relevant."""

    documents: list[Document]
    queries: list[tuple[str, frozenset[str]]]


class RankingResult(NamedTuple):
    """How well an engine ranks a collection."""

    collection: str
    engine: str
    queries: int
    ndcg: float
    first: float


def collections() -> Iterator[tuple[str, Collection]]:
    """The collections that are on this machine."""
    if (DATA / "cranfield").is_dir():
        yield "Cranfield", cranfield(DATA / "cranfield")
    if (DATA / "xquad-r").is_dir():
        english, german = (sentences(DATA / "xquad-r", language) for language in ("en", "de"))
        yield "XQuAD-R en", english
        yield "XQuAD-R de", german
        crossed = zip(german.queries, english.queries, strict=True)
        yield (
            "XQuAD-R de to en",
            Collection(english.documents, [(query, wanted) for (query, _), (_, wanted) in crossed]),
        )


def measure(root: Path) -> Iterator[RankingResult]:
    """Every engine on every collection."""
    for name, collection in collections():
        for engine, search in build_all(root / name, collection.documents, ENGINES | FUSED_ENGINES).items():
            score, first = 0.0, 0
            for query, relevant in collection.queries:
                ranked = search(query)
                score += ndcg([url in relevant for url in ranked], [1] * len(relevant))
                first += bool(relevant.intersection(ranked[:1]))
            count = len(collection.queries)
            yield RankingResult(name, engine, count, score / count, first / count)


def cranfield(folder: Path) -> Collection:
    """The judgements number the queries in their order in the file, not by the numbers written there."""
    text = (folder / "cran.all.1400.xml").read_text("utf-8")
    documents = [
        Document(f"https://cranfield.example/{number.strip()}", _one_line(title), body.strip())
        for number, title, body in _ABSTRACT.findall(text)
    ]
    relevant: dict[int, set[str]] = {}
    for line in (folder / "cranqrel.trec.txt").read_text("utf-8").splitlines():
        match line.split():
            case [query, _, number, gain] if int(gain) > 0:
                relevant.setdefault(int(query), set()).add(f"https://cranfield.example/{number}")
    queries = _TITLE.findall((folder / "cran.qry.xml").read_text("utf-8"))
    judged = [
        (_one_line(query), frozenset(relevant[number]))
        for number, query in enumerate(queries, 1)
        if number in relevant
    ]
    return Collection(documents, judged)


def sentences(folder: Path, language: str) -> Collection:
    """Sentences of one language. Both languages have the same questions in the same order."""
    documents: list[Document] = []
    queries: dict[str, tuple[str, frozenset[str]]] = {}
    articles = json.loads((folder / f"{language}.json").read_text("utf-8"))["data"]
    for number, paragraph in enumerate(item for article in articles for item in article["paragraphs"]):
        base = f"https://xquad.example/{language}/{number}"
        for at, sentence in enumerate(paragraph["sentences"]):
            documents.append(Document(f"{base}/{at}", "", sentence, language))
        for row in paragraph["qas"]:
            start = row["answers"][0]["answer_start"]
            at = sum(end <= start for _, end in paragraph["sentence_breaks"])
            queries[row["id"]] = row["question"], frozenset([f"{base}/{at}"])
    return Collection(documents, [queries[identity] for identity in sorted(queries)])


def _one_line(text: str) -> str:
    return " ".join(text.split())
