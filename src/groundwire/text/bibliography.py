"""The sources of an answer as a bibliography: BibTeX, RIS, CSL JSON and Markdown.

`accessed` is the date on which the pages were looked up, as `2026-01-31`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from groundwire.model import Json, JsonObject, Source
from groundwire.text.domains import display_domain
from groundwire.text.lazy_pattern import lazy_pattern
from groundwire.text.sanitise import one_line
from groundwire.text.sources import label_of
from groundwire.text.urls import shown_address

_DATE = lazy_pattern(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?:$|[T ])")
_KEY_WORD = lazy_pattern(r"[a-z0-9]+")
# BibTeX counts braces whether or not a backslash is before them, so braces are written by name.
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
}
_URL_CHARACTERS = {"{": "%7B", "}": "%7D", "\\": "%5C", "^": "%5E", "~": "%7E"}
_MARKUP = lazy_pattern(r"([\\\[\]`*_<>])")


def bibtex(sources: Sequence[Source], accessed: str) -> str:
    """One `@misc` entry for each source; the fields `url` and `urldate` are those of biblatex."""
    entries = []
    for key, source in zip(_keys(sources), sources, strict=True):
        fields = {
            "title": f"{{{_latex(_title(source))}}}",
            "organization": _latex(_site(source)),
            "year": "-".join(_date_parts(source.date)[:1]),
            "date": "-".join(_date_parts(source.date)),
            "url": _address(source, _URL_CHARACTERS),
            "urldate": accessed,
            "note": f"Accessed {accessed}" if accessed else "",
        }
        lines = [f"  {name} = {{{text}}}," for name, text in fields.items() if text not in ("", "{}")]
        entries.append("\n".join([f"@misc{{{key},", *lines, "}"]))
    return "\n\n".join(entries) + "\n" if entries else ""


def ris(sources: Sequence[Source], accessed: str) -> str:
    """One record of type ELEC for each source."""
    records = []
    for source in sources:
        tags = (
            ("TY", "ELEC"),
            ("TI", _title(source)),
            ("T2", _site(source)),
            ("PY", "".join(_date_parts(source.date)[:1])),
            ("DA", "/".join(_date_parts(source.date))),
            ("UR", _address(source, {})),
            ("Y2", accessed.replace("-", "/")),
        )
        lines = [f"{tag}  - {text}" for tag, text in tags if text]
        records.append("\r\n".join([*lines, "ER  - ", ""]))
    return "\r\n".join(records)


def csl_items(sources: Sequence[Source], accessed: str) -> list[Json]:
    """One item of type `webpage` for each source."""
    items: list[Json] = []
    for key, source in zip(_keys(sources), sources, strict=True):
        item: JsonObject = {"id": key, "type": "webpage", "title": _title(source)}
        if site := _site(source):
            item["container-title"] = site
        if address := _address(source, {}):
            item["URL"] = address
        for name, date in (("issued", source.date), ("accessed", accessed)):
            if parts := _date_parts(date):
                numbers: list[Json] = [int(part) for part in parts]
                item[name] = {"date-parts": [numbers]}
        items.append(item)
    return items


def markdown_list(sources: Sequence[Source], accessed: str) -> str:
    """A numbered list with links."""
    lines = []
    for number, source in enumerate(sources, 1):
        title = _MARKUP.sub(r"\\\1", _title(source))
        url = _address(source, {"(": "%28", ")": "%29", "<": "%3C", ">": "%3E"})
        is_web = url.startswith(("http://", "https://"))
        shown = f"[{title}]({url})" if is_web else f"{title} (`{url}`)" if url else title
        details = (_site(source), f"Accessed {accessed}" if accessed else "")
        lines.append(f"{number}. {'. '.join([shown, *(text for text in details if text)])}.")
    return "\n".join(lines) + "\n" if lines else ""


def _title(source: Source) -> str:
    return one_line(label_of(source))


def _site(source: Source) -> str:
    site = one_line(display_domain(source))
    return "" if site == _title(source) else site


def _address(source: Source, replaced: dict[str, str]) -> str:
    return "".join(replaced.get(char, char) for char in shown_address(source.url))


def _date_parts(date: str) -> list[str]:
    """Year, month and day of an ISO date, as far as it has them; other forms are left out."""
    match = _DATE.match(date.strip())
    return [part for part in match.groups() if part] if match else []


def _latex(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in text)


def _keys(sources: Sequence[Source]) -> Iterator[str]:
    """A key for each source: its site and the first long word of its title, made unique with a number."""
    used: set[str] = set()
    for source in sources:
        site = "".join(_KEY_WORD.findall(_ascii(display_domain(source).partition(".")[0]))) or "source"
        words = [word for word in _KEY_WORD.findall(_ascii(_title(source))) if len(word) > 3]
        base = key = f"{site}-{words[0]}" if words else site
        number = 2
        while key in used:
            key = f"{base}-{number}"
            number += 1
        used.add(key)
        yield key


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
