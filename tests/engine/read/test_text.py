"""Markdown, reStructuredText and plain text."""

from __future__ import annotations

from email.message import Message
from importlib.metadata import distributions

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from markdown_it import MarkdownIt

from groundwire.engine.pages import Page
from groundwire.engine.read import read_bytes
from tests.engine.read.samples import words

MARKDOWN = """---
title: "Install it"
date: 2024-01-02
lang: en-GB
---
# Install

Needs **Python** 3.11, see [the docs](https://docs.example/) and `pip`.

- one
- two
  1. nested

| name | value |
|------|-------|
| a    | 1     |

```python
x  =  1
    y
```

<b>inline</b> HTML <script>alert(1)</script>&amp; more.
"""

REST = """
JSON
====

.. module:: json
   :synopsis: Encode and decode.

Use :func:`json.dumps`, :class:`~json.JSONEncoder` and :ref:`the guide <guide>`; H\\ :sub:`2`\\ O.

.. function:: dumps(obj, *, skipkeys=False)
   :noindex:

   Serialize *obj* to a ``str``.

   .. versionadded:: 3.4
      The *indent* parameter.

.. note:: Take care.

.. code-block:: python

   x  =  1

.. toctree::
   :maxdepth: 2

   intro
   usage

.. include:: /etc/passwd

.. raw:: html

   <b>raw words</b>

.. csv-table:: t
   :file: /etc/passwd

- item
- item two

|undefined| and `broken
"""


def page_of(text: str, media_type: str) -> Page:
    page = read_bytes(text.encode(), media_type=media_type, url="https://a.example/doc")
    assert page is not None
    return page


def test_markdown_is_read_as_the_html_it_renders_to() -> None:
    page = page_of(MARKDOWN, "text/markdown")
    assert page.text == (
        "Install\n\nNeeds Python 3.11, see the docs and pip.\n\none\ntwo\nnested\n\n"
        "name\tvalue\na\t1\n\nx  =  1\n    y\n\ninline HTML & more."
    )
    assert (page.title, page.published, page.language) == ("Install it", "2024-01-02", "en")


def test_markdown_without_front_matter_has_its_heading_for_a_title() -> None:
    assert page_of("intro\n\n# The *one*\n", "text/markdown").title == "The one"


def test_restructuredtext_keeps_the_text_of_sphinx_roles() -> None:
    page = page_of(REST, "text/x-rst")
    assert page.title == "JSON"
    assert page.text == (
        "JSON\n\nUse json.dumps, json.JSONEncoder and the guide; H2O.\n\ndumps(obj, *, skipkeys=False)\n\n"
        "Serialize obj to a str.\n\nAdded in version 3.4\nThe indent parameter.\n\nNote\n\nTake care.\n\n"
        "x  =  1\n\nitem\nitem two\n\n|undefined| and `broken"
    )


def test_restructuredtext_reads_no_file_and_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    page = page_of(REST, "text/x-rst")
    assert "root:" not in page.text
    assert "raw words" not in page.text
    assert capfd.readouterr() == ("", "")


def test_plain_text_is_unchanged() -> None:
    page = page_of("\ufeffNotes\r\n=====\r\n\r\n  indented\ttext\r\n\r\n\r\nend\r\n", "text/plain")
    assert page.text == "Notes\n=====\n\n  indented\ttext\n\n\nend"
    assert page.title == "Notes"
    assert page_of("A sentence goes on\nover two lines.\n", "text/plain").title == "doc"


def described() -> list[tuple[str, str, str]]:
    """The descriptions of the installed packages."""
    found = []
    for distribution in distributions():
        about = distribution.metadata
        assert isinstance(about, Message)
        kind = str(about.get("Description-Content-Type", "text/x-rst")).partition(";")[0].strip()
        text = str(about.get("Description") or about.get_payload() or "")
        if kind in ("text/markdown", "text/x-rst") and len(text) > 500:
            found.append((str(about["Name"]), kind, text))
    return sorted(found, key=lambda entry: len(entry[2]))[:40]


def test_descriptions_of_real_packages_are_read_word_for_word() -> None:
    """Compare with the text of the parsers: nothing is added, and little is lost."""
    entries = described()
    assert {kind for _, kind, _ in entries} == {"text/markdown", "text/x-rst"}
    for name, kind, text in entries:
        page = page_of(text, kind)
        known = set(words(text))
        made_up = [word for word in words(page.text) if word not in known]
        # Generated words, such as "Note" of an admonition, are added by docutils.
        assert len(made_up) <= 0.02 * len(words(page.text)) + 2, (name, made_up)
        expected = words(_by_the_parser(text, kind))
        found = set(words(page.text))
        lost = [word for word in expected if word not in found]
        assert len(lost) <= 0.1 * len(expected), (name, lost[:30])


def _by_the_parser(text: str, kind: str) -> str:
    if kind == "text/markdown":
        tokens = MarkdownIt("commonmark").enable("table").parse(text)
        return "\n".join(
            child.content
            for token in tokens
            for child in token.children or []
            if child.type in ("text", "code_inline")
        )
    tree = publish_doctree(
        text, settings_overrides={"report_level": 5, "halt_level": 5, "warning_stream": False}
    )
    for picture in list(tree.findall(nodes.image)):
        picture.parent.remove(picture)  # names of images are not text
    return str(tree.astext())
