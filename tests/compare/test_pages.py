"""The page, the picture, the table and the JSON of a comparison."""

from __future__ import annotations

import io
import json
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from groundwire.compare.comparison import Comparison, Contribution
from groundwire.compare.encode import encode_comparison
from groundwire.compare.page import render_page
from groundwire.compare.picture import draw_comparison
from groundwire.compare.png import draw_png
from groundwire.compare.run import compared
from groundwire.faces.cli.comparison import write_comparison
from groundwire.faces.cli.console import Console
from groundwire.model import Answer
from tests.compare.answers import contribution

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "]]></text><script>1</script>",
    "\x1b]8;;https://evil.example\x07link",
    "a\u202eb\u200bc",
)


def nile() -> Comparison:
    return compared(
        "How long is the Nile?",
        [
            contribution("alpha", ("The Nile is 6,650 km long.", "https://a.example/nile")),
            contribution("beta", ("The Nile is 6,853 km long.", "https://b.example/nile")),
            Contribution("gamma", Answer(), "failed", "the provider is overloaded"),
        ],
        None,
    )


def hostile(text: str) -> Comparison:
    return compared(
        text,
        [
            contribution(text, (f"The Nile {text} is 6,650 km long.", f"https://a.example/{text}")),
            contribution("b", (f"The Nile {text} is 6,853 km long.", f"javascript:alert('{text}')")),
            Contribution("c", Answer(), "failed", text),
        ],
        None,
    )


class Elements(HTMLParser):
    """Collects elements and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_page_runs_nothing_and_loads_nothing_whatever_providers_write(text: str) -> None:
    page = render_page(hostile(text))
    reader = Elements()
    reader.feed(page)
    tags = {tag for tag, _ in reader.found}
    assert not tags & {"script", "img", "iframe", "link", "object", "base"}
    for _, attributes in reader.found:
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("href") or "https://").startswith(("https://", "http://"))
    assert "default-src 'none'" in page
    assert not set("\x1b\u202e\u200b") & set(page)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_picture_is_well_formed_and_has_only_shapes_and_text(text: str) -> None:
    drawing = draw_comparison(hostile(text))
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(drawing).iter()}  # noqa: S314
    assert tags <= {"svg", "title", "rect", "text"}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_terminal_gets_no_control_bytes_from_providers(text: str) -> None:
    out = io.StringIO()
    write_comparison(Console(stdout=out, env={"COLUMNS": "100"}), hostile(text))
    assert not set("\x1b\x07\u202e\u200b") & set(out.getvalue())


def test_the_table_shows_who_answered_and_what_is_contradicted() -> None:
    out = io.StringIO()
    write_comparison(Console(stdout=out, env={"COLUMNS": "100"}), nile())
    text = out.getvalue()
    assert "Contradicted (1)" in text
    assert "6,650 (alpha), 6,853 (beta)" in text
    assert "the provider is overloaded" in text
    assert "https://a.example/nile  alpha" in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_picture_and_the_page_name_both_sides() -> None:
    for shown in (draw_comparison(nile()), render_page(nile())):
        assert "6,650" in shown
        assert "6,853" in shown
        assert "overloaded" in shown


def test_a_picture_can_be_a_png() -> None:
    assert draw_png(draw_comparison(nile())).startswith(b"\x89PNG")


def test_the_json_has_every_answer_claim_and_source() -> None:
    body = json.loads(json.dumps(encode_comparison(nile())))
    assert [item["outcome"] for item in body["answers"]] == ["answered", "answered", "failed"]
    (claim,) = body["claims"]
    assert claim["agreement"] == "contradicted"
    assert claim["differences"] == [{"alpha": "6,650", "beta": "6,853"}]
    assert {source["url"] for source in body["sources"]} == {
        "https://a.example/nile",
        "https://b.example/nile",
    }
