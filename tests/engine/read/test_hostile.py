"""Hostile documents are read within limits, and cause no requests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable

import pytest

pytestmark = pytest.mark.server

MAKING = {
    "ten megabytes of text": "b'<p>' + b'word ' * 2_000_000",
    "many paragraphs": "b'<p>x</p>' * 100_000",
    "a million paragraphs": "b'<p>x</p>' * 1_250_000",
    "100,000 nested elements": "b'<div>' * 100_000 + b'deep'",
    "100,000 nested inlines": "b'<b>' * 100_000 + b'deep'",
    "nested tables": "b'<table><tr><td>' * 60_000 + b'deep'",
    "nested lists": "b'<ul><li>' * 100_000 + b'deep'",
    "crossed tags": "b'<b><i></b></i>' * 300_000 + b'x'",
    "links in links": "b'<a href=x>' * 200_000 + b'x'",
    "rows without end": "b'<table>' + b'<tr><td>x' * 300_000",
    "cells without end": "b'<table><tr>' + b'<td>x' * 300_000",
    "one huge attribute": "b'<a href=\"' + b'a' * 10_000_000 + b'\">x</a>'",
    "many attributes": "b'<p ' + b'a=b ' * 2_000_000 + b'>x'",
    "only brackets": "b'<' * 10_000_000",
    "open comments": "b'<!--' * 2_000_000",
    "entities": "b'&amp;' * 2_000_000",
    "an entity bomb": (
        "b'<!DOCTYPE html [<!ENTITY a \"aaaaaaaaaa\">' + b''.join(b'<!ENTITY %c \"%s\">' % (98 + n,"
        " (b'&%c;' % (97 + n)) * 10) for n in range(12)) + b']><p>x&m;'"
    ),
    "a foreign entity": "b'<!DOCTYPE html [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><p>x&x;'",
    "metas": "b'<meta name=a content=b>' * 300_000 + b'x'",
    "deep linked data": "b'<script type=\"application/ld+json\">' + b'[' * 400_000 + b'</script>x'",
    "wide linked data": "b'<script type=\"application/ld+json\">[' + b'{},' * 200_000 + b'{}]</script>x'",
    "spaces": "b'<p>' + b' \\n' * 4_000_000 + b'x'",
    "breaks": "b'<p>' + b'<br> ' * 300_000 + b'x'",
    "dates": "b'<time datetime=2024-99-99>' * 300_000 + b'x'",
    "zero bytes": "b'<p>x' + b'\\0' * 10_000_000",
}
TEXTS = {
    "markdown brackets": ("text/markdown", "b'[' * 100_000"),
    "markdown links": ("text/markdown", "b'[a](' * 50_000"),
    "markdown quotes": ("text/markdown", "b'>' * 100_000 + b'x'"),
    "markdown emphasis": ("text/markdown", "b'*a **a ' * 30_000"),
    "markdown front matter": ("text/markdown", "b'---\\n' + b'a: b\\n' * 200_000"),
    "rest roles": ("text/x-rst", "b':a:`' * 40_000"),
    "rest indents": ("text/x-rst", "b''.join(b' ' * n + b'x\\n' for n in range(600))"),
    "rest quotes": ("text/x-rst", "b'`' * 90_000"),
    "rest include": ("text/x-rst", "b'.. include:: /dev/zero\\n\\nx'"),
    "rest substitutions": ("text/x-rst", "b'.. |a| replace:: |b| |b|\\n.. |b| replace:: |a| |a|\\n\\n|a|'"),
    "a broken pdf": ("application/pdf", "b'%PDF-1.4\\n' + b'1 0 obj << /Kids [1 0 R] >> endobj ' * 20_000"),
}
OFTEN = frozenset(
    (
        *("many paragraphs", "100,000 nested elements", "nested tables", "cells without end"),
        *("an entity bomb", "a foreign entity", "markdown links", "rest include", "a broken pdf"),
    )
)
"""The documents of the short form."""
PROGRAM = """
import json, resource, sys, time
def watch(event, args):
    if event.startswith("socket.") or event == "open" and str(args[0]) in ("/etc/passwd", "/dev/zero"):
        sys.stdout.write("opened " + str(args[:1]))
        sys.stdout.flush()
        import os; os._exit(3)
from groundwire.engine.read import Document, read
read(Document(b"warm", {media_type!r}))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data = {making}
sys.addaudithook(watch)
began = time.process_time()
reading = read(Document(data, {media_type!r}, "https://a.example/"))
spent = time.process_time() - began
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
text = reading.page.text if reading.page else ""
print(json.dumps([spent, (after - before) // 1024, len(text), text[:200]]))
"""
SECONDS = 20.0
"""Seconds on a shared machine; on an idle one it takes at most four."""
MEGABYTES = 600


def cost_of(making: str, media_type: str) -> tuple[float, int, int, str]:
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", PROGRAM.format(making=making, media_type=media_type)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == ""
    spent, megabytes, length, text = json.loads(result.stdout)
    return spent, megabytes, length, text


def _long(names: Iterable[str]) -> list[object]:
    return [name if name in OFTEN else pytest.param(name, marks=pytest.mark.thorough) for name in names]


@pytest.mark.parametrize("name", _long(MAKING))
def test_hostile_html_is_bounded(name: str) -> None:
    spent, megabytes, length, text = cost_of(MAKING[name], "text/html")
    assert spent < SECONDS
    assert megabytes < MEGABYTES
    assert length <= 4_000_000
    assert "root:" not in text
    assert "aaaaaaaaaaa" not in text


@pytest.mark.parametrize("name", _long(TEXTS))
def test_other_hostile_documents_are_bounded(name: str) -> None:
    media_type, making = TEXTS[name]
    spent, megabytes, _, _ = cost_of(making, media_type)
    assert spent < SECONDS
    assert megabytes < MEGABYTES
