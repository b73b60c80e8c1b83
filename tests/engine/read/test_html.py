"""HTML becomes the main text of the page, in order, without boilerplate."""

from __future__ import annotations

from collections.abc import Mapping

import lxml.html
import pytest

from groundwire.engine.outline import decode_outline
from groundwire.engine.pages import Page
from groundwire.engine.read import Document, read, read_bytes, read_page
from groundwire.transport.fetch import Fetched
from tests.engine.read.samples import ARTICLE, ARTICLE_TEXT

URL = "https://geo.example/fluesse/d.html?id=1"


def text_of(markup: str) -> str:
    page = read_bytes(markup.encode(), media_type="text/html", url=URL)
    return page.text if page else ""


def test_an_article_is_read_with_all_its_metadata() -> None:
    page = read_bytes(ARTICLE.encode(), media_type="text/html", url=URL)
    assert page is not None
    assert page.text == ARTICLE_TEXT
    assert (page.title, page.language) == ("Die Donau – Flüsse", "de")
    assert (page.published, page.url) == ("2024-05-03T08:00:00Z", "https://geo.example/fluesse/donau")


@pytest.mark.parametrize(
    "markup",
    [
        ARTICLE,
        ARTICLE.replace("<main>", "<div>").replace("</main>", "</div>"),
        ARTICLE.replace("<main>", "<article>").replace("</main>", "</article>"),
        ARTICLE.replace("</p>", "").replace("</li>", "").replace("</td>", ""),
    ],
)
def test_all_text_is_in_the_page_in_this_order(markup: str) -> None:
    # All text according to lxml, scripts and menus included.
    whole = iter(lxml.html.document_fromstring(markup).text_content())
    found = [character for character in text_of(markup) if not character.isspace()]
    assert len(found) > 300
    assert all(character in whole for character in found)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>a<p>b", "a\n\nb"),
        ("<p>a &amp; b&nbsp;c &#8364; &unknown;</p>", "a & b c € &unknown;"),
        ("<p>one<br>two<br/><br>three</p>", "one\ntwo\nthree"),
        ("<ul><li>a</li><li>b</li></ul><ol><li>c</li></ol>", "a\nb\nc"),
        ("<dl><dt>term</dt><dd>meaning</dd></dl>", "term\nmeaning"),
        ("<div>a<div>b</div>c</div>", "a\n\nb\n\nc"),
        ("<p>a<!-- x -->b<?php y ?>c</p>", "abc"),
        ("<p>un<wbr>break&shy;able</p>", "unbreakable"),
        ("<p>a<script>b</script>c<noscript>d</noscript></p>", "ac"),
        ("<pre>  a\n\n\n   b  </pre>", "  a\n\n\n   b"),
        ("<pre><code><span>x</span> = <span>1</span></code></pre>", "x = 1"),
        ("<table><tr><td>a<td>b<tr><td>c<td>d</table>", "a\tb\nc\td"),
        ("<table><caption>T</caption><tr><td></td><td>b</td></tr></table>", "T\n\n\tb"),
        ("<table><tr><td><h2>A</h2><p>one</p></td><td><p>two</p></td></tr></table>", "A\n\none\n\ntwo"),
        ("<table><tr><td>x<table><tr><td>a</td><td>b</td></tr></table></td></tr></table>", "x\n\na\tb"),
        ("<h1>A</h1><h2>B</h2>c", "A\n\nB\n\nc"),
        ("<blockquote><p>a</p></blockquote>", "a"),
        ("<details><summary>s</summary>d</details>", "s\n\nd"),
        ("<p>a&#27;[31m&#8203;b&#x85;c</p>", "a[31mb…c"),
        ("<p>日本語 の 文</p>", "日本語 の 文"),
    ],
)
def test_blocks_are_separated_and_lines_of_a_block_are_joined(body: str, text: str) -> None:
    assert text_of(f"<main>{body}</main>") == text


@pytest.mark.parametrize(
    "menu",
    [
        "<nav>menu</nav>",
        "<aside>menu</aside>",
        "<footer>menu</footer>",
        "<header>menu</header>",
        "<div role=navigation>menu</div>",
        "<div role=search>menu</div>",
        "<div hidden>menu</div>",
        "<div style='color:red;DISPLAY : none'>menu</div>",
        "<div aria-hidden=true>menu</div>",
        "<select><option>menu</select>",
        "<button>menu</button>",
        "<svg><text>menu</text></svg>",
        "<template>menu</template>",
        "<textarea>menu</textarea>",
        "<ul><li><a href=/a>menu</a></li><li><a href=/b>menu two</a></li></ul>",
        "<div><a href=/a>menu</a> | <a href=/b>menu</a> | <a href=/c>menu</a></div>",
    ],
)
def test_boilerplate_is_left_out(menu: str) -> None:
    story = "<p>The story itself, which has <a href=x>one link</a> among many more words than that.</p>"
    assert "menu" not in text_of(f"<body>{menu}{story}{menu}</body>")
    assert "The story itself" in text_of(f"<body>{menu}{story}{menu}</body>")


def test_a_page_of_nothing_but_links_keeps_them() -> None:
    assert text_of("<ul><li><a href=a>Alpha</a><li><a href=b>Beta</a></ul>") == "Alpha\nBeta"


@pytest.mark.parametrize(
    "markup",
    [
        "<!DOCTYPE html><title>T</title><main><p>words</main>",
        "<!DOCTYPE html><html lang=en><meta charset=utf-8><title>T</title><article><p>words</article>",
        "<head><title>T</title><section>words</section></head>",
    ],
)
def test_optional_html_tags_may_be_missing(markup: str) -> None:
    assert text_of(markup) == "words"


def test_an_empty_main_part_does_not_hide_the_page() -> None:
    story = "A story that some script would have moved into the main part of this page. " * 5
    assert "A story" in text_of(f"<main><div id=app></div></main><div><p>{story}</p></div>")


def test_one_of_several_articles_is_not_the_page() -> None:
    text = text_of(f"<article><p>{'first ' * 60}</p></article><article><p>{'second ' * 60}</p></article>")
    assert "first" in text
    assert "second" in text


@pytest.mark.parametrize("status", [301, 404, 500])
def test_an_error_page_is_not_indexed(status: int) -> None:
    body = b"<p>There is nothing here.</p>"
    assert read_page(Fetched(URL, status, "text/html", "", body)) is None
    assert read_page(Fetched(URL, 200, "text/html", "", body)) is not None


@pytest.mark.parametrize("data", [b"", b"   ", b"<!-- x -->", b"<html></html>", b"<script>x</script>"])
def test_nothing_to_read_is_reported(data: bytes) -> None:
    reading = read(Document(data, "text/html", URL))
    assert (reading.page, reading.why) == (None, "there is no text in it")


def test_a_page_without_a_title_is_named_by_the_last_part_of_its_url() -> None:
    page = read_bytes(b"<p>x", media_type="text/html", url="https://a.example/one/two%20three/?q")
    assert page is not None
    assert page.title == "two three"


HEAD_URL = "https://a.example/dir/page.html"


def page_of(head: str, headers: Mapping[str, str] | None = None, html: str = "<html>") -> Page:
    markup = f"{html}<head>{head}</head><p>words".encode()
    found = read(Document(markup, "text/html", HEAD_URL, headers=headers or {}))
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
        ("https://evil.example/x", HEAD_URL),
        ("//evil.example/x", HEAD_URL),
        ("https://a.example@evil.example/", HEAD_URL),
        ("https://a.example\\@evil.example/", "https://a.example/@evil.example/"),
        ("javascript:alert(1)", HEAD_URL),
        ("http://[", HEAD_URL),
        ("", HEAD_URL),
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
def test_noindex_is_respected(head: str, headers: dict[str, str], kept: bool) -> None:
    found = read(Document(f"<head>{head}</head><p>words".encode(), "text/html", HEAD_URL, headers=headers))
    assert (found.page is not None) == kept
    assert found.why == ("" if kept else "it asks not to be indexed")


def test_links_are_listed_once_without_fragments_and_without_those_not_to_follow() -> None:
    markup = (
        "<base href='/base/'><a href='a'>1</a><a href='a#x'>2</a><a href='/b?q=1'>3</a>"
        "<a rel=nofollow href=c>4</a>"
        "<a href='mailto:x@y'>5</a><a href='javascript:x'>6</a><a>7</a><a href='http://['>8</a>"
        "<a href='https://other.example/ü x'>9</a>"
    )
    assert read(Document(markup.encode(), "text/html", HEAD_URL)).links == (
        "https://a.example/base/a",
        "https://a.example/b?q=1",
        "https://other.example/ü%20x",
    )
    markup = "<meta name=robots content=nofollow>" + markup
    assert read(Document(markup.encode(), "text/html", HEAD_URL)).links == ()


def outline_of(markup: str) -> list[tuple[object, ...]]:
    """Kind, level, anchor, number and text of every block."""
    page = read_bytes(markup.encode(), media_type="text/html", url=URL)
    assert page is not None
    return [
        (block.kind, block.level, block.anchor, block.number, page.text[block.start : block.end])
        for block in decode_outline(page.outline)
    ]


@pytest.mark.parametrize(
    ("markup", "anchor"),
    [
        ("<h2 id=a>T</h2>", "a"),
        ("<section id=a><h2>T</h2></section>", "a"),
        ("<section id=outer><div id=a><span id=b></span><h2>T</h2></div></section>", "a"),
        ("<h2><a name=a></a>T</h2>", "a"),
        ("<a id=a></a><h2>T</h2>", "a"),
        ("<h2>T<a href='#a%20b'>¶</a></h2>", ""),
        ("<h2>T<a href='#a'>¶</a></h2>", "a"),
        ("<section id=a><p>text</p><h2>T</h2></section>", ""),
        ("<h2 id='a b'>T</h2>", ""),
    ],
)
def test_the_anchor_of_a_heading_is_where_the_page_has_it(markup: str, anchor: str) -> None:
    found = outline_of(f"<main>{markup}<p>words</main>")
    assert [block[2] for block in found if block[0] == "heading"] == [anchor]


def test_lists_have_levels_and_numbers() -> None:
    markup = "<ol start=3><li>a<ul><li>b</ul><li value=7>c<pre>d</pre></ol><p>e"
    assert outline_of(f"<main>{markup}</main>") == [
        ("item", 1, "", 3, "a"),
        ("item", 2, "", 0, "b"),
        ("item", 1, "", 7, "c"),
        ("code", 1, "", 0, "d"),
        ("paragraph", 0, "", 0, "e"),
    ]


def test_the_names_that_a_reference_documents_open_sections() -> None:
    markup = (
        "<dl class=py><dt id=m.C>class m.C(x)</dt><dd><p>A class.</p>"
        "<dl><dt id=m.C.f>f(y)</dt><dd>A method.</dd></dl></dd></dl><dl><dt>term</dt><dd>meaning</dd></dl>"
    )
    assert outline_of(f"<main>{markup}</main>") == [
        ("signature", 7, "m.C", 0, "class m.C(x)"),
        ("paragraph", 0, "", 0, "A class."),
        ("signature", 8, "m.C.f", 0, "f(y)"),
        ("paragraph", 0, "", 0, "A method."),
        ("item", 1, "", 0, "term"),
        ("item", 2, "", 0, "meaning"),
    ]


def test_links_to_other_pages_are_left_out() -> None:
    box = '<div class="admonition seealso"><p>See also</p><dl><dt>m.g</dt><dd>Another one.</dd></dl></div>'
    assert outline_of(f"<main><p>A class.</p>{box}<p>The end.</p></main>") == [
        ("paragraph", 0, "", 0, "A class."),
        ("paragraph", 0, "", 0, "The end."),
    ]


def test_a_row_is_a_line_with_a_tab_between_cells() -> None:
    markup = "<table><tr><th>A</th><th>B<br>b</th></tr><tr><td></td><td><p>1</p><p>2</p></td></tr></table>"
    assert outline_of(f"<main>{markup}</main>") == [("row", 1, "", 0, "A\tB b"), ("row", 0, "", 0, "\t1 2")]
