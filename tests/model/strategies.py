"""Hypothesis strategies for every canonical value.

Texts are chosen to break code that counts or splits: astral characters, combining marks, joined emoji, CJK,
right-to-left script, CRLF, and line separators that JSON does not count as such. A field of the model that is
not drawn here is an error at import.
"""

from __future__ import annotations

import os
from typing import TypeVar, get_args

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from groundwire import errors
from groundwire.errors import AllTargetsFailed, GroundwireError, UpstreamError, WireError
from groundwire.model import (
    Anchor,
    Answer,
    Citation,
    Cited,
    Event,
    Evidence,
    Extras,
    ExtrasSeen,
    Failed,
    Finished,
    FinishReason,
    FunctionTool,
    Image,
    Json,
    JsonObject,
    Limits,
    Location,
    Message,
    Opaque,
    OpaqueTool,
    OutputFormat,
    Part,
    PartAdded,
    Reasoning,
    ReasoningDelta,
    ReasoningOptions,
    Request,
    SearchCall,
    SearchCalled,
    SearchOptions,
    SearchResult,
    SearchReturned,
    SearchStarted,
    Source,
    SourceState,
    Span,
    Started,
    StoredContext,
    Text,
    TextDelta,
    TextSettled,
    ToolCall,
    ToolCallDelta,
    ToolChoice,
    ToolResult,
    Usage,
    UsageSeen,
    Verbatim,
    Warned,
    Wire,
)
from groundwire.model.parts import Phase, SearchKind
from groundwire.model.request import ContextSize, Effort, Role, ToolMode
from groundwire.model.value import field_names

T = TypeVar("T")

PIECES = (
    *(
        "a",
        "Zürich",
        " ",
        "\n",
        "\r\n",
        "\t",
        "0",
        "[1]",
        "(",
        ")",
        "](",
        "\\",
        '"',
        "<b>",
        "https://a.example/",
    ),
    *("é", "e\u0301", "ﬀ", "ß", "你好", "日本", "שלום", "مرحبا", "\u200f", "नि", "𝒳", "𠮷"),
    *(
        "😀",
        "👩\u200d👩\u200d👧",
        "🏳\ufe0f\u200d🌈",
        "🇩🇪",
        "\u2028",
        "\u2029",
        "\x85",
        "\x0b",
        "\x1c",
        "\xa0",
        "\ufeff",
    ),
)
"""What texts are made of."""
FEWEST = 20
"""Cases of a test in its short form."""


def examples(count: int) -> int:
    """So many examples in `make test-all`, a quarter of them in `make test`."""
    return count if os.environ.get("GROUNDWIRE_TEST_SEARCH") else max(FEWEST, count // 4)


def cases(count: int) -> settings:
    """So many cases, the same in every run, however busy the machine is; fewer in `make test`."""
    return settings(
        max_examples=examples(count),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


def texts(max_size: int = 10) -> SearchStrategy[str]:
    """Strings of awkward pieces, or of any characters that UTF-8 can hold."""
    pieces = st.lists(st.sampled_from(PIECES), max_size=max_size).map("".join)
    return pieces | st.text(st.characters(exclude_categories=["Cs"]), max_size=max_size)


def json_values() -> SearchStrategy[Json]:
    """Any JSON value."""
    leaves: SearchStrategy[Json] = st.one_of(st.none(), st.booleans(), _WHOLE, _NUMBER, _WORD)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_WORD, inner, max_size=2),
        max_leaves=3,
    )


def answers() -> SearchStrategy[Answer]:
    """Answers whose fields are drawn independently, so some of them could not result from events."""
    return _draw(
        Answer,
        parts=_some(_PARTS),
        citations=_some(_CITATIONS),
        usage=_USAGE,
        warnings=_some(_WARNINGS),
        finish=_or_none(_one(FinishReason)),
        detail=_WORD,
        error=_or_none(error_values()),
        id=_WORD,
        model=_WORD,
        extras=_EXTRAS,
    )


def messages() -> SearchStrategy[Message]:
    """Turns of a conversation."""
    return _draw(Message, role=_one(Role), parts=_some(_PARTS), citations=_some(_CITATIONS), extras=_EXTRAS)


def requests() -> SearchStrategy[Request]:
    """Requests with all their options."""
    return _draw(
        Request,
        messages=_some(messages(), 2),
        model=_WORD,
        system=_some(_TEXTS),
        tools=_some(_TOOLS),
        tool_choice=_or_none(_draw(ToolChoice, mode=_one(ToolMode), name=_WORD)),
        search=_or_none(_SEARCH_OPTIONS),
        limits=_LIMITS,
        reasoning=_or_none(
            _draw(
                ReasoningOptions,
                effort=_or_none(_one(Effort)),
                budget_tokens=_or_none(_WHOLE),
                visible=_or_none(_FLAG),
            )
        ),
        output=_or_none(_draw(OutputFormat, schema=_or_none(_OBJECT), name=_WORD, strict=_or_none(_FLAG))),
        stream=_FLAG,
        background=_FLAG,
        links_only=_FLAG,
        previous_id=_WORD,
        extras=_EXTRAS,
        wire=_or_none(
            _draw(
                Wire,
                dialect=_WORD,
                body=_OBJECT,
                data=st.binary(max_size=8),
                headers=_some(st.tuples(_WORD, _WORD)),
            )
        ),
        stored=_or_none(_draw(StoredContext, dialect=_WORD, names=_some(_WORD))),
    )


def events() -> SearchStrategy[Event]:
    """Any one event."""
    return st.one_of(
        _draw(Started, id=_WORD, model=_WORD, provider=_WORD),
        _draw(Verbatim, data=st.binary(max_size=8)),
        _draw(TextDelta, part=_INDEX, text=texts(), phase=_one(Phase)),
        _draw(TextSettled, part=_INDEX),
        _draw(ReasoningDelta, part=_INDEX, text=texts()),
        _draw(ToolCallDelta, part=_INDEX, id=_WORD, name=_WORD, arguments=_WORD),
        _draw(SearchStarted, part=_INDEX, id=_WORD),
        _draw(SearchCalled, part=_INDEX, call=_SEARCH_CALLS),
        _draw(SearchReturned, part=_INDEX, result=_SEARCH_RESULTS),
        _draw(PartAdded, part=_INDEX, value=_IMAGES | _OPAQUES),
        _draw(ExtrasSeen, part=_INDEX, extras=_EXTRAS),
        _draw(Cited, citation=_CITATIONS),
        _draw(UsageSeen, usage=_USAGE),
        _WARNINGS,
        _draw(Finished, reason=_one(FinishReason), detail=_WORD, extras=_EXTRAS),
        _draw(Failed, error=error_values()),
    )


def error_values() -> SearchStrategy[GroundwireError]:
    """Errors of every class, with all their fields, and with refined codes."""
    return st.one_of(*(_errors_of(kind) for kind in ERROR_CLASSES)).flatmap(_refined)


ERROR_CLASSES: tuple[type[GroundwireError], ...] = tuple(
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, GroundwireError)
)


def _errors_of(kind: type[GroundwireError]) -> SearchStrategy[GroundwireError]:
    if issubclass(kind, UpstreamError):
        return st.builds(
            kind,
            _WORD,
            status=_or_none(st.integers(100, 599)),
            upstream_code=_WORD,
            retry_after=_or_none(_NUMBER),
            request_id=_WORD,
        )
    if kind is AllTargetsFailed:
        attempts = _some(st.tuples(_WORD, _errors_of(errors.Refused) | _errors_of(errors.ConfigError)))
        return st.builds(AllTargetsFailed, attempts)
    return st.builds(kind, _WORD, _WORD) if issubclass(kind, WireError) else st.builds(kind, _WORD)


def _refined(error: GroundwireError) -> SearchStrategy[GroundwireError]:
    def refine(code: str | None) -> GroundwireError:
        if code is not None:
            error.code, error.retryable, error.status_hint = code, True, 418
        return error

    return _or_none(_WORD).map(refine)


def _draw(kind: type[T], /, **values: SearchStrategy[object]) -> SearchStrategy[T]:
    names = set(field_names(kind))
    if names != set(values):
        raise TypeError(f"{kind.__name__}: {names ^ set(values)} is not drawn")
    return st.builds(kind, **values)


def _or_none(values: SearchStrategy[T]) -> SearchStrategy[T | None]:
    return st.none() | values


def _some(values: SearchStrategy[T], most: int = 3) -> SearchStrategy[tuple[T, ...]]:
    return st.lists(values, max_size=most).map(tuple)


def _one(literal: object) -> SearchStrategy[str]:
    return st.sampled_from(get_args(literal))


_WORD = texts(3)
_FLAG = st.booleans()
_INDEX = st.integers(0, 5)
_WHOLE = st.integers(-(2**70), 2**70)
_NUMBER = st.floats(allow_nan=False, allow_infinity=False)
_OBJECT: SearchStrategy[JsonObject] = st.dictionaries(_WORD, json_values(), max_size=2)
_EXTRAS: SearchStrategy[Extras] = st.just({}) | st.dictionaries(
    st.sampled_from(["gemini", "openai_chat"]), _OBJECT, max_size=2
)
_SOURCES = _draw(
    Source,
    url=st.sampled_from(["", "https://a.example/1", "http://www.b.example/?utm_source=x#f"]) | _WORD,
    title=_WORD,
    state=_one(SourceState),
    excerpts=_some(_WORD),
    date=_WORD,
    domain=_WORD,
    extras=_EXTRAS,
)
_EVIDENCE = _draw(Evidence, source=_SOURCES, quote=_WORD, confidence=_or_none(_NUMBER), extras=_EXTRAS)
_SPANS = st.tuples(st.integers(0, 40), st.integers(0, 20)).map(lambda pair: Span(pair[0], sum(pair)))
_CITATIONS = _draw(Citation, span=_or_none(_SPANS), evidence=_some(_EVIDENCE), anchor=_one(Anchor))
_TEXTS = _draw(Text, text=texts(), phase=_one(Phase), extras=_EXTRAS)
_IMAGES = _draw(Image, media_type=_WORD, data=_WORD, url=_WORD, extras=_EXTRAS)
_OPAQUES = _draw(Opaque, dialect=_WORD, data=_OBJECT)
_SEARCH_CALLS = _draw(
    SearchCall,
    id=_WORD,
    queries=_some(_WORD),
    kind=_one(SearchKind),
    url=_WORD,
    pattern=_WORD,
    caller=_WORD,
    extras=_EXTRAS,
)
_SEARCH_RESULTS = _draw(
    SearchResult,
    call_id=_WORD,
    sources=_some(_SOURCES),
    error=_WORD,
    suggestions=_WORD,
    caller=_WORD,
    extras=_EXTRAS,
)
_PARTS: SearchStrategy[Part] = st.one_of(
    _TEXTS,
    _draw(Reasoning, text=texts(), extras=_EXTRAS),
    _IMAGES,
    _draw(ToolCall, id=_WORD, name=_WORD, arguments=_WORD, extras=_EXTRAS),
    _draw(
        ToolResult,
        call_id=_WORD,
        content=_some(_TEXTS | _IMAGES | _OPAQUES),
        name=_WORD,
        is_error=_FLAG,
        extras=_EXTRAS,
    ),
    _SEARCH_CALLS,
    _SEARCH_RESULTS,
    _OPAQUES,
)
_TOOLS = _draw(
    FunctionTool,
    name=_WORD,
    description=_WORD,
    parameters=_or_none(_OBJECT),
    strict=_or_none(_FLAG),
    extras=_EXTRAS,
) | _draw(OpaqueTool, dialect=_WORD, data=_OBJECT)
_LOCATIONS = _draw(
    Location,
    country=_WORD,
    region=_WORD,
    city=_WORD,
    timezone=_WORD,
    latitude=_or_none(_NUMBER),
    longitude=_or_none(_NUMBER),
)
_SEARCH_OPTIONS = _draw(
    SearchOptions,
    allowed_domains=_some(_WORD),
    blocked_domains=_some(_WORD),
    location=_or_none(_LOCATIONS),
    language=_WORD,
    since=_WORD,
    until=_WORD,
    max_uses=_or_none(_WHOLE),
    max_sources=_or_none(_WHOLE),
    context_size=_or_none(_one(ContextSize)),
    live=_or_none(_FLAG),
    extras=_EXTRAS,
)
_LIMITS = _draw(
    Limits,
    max_output_tokens=_or_none(_WHOLE),
    stop=_some(_WORD),
    temperature=_or_none(_NUMBER),
    top_p=_or_none(_NUMBER),
    top_k=_or_none(_WHOLE),
)
_USAGE = _draw(
    Usage,
    **{name: _or_none(_NUMBER if name == "cost" else _WHOLE) for name in field_names(Usage)},
)
_WARNINGS = _draw(Warned, code=_WORD, message=_WORD)
