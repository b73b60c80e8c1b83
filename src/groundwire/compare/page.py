"""A comparison as one HTML page: no script, no request to another origin, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from groundwire.compare.comparison import ClaimGroup, Comparison, Contribution, MergedSource, count_noun
from groundwire.text.sanitise import one_line, sanitise
from groundwire.text.urls import safe_url

_STYLE = """
:root{color-scheme:light dark;--line:#8884;--agreed:#1a7f4b;--contradicted:#b3261e;--single:#6b7684}
@media(prefers-color-scheme:dark){:root{--agreed:#5dd39e;--contradicted:#ff8a80;--single:#a9b4c0}}
body{font:1rem/1.55 system-ui,sans-serif;max-width:78rem;margin:2rem auto;padding:0 1rem}
.answers{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20rem,100%),1fr));gap:1rem}
article,.claim{border:1px solid var(--line);border-radius:.6rem;padding:.8rem 1rem;overflow-wrap:anywhere}
article p{white-space:pre-line}.facts{opacity:.75;font-size:.9em}
.claim{border-left-width:.4rem;margin:.6rem 0}.claim b{font-weight:650}
.agreed{border-left-color:var(--agreed)}.contradicted{border-left-color:var(--contradicted)}
.single{border-left-color:var(--single)}mark{background:#ffd54a66;color:inherit;border-radius:.2em}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3rem .8rem .3rem 0;
border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
""".strip()
_HEADINGS = {"contradicted": "Contradicted", "agreed": "Agreed", "single": "Only one provider says"}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render_page(comparison: Comparison) -> str:
    """The page."""
    return "\n".join(_lines(comparison))


def _lines(comparison: Comparison) -> Iterator[str]:
    title = _shown(comparison.query)
    yield '<!doctype html><html lang="en"><meta charset="utf-8">'
    yield f'<meta http-equiv="content-security-policy" content="{_POLICY}">'
    yield f'<meta name="viewport" content="width=device-width"><title>{title}</title><style>{_STYLE}</style>'
    yield f"<h1>{title}</h1><section class=answers>"
    for item in comparison.contributions:
        yield _answer(item)
    yield "</section>"
    for kind, heading in _HEADINGS.items():
        groups = [group for group in comparison.claims if group.agreement == kind]
        if groups:
            yield f"<h2>{heading} ({len(groups)})</h2>"
            yield from (_claim(group) for group in groups)
    if comparison.sources:
        yield "<h2>Sources</h2><table><tr><th>Page<th>Site<th>Used by"
        yield from (_source(source) for source in comparison.sources)
        yield "</table>"


def _shown(text: str) -> str:
    return escape(sanitise(one_line(text)))


def _answer(item: Contribution) -> str:
    answer = item.answer
    facts = f"{item.seconds:.1f} s, {count_noun(len(answer.citations), 'citation')}"
    body = f"<p>{escape(sanitise(answer.text.strip()))}</p>" if answer.text.strip() else ""
    note = (
        f"<p><strong>{_shown(item.reason or 'nothing found')}</strong></p>"
        if item.outcome != "answered"
        else ""
    )
    return (
        f"<article><h2>{_shown(item.provider)}</h2><p class=facts>{_shown(answer.model)} {facts}</p>"
        f"{note}{body}</article>"
    )


def _claim(group: ClaimGroup) -> str:
    sides = "".join(
        f"<p><b>{_shown(side.provider)}:</b> {_shown(side.text)} {_links(side.urls)}</p>"
        for side in group.sides
    )
    notes = "".join(
        f"<p class=facts>{_shown(item.one)}: <mark>{_shown(item.one_says)}</mark>, "
        f"{_shown(item.other)}: <mark>{_shown(item.other_says)}</mark></p>"
        for item in group.differences
    )
    return f'<div class="claim {group.agreement}">{sides}{notes}</div>'


def _links(urls: tuple[str, ...]) -> str:
    return " ".join(_link(url, f"[{number}]") for number, url in enumerate(urls, 1))


def _link(url: str, label: str) -> str:
    safe = safe_url(url)
    if not safe:
        return escape(label)
    return f'<a href="{escape(safe)}" rel="noopener noreferrer nofollow ugc">{escape(label)}</a>'


def _source(source: MergedSource) -> str:
    used = ", ".join(
        f"{_shown(name)}{'' if name in source.cited_by else ' (found)'} #{rank}"
        for name, rank in source.ranks
    )
    title = sanitise(one_line(source.title or source.url))
    return f"<tr><td>{_link(source.url, title)}<td>{_shown(source.domain)}<td>{used}"
