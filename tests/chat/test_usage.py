"""Usage by day and by model, and its charts."""

from __future__ import annotations

from datetime import date
from xml.etree import ElementTree

from groundwire.chat.usage import by_model, cost_of, days_until, searches_of, series, tokens_of
from groundwire.faces.web.locales import load_locales
from groundwire.faces.web.suggestions import read_suggestions
from groundwire.faces.web.usage import stacked_bars
from groundwire.model import Usage
from groundwire.store.base import UsageTotal

TOTALS = [
    UsageTotal("2026-02-27", "p", "m", 3, 1, Usage(100, 20, searches=2, cost=0.5)),
    UsageTotal("2026-03-01", "p", "m", 1, 0, Usage(10, 5)),
    UsageTotal("2026-03-01", "<q>", "n", 2, 0, Usage(1, 1, searches=7)),
]
DAYS = days_until(date(2026, 3, 1), 4)


def test_days_without_requests_count_as_zero() -> None:
    assert DAYS == ("2026-02-26", "2026-02-27", "2026-02-28", "2026-03-01")
    assert series(TOTALS, DAYS, tokens_of).values == {"<q>": (0, 0, 0, 2), "p": (0, 120, 0, 15)}
    assert series(TOTALS, DAYS[:1], cost_of).is_empty


def test_usage_is_summed_by_model() -> None:
    spent = by_model(TOTALS)
    assert [
        (one.provider, one.requests, one.errors, one.searches, one.tokens, one.cost) for one in spent
    ] == [
        ("p", 4, 1, 2, 135, 0.5),
        ("<q>", 2, 0, 7, 2, None),
    ]


def test_bars_of_a_chart_are_proportional_to_their_values() -> None:
    drawn = stacked_bars(series(TOTALS, DAYS, searches_of), "Searches & more", load_locales()["en"])
    root = ElementTree.fromstring(f"<div>{drawn}</div>")  # noqa: S314  ours
    heights = sorted(float(bar.get("height", "0")) for bar in root.iter("rect"))
    assert len(heights) == 2
    assert abs(heights[1] / heights[0] - 3.5) < 0.01
    assert all(element.get("style") is None for element in root.iter())


def test_search_suggestions_link_only_to_google() -> None:
    html = (
        '<style>.chip { color: red }</style><div class="container"><a class="chip" '
        'href="https://vertexaisearch.cloud.google.com/grounding-api-redirect/x">mars &amp; rovers</a>'
        '<a href="https://evil.example/">evil</a><a href="javascript:alert(1)">worse</a>'
        '<a href="https://google.com.evil.example/">sly</a><a href="http://google.com/">plain</a></div>'
    )
    found = read_suggestions(html)
    assert [(one.label, one.href) for one in found] == [
        ("mars & rovers", "https://vertexaisearch.cloud.google.com/grounding-api-redirect/x")
    ]


def test_only_hosts_of_google_are_linked() -> None:
    hosts = ("google.com", "www.google.com", "evilgoogle.com", "google.com.evil.example", "evil.example")
    html = "".join(f'<a href="https://{host}/search?q=x">{host}</a>' for host in hosts)
    assert [one.label for one in read_suggestions(html)] == ["google.com", "www.google.com"]
