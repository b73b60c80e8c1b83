"""Links in a text: spans, labels and URLs."""

from __future__ import annotations

import pytest

from groundwire.text.links import find_links, find_markdown_links


def spelled(text: str) -> list[tuple[str, str, str]]:
    return [(text[link.span.start : link.span.end], link.label, link.url) for link in find_links(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no link", []),
        ("[A](https://a.example)", [("[A](https://a.example)", "A", "https://a.example")]),
        ("x ([a.example](https://a.example/x)).", [("([a.example](https://a.example/x))", "a.example", "https://a.example/x")]),
        ("[[1]](https://a.example)", [("[[1]](https://a.example)", "[1]", "https://a.example")]),
        (
            "[Nile](https://w.example/Nile_(river)) flows",
            [("[Nile](https://w.example/Nile_(river))", "Nile", "https://w.example/Nile_(river)")],
        ),
        ('[A]( https://a.example "Title" )', [('[A]( https://a.example "Title" )', "A", "https://a.example")]),
        ("![alt](https://i.example/p.png)", [("[alt](https://i.example/p.png)", "alt", "https://i.example/p.png")]),
        ("see https://a.example/x.", [("https://a.example/x", "", "https://a.example/x")]),
        ("see (https://a.example/x), or", [("https://a.example/x", "", "https://a.example/x")]),
        ("<https://a.example/x>", [("https://a.example/x", "", "https://a.example/x")]),
        ("**https://a.example/x**", [("https://a.example/x", "", "https://a.example/x")]),
        (
            "[A](https://a.example)[B](http://b.example)",
            [("[A](https://a.example)", "A", "https://a.example"), ("[B](http://b.example)", "B", "http://b.example")],
        ),
        ("[A](javascript:x) [B](/y) [C](#z)", []),
        ("[](https://a.example)", [("[](https://a.example)", "", "https://a.example")]),
        ("😀[é](https://a.example/ß)😀", [("[é](https://a.example/ß)", "é", "https://a.example/ß")]),
    ],
)  # fmt: skip
def test_links_are_found_with_their_spans(text: str, found: list[tuple[str, str, str]]) -> None:
    assert spelled(text) == found


def test_bare_urls_are_not_markdown_links() -> None:
    text = "https://a.example [B](https://b.example) <https://c.example>"
    assert [link.url for link in find_markdown_links(text)] == ["https://b.example"]
    assert [link.url for link in find_links(text)] == [
        "https://a.example",
        "https://b.example",
        "https://c.example",
    ]


HOSTILE = [
    unit * (100_000 // len(unit))
    for unit in (
        "[", "]", "(", "[[", "[a](", "[a](https://x", "https://", "[a](https://x(", "[[a]", "[[a]a",
        '[a](https://x "', "[a](https://x ", "【", "【1:2†", "\ue200", "<https://x", "([a](https://x)",
    )
]  # fmt: skip
HOSTILE += [
    head + body * 100_000 + tail
    for head in (
        "[",
        "[[",
        "[a](",
        "[a](https://",
        "[a](https://x ",
        '[a](https://x "',
        "https://x(",
        "【1:2†",
    )
    for body in ("a", " ", "1", '"', "[", "(")
    for tail in ("", ")")
]


@pytest.mark.parametrize("index", range(len(HOSTILE)))
def test_hostile_texts_of_a_hundred_thousand_characters_are_scanned_in_linear_time(index: int) -> None:
    # A backtracking pattern would need hours for these: the test is that it ends.
    text = HOSTILE[index]
    assert all(text[link.span.start : link.span.end] for link in find_links(text))
    assert all(link.url in text for link in find_markdown_links(text))
