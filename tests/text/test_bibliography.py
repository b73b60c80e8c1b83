"""Bibliographies, read back with strict parsers of our own."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.model import Source
from groundwire.text.bibliography import bibtex, csl_items, markdown_list, ris

ACCESSED = "2026-01-31"
HOSTILE = Source(
    "https://www.example.com/a_b?x={1}&y=%20#frag",
    'A "title" with {braces, 100 % & $5 #1_x ~ ^ \\ and\nlines}}',
    "cited",
    date="2024-03-12T10:00:00Z",
)
_COMMANDS = {
    r"\textbackslash{}": "\\",
    r"\textbraceleft{}": "{",
    r"\textbraceright{}": "}",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    **{f"\\{char}": char for char in "&%$#_"},
}


def parse_bibtex(text: str) -> list[tuple[str, dict[str, str]]]:
    """Entries as BibTeX reads them: braces are counted, whatever is before them."""
    entries: list[tuple[str, dict[str, str]]] = []
    at = 0
    while (match := re.compile(r"\s*@misc\{([A-Za-z0-9-]+),\s*").match(text, at)) is not None:
        fields: dict[str, str] = {}
        at = match.end()
        while (name := re.compile(r"([a-z]+) = \{").match(text, at)) is not None:
            depth, end = 1, name.end()
            while depth:
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            fields[name[1]] = text[name.end() : end - 1]
            after = re.compile(r",\s*").match(text, end)
            assert after is not None
            at = after.end()
        assert text[at] == "}"
        at += 1
        entries.append((match[1], fields))
    assert not text[at:].strip()
    return entries


def unescaped(text: str) -> str:
    pattern = "|".join(re.escape(command) for command in sorted(_COMMANDS, key=len, reverse=True))
    plain = re.sub(pattern, lambda match: _COMMANDS[match[0]], text)
    assert not re.search(r"(?<!\\)[&%$#_~^]", re.sub(pattern, "", text))
    return plain


def parse_ris(text: str) -> list[dict[str, str]]:
    records: list[dict[str, str]] = []
    for line in text.split("\r\n"):
        if not line:
            continue
        match = re.fullmatch(r"([A-Z][A-Z0-9])  - (.*)", line)
        assert match is not None, line
        if match[1] == "TY":
            records.append({})
        records[-1][match[1]] = match[2]
    assert all("ER" in record for record in records)
    return records


def test_special_characters_survive_in_every_form() -> None:
    title = " ".join(HOSTILE.title.split())
    ((key, fields),) = parse_bibtex(bibtex([HOSTILE], ACCESSED))
    assert key == "example-title"
    assert unescaped(fields["title"][1:-1]) == title
    assert fields["url"] == "https://www.example.com/a_b?x=%7B1%7D&y=%20#frag"
    assert (fields["urldate"], fields["date"], fields["year"]) == (ACCESSED, "2024-03-12", "2024")
    (record,) = parse_ris(ris([HOSTILE], ACCESSED))
    assert (record["TI"], record["UR"]) == (title, HOSTILE.url)
    assert (record["PY"], record["Y2"]) == ("2024", "2026/01/31")
    (item,) = csl_items([HOSTILE], ACCESSED)
    assert isinstance(item, dict)
    assert (item["title"], item["URL"]) == (title, HOSTILE.url)
    assert item["issued"] == {"date-parts": [[2024, 3, 12]]}
    assert item["accessed"] == {"date-parts": [[2026, 1, 31]]}


def test_keys_are_unique() -> None:
    sources = [Source(f"https://a.example/{number}", "Same title") for number in range(3)]
    keys = [key for key, _ in parse_bibtex(bibtex(sources, ACCESSED))]
    assert keys == ["a-same", "a-same-2", "a-same-3"]
    assert [item["id"] for item in csl_items(sources, ACCESSED) if isinstance(item, dict)] == keys


@pytest.mark.parametrize("date", ["3 days ago", "", "yesterday", "12.03.2024"])
def test_dates_in_other_forms_are_left_out(date: str) -> None:
    assert "issued" not in str(csl_items([Source("https://a.example/", "T", date=date)], ACCESSED))


def test_a_source_without_an_address_or_with_a_local_one_is_no_link() -> None:
    text = markdown_list([Source("", "A *book*"), Source("local:python/os", "os"), HOSTILE], ACCESSED)
    first, second, third = text.splitlines()
    assert first == r"1. A \*book\*. Accessed 2026-01-31."
    assert second.startswith("2. os (`local:python/os`)")
    assert third.startswith('3. [A "title"')
    assert "javascript" not in bibtex([Source("javascript:alert(1)", "x")], ACCESSED)


def test_no_source_is_an_empty_text() -> None:
    assert (bibtex([], ACCESSED), ris([], ACCESSED), csl_items([], ACCESSED)) == ("", "", [])


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), min_size=1, max_size=4))
def test_any_title_and_address_can_be_written(pairs: list[tuple[str, str]]) -> None:
    sources = [Source(f"https://a.example/{path}", title) for path, title in pairs]
    entries = parse_bibtex(bibtex(sources, ACCESSED))
    assert len(entries) == len(sources)
    assert len({key for key, _ in entries}) == len(sources)
    assert len(parse_ris(ris(sources, ACCESSED))) == len(sources)
    assert markdown_list(sources, ACCESSED).count("\n") == len(sources)
