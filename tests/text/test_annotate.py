"""Citation markers: ours are inserted, those of providers are read and removed."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groundwire.model import Anchor, Citation, Evidence, Source, Span
from groundwire.text.annotate import (
    CitedNumbers,
    MarkerStripper,
    NumberReader,
    NumberWriter,
    Placeholders,
    StreamAnnotator,
    annotate_numbers,
    place_markers,
    strip_markers,
)
from tests.model.strategies import cases
from tests.text.test_links import HOSTILE

NUMBERS = {"https://a.example": 1, "https://b.example": 2, "https://c.example": 3}
A, B, C = (Source(url) for url in NUMBERS)
LOOSE = Source("https://unknown.example")


def number(source: Source) -> int | None:
    return NUMBERS.get(source.url)


def cite(start: int, end: int, *sources: Source, anchor: Anchor = "claim") -> Citation:
    return Citation(Span(start, end), tuple(Evidence(source) for source in sources), anchor)


def marked(text: str, *citations: Citation) -> str:
    return annotate_numbers(text, citations, NumberWriter(number)).text


def test_a_claim_is_followed_by_its_number() -> None:
    assert marked("One. Two.", cite(0, 4, A)) == "One.[1] Two."


def test_a_marker_is_replaced_by_its_number() -> None:
    text = "One ([a](https://a.example)). Two."
    assert marked(text, cite(4, 28, A, anchor="marker")) == "One [1]. Two."


def test_several_sources_are_adjacent_sorted_and_unique() -> None:
    assert marked("One.", cite(0, 4, C, A, A, B)) == "One.[1][2][3]"


def test_equal_ends_are_merged_and_sorted() -> None:
    assert marked("One. Two.", cite(5, 9, C), cite(0, 9, A), cite(5, 9, A)) == "One. Two.[1][3]"


def test_overlapping_claims_each_get_their_numbers_at_their_ends() -> None:
    assert (
        marked("One two three.", cite(0, 7, A), cite(4, 13, B), cite(0, 13, C)) == "One two[1] three[2][3]."
    )


def test_the_order_of_citations_does_not_matter() -> None:
    text = "One ([a](https://a.example)) two three."
    citations = [cite(4, 28, A, anchor="marker"), cite(0, 3, B), cite(29, 32, C), cite(0, 32, A)]
    expected = marked(text, *citations)
    chance = random.Random(1)
    for _ in range(20):
        chance.shuffle(citations)
        assert marked(text, *citations) == expected == "One[2] [1] two[1][3] three."


def test_a_point_is_where_the_claim_ends() -> None:
    assert marked("One two.", cite(3, 3, A)) == "One[1] two."
    assert marked("One two.", cite(0, 0, A)) == "[1]One two."


def test_a_citation_of_the_whole_answer_is_not_in_the_text() -> None:
    assert marked("One.", Citation(None, (Evidence(A),))) == "One."


def test_a_source_without_a_number_is_not_in_the_text() -> None:
    text = "One ([a](https://a.example))."
    assert marked(text, cite(0, 3, LOOSE), cite(4, 28, LOOSE, anchor="marker")) == text
    assert marked("One.", cite(0, 4, LOOSE, B)) == "One.[2]"


@pytest.mark.parametrize("end", range(6, 32))
def test_a_claim_that_ends_inside_a_link_is_numbered_after_it(end: int) -> None:
    text = "Read [a title](https://l.example/x) now."
    assert marked(text, cite(0, end, A)) == "Read [a title](https://l.example/x)[1] now."


def test_a_claim_that_ends_inside_a_url_is_numbered_after_it() -> None:
    assert marked("See https://l.example/x, now.", cite(0, 12, A)) == "See https://l.example/x[1], now."
    assert marked("See (https://l.example/x).", cite(0, 12, A)) == "See (https://l.example/x[1])."


def test_a_claim_that_ends_where_a_link_begins_is_numbered_before_it() -> None:
    text = "Read [a](https://l.example)."
    assert marked(text, cite(0, 5, A)) == "Read [1][a](https://l.example)."


def test_a_claim_and_the_marker_after_it_share_their_number() -> None:
    text = "One[a](https://a.example)."
    assert marked(text, cite(0, 3, A), cite(3, 25, A, anchor="marker")) == "One[1]."


def test_a_claim_that_contains_its_marker_shares_its_number() -> None:
    text = "One [a](https://a.example)."
    assert marked(text, cite(0, 26, A, B), cite(4, 26, A, anchor="marker")) == "One [1][2]."


@pytest.mark.parametrize("end", range(4, 16))
def test_a_claim_that_ends_inside_a_marker_keeps_its_number(end: int) -> None:
    text = "One【3:2†source】 two."
    assert marked(text, cite(3, 15, A, anchor="marker"), cite(0, end, B)) == "One[1][2] two."


def test_markers_that_overlap_keep_all_their_numbers() -> None:
    text = "One ABCDEF two."
    both = (cite(4, 8, A, anchor="marker"), cite(6, 10, B, anchor="marker"))
    assert marked(text, *both) == "One [1][2] two."
    nested = (cite(4, 10, B, anchor="marker"), cite(6, 8, A, anchor="marker"), cite(6, 8, B, anchor="marker"))
    assert marked(text, *nested) == "One [2][1] two."


def test_markers_that_begin_together_are_cut_to_the_longest() -> None:
    text = "One ABCDEF two."
    assert marked(text, cite(4, 10, A, anchor="marker"), cite(4, 6, B, anchor="marker")) == "One [1][2] two."


def test_spans_beyond_the_text_end_with_it() -> None:
    assert marked("One.", cite(0, 99, A)) == "One.[1]"
    assert marked("One.", cite(50, 99, A, anchor="marker")) == "One.[1]"


def test_breaks_become_empty_lines_before_the_numbers_of_what_follows() -> None:
    assert (
        annotate_numbers("Plan.Answer.", [cite(0, 12, A)], NumberWriter(number), [5]).text
        == "Plan.\n\nAnswer.[1]"
    )
    assert annotate_numbers("ab", [], NumberWriter(number), iter([1])).text == "a\n\nb"


def test_no_number_is_ever_lost_and_no_claim_changed() -> None:
    chance = random.Random(2)
    text = "Word one [l](https://l.example/x) two https://m.example/y three 【1:2†s】 four. " * 3
    for _ in range(2_000):
        citations = [
            cite(start, start + chance.randrange(20), chance.choice([A, B, C]))
            for start in chance.sample(range(len(text)), 4)
        ]
        result = marked(text, *citations)
        assert result.replace("[1]", "").replace("[2]", "").replace("[3]", "") == text
        for item in citations:
            assert f"[{number(item.evidence[0].source)}]" in result


SIGNS = "a\n: 12†【】\ue200\ue201\ue202é😀source"
SIGN_PIECES = (
    "【3:2†source】",
    "【3:2†",
    "】",
    "【注】",
    "\ue200cite\ue202turn0search0\ue201",
    "\ue200",
    "\ue201",
    "a",
    " ",
    "\n",
    "é",
    "【",
)
marked_texts = st.one_of(
    st.lists(st.sampled_from(SIGN_PIECES), max_size=8).map("".join), st.text(SIGNS, max_size=30)
)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("One【3:2†source】 two.", "One two."),
        ("One【3:2†source】【4:0†source】.", "One."),
        ("One \ue200cite\ue202turn0search0\ue201.", "One ."),
        ("【注】 stays", "【注】 stays"),
        ("[1] stays", "[1] stays"),
        ("open 【3:2†source", "open 【3:2†source"),
        ("open \ue200cite", "open \ue200cite"),
        ("【3:2†so\nurce】", "【3:2†so\nurce】"),
        ("", ""),
    ],
)  # fmt: skip
def test_foreign_markers_are_removed(text: str, plain: str) -> None:
    assert strip_markers(text) == plain


def fed(text: str, cuts: list[int], *, private_only: bool = False) -> tuple[str, MarkerStripper]:
    stripper = MarkerStripper(private_only=private_only)
    offsets = [0, *sorted(cuts), len(text)]
    pieces = [stripper.feed(text[start:end]) for start, end in pairwise(offsets)]
    return "".join(pieces) + stripper.close(), stripper


@pytest.mark.parametrize(
    "text",
    [
        "One【3:2†source】 two 【注】 three\ue200cite\ue202turn0search0\ue201 end【4:",
        "a【1:2†【3:4†source】b",
        "x\ue200a【1:2†y】b\ue201z",
        "x\ue200a【1:2†y】b",
        "【1:2†\ue200】x",
        "【1:2†\ue200】\ue201x",
        "a【" + "1" * 40 + ":" + "2" * 40 + "†source】b",
        "a【1:2†" + "s" * 40 + "】b",
        "a【1:2†" + "s" * 41 + "】b",
        "a\ue200" + "s" * 200 + "\ue201b",
        "a\ue200" + "s" * 201 + "\ue201b",
        "a【3:2\n†source】b",
    ],
)
@pytest.mark.parametrize("private_only", [False, True])
def test_a_text_split_anywhere_is_stripped_like_the_whole(text: str, private_only: bool) -> None:
    whole, _ = fed(text, [], private_only=private_only)
    if not private_only:
        assert whole == strip_markers(text)
    for cut in range(len(text) + 1):
        assert fed(text, [cut], private_only=private_only)[0] == whole
    assert fed(text, list(range(len(text))), private_only=private_only)[0] == whole


@cases(300)
@given(marked_texts, st.lists(st.integers(0, 60), max_size=6))
@example("【1:2†\ue200】", [7])
def test_a_text_in_any_chunks_is_stripped_like_the_whole(text: str, cuts: list[int]) -> None:
    assert fed(text, [min(cut, len(text)) for cut in cuts])[0] == strip_markers(text)


@cases(300)
@given(marked_texts, st.lists(st.integers(0, 60), max_size=6), st.booleans())
def test_offsets_of_kept_characters_are_mapped(text: str, cuts: list[int], private_only: bool) -> None:
    kept, stripper = fed(text, [min(cut, len(text)) for cut in cuts], private_only=private_only)
    offsets = [stripper.map_offset(offset) for offset in range(len(text) + 1)]
    assert offsets == sorted(offsets)
    assert (offsets[0], offsets[-1]) == (0, len(kept))
    # Each character of the raw text is either at its mapped offset or in a removed marker.
    survivors = [text[offset] for offset in range(len(text)) if offsets[offset + 1] > offsets[offset]]
    assert "".join(survivors) == kept
    assert all(
        kept[offsets[offset]] == text[offset]
        for offset in range(len(text))
        if offsets[offset + 1] > offsets[offset]
    )


def test_markers_that_citations_may_be_anchored_to_can_be_kept() -> None:
    kept, _ = fed("One【3:2†source】\ue200cite\ue201.", [], private_only=True)
    assert kept == "One【3:2†source】."


def test_text_without_markers_is_returned_at_once() -> None:
    stripper = MarkerStripper()
    assert [stripper.feed(piece) for piece in ("Hello ", "wörld", "!")] == ["Hello ", "wörld", "!"]
    assert stripper.close() == ""


def test_only_what_may_become_a_marker_is_held_back() -> None:
    stripper = MarkerStripper()
    assert stripper.feed("One【3:2") == "One"
    assert stripper.feed("†source】 two") == " two"
    assert stripper.feed("【" + "x" * 80) == "【" + "x" * 80


@pytest.mark.parametrize("index", range(len(HOSTILE)))
def test_hostile_texts_are_stripped_and_marked_in_linear_time(index: int) -> None:
    text = HOSTILE[index]
    stripper = MarkerStripper()
    assert stripper.feed(text) + stripper.close() == strip_markers(text)
    assert len(marked(text, cite(0, 50_000, A))) == len(text) + 3


TEXT = (
    "Snow ☃ fell in May[1]. It melted [2][3], then froze [1, 2].\n```\na = b[1]\n```\n"
    "Use `x[1]` and [1](http://a.b) or [77] and x = [1].\n[1] Title\n- item here [3]【2†L1-L4】 so [1][9]."
)


def read(pieces: Iterable[str]) -> list[str | CitedNumbers]:
    """The output, with adjacent strings joined."""
    reader = NumberReader(lambda number: number <= 3)
    out: list[str | CitedNumbers] = []
    for piece in (*(item for text in pieces for item in reader.feed(text)), *reader.close()):
        last = out[-1] if out else None
        if isinstance(piece, str) and isinstance(last, str):
            out[-1] = last + piece
        else:
            out.append(piece)
    return out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Snow [1].", ["Snow", CitedNumbers((1,)), "."]),
        ("Snow[1][3].", ["Snow", CitedNumbers((1, 3)), "."]),
        ("Snow [1-3]", ["Snow", CitedNumbers((1, 2, 3))]),
        ("Snow【2†source】", ["Snow", CitedNumbers((2,))]),
        ("Snow [1][9].", ["Snow", CitedNumbers((1,)), "[9]."]),
        ("Snow [9].", ["Snow [9]."]),
        ("In [2031] it fell.", ["In [2031] it fell."]),
        ("[1] A title", ["[1] A title"]),
        ("- [1] A title", ["- [1] A title"]),
        ("[label][1](https://a.example)", ["[label][1](https://a.example)"]),
        ("x = [1]", ["x = [1]"]),
        ("f([1])", ["f([1])"]),
        ("`a[1]` b", ["`a[1]` b"]),
        ("~~~\na[1]\n~~~\nb[1]", ["~~~\na[1]\n~~~\nb", CitedNumbers((1,))]),
        ("Snow [", ["Snow ["]),
    ],
)
def test_only_citing_numbers_are_removed(text: str, expected: list[str | CitedNumbers]) -> None:
    assert read([text]) == expected


@cases(100)
@given(st.lists(st.integers(0, len(TEXT)), max_size=40))
def test_a_text_split_anywhere_gives_the_same_numbers(cuts: list[int]) -> None:
    points = sorted({0, *cuts, len(TEXT)})
    assert read(TEXT[a:b] for a, b in pairwise(points)) == read([TEXT])


def test_offsets_of_the_input_are_mapped_to_the_output() -> None:
    reader = NumberReader(lambda number: number <= 3)
    pieces = [*reader.feed(TEXT), *reader.close()]
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    for word in ("Snow", "melted", "froze", "Title", "item", "so"):
        assert text[reader.map_offset(TEXT.index(word)) :].startswith(word)


def test_a_long_text_of_only_markers_is_read_in_time() -> None:
    assert read(["a" + "[1]" * 20_000 + " " * 20_000 + "[" * 20_000])[0] == "a"


claimed_texts = st.lists(
    st.sampled_from(
        (
            "word",
            " ",
            ".",
            "\n",
            "é",
            "😀",
            "[l](https://l.example/x)",
            "https://m.example",
            "⸨7⸩",
            "⸨",
            "[1]",
        )
    ),
    max_size=12,
).map("".join)
citation_drafts = st.lists(
    st.tuples(
        st.integers(0, 60),
        st.integers(0, 20),
        st.sampled_from([A, B, C]),
        st.sampled_from(["claim", "claim", "marker"]),
    ),
    max_size=5,
)
CitationDrafts = list[tuple[int, int, Source, Anchor]]


def drafted(text: str, drafts: CitationDrafts) -> list[Citation]:
    return [
        cite(start, min(start + size, len(text)), source, anchor=anchor)
        for start, size, source, anchor in drafts
        if start <= len(text)
    ]


def without_anchors(text: str, citations: Iterable[Citation]) -> str:
    """The text without the markers of the provider that ours replace."""
    removed = {
        offset
        for citation in citations
        if citation.anchor == "marker" and citation.span is not None
        for offset in range(*citation.span)
    }
    return "".join(char for offset, char in enumerate(text) if offset not in removed)


@cases(300)
@given(claimed_texts, citation_drafts, st.booleans())
def test_removing_the_inserted_markers_gives_back_the_text(
    text: str, drafts: CitationDrafts, repeat: bool
) -> None:
    citations = drafted(text, drafts)
    placeholders = Placeholders(text)
    writer = NumberWriter(number, placeholders, repeat=repeat)
    annotated = annotate_numbers(text, citations, writer).text
    assert placeholders.pattern.sub("", annotated) == without_anchors(text, citations)
    written = {int(found) for found in placeholders.pattern.findall(annotated)}
    assert written == {number(item.source) for citation in citations for item in citation.evidence}


@cases(300)
@given(claimed_texts, citation_drafts)
def test_spans_cover_the_same_words_after_markers_are_inserted(text: str, drafts: CitationDrafts) -> None:
    citations = drafted(text, drafts)
    placeholders = Placeholders(text)
    annotated = annotate_numbers(text, citations, NumberWriter(number, placeholders, repeat=True))
    for old, new in zip(citations, map(annotated.move, citations), strict=True):
        assert old.span is not None
        assert new.span is not None
        covered = annotated.text[new.span.start : new.span.end]
        if old.anchor == "marker":
            assert str(number(old.evidence[0].source)) in placeholders.pattern.findall(covered)
            assert placeholders.pattern.sub("", covered) == ""
            continue
        words = [
            char
            for offset, char in enumerate(text)
            if old.span.start <= offset < old.span.end
            and not any(
                other.anchor == "marker" and other.span and other.span.start <= offset < other.span.end
                for other in citations
            )
        ]
        assert placeholders.pattern.sub("", covered) == "".join(words)


@cases(300)
@given(claimed_texts, citation_drafts, st.lists(st.integers(0, 60), max_size=3))
def test_chunks_of_a_stream_give_back_the_text_and_keep_the_words_of_claims(
    text: str, drafts: CitationDrafts, cuts: list[int]
) -> None:
    citations = [citation for citation in drafted(text, drafts) if citation.anchor == "claim"]
    placeholders = Placeholders(text)
    writer = NumberWriter(number, placeholders, repeat=True)
    annotator = StreamAnnotator(join=True)
    assert all(map(annotator.add, citations))
    offsets = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    chunks = [annotator.write(text[start:end], writer) for start, end in pairwise(offsets)]
    whole = "".join(chunk.text for chunk in chunks)
    assert placeholders.pattern.sub("", whole) == text
    assert annotator.pending() == []
    ordered = sorted(citations, key=lambda citation: citation.span.end if citation.span else 0)
    moved = [citation for chunk in chunks for citation in chunk.citations]
    for old, new in zip(ordered, moved, strict=True):
        assert old.span is not None
        assert new.span is not None
        covered = whole[new.span.start : new.span.end]
        assert placeholders.pattern.sub("", covered) == text[old.span.start : old.span.end]


def test_a_citation_of_written_text_cannot_be_added_to_a_stream() -> None:
    annotator = StreamAnnotator()
    annotator.write("One. ", NumberWriter(number))
    assert not annotator.add(cite(0, 4, A))
    assert not annotator.add(cite(0, 5, A))
    assert not annotator.add(Citation(None, (Evidence(A),)))
    assert annotator.add(cite(5, 9, A))
    assert annotator.write("Two.", NumberWriter(number)).text == "Two.[1]"


def test_a_claim_can_get_its_marker_at_the_beginning_of_the_next_chunk_until_the_paragraph_ends() -> None:
    annotator = StreamAnnotator(join=True)
    annotator.write("One.", NumberWriter(number))
    assert annotator.add(cite(0, 4, A))
    assert annotator.write(" Two.", NumberWriter(number)).text == "[1] Two."
    annotator.end_paragraph()
    assert not annotator.add(cite(5, 9, A))


def test_a_marker_can_replace_the_space_before_it() -> None:
    text = "One [a](https://a.example).\n- [a](https://a.example)"
    citations = [cite(4, 26, A, anchor="marker"), cite(30, 52, A, anchor="marker")]
    offsets = [offset for offset, _ in place_markers(text, citations, attach_to_word=True).positions]
    assert offsets == [3, 30]


def test_placeholders_differ_from_every_bracket_of_the_text() -> None:
    text = "⸨1⸩ ⦗1⦘ ⧼1⧽ ⟮1⟯"
    assert Placeholders(text).pattern.search(text) is None


def test_markers_that_leak_from_a_provider_are_removed_and_numbers_stay_in_position() -> None:
    text = "One【3:2†source】 two."
    annotated = annotate_numbers(text, [cite(0, 8, A)], NumberWriter(number), strip=True)
    assert annotated.text == "One[1] two."
