"""Reference implementation: an answer whose citations are written into its text.

`[n]` follows a claim and replaces a marker, never inside a link; the numbers are those of the list of sources
at the end. Written for clarity: it visits every position of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from groundwire.model import Answer, Citation, SearchCall, SearchResult, Source, Span, Text
from groundwire.model.value import replace
from groundwire.text.links import find_links
from groundwire.text.sources import source_key

HEADING = "Sources:\n"
_LINE = re.compile(r"\[(\d+)\] (.*?)(?: \((\S+)\))?")


def listed(text: str) -> dict[str, int]:
    """The numbers of the list that closes a text, by URL, or by name if there is none."""
    _, heading, listing = text.rpartition(HEADING)
    numbers: dict[str, int] = {}
    for line in listing.split("\n") if heading else ():
        match = _LINE.fullmatch(line)
        if match is None:
            return {}
        numbers[match[3] or f"name:{match[2]}"] = int(match[1])
    return numbers


def list_faults(answer: Answer, text: str) -> list[str]:
    """What is wrong with the list of sources of a text."""
    cited = {source_key(item.source) for citation in answer.citations for item in citation.evidence}
    numbers = listed(text)
    faults = []
    if text.count(HEADING) != answer.text.count(HEADING) + bool(cited):
        faults.append(f"{text.count(HEADING)} lists of sources")
    if sorted(numbers.values()) != list(range(1, len(cited) + 1)):
        faults.append(f"numbers {sorted(numbers.values())} for {len(cited)} sources")
    keys = {_key(address) for address in numbers}
    if keys != cited:
        faults.append(f"not listed: {cited - keys}; listed though not cited: {keys - cited}")
    return faults


def rendered_answer(answer: Answer, text: str, *, keep_citations: bool) -> Answer:
    """The answer with `[n]` in its text and the list of sources at the end of `text`."""
    numbers = {_key(address): number for address, number in listed(text).items()}
    before = _Marked(answer, numbers)
    listing = text.rpartition(HEADING)
    tail = f"{HEADING}{listing[2]}" if listing[1] and numbers else ""
    whole = before.text + ("\n\n" if before.text and tail else "") + tail
    citations = tuple(before.moved(item) for item in answer.citations) if keep_citations else ()
    others = tuple(part for part in answer.parts if not isinstance(part, Text))
    return replace(answer, parts=(*others, *((Text(whole),) if whole else ())), citations=citations)


def billed(answer: Answer, dialect: str) -> int | None:
    """How many searches an answer is billed for: its own count, else by the rule of its vendor."""
    if answer.usage.searches is not None:
        return answer.usage.searches
    calls = [part for part in answer.parts if isinstance(part, SearchCall) and part.kind == "search"]
    if not dialect.startswith("gemini"):
        return len(calls) or None
    results = [source for part in answer.parts if isinstance(part, SearchResult) for source in part.sources]
    cited = [item.source for citation in answer.citations for item in citation.evidence]
    found = any(source.url for source in (*results, *cited))
    if re.search(r"gemini-[12]\b", answer.model):
        return int(found) or None
    queries = {query.strip() for call in calls for query in call.queries} - {""}
    return len(queries) or int(bool(calls) and found) or None


def _key(address: str) -> str:
    return address if address.startswith("name:") else source_key(Source(address))


class _Marked:
    """A text with numbers inserted, and a map of its offsets."""

    def __init__(self, answer: Answer, numbers: dict[str, int]) -> None:
        text = answer.text
        self._links = [link.span for link in find_links(text)]
        self._cuts: dict[int, int] = {}
        inserted: dict[int, set[int]] = {}
        for citation in answer.citations:
            found = {
                numbers[key] for item in citation.evidence if (key := source_key(item.source)) in numbers
            }
            if citation.span is not None and found:
                inserted.setdefault(self._position(citation), set()).update(found)
        pieces: list[str] = []
        self._markers: dict[int, tuple[int, int]] = {}
        self._kept: list[int] = []
        """Old positions of the characters that stayed."""
        self._new: list[int] = []
        """And their new ones."""
        length = hidden = 0
        for position in range(len(text) + 1):
            numbered = inserted.get(position)
            marker = "".join(f"[{number}]" for number in sorted(numbered)) if numbered else ""
            self._markers[position] = (length, length + len(marker))
            pieces.append(marker)
            length += len(marker)
            hidden = max(hidden, self._cuts.get(position, 0))
            if position >= hidden and position < len(text):
                pieces.append(text[position])
                self._kept.append(position)
                self._new.append(length)
                length += 1
        self.text = "".join(pieces)

    def moved(self, citation: Citation) -> Citation:
        """The citation at its new position."""
        if citation.span is None:
            return citation
        start, end = citation.span
        if citation.anchor == "marker":
            return replace(citation, span=Span(*self._markers[start]))
        first, last = bisect_left(self._kept, start), bisect_left(self._kept, end) - 1
        if first > last:
            return replace(citation, span=Span(self._markers[end][0], self._markers[end][0]))
        return replace(citation, span=Span(self._new[first], self._new[last] + 1))

    def _position(self, citation: Citation) -> int:
        assert citation.span is not None
        if citation.anchor == "marker":
            start, end = citation.span
            self._cuts[start] = max(end, self._cuts.get(start, 0))
            return start
        end = citation.span.end
        return next((link.end for link in self._links if link.start < end < link.end), end)
