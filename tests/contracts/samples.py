"""Sample answers that together contain everything an answer can contain.

Each sample is a canonical `Answer`; `answer_events` gives its events, in the orders in which providers send
them: citations with their text, after all text, or before it. Texts are chosen to be difficult: scripts
outside the Basic Multilingual Plane, combining marks, characters that look like line ends, brackets without
a meaning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, TypeAlias, get_args

from groundwire.dialects.base import Dialect, Reply
from groundwire.dialects.features import Feature, project
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import GroundwireError, Interrupted, Overloaded, RateLimited, UpstreamWireError
from groundwire.model import (
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    ExtrasSeen,
    Failed,
    Finished,
    FinishReason,
    Image,
    JsonObject,
    Message,
    Opaque,
    Part,
    PartAdded,
    Reasoning,
    ReasoningDelta,
    Request,
    SearchCall,
    SearchCalled,
    SearchOptions,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    Span,
    Started,
    Text,
    TextDelta,
    TextSettled,
    ToolCall,
    ToolCallDelta,
    Usage,
    UsageSeen,
    Warned,
    assemble,
)
from groundwire.model.value import replace

Order: TypeAlias = Literal["settled", "late", "early"]
ORDERS: tuple[Order, ...] = get_args(Order)
"""When citations come: before their part is settled, after all text, before all text."""
Form: TypeAlias = Order | Literal["whole"]
FORMS: tuple[Form, ...] = ("whole", *ORDERS)

TOKENS = Usage(input_tokens=1200, output_tokens=340)

RIVERS = Source("https://alpha.example/rivers", "Rivers of the world")
NILE = Source("https://wiki.example/wiki/Nile_(river)?lang=en&page=2", 'Nile: "the" [longest] & <oldest>')
AMAZON = Source("https://beta.example/amazon", "Der Amazonas – Länge und Gefälle")
TOKYO = Source("https://例え.example/東京/川", "東京の川 🗼")
BARE = Source("https://gamma.example/untitled")


@dataclass(frozen=True, slots=True)
class Sample:
    """An answer with a name for the report of a failed test."""

    name: str
    answer: Answer


def make_answer(*parts: Part | str, cites: Sequence[Citation] = (), usage: Usage = TOKENS) -> Answer:
    """A complete answer; bare strings are text parts."""
    whole = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Answer(whole, _in_order(cites), usage, finish="stop")


def cite(text: str, fragment: str, *evidence: Source | Evidence, at: int = 0) -> Citation:
    """The claim that is the `at`-th occurrence of a fragment."""
    start = -1
    for _ in range(at + 1):
        start = text.index(fragment, start + 1)
    return Citation(Span(start, start + len(fragment)), _evidence(evidence))


def mark(text: str, fragment: str, *evidence: Source | Evidence) -> Citation:
    """The same for a marker in place of its source."""
    return replace(cite(text, fragment, *evidence), anchor="marker")


def unplaced(*evidence: Source | Evidence) -> Citation:
    """A citation of the answer as a whole."""
    return Citation(None, _evidence(evidence))


def search(number: int, *queries: str, found: Sequence[Source] = (), error: str = "") -> tuple[Part, Part]:
    """A search call and its result."""
    return SearchCall(f"s{number}", queries), SearchResult(f"s{number}", tuple(found), error)


def _evidence(items: Sequence[Source | Evidence]) -> tuple[Evidence, ...]:
    whole = (Evidence(item) if isinstance(item, Source) else item for item in items)
    return tuple(replace(item, source=replace(item.source, state="cited")) for item in whole)


def _in_order(cites: Sequence[Citation]) -> tuple[Citation, ...]:
    return tuple(sorted(cites, key=lambda item: (item.span is None, item.span or Span(0, 0), item.anchor)))


_CLAIMS = "The Nile is 6650 km long. The Amazon carries more water. Nobody knows the oldest."
_SCRIPTS = (
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 first. Cafe\u0301 ole\u0301 cost 3 €.\r\n👩‍👩‍👧‍👦 is a family; 🏳️‍🌈 a flag.\r\n"
    "東京の隅田川は二十三キロ。\u2028النيل هو أطول الأنهار.\u2029हिन्दी में नदी। 😀😀 done."
)
_NESTED = "Alpha says that beta holds and gamma follows. End."
_MARKED = (
    "The Nile is long ([wiki.example](https://wiki.example/wiki/Nile_(river)?lang=en&page=2)). "
    "So is the Amazon [Der Amazonas](https://beta.example/amazon)"
    "([alpha.example](https://alpha.example/rivers)).\n\nOthers 🐟 are not."
)
_LINKED = (
    "Rivers flow ([alpha.example](https://alpha.example/rivers)). They carry sand. "
    "See [the list](https://alpha.example/rivers) again."
)
_SYMBOLS = "Rivers flow【3:2†source】 to the sea【3:4†source】. Done."
_LITERAL = "In a[1] and b[2] the index [3] counts; [4] is no source. Rivers flow."
_MARKDOWN = (
    "# Rivers\n\n| a | b |\n|---|---|\n| `x[0]` | **1** |\n\n```py\nprint('<b>&amp;\\n</b>')\n```\n"
    "An [uncited link](https://delta.example/none) and https://epsilon.example/bare. Rivers flow.\n"
)
_CONTROLS = " \t\x0b\x0c\x1c\x1d\x1e\x85\x7f control \\u0041 \"quotes\" 'and' \\ slashes/ \ufeff end. "


def _grounded() -> Iterator[Sample]:
    yield Sample("plain text", make_answer("Nothing was searched."))
    yield Sample("nothing at all", make_answer())
    report: JsonObject = {"type": "file_citation", "file_id": "file_1", "filename": "a.pdf"}
    file = Evidence(Source("", "a.pdf", "cited"), extras={"openai_responses": report})
    yield Sample("a file", make_answer("It is so.", cites=[Citation(Span(8, 8), (file,))]))
    yield Sample(
        "claims after a search",
        make_answer(
            *search(0, "longest river", found=(RIVERS, AMAZON, BARE)),
            _CLAIMS,
            cites=[
                cite(_CLAIMS, "The Nile is 6650 km long.", Evidence(RIVERS, "Nile, 6650 km")),
                cite(_CLAIMS, "carries more water", AMAZON, BARE),
            ],
        ),
    )
    yield Sample(
        "many scripts",
        make_answer(
            _SCRIPTS,
            cites=[
                cite(_SCRIPTS, "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 first.", RIVERS),
                cite(_SCRIPTS, "Cafe\u0301 ole\u0301", AMAZON),
                cite(_SCRIPTS, "👩‍👩‍👧‍👦", NILE),
                cite(_SCRIPTS, "東京の隅田川は二十三キロ。", Evidence(TOKYO, "隅田川 23.5 km 🌊")),
                cite(_SCRIPTS, "أطول الأنهار", RIVERS),
                cite(_SCRIPTS, "नदी", BARE),
                cite(_SCRIPTS, "😀 done.", NILE),
            ],
        ),
    )
    yield Sample(
        "nested claims",
        make_answer(
            _NESTED,
            cites=[
                cite(_NESTED, "Alpha says that beta holds and gamma follows.", RIVERS),
                cite(_NESTED, "beta holds", AMAZON),
                cite(_NESTED, "gamma follows.", NILE),
            ],
        ),
    )
    yield Sample(
        "overlapping claims",
        make_answer(
            _NESTED,
            cites=[
                cite(_NESTED, "Alpha says that beta", RIVERS),
                cite(_NESTED, "that beta holds and", AMAZON),
                cite(_NESTED, "holds and gamma follows. End.", RIVERS),
            ],
        ),
    )
    yield Sample(
        "adjacent claims of one source",
        make_answer(
            _CLAIMS,
            cites=[
                cite(_CLAIMS, "The Nile is 6650 km long.", RIVERS),
                cite(_CLAIMS, " The Amazon carries more water.", RIVERS),
                cite(_CLAIMS, " Nobody knows the oldest.", RIVERS, AMAZON),
            ],
        ),
    )


def _evidenced() -> Iterator[Sample]:
    yield Sample(
        "several sources with passages and confidence",
        make_answer(
            _CLAIMS,
            cites=[
                cite(
                    _CLAIMS,
                    "The Nile is 6650 km long.",
                    Evidence(RIVERS, "It is 6650 km long.\nSome say 6695.", 0.75),
                    Evidence(NILE, "the Nile’s length\u2028is disputed", 0.5),
                    Evidence(TOKYO, "", 0.25),
                )
            ],
        ),
    )
    yield Sample("a claim and the whole", make_answer(_CLAIMS, cites=[cite(_CLAIMS, _CLAIMS, RIVERS)]))
    yield Sample(
        "citations of the whole answer",
        make_answer(
            _CLAIMS,
            cites=[unplaced(AMAZON, Evidence(NILE, "somewhere")), cite(_CLAIMS, "The Amazon", RIVERS)],
        ),
    )
    yield Sample("links in place of sources", make_answer(_MARKED, cites=_marks()))
    yield Sample(
        "claims of a page that is linked elsewhere",
        make_answer(
            _LINKED,
            cites=[
                mark(_LINKED, "([alpha.example](https://alpha.example/rivers))", RIVERS),
                cite(_LINKED, "They carry sand.", RIVERS),
            ],
        ),
    )
    yield Sample(
        "markers in place of sources",
        make_answer(
            _SYMBOLS,
            cites=[mark(_SYMBOLS, "【3:2†source】", RIVERS), mark(_SYMBOLS, "【3:4†source】", AMAZON, NILE)],
        ),
    )
    yield Sample(
        "brackets that mean nothing", make_answer(_LITERAL, cites=[cite(_LITERAL, "Rivers flow.", RIVERS)])
    )
    yield Sample(
        "a link that is not cited", make_answer(_MARKDOWN, cites=[cite(_MARKDOWN, "Rivers flow.", RIVERS)])
    )
    yield Sample("links without any citation", make_answer(*search(0, "rivers"), _MARKDOWN))
    yield Sample("control characters", make_answer(_CONTROLS, cites=[cite(_CONTROLS, "control", RIVERS)]))
    yield Sample("points", make_answer(_CLAIMS, cites=_points()))


def _marks() -> list[Citation]:
    return [
        mark(_MARKED, "([wiki.example](https://wiki.example/wiki/Nile_(river)?lang=en&page=2))", NILE),
        mark(_MARKED, "[Der Amazonas](https://beta.example/amazon)", AMAZON),
        mark(_MARKED, "([alpha.example](https://alpha.example/rivers))", RIVERS),
        cite(_MARKED, "Others 🐟 are not.", BARE),
    ]


def _points() -> list[Citation]:
    return [
        Citation(Span(25, 25), _evidence([RIVERS])),
        Citation(Span(56, 56), _evidence([AMAZON, NILE])),
        Citation(Span(len(_CLAIMS), len(_CLAIMS)), _evidence([RIVERS])),
    ]


def _parts() -> Iterator[Sample]:
    first, second, third = "I will look. ", "Found: the Nile 🌍. ", "And the Amazon."
    whole = first + second + third
    yield Sample(
        "several text parts",
        make_answer(
            first,
            *search(0, "nile"),
            second,
            third,
            cites=[cite(whole, "the Nile 🌍", RIVERS), cite(whole, third, AMAZON)],
        ),
    )
    crossing = cite(whole, "the Nile 🌍. And the Amazon", RIVERS, AMAZON)
    yield Sample("a claim across text parts", make_answer(first, second, third, cites=[crossing]))
    yield Sample(
        "commentary and answer",
        make_answer(
            Text(first, "commentary"),
            *search(0, "nile", found=(RIVERS,)),
            Text(second, "final_answer"),
            cites=[cite(first + second, second.strip(), RIVERS)],
        ),
    )
    yield Sample(
        "a refusal in words",
        replace(make_answer(Text("I cannot help with that.", "refusal")), finish="refused"),
    )
    yield Sample(
        "reasoning around a search",
        make_answer(
            Reasoning("Let me think.\n\nIt needs 🔎."),
            *search(0, "river"),
            Reasoning("Enough."),
            _CLAIMS,
            cites=[cite(_CLAIMS, "Nobody knows the oldest.", RIVERS)],
        ),
    )
    picture = Image("image/png", "iVBORw0KGgo=")
    yield Sample("a picture", make_answer("Here: ", picture, "that was it."))


def _calls() -> Iterator[Sample]:
    weather = ToolCall("call_1", "get_weather", '{"city": "Zürich 🏔", "days": [1, 2], "unit": null}')
    clock = ToolCall("call_2", "clock-now", "{}")
    yield Sample("function calls", replace(make_answer("Moment.", weather, clock), finish="tool_calls"))
    yield Sample(
        "a function call after a search",
        replace(make_answer(*search(0, "zürich"), weather, cites=()), finish="tool_calls"),
    )
    yield Sample("a function call alone", replace(make_answer(clock), finish="tool_calls"))


def _searches() -> Iterator[Sample]:
    dated = replace(RIVERS, date="July 14, 2026")
    yield Sample(
        "several queries",
        make_answer(
            *search(0, "nile length", "länge des nils", "ナイル川"),
            *search(1, "amazon length"),
            *search(2, "nile length"),
            "Long.",
            cites=[cite("Long.", "Long.", RIVERS)],
        ),
    )
    yield Sample(
        "pages found but not cited",
        make_answer(
            *search(0, "rivers", found=(dated, replace(AMAZON, date="3 weeks ago"), BARE)),
            *search(1, "more rivers", found=(TOKYO, NILE)),
            _CLAIMS,
            cites=[cite(_CLAIMS, "The Nile", RIVERS)],
        ),
    )
    yield Sample("found nothing", make_answer(*search(0, "zzzz"), "Nothing found."))
    yield Sample(
        "a page opened and searched",
        make_answer(
            *search(0, "nile", found=(NILE, BARE)),
            SearchCall("o1", kind="open", url=NILE.url),
            SearchResult("o1", (replace(NILE, state="opened"),)),
            SearchCall("f2", kind="find", url=NILE.url, pattern="6650 km"),
            SearchResult("f2"),
            _CLAIMS,
            cites=[cite(_CLAIMS, "6650 km", NILE)],
        ),
    )
    yield Sample(
        "a search that failed",
        make_answer(*search(0, "nile", error="max_uses_exceeded"), "I could not search."),
    )
    yield Sample(
        "a search that failed and one that did not",
        make_answer(
            *search(0, "nile", found=(RIVERS,)),
            *search(1, "amazon", error="unavailable"),
            _CLAIMS,
            cites=[cite(_CLAIMS, "The Nile", RIVERS)],
        ),
    )
    yield Sample(
        "search suggestions",
        make_answer(
            SearchCall("s0", ("nile",)),
            SearchResult("s0", suggestions='<style>.c{}</style><div>nile "map" é</div>'),
            _CLAIMS,
            cites=[cite(_CLAIMS, "The Nile", RIVERS)],
        ),
    )
    yield Sample(
        "a search called by code",
        make_answer(
            SearchCall("s0", ("nile",), caller="code_execution_20260120"),
            SearchResult("s0", (RIVERS,), caller="code_execution_20260120"),
            "Done.",
        ),
    )


def _ends() -> Iterator[Sample]:
    for reason in get_args(FinishReason):
        if reason != "tool_calls":
            yield Sample(
                f"ended by {reason}",
                replace(make_answer(_CLAIMS, cites=[cite(_CLAIMS, "The Nile", RIVERS)]), finish=reason),
            )
    yield Sample("blocked before a word", replace(make_answer(), finish="filtered"))
    yield Sample("cut before a word", replace(make_answer(), finish="length"))
    yield Sample(
        "paused in a search",
        replace(make_answer("One moment.", SearchCall("s0", ("nile",))), finish="pause"),
    )
    full = Usage(1200, 340, 300, 100, 120, 200, 3, 2, 0.0125)
    counted = make_answer(*search(0, "nile"), _CLAIMS, cites=[cite(_CLAIMS, "The Nile", RIVERS)], usage=full)
    yield Sample("all counts", counted)
    yield Sample("counts of nought", make_answer("Free.", usage=Usage(0, 0, 0, 0, 0, 0, 0, 0, 0.0)))
    warnings = (
        Warned("location_dropped", "No city for this provider."),
        Warned("domain_removed", "x.example ⚠"),
    )
    yield Sample("warnings", replace(make_answer("Careful."), warnings=warnings))
    sentences = [f"Sentence {n} ends 🐠 here. " for n in range(60)]
    starts = list(accumulate(map(len, sentences), initial=0))
    pages = [Source(f"https://site{n % 17}.example/{n % 17}", f"Page {n % 17}") for n in range(60)]
    yield Sample(
        "long",
        make_answer(
            "".join(sentences),
            cites=[
                Citation(Span(starts[n], starts[n + 1] - 1), _evidence([pages[n]])) for n in range(0, 60, 2)
            ],
        ),
    )


SAMPLES: tuple[Sample, ...] = (
    *_grounded(),
    *_evidenced(),
    *_parts(),
    *_calls(),
    *_searches(),
    *_ends(),
)


def _broken() -> Iterator[Sample]:
    errors: tuple[GroundwireError, ...] = (
        Overloaded("Overloaded 🔥", status=529, upstream_code="overloaded_error"),
        RateLimited("slow down", retry_after=1.5),
        Interrupted("the stream ended before the answer was complete"),
    )
    partial = make_answer(*search(0, "nile"), _CLAIMS, cites=[cite(_CLAIMS, "The Nile", RIVERS)])
    for error in errors:
        yield Sample(f"broken off: {error.code}", replace(partial, finish=None, error=error))
        yield Sample(f"failed at once: {error.code}", Answer(error=error))
    call = ToolCall("call_1", "get_weather", '{"city": "Ber')
    yield Sample("broken off in a call", Answer((Text("Well"), call), error=errors[0]))


BROKEN: tuple[Sample, ...] = tuple(_broken())
"""Answers that end in an error; only a stream can carry them."""


def answer_events(answer: Answer, order: Order = "settled", size: int = 7) -> list[Event]:
    """The events of an answer, its text in chunks of `size`."""
    placed = [Cited(citation) for citation in answer.citations if citation.span is not None]
    events: list[Event] = [Started("r1", "model-1")]
    if order == "early":
        events += placed
    for number, part in enumerate(answer.parts):
        events += _part_events(number, part, size)
        if order == "settled" and isinstance(part, Text):
            events += _settled(number, answer)
    if order == "late":
        events += placed
    if order != "settled":
        events += [TextSettled(number) for number in _text_spans(answer.parts)]
    events += [Cited(citation) for citation in answer.citations if citation.span is None]
    events.append(UsageSeen(answer.usage))
    events += answer.warnings
    events.append(Failed(answer.error) if answer.error else Finished(answer.finish or "stop", answer.detail))
    return events


def _text_spans(parts: Sequence[Part]) -> dict[int, Span]:
    """The span of each text part in the whole text."""
    spans: dict[int, Span] = {}
    position = 0
    for number, part in enumerate(parts):
        if isinstance(part, Text):
            spans[number] = Span(position, position + len(part.text))
            position += len(part.text)
    return spans


def _settled(number: int, answer: Answer) -> Iterator[Event]:
    """The citations that end in a part, and the parts whose citations are now complete."""
    spans = _text_spans(answer.parts)

    def last(citation: Citation) -> int:
        end = citation.span.end if citation.span else 0
        return next(part for part, span in spans.items() if end <= span.end)

    placed = [citation for citation in answer.citations if citation.span is not None]
    yield from (Cited(citation) for citation in placed if last(citation) == number)
    for part, span in spans.items():
        touching = (item for item in placed if item.span and item.span.start < span.end)
        due = max([part, *(last(item) for item in touching if item.span and item.span.end > span.start)])
        if due == number:
            yield TextSettled(part)


def _part_events(number: int, part: Part, size: int) -> Iterator[Event]:
    match part:
        case Text(text, phase, extras):
            yield from (TextDelta(number, piece, phase) for piece in _pieces(text, size))
            yield from (ExtrasSeen(number, extras),) if extras else ()
        case Reasoning(text):
            yield from (ReasoningDelta(number, piece) for piece in _pieces(text, size))
        case ToolCall(call_id, name, arguments):
            yield ToolCallDelta(number, call_id, name)
            yield from (ToolCallDelta(number, arguments=piece) for piece in _pieces(arguments, size))
        case SearchCall():
            yield SearchStarted(number, part.id)
            yield SearchCalled(number, part)
        case SearchResult():
            yield SearchReturned(number, part)
        case Image() | Opaque():
            yield PartAdded(number, part)


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


REQUEST = Request(
    (Message("user", (Text("Which river is longest?"),)),), model="model-1", search=SearchOptions()
)
REPLY = Reply(id="1", model="model-1", created=1_760_000_000, request=REQUEST)


def encode_stream(dialect: Dialect, events: Iterable[Event], reply: Reply = REPLY) -> bytes:
    """Encode events as a stream."""
    encoder = dialect.encoder(reply)
    return b"".join(map(encoder.feed, events)) + encoder.close()


def decode_stream(dialect: Dialect, data: bytes) -> list[Event]:
    """Decode a stream into events."""
    decoder = dialect.decoder()
    return [*decoder.feed(data), *decoder.close()]


def round_trip(dialect: Dialect, answer: Answer, form: Form) -> Answer:
    """Encode and decode an answer, as a whole body or as a stream in some order."""
    if form != "whole":
        return assemble(decode_stream(dialect, encode_stream(dialect, answer_events(answer, form))))
    body = load_json(dump_json(dialect.encode_response(answer, REPLY)), UpstreamWireError)
    assert isinstance(body, dict)
    return assemble(dialect.decode_response(body))


_COUNTS = frozenset(
    {
        Feature.TOKENS,
        Feature.CACHE_TOKENS,
        Feature.REASONING_TOKENS,
        Feature.TOOL_TOKENS,
        Feature.SEARCH_COUNT,
        Feature.COST,
    }
)


def same(feature: Feature, before: Answer, after: Answer, lost: Collection[Feature] = ()) -> bool:
    """Do two answers agree on a feature?

    An unknown count may come back as zero. Where citations of the whole answer are lost, their titles
    and quotes are lost with them.
    """
    if Feature.UNPLACED in lost and feature is not Feature.UNPLACED:
        before, after = _placed(before), _placed(after)
    first, second = project(before, feature), project(after, feature)
    if feature not in _COUNTS:
        return first == second
    sent, received = (value if isinstance(value, tuple) else (value,) for value in (first, second))
    return all(now == was or (was is None and now == 0) for was, now in zip(sent, received, strict=True))


def _placed(answer: Answer) -> Answer:
    return replace(answer, citations=tuple(item for item in answer.citations if item.span is not None))
