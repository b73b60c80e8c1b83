"""Markdown with citation chips: chips follow their claims, and do not change the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as some

from groundwire.faces.web.answers import display_text
from groundwire.faces.web.markdown import RenderedMarkdown, render_text
from groundwire.model import Citation, Evidence, Source, Span
from groundwire.text.sanitise import sanitise

A = Source("https://a.example/", "A")
CHIP = re.compile(r"<chip (\d+)>")
TAG = re.compile(r"<[^>]*>")


def rendered(text: str, citations: Sequence[Citation]) -> RenderedMarkdown:
    return render_text(text, citations, (), lambda group, number: f"<chip {number}>" * bool(group))


def claim(text: str, words: str) -> Citation:
    start = text.index(words)
    return Citation(Span(start, start + len(words)), (Evidence(A),))


def text_of(html: str) -> str:
    return unescape(TAG.sub("", html))


@pytest.mark.parametrize(
    ("text", "words", "html"),
    [
        ("One fact. Two.", "One fact.", "<p>One fact.<chip 0> Two.</p>"),
        ('A **"quoted."** end', '**"quoted."**', '<p>A <strong>"quoted."</strong><chip 0> end</p>'),
        ("**bold fact** end", "**bold fact", "<p><strong>bold fact<chip 0></strong> end</p>"),
        ("*a* b", "*a*", "<p><em>a</em><chip 0> b</p>"),
        ("use `x = 1` now", "use `x", "<p>use <code>x<chip 0> = 1</code> now</p>"),
        ("- one\n- two", "one", "<ul>\n<li>one<chip 0></li>\n<li>two</li>\n</ul>"),
        ("Grüße 👩‍👩‍👧 da.", "Grüße 👩‍👩‍👧", "<p>Grüße 👩‍👩‍👧<chip 0> da.</p>"),
        ("日本語です。次", "日本語です。", "<p>日本語です。<chip 0>次</p>"),
        ("# Head\n\ntext", "# Head", "<h3>Head<chip 0></h3>|<p>text</p>"),
        ("a\n***\nb", "a", "<p>a<chip 0></p>|<hr>|<p>b</p>"),
    ],
)
def test_a_chip_follows_its_claim(text: str, words: str, html: str) -> None:
    result = rendered(text, [claim(text, words)])
    assert "|".join(result.blocks) == html
    assert result.unplaced == ()


def test_a_chip_replaces_a_marker() -> None:
    text = "So it is ([a.example](https://a.example/)). More."
    start = text.index("(")
    marker = Citation(Span(start, text.index(". More")), (Evidence(A),), "marker")
    assert rendered(text, [marker]).blocks == ("<p>So it is<chip 0>. More.</p>",)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("It is so. LINK", "<p>It is so.<chip 0></p>"),
        ("It is so.\nLINK\n\nMore.", "<p>It is so.<chip 0></p>|<p>More.</p>"),
        ("It is so.\n\nLINK\n\nMore.", "<p>It is so.<chip 0></p>|<p>More.</p>"),
        ("- It is so. LINK\n- More.", "<ul>\n<li>It is so.<chip 0></li>\n<li>More.</li>\n</ul>"),
        ("- LINK It is so.", "<ul>\n<li>It is so.<chip 0></li>\n</ul>"),
        ("1. LINK It is so.", "<ol>\n<li>It is so.<chip 0></li>\n</ol>"),
        ("# So LINK\n\nMore.", "<h3>So<chip 0></h3>|<p>More.</p>"),
        ("So **it is** LINK", "<p>So <strong>it is</strong><chip 0></p>"),
    ],
)
def test_a_chip_that_replaces_a_marker_is_attached_to_words(text: str, html: str) -> None:
    link = "([a.example](https://a.example/))"
    start = text.index("LINK")
    marker = Citation(Span(start, start + len(link)), (Evidence(A),), "marker")
    result = rendered(text.replace("LINK", link), [marker])
    assert "|".join(result.blocks) == html
    assert result.unplaced == ()


def test_a_marker_in_its_own_paragraph_is_attached_to_the_words_before_it() -> None:
    text = "One fact. Two facts. ([a](https://a.example/))\n\n([b](https://b.example/))"
    first, second = text.index("([a]"), text.index("([b]")
    citations = [
        Citation(Span(0, 9), (Evidence(A),)),
        Citation(Span(first, second - 2), (Evidence(A),), "marker"),
        Citation(Span(second, len(text)), (Evidence(A),), "marker"),
    ]
    result = rendered(text, citations)
    assert result.blocks == ("<p>One fact.<chip 0> Two facts.<chip 1><chip 2></p>",)
    assert result.unplaced == ()


def test_conflicting_chips_are_placed_one_by_one() -> None:
    text = "` >ba**~"
    citations = [Citation(Span(*span), (Evidence(A),)) for span in ((4, 5), (6, 7), (1, 6))]
    result = rendered(text, citations)
    assert len(CHIP.findall("".join(result.blocks))) == 2
    assert len(result.unplaced) == 1


def test_a_chip_in_a_row_of_a_table_stays_in_the_row() -> None:
    text = "| a | b |\n|---|---|\n| c | d |\n"
    (block,) = rendered(text, [claim(text, "| c | d |")]).blocks
    assert "<td>d<chip 0></td>" in block


def test_a_chip_that_would_split_a_url_follows_the_link() -> None:
    text = "See [the page](https://a.example/long/path) for more."
    (block,) = rendered(text, [Citation(Span(0, 30), (Evidence(A),))]).blocks
    assert "</a>" in block.partition("<chip 0>")[0]
    assert 'href="https://a.example/long/path"' in block


def test_a_citation_without_a_span_is_unplaced() -> None:
    citation = Citation(None, (Evidence(A),))
    assert rendered("Text.", [citation]).unplaced == (citation,)


WORDS = some.text(alphabet="ab *_`[]()#-|>!<&\\\n1.⸨⸩~é日👩", max_size=60)


@given(WORDS, some.lists(some.tuples(some.integers(0, 60), some.integers(0, 60)), max_size=4))
def test_chips_do_not_change_the_rest_of_the_html(text: str, pairs: list[tuple[int, int]]) -> None:
    spans = {Span(min(pair), min(max(pair), len(text))) for pair in pairs if min(pair) <= len(text)}
    citations = [Citation(span, (Evidence(A),)) for span in sorted(spans)]
    result = rendered(text, citations)
    bare = [CHIP.sub("", block) for block in result.blocks]
    assert bare == list(rendered(text, ()).blocks)
    placed = {match for block in result.blocks for match in CHIP.findall(block)}
    kept = [citation for citation in citations if citation not in result.unplaced]
    assert len(placed) == len({int(number) for number in placed})
    assert bool(placed) == bool(kept)


INVISIBLE = "\u200b\u202e\u2066\U000e0041\ufeff\x07"


@given(
    some.lists(some.tuples(some.text("abc é👍🏽日", max_size=6), some.sampled_from(INVISIBLE)), max_size=6),
    some.data(),
)
def test_invisible_characters_are_removed_and_offsets_shifted(
    pieces: list[tuple[str, str]], data: some.DataObject
) -> None:
    text = "".join(word + char for word, char in pieces)
    visible, shifted = display_text(text)
    assert not any(char in visible for char in INVISIBLE)
    point = data.draw(some.integers(0, len(text)))
    assert visible[: shifted(point)] == sanitise(text[:point])


def test_words_and_emoji_keep_the_invisible_characters_they_need() -> None:
    family, persian = "👩\u200d👩\u200d👧", "می\u200cخواهم"
    flag = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    assert sanitise(family + flag + persian + "❤️") == family + flag + persian + "❤️"


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript:alert(1))",
        "![x](data:text/html,x)",
        "[x](//evil.example)",
        "[x](https://a@evil.example/)",
    ],
)
def test_a_url_that_is_not_a_web_address_is_not_linked(text: str) -> None:
    (block,) = rendered(text, ()).blocks
    assert "href" not in block
    assert text_of(block) == "x"


def test_a_link_shows_the_host_it_leads_to() -> None:
    (block,) = rendered("[bank.example](https://evil.example/x)", ()).blocks
    assert text_of(block) == "bank.example (evil.example)"
    (block,) = rendered("![picture](https://evil.example/p.png)", ()).blocks
    assert "<img" not in block
    assert text_of(block) == "picture (evil.example)"


def html_of(text: str) -> str:
    return "".join(render_text(text, (), (), lambda _, __: "").blocks)


def test_code_is_highlighted_and_its_text_is_unchanged() -> None:
    code = 'def f(*args):\n    """<b>"""\n    return args[0] & 1  # c\n'
    html = html_of(f"```python\n{code}```")
    assert '<span class="hl-k">def</span> <span class="hl-f">f</span>(*args)' in html
    assert unescape(re.sub("<[^>]*>", "", html)) == code
    assert "hl-" in html_of("    >>> import json\n    >>> 1 + 1")
    for language in ("", "brainfuck", "<b>", "text"):
        assert "hl-" not in html_of(f"```{language}\nx = 1\n```")


def test_a_chip_in_code_does_not_change_the_highlighting() -> None:
    text = "```python\ndef f(): return 'said' + 'more'\n```"
    span = Span(text.index("return"), text.index(" + 'more"))
    citation = Citation(span, (Evidence(Source("https://a.example/"), ""),))
    (block,) = render_text(text, (citation,), (), lambda _, __: "<i></i>").blocks
    assert "<i></i>" in block
    assert block.replace("<i></i>", "") == html_of(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Let $a^2$ be", ["<math", "<msup><mi>a</mi><mn>2</mn></msup>"]),
        (r"Let \(x_1\) be", ["<msub><mi>x</mi><mn>1</mn></msub>"]),
        ("$$\n\\frac{a}{b}\n= c\n$$", ['display="block"', "<mfrac>"]),
        (r"\[ x = \sqrt{2} \]", ['display="block"', "<msqrt>"]),
        (r"$\unknown{x} = 1$", [r'<code class="formula">\unknown{x} = 1</code>']),
        (r"$\frac{a = 1$", [r'<code class="formula">\frac{a = 1</code>']),
        (r"$\text{<script>x</script>} = 1$", ["&lt;script&gt;x"]),
    ],
)
def test_formulas_are_written_as_mathml_or_as_their_source(text: str, parts: list[str]) -> None:
    html = html_of(text)
    assert all(part in html for part in parts), html


@pytest.mark.parametrize(
    "text",
    [
        "from $5 to $10, or US$20",
        "echo $HOME/$PATH and $A_B or $C_D",
        "a $ b = c $ d",
        "f(*args, **kwargs), then g(*args)*2",
    ],
)
def test_money_variables_and_parameters_are_not_markup(text: str) -> None:
    assert html_of(text) == f"<p>{text}</p>"


def test_task_lists_footnotes_and_quotes_are_shown() -> None:
    html = html_of("- [x] done\n- [ ] open[^a]\n\n> one\n> two\n\n[^a]: A *note*.")
    assert '<li class="task">☑ done</li>' in html
    assert '☐ open<sup class="footnote">1</sup>' in html
    assert "<p>one\ntwo</p>" in html
    assert '<ol class="footnotes"><li value="1"><p>A <em>note</em>.</p>' in html
