"""Plain text has a structure too: it is found by how the lines look."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.engine.read.plain import plain_blocks
from tests.growth import LINEAR, growth


def seen(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in plain_blocks(text)]


def test_a_handbook_in_plain_text() -> None:
    text = """Handbook

1. Vacation
Employees get 30 days of vacation. The days must be taken
before the end of March of the following year.
Requests go to the manager.

How do I carry days over?
Up to five days can be carried over, if the manager agrees.

Steps:
 - Open the portal
   and log in
 - Choose the days
     1) first
     2) last

TRAVEL
======

City      Rate
Berlin    40 EUR

    $ portal login --user me

    $ portal book

Done.
"""
    assert seen(text) == [
        ("heading", "Handbook"),
        ("heading", "1. Vacation"),
        (
            "paragraph",
            (
                "Employees get 30 days of vacation. The days must be taken\n"
                "before the end of March of the following year.\nRequests go to the manager."
            ),
        ),
        ("heading", "How do I carry days over?"),
        ("paragraph", "Up to five days can be carried over, if the manager agrees."),
        ("paragraph", "Steps:"),
        ("item", "Open the portal\n   and log in"),
        ("item", "Choose the days"),
        ("item", "first"),
        ("item", "last"),
        ("heading", "TRAVEL"),
        ("row", "City      Rate"),
        ("row", "Berlin    40 EUR"),
        ("code", "    $ portal login --user me\n\n    $ portal book"),
        ("paragraph", "Done."),
    ]


def test_a_short_line_that_ends_a_sentence_ends_a_paragraph() -> None:
    text = (
        "This is the first paragraph of a text that was wrapped at some\nwidth. It ends.\n"
        "The second one begins here and is\nwrapped as well."
    )
    assert [kind for kind, _ in seen(text)] == ["paragraph", "paragraph"]


def test_long_lines_are_paragraphs_of_their_own() -> None:
    text = "\n".join(
        ["A line that is much longer than any width at which text is wrapped by a person. " * 2] * 3
    )
    assert [kind for kind, _ in seen(text)] == ["paragraph"] * 3


def test_german_headings_with_paragraph_signs() -> None:
    text = "§ 3 Urlaub\nDer Urlaub beträgt dreißig Tage im Jahr und wird vorher beantragt."
    assert [kind for kind, _ in seen(text)] == ["heading", "paragraph"]


def test_levels_follow_underlines_numbers_and_marks() -> None:
    text = "A\n===\n\nB\n---\n\nx y z.\n\n### C\n\n2.1 Title of a part\n\ntext goes on."
    assert [block.level for block in plain_blocks(text) if block.kind == "heading"] == [1, 2, 3, 3]


def test_an_indented_command_is_code_and_the_line_before_it_is_no_heading() -> None:
    text = (
        "UPDATES\n-------\n\nSince version 5 updates are fetched over the network with\n\n"
        "    pump-update fetch --channel stable\n\nThe pump restarts by itself.\n\n"
        "The display stays dark\n    Read the end of the log, and look for a red line:\n\n"
        "        journalctl -u pump -n 50\n\n"
        "    Send it to the makers with the option --short of the mailer.\n"
    )
    assert seen(text) == [
        ("heading", "UPDATES"),
        ("paragraph", "Since version 5 updates are fetched over the network with"),
        ("code", "    pump-update fetch --channel stable"),
        ("paragraph", "The pump restarts by itself."),
        ("heading", "The display stays dark"),
        ("paragraph", "Read the end of the log, and look for a red line:"),
        ("code", "        journalctl -u pump -n 50"),
        ("paragraph", "Send it to the makers with the option --short of the mailer."),
    ]


def test_a_heading_may_end_with_a_small_word() -> None:
    text = "Logging in\n\nUse the name that you got by mail on your first day.\n\nWhom to talk to\n\nAsk Ida."
    assert [kind for kind, _ in seen(text)] == ["heading", "paragraph", "heading", "paragraph"]


def test_code_between_fences() -> None:
    assert seen("Run:\n\n```sh\nls -l\n```\n\nEnd of it.") == [
        ("paragraph", "Run:"),
        ("code", "ls -l"),
        ("paragraph", "End of it."),
    ]


@given(st.text(alphabet="aB .\n\n\t-1.#=`|:;§", max_size=300))
def test_blocks_are_ordered_and_hold_all_letters(text: str) -> None:
    blocks = plain_blocks(text)
    assert all(0 <= block.start < block.end <= len(text) for block in blocks)
    assert all(one.end <= other.start for one, other in pairwise(blocks))
    outside = [
        text[one:two] for one, two in pairwise([0, *(at for block in blocks for at in block[1:3]), len(text)])
    ]
    fences = text.count("`")
    assert fences or not any(letter in "aB" for piece in outside[::2] for letter in piece)


@pytest.mark.parametrize(
    "line", ["a: b\n", "- x\n", " - x\n", "a  b\n", "\tx=1\n", "Title\n\n", "```\n", "x\n===\n"]
)
def test_the_cost_grows_with_the_text_alone(line: str) -> None:
    assert growth(lambda size: plain_blocks(line * size), 1000) < LINEAR


def test_a_statement_over_two_lines_is_one_block_of_code() -> None:
    statement = "def run(self, group=None,\n        target=None):"
    assert seen(f"A thread.\n\n{statement}\n\nIt runs.") == [
        ("paragraph", "A thread."),
        ("code", statement),
        ("paragraph", "It runs."),
    ]
