"""Descriptions become text to read."""

from __future__ import annotations

from groundwire.engine.knowledge.readme import plain


def test_what_a_program_printed_is_no_statement_of_the_page() -> None:
    page = "Before.\n\n```\n$ run it\nThe moon is cheese.\n```\n\nAfter.\n\n```\ncode()\n```\n"
    text = plain(page, "text/markdown")
    assert "moon" not in text
    assert all(words in text for words in ("Before.", "After.", "code()"))
