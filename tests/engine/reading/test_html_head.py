"""What a page says about itself, in all the ways in which pages say it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from groundwire.engine.pages import Page
from groundwire.engine.read import Document, read

URL = "https://a.example/dir/page.html"


def page_of(head: str, headers: Mapping[str, str] | None = None, html: str = "<html>") -> Page:
    markup = f"{html}<head>{head}</head><p>words".encode()
    found = read(Document(markup, "text/html", URL, headers=headers or {}))
    assert found.page is not None
    return found.page


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<title>T</title>", "T"),
        ("<title> T\n  U </title>", "T U"),
        ("<title>T</title><meta property='og:title' content='O &amp; P'>", "O & P"),
        ("<title></title><body><h1>H <i>i</i></h1>", "H i"),
        ("<title>&lt;b&gt;</title>", "<b>"),
        ("", "page.html"),
    ],
)
def test_titles(head: str, title: str) -> None:
    assert page_of(head).title == title


@pytest.mark.parametrize(
    ("head", "published"),
    [
        (
            "<meta property='article:published_time' content='2024-05-03T10:00:00+02:00'>",
            "2024-05-03T08:00:00Z",
        ),
        ("<meta name=date content='2024-05-03'>", "2024-05-03"),
        ("<meta itemprop=datePublished content='2024-05-03T10:00:00'>", "2024-05-03"),
        ("<meta name='citation_publication_date' content='2024/5/3'>", "2024-05-03"),
        ("""<script type="application/ld+json">{"datePublished": "2024-05-03"}</script>""", "2024-05-03"),
        (
            """<script type="application/ld+json">
            {"@graph": [{"@type": "WebPage"}, {"datePublished": "2024-05-03T00:00:00.123Z"}]}</script>""",
            "2024-05-03T00:00:00Z",
        ),
        ("""<script type="application/ld+json">{broken</script><time datetime=2024-05-03>""", "2024-05-03"),
        ("<body><time datetime='soon'></time><time datetime='2024-05-03T10:00Z'>", "2024-05-03T10:00:00Z"),
        ("<body><time datetime='2020-01-01'></time><time pubdate datetime='2024-05-03'>", "2024-05-03"),
        ("<meta name=date content='2024-13-45'>", ""),
        ("<meta name=date content='0001-01-01'>", ""),
        ("<meta name=date content='0001-01-01T00:00:00+14:00'>", ""),
        ("<meta name=date content='9999-12-31T23:59:59-12:00'>", ""),
        ("<meta name=date content='yesterday'>", ""),
        ("", ""),
    ],
)
def test_dates(head: str, published: str) -> None:
    assert page_of(head).published == published


@pytest.mark.parametrize(
    ("html", "head", "headers", "language"),
    [
        ("<html lang=de>", "", {}, "de"),
        ("<html lang=pt_BR>", "", {}, "pt"),
        ("<html xml:lang=fr>", "", {}, "fr"),
        ("<html>", "<meta http-equiv=content-language content=nl>", {}, "nl"),
        ("<html>", "", {"content-language": "it, en"}, "it"),
        ("<html lang=gsw>", "", {}, ""),
        ("<html lang='1!'>", "", {}, ""),
        ("<html>", "", {}, ""),
    ],
)
def test_languages(html: str, head: str, headers: dict[str, str], language: str) -> None:
    assert page_of(head, {"content-language": ""} | headers, html).language == language


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("/x", "https://a.example/x"),
        ("https://www.a.example/x", "https://www.a.example/x"),
        ("https://a.example/x#part", "https://a.example/x"),
        ("https://evil.example/x", URL),
        ("//evil.example/x", URL),
        ("https://a.example@evil.example/", URL),
        ("https://a.example\\@evil.example/", "https://a.example/@evil.example/"),
        ("javascript:alert(1)", URL),
        ("http://[", URL),
        ("", URL),
    ],
)
def test_a_page_names_its_own_address_only_on_its_own_host(href: str, url: str) -> None:
    assert page_of(f"<link rel='alternate canonical' href='{href}'>").url == url


@pytest.mark.parametrize(
    ("head", "headers", "kept"),
    [
        ("", {}, True),
        ("<meta name=robots content='noindex'>", {}, False),
        ("<META NAME=Robots CONTENT='NoIndex, follow'>", {}, False),
        ("<meta name=robots content=none>", {}, False),
        ("<meta name=groundwire content=noindex>", {}, False),
        ("<meta name=googlebot content=noindex>", {}, True),
        ("<meta name=robots content=nofollow>", {}, True),
        ("", {"x-robots-tag": "noindex"}, False),
        ("", {"x-robots-tag": "groundwire: noindex"}, False),
        ("", {"x-robots-tag": "googlebot: noindex, nofollow"}, True),
        ("", {"x-robots-tag": "noindex, googlebot: nofollow"}, False),
    ],
)
def test_a_page_that_asks_not_to_be_indexed_is_not(head: str, headers: dict[str, str], kept: bool) -> None:
    found = read(Document(f"<head>{head}</head><p>words".encode(), "text/html", URL, headers=headers))
    assert (found.page is not None) == kept
    assert found.why == ("" if kept else "it asks not to be indexed")


def test_links_are_told_once_without_fragments_and_without_those_not_to_follow() -> None:
    markup = (
        "<base href='/base/'><a href='a'>1</a><a href='a#x'>2</a><a href='/b?q=1'>3</a>"
        "<a rel=nofollow href=c>4</a>"
        "<a href='mailto:x@y'>5</a><a href='javascript:x'>6</a><a>7</a><a href='http://['>8</a>"
        "<a href='https://other.example/ü x'>9</a>"
    )
    assert read(Document(markup.encode(), "text/html", URL)).links == (
        "https://a.example/base/a",
        "https://a.example/b?q=1",
        "https://other.example/ü%20x",
    )
    markup = "<meta name=robots content=nofollow>" + markup
    assert read(Document(markup.encode(), "text/html", URL)).links == ()
