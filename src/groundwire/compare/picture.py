"""A comparison as a picture that can be shared: SVG, drawn without scripts, fonts or images from elsewhere.

Texts are cut to what fits. Their width is estimated, because nothing here can measure a font: wide scripts
count double.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from unicodedata import east_asian_width

from groundwire.compare.comparison import Agreement, ClaimGroup, Comparison, Contribution, count_noun
from groundwire.text.sanitise import one_line

WIDTH = 1200
_MARGIN = 48
_LINE = 26
_MOST_GROUPS = 6
_MOST_SOURCES = 5
_COLOURS: dict[Agreement, str] = {"agreed": "#1a7f4b", "contradicted": "#b3261e", "single": "#5f6b7a"}
_LABELS: dict[Agreement, str] = {
    "agreed": "agreed",
    "contradicted": "contradicted",
    "single": "from only one",
}
_CHARACTER = 0.54
"""Mean width of a Latin letter of the system's sans serif, relative to its size."""


def draw_comparison(comparison: Comparison) -> str:
    """The picture as an SVG document."""
    drawing = _Drawing()
    drawing.text(comparison.query, 34, weight=700, lines=2)
    drawing.gap(8)
    drawing.text(_counts(comparison), 20, fill="#5f6b7a")
    drawing.gap(18)
    for item in comparison.contributions:
        drawing.row(item.provider, _facts(item), "#14213d" if item.outcome == "answered" else "#b3261e")
    drawing.gap(18)
    for group in _shown_groups(comparison):
        drawing.group(group)
    if comparison.sources:
        drawing.gap(12)
        drawing.text("Sources", 20, weight=700)
        for source in comparison.sources[:_MOST_SOURCES]:
            used = ", ".join(name for name, _ in source.ranks)
            drawing.text(f"{source.domain}: {source.title or source.url}  ({used})", 18)
    drawing.gap(20)
    drawing.text("compared with groundwire", 16, fill="#5f6b7a")
    return drawing.document(comparison.query)


def _shown_groups(comparison: Comparison) -> list[ClaimGroup]:
    return list(comparison.claims[:_MOST_GROUPS])


def _counts(comparison: Comparison) -> str:
    parts = [count_noun(len(comparison.contributions), "provider")]
    parts += [f"{comparison.count(kind)} {_LABELS[kind]}" for kind in _LABELS if comparison.count(kind)]
    parts.append(count_noun(len(comparison.sources), "source"))
    return "  ·  ".join(parts)


def _facts(item: Contribution) -> str:
    if item.outcome != "answered":
        return item.reason or "nothing found"
    words = count_noun(len(item.answer.text.split()), "word")
    return f"{item.seconds:.1f} s  ·  {words}  ·  {count_noun(len(item.answer.citations), 'citation')}"


def _text_width(text: str, size: float) -> float:
    wide = sum(east_asian_width(character) in "WF" for character in text)
    return (len(text) + wide * 0.85) * size * _CHARACTER


def _wrapped(text: str, size: float, width: float, most: int) -> list[str]:
    """The text in lines that fit; the last one is cut if there are more."""
    lines: list[str] = []
    words = one_line(text).split()
    while words and len(lines) < most:
        line = words.pop(0)
        while words and _text_width(f"{line} {words[0]}", size) <= width:
            line = f"{line} {words.pop(0)}"
        lines.append(line)
    if lines and words:
        lines[-1] += " …"
    return [_cut(line, size, width) for line in lines]


def _cut(line: str, size: float, width: float) -> str:
    if _text_width(line, size) <= width:
        return line
    while line and _text_width(line + "…", size) > width:
        line = line[:-1]
    return line.rstrip() + "…"


class _Drawing:
    """Elements from top to bottom."""

    def __init__(self) -> None:
        self._y = float(_MARGIN)
        self._elements: list[str] = []

    def gap(self, height: float) -> None:
        self._y += height

    def text(
        self,
        text: str,
        size: float,
        *,
        weight: int = 400,
        fill: str = "#14213d",
        lines: int = 1,
        left: float = 0,
    ) -> None:
        """Lines of text over the whole width."""
        for line in _wrapped(text, size, WIDTH - 2 * _MARGIN - left, lines):
            self._y += size * 1.3
            self._add(_MARGIN + left, self._y, line, size, weight, fill)

    def row(self, name: str, facts: str, fill: str) -> None:
        """A provider with its figures."""
        self._y += _LINE
        self._add(_MARGIN, self._y, _cut(one_line(name), 19, 250), 19, 700, fill)
        self._add(_MARGIN + 270, self._y, _cut(one_line(facts), 18, WIDTH - 2 * _MARGIN - 270), 18, 400, fill)

    def group(self, group: ClaimGroup) -> None:
        """A claim with all sides; a bar on the left shows whether they agree."""
        top = self._y + 10
        colour = _COLOURS[group.agreement]
        self.gap(8)
        self.text(_LABELS[group.agreement], 16, weight=700, fill=colour, left=20)
        for side in group.sides:
            self.text(f"{side.provider}: {side.text}", 18, lines=2, left=20)
        size = f'width="6" height="{self._y - top + 8:.0f}" rx="3"'
        self._elements.append(f'<rect x="{_MARGIN}" y="{top:.0f}" {size} fill="{colour}"/>')
        self.gap(14)

    def _add(self, x: float, y: float, text: str, size: float, weight: int, fill: str) -> None:
        self._elements.append(
            f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size:g}" font-weight="{weight}" fill="{fill}">'
            f"{escape(text)}</text>"
        )

    def document(self, title: str) -> str:
        """The whole document."""
        height = round(self._y + _MARGIN)
        return "\n".join(self._document(height, title))

    def _document(self, height: int, title: str) -> Iterator[str]:
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif" role="img">'
        )
        yield f"<title>{escape(one_line(title))}</title>"
        yield f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
        yield from self._elements
        yield "</svg>\n"
