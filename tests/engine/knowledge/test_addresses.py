"""Addresses of built-in pages: at a release the source, else this machine."""

from __future__ import annotations

import pytest

from groundwire.engine.knowledge.addresses import documentation_heading, library_page, source_address


@pytest.mark.parametrize("version", ["3.11.7", "3.14.0rc1", "3.15.0a2"])
def test_a_release_is_cited_at_its_tag(version: str) -> None:
    expected = f"https://github.com/python/cpython/blob/v{version}/Lib/os.py#L282"
    assert source_address("os.py", 282, version) == expected


def test_a_build_between_releases_has_no_tag() -> None:
    assert source_address("os.py", 282, "3.13.0+") == ""


def test_compiled_modules_have_no_source() -> None:
    assert source_address("", 0, "3.11.7") == ""


@pytest.mark.parametrize(
    ("url", "title", "page"),
    [
        ("local:python/3.11.7/math.sqrt", "math.sqrt — square root — Python 3.11.7", "math"),
        ("local:python/3.11.7/multiprocessing.Pool", "multiprocessing.Pool — Python", "multiprocessing"),
        ("https://docs.python.org/3.12/library/os.html#os.walk", "os.walk", "os"),
        ("https://docs.python.org/3.12/tutorial/errors.html", "Errors", ""),
        ("https://team.example/library/os.html", "os — at home", ""),
    ],
)
def test_the_page_of_the_library_reference_about_a_subject(url: str, title: str, page: str) -> None:
    assert library_page(url, title) == page


@pytest.mark.parametrize(
    ("target", "heading"),
    [
        ("reference/compound_stmts.html#the-with-statement", "The with statement"),
        ("glossary.html#term-generator-expression", "generator-expression"),
        ("library/os.html#os.walk", "os.walk"),
        ("faq/programming.html#why-can-t-i-use-it", "Why can’t I use it"),
        ("howto/sorting.html", "sorting (howto)"),
        ("license.html", "license"),
    ],
)
def test_the_heading_of_a_section_is_read_from_its_address(target: str, heading: str) -> None:
    assert documentation_heading(target) == heading
