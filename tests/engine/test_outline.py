"""The outline of a text: encoded and decoded, cut with its passages, and the sections it describes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.engine.outline import (
    Block,
    BlockKind,
    clip,
    decode_outline,
    encode_outline,
    fits,
    outline_parts,
    safe_anchor,
)
from groundwire.engine.pages import (
    LONGEST_PASSAGE,
    Page,
    page_passages,
    split_passages,
)
from tests.growth import LINEAR, growth

KINDS: tuple[BlockKind, ...] = ("heading", "signature", "paragraph", "code", "item", "row")


@st.composite
def texts_with_blocks(draw: st.DrawFn) -> tuple[str, list[Block]]:
    """A text and an outline of it."""
    pieces: list[str] = []
    blocks: list[Block] = []
    position = 0
    for _ in range(draw(st.integers(0, 12))):
        gap = draw(st.sampled_from(["", "\n", "\n\n"]))
        words = draw(st.text(alphabet="ab .\n\té", min_size=1, max_size=10)) * draw(st.integers(1, 150))
        kind = draw(st.sampled_from(KINDS))
        anchor = draw(st.sampled_from(["", "a", "os.walk", "ü-1"])) if kind in KINDS[:2] else ""
        number = draw(st.integers(0, 12)) if kind == "item" else 0
        start = position + len(gap)
        position = start + len(words)
        pieces += (gap, words)
        blocks.append(Block(kind, start, position, draw(st.integers(0, 9)), anchor, number))
    return "".join(pieces), blocks


@given(texts_with_blocks())
def test_an_outline_is_decoded_as_it_was_encoded(sample: tuple[str, list[Block]]) -> None:
    text, blocks = sample
    assert decode_outline(encode_outline(blocks)) == blocks
    assert fits(encode_outline(blocks), text)


@given(texts_with_blocks())
def test_the_passages_are_the_text_and_their_outlines_are_inside(sample: tuple[str, list[Block]]) -> None:
    text, blocks = sample
    outline = encode_outline(blocks)
    ranges = list(split_passages(text, outline))
    assert "".join(text[start:end] for start, end in ranges) == text
    assert all(end - start <= LONGEST_PASSAGE for start, end in ranges)
    page = Page("https://a.example/", "Title", text, outline=outline)
    for passage in page_passages(page):
        assert text[passage.start :].startswith(passage.text)
        inside = decode_outline(passage.outline)
        assert all(0 <= block.start < block.end <= len(passage.text) for block in inside)
        assert all(one.end <= other.start for one, other in pairwise(inside))


@pytest.mark.parametrize(
    "outline", ["x,0,1", "p", "p,0", "p,-1,4", "p,0,4#a b", "p,0,999999999", "p,0,4\n\np,0,1", "p,0,4;"]
)
def test_what_is_not_an_outline_does_not_fit(outline: str) -> None:
    assert not fits(outline, "some text")


def test_an_outline_beyond_the_text_does_not_fit() -> None:
    assert fits("p,0,4", "text")
    assert not fits("p,0,5", "text")


@pytest.mark.parametrize("anchor", ["a b", "", "a\nb", "x" * 201, "\x1f"])
def test_an_anchor_that_cannot_be_part_of_a_url_is_dropped(anchor: str) -> None:
    assert safe_anchor(anchor) == ""


def test_a_part_of_a_text_has_the_part_of_a_block_in_it() -> None:
    blocks = [Block("paragraph", 0, 10), Block("code", 12, 40)]
    assert clip(blocks, 5, 20) == [Block("paragraph", 0, 5), Block("code", 7, 15)]


def build(*pieces: tuple[BlockKind, int, str, str]) -> Page:
    """A page of blocks: kind, level, anchor and text."""
    text, blocks = "", []
    for kind, level, anchor, words in pieces:
        text += "\n\n" if text else ""
        blocks.append(Block(kind, len(text), len(text) + len(words), level, anchor))
        text += words
    return Page("https://a.example/guide", "Guide", text, outline=encode_outline(blocks))


def test_every_section_begins_a_passage_and_knows_the_headings_above() -> None:
    page = build(
        ("heading", 1, "", "Guide"),
        ("paragraph", 0, "", "Read this first."),
        ("heading", 2, "install", "Install"),
        ("heading", 3, "windows", "On Windows"),
        ("paragraph", 0, "", "Run setup.exe."),
        ("heading", 3, "", "On Linux"),
        ("paragraph", 0, "", "Run make install."),
        ("heading", 2, "use", "Use"),
        ("paragraph", 0, "", "Start it."),
    )
    found = list(page_passages(page))
    assert [passage.section for passage in found] == [
        "Guide",
        "Guide\nInstall\nOn Windows",
        "Guide\nInstall\nOn Linux",
        "Guide\nUse",
    ]
    assert [passage.url.partition("#")[2] for passage in found] == ["", "windows", "install", "use"]
    assert found[1].text == "Install\n\nOn Windows\n\nRun setup.exe."


def test_a_page_with_a_fragment_keeps_its_url() -> None:
    page = build(("heading", 2, "install", "Install"), ("paragraph", 0, "", "Run it."))
    own = Page("https://a.example/#x", "Guide", page.text, outline=page.outline)
    assert [passage.url for passage in page_passages(own)] == ["https://a.example/#x"]


@pytest.mark.parametrize("kind", ["code", "item", "row"])
def test_code_lists_and_tables_are_not_cut(kind: BlockKind) -> None:
    sentence = "A sentence of some words that says nothing. "
    block = "\n".join(["a line of the block"] * 20)
    for length in range(30):
        before, after = (sentence * length).strip() or "x", sentence.strip()
        page = build(("paragraph", 0, "", before), (kind, 1, "", block), ("paragraph", 0, "", after))
        assert sum(block in passage.text for passage in page_passages(page)) == 1


def test_a_table_is_one_unit() -> None:
    rows: list[tuple[BlockKind, int, str, str]] = [
        ("row", int(n == 0), "", f"name {n}\tvalue") for n in range(40)
    ]
    page = build(("paragraph", 0, "", "Some words. " * 50), *rows)
    assert [passage.text.count("\t") for passage in page_passages(page)] == [0, 40]


def test_a_long_code_block_is_cut_between_lines() -> None:
    page = build(("code", 0, "", "\n".join(f"line_{number} = {number}" for number in range(300))))
    passages = list(page_passages(page))
    assert len(passages) > 3
    assert all(passage.text.startswith("line_") for passage in passages)


def test_the_cost_grows_with_the_number_of_blocks_alone() -> None:
    def cut(size: int) -> object:
        pieces = [
            ("heading", 2, "", "H"),
            ("paragraph", 0, "", "Words of a page."),
            ("item", 1, "", "An item"),
        ]
        text = "\n\n".join(words for _ in range(size) for *_, words in pieces)
        blocks, position = [], 0
        for _ in range(size):
            for kind, level, _anchor, words in pieces:
                blocks.append(Block(kind, position, position + len(words), level))  # type: ignore[arg-type]
                position += len(words) + 2
        page = Page("https://a.example/", "T", text, outline=encode_outline(blocks))
        return list(page_passages(page))

    assert growth(cut, 300) < LINEAR


def test_sections_are_those_of_the_beginning_of_a_range() -> None:
    text = "One\n\nwords\n\nTwo\n\nwords"
    blocks = [
        Block("heading", 0, 3, 1),
        Block("paragraph", 5, 10),
        Block("heading", 12, 15, 1),
        Block("paragraph", 17, 22),
    ]
    (one, two) = outline_parts(text, blocks, [(0, 12), (17, 22)])
    assert (one.section.headings, two.section.headings) == (("One",), ("Two",))
