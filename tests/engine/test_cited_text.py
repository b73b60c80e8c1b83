"""Reading the text at cited addresses."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.engine.cited_text import DOCUMENTATION, VERSION, cited_text, section_text

needs_documentation = pytest.mark.skipif(
    not DOCUMENTATION.is_dir(), reason="Debian's package python3.11-doc is not installed"
)
TAGGED = f"https://github.com/python/cpython/blob/v{VERSION}/Lib/"


def line_of(text: str) -> int:
    lines = Path(os.__file__).read_text("utf-8").splitlines()
    return lines.index(text) + 1


@needs_documentation
def test_an_anchor_of_the_documentation_stands_for_the_object_and_its_description() -> None:
    walk = cited_text("https://docs.python.org/3/library/os.html#os.walk")
    assert walk is not None
    assert walk.exists
    assert walk.has("Generate the file names in a directory\ntree by walking the tree")
    assert not walk.has("Wait for completion of a child process")
    assert walk.has_anywhere("Wait for completion of a child process")
    assert not walk.has_anywhere("Directory tree generator.")


@needs_documentation
def test_a_term_of_the_glossary_has_its_own_definition_only() -> None:
    term = cited_text("https://docs.python.org/3.11/glossary.html#term-duck-typing")
    assert term is not None
    assert term.has("If it looks like a duck")
    assert not term.has("A function which returns an asynchronous generator iterator")


@needs_documentation
def test_anchors_and_pages_that_do_not_exist_are_noticed() -> None:
    anchor = cited_text("https://docs.python.org/3/library/os.html#os.teleport")
    page = cited_text("https://docs.python.org/3/library/teleport.html")
    assert anchor is not None
    assert page is not None
    assert not anchor.exists
    assert not page.exists
    assert anchor.has("Generate the file names in a directory tree")


def test_a_line_of_a_source_stands_for_the_documentation_string_of_its_definition() -> None:
    line = line_of("def walk(top, topdown=True, onerror=None, followlinks=False):")
    walk = cited_text(f"{TAGGED}os.py#L{line}")
    assert walk is not None
    assert walk.exists
    assert walk.has("Directory tree generator.")
    assert not walk.has("Super-mkdir")
    within = cited_text(f"{TAGGED}os.py#L{line + 3}")
    assert within is not None
    assert not within.exists


def test_a_line_of_a_file_that_does_not_exist_is_noticed() -> None:
    missing = cited_text(f"{TAGGED}teleport.py#L1")
    assert missing is not None
    assert not missing.exists


@pytest.mark.parametrize(
    ("name", "quote"),
    [
        ("math.sqrt", "Return the square root of x."),
        ("str.split", "substrings in the string"),
        ("len", "Return the number of items in a container."),
    ],
)
def test_a_local_address_stands_for_a_documentation_string(name: str, quote: str) -> None:
    found = cited_text(f"local:python/{VERSION}/{name}")
    assert found is not None
    assert found.exists
    assert found.has(quote)


def test_an_object_that_does_not_exist_is_noticed() -> None:
    missing = cited_text(f"local:python/{VERSION}/math.teleport")
    assert missing is not None
    assert not missing.exists
    assert "teleport" not in sys.modules


def test_an_address_that_cannot_be_read_here_is_not_judged() -> None:
    assert cited_text("https://example.org/") is None
    assert cited_text("https://github.com/python/cpython/blob/v2.7.1/Lib/os.py#L1") is None


def test_markup_of_the_handbook_need_not_be_quoted() -> None:
    expenses = cited_text("file:///anywhere/expenses.md")
    assert expenses is not None
    assert expenses.has("Hotel, per night 135 EUR yes")
    assert expenses.has("| Hotel, per night | 135 EUR | yes |")
    assert not expenses.has("Hotel, per night 136 EUR")


@pytest.mark.parametrize(
    ("name", "heading", "text"),
    [
        ("leave.md", "Sabbatical", "nine months ahead"),
        ("it-help.html", "VPN", "tunnel set mtu 1340"),
        ("security.txt", "USB sticks", "14 days"),
        ("reisekosten.txt", "BahnCard", "Durchwahl 163"),
    ],
)
def test_a_section_of_the_handbook_ends_at_the_next_heading(name: str, heading: str, text: str) -> None:
    section = section_text(name, heading)
    assert section is not None
    assert text in section
    assert "extension 911" not in section
    assert section_text(name, "No such heading") is None
