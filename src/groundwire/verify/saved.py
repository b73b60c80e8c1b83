"""Reads saved answers: what `groundwire search` prints with `--json` or `--jsonl`, and stored answers."""

from __future__ import annotations

from typing import NamedTuple

from groundwire.dialects.extras import VERIFICATION
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.errors import ClientWireError
from groundwire.model import Answer, Citation, Evidence, Json, JsonObject, Source, Span, Text, Usage, assemble
from groundwire.model.json import decode
from groundwire.model.parts import SearchResult
from groundwire.model.source import MAX_EVIDENCE, SourceState

_STATES: dict[str, SourceState] = {"retrieved": "retrieved", "opened": "opened", "cited": "cited"}
_FORMS = "expected an answer that `groundwire search --json` or `--jsonl` has printed"


class SavedAnswer(NamedTuple):
    """An answer and the question it answers, where that is known."""

    answer: Answer
    query: str = ""
    provider: str = ""
    model: str = ""


def read_saved(text: str) -> SavedAnswer:
    """A saved answer; raises `ClientWireError`."""
    try:
        body = load_json(text, ClientWireError)
    except ClientWireError:
        return _read_lines(text)
    if not isinstance(body, dict):
        raise ClientWireError(_FORMS)
    if "type" not in body:
        return _read_answer(body)
    return _read_lines(text)


def _read_lines(text: str) -> SavedAnswer:
    """Events, one in a line; or an answer in its stored form."""
    events = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            body = load_json(line, ClientWireError)
            if isinstance(body, dict) and body.get("type") == VERIFICATION:
                continue  # the report of `--verify`, after the events
            item = decode(body)
        except ClientWireError as error:
            raise ClientWireError(f"line {number}: {error.reason}; {_FORMS}") from None
        if isinstance(item, Answer):
            return _named(item)
        events.append(item)
    if not events:
        raise ClientWireError(f"it is empty; {_FORMS}")
    return _named(assemble(events))  # type: ignore[arg-type]


def _named(answer: Answer) -> SavedAnswer:
    signature = answer.extras.get("groundwire", {})
    provider, model = signature.get("provider"), signature.get("model")
    return SavedAnswer(
        answer,
        provider=provider if isinstance(provider, str) else "",
        model=model if isinstance(model, str) else "",
    )


def _read_answer(body: JsonObject) -> SavedAnswer:
    fields = Fields.of(body, ClientWireError)
    if not isinstance(body.get("text"), str) or not isinstance(body.get("citations"), list):
        raise ClientWireError(_FORMS)
    text = fields.text("text")
    sources = tuple(_source(item) for item in _list(body, "sources"))
    citations = tuple(_citation(item, sources, len(text)) for item in _list(body, "citations")[:MAX_EVIDENCE])
    listed = SearchResult("saved", tuple(source for source in sources if source.state != "cited"))
    parts = (Text(text), listed) if listed.sources else (Text(text),)
    answer = Answer(
        parts,
        tuple(citation for citation in citations if citation.evidence),
        usage=Usage(),
        finish="stop",
        model=fields.text("model"),
    )
    return SavedAnswer(answer, fields.text("query"), fields.text("provider"), fields.text("model"))


def _list(body: JsonObject, name: str) -> list[Json]:
    found = body.get(name)
    return found if isinstance(found, list) else []


def _source(item: Json) -> Source:
    fields = Fields.of(item, ClientWireError)
    url = fields.text("url")
    domain = fields.text("domain")
    return Source(
        url, fields.text("title"), _STATES.get(fields.text("state"), "retrieved"), domain=_hidden(url, domain)
    )


def _hidden(url: str, domain: str) -> str:
    """The domain that a provider gave for a redirect; empty where the URL shows it."""
    return "" if domain and f"//{domain}" in url.replace("//www.", "//") else domain


def _citation(item: Json, sources: tuple[Source, ...], length: int) -> Citation:
    fields = Fields.of(item, ClientWireError)
    start, end = fields.integer("start"), fields.integer("end")
    fits = start is not None and end is not None and 0 <= start <= end <= length
    span = Span(start, end) if fits and start is not None and end is not None else None
    positions = [at for at in _list(fields.raw, "sources") if isinstance(at, int) and 0 <= at < len(sources)]
    quotes = [text for text in _list(fields.raw, "quotes") if isinstance(text, str)]
    evidence: list[Evidence]
    if len(quotes) == len(positions):
        evidence = [Evidence(sources[at], quote) for at, quote in zip(positions, quotes, strict=True)]
    else:
        # The format does not say which source a quote is from: each is looked for in all of them.
        evidence = [Evidence(sources[at], quote) for at in positions for quote in quotes or [""]]
    return Citation(span, tuple(evidence), "marker" if fields.text("anchor") == "marker" else "claim")
