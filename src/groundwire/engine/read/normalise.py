"""Normalises raw input: bytes to text, control characters, publication dates.

Charsets in order: byte order mark, declaration, UTF-8, and the fallback of browsers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

_MARKS: Mapping[bytes, str] = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_FALLBACK = "cp1252"
_ALIASES: Mapping[str, str] = {
    # https://encoding.spec.whatwg.org: the label Latin-1 means Windows-1252.
    **dict.fromkeys(("ascii", "usascii", "latin1", "iso88591", "l1", "windows1252", "cp1252"), _FALLBACK),
    **{f"iso8859{number}": f"iso8859-{number}" for number in (*range(2, 9), 10, 13, 14, 15, 16)},
    **{f"windows{number}": f"cp{number}" for number in (874, *range(1250, 1259)) if number != 1252},
    **dict.fromkeys(("iso88599", "latin5"), "cp1254"),
    **dict.fromkeys(("gb2312", "gbk", "gb18030", "xgbk"), "gb18030"),
    **dict.fromkeys(("shiftjis", "sjis", "xsjis", "windows31j", "mskanji"), "cp932"),
    **dict.fromkeys(("euckr", "ksc56011987", "ksc5601", "windows949"), "cp949"),
    **dict.fromkeys(("utf16", "utf16le"), "utf-16-le"),
    **dict.fromkeys(("utf8", "unicode11utf8"), "utf-8"),
    "utf16be": "utf-16-be",
    "koi8r": "koi8-r",
    "koi8u": "koi8-u",
    "macintosh": "mac-roman",
    "xmaccyrillic": "mac-cyrillic",
    "big5": "big5hkscs",
    "big5hkscs": "big5hkscs",
    "eucjp": "euc_jp",
    "iso2022jp": "iso2022_jp",
    "ibm866": "cp866",
    "cp866": "cp866",
}
"""The encodings of browsers, and no others: Python has codecs that no page should choose."""

_DECLARED = re.compile(rb"""<meta[^>]{0,400}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_XML_DECLARED = re.compile(rb"""^\s{0,100}<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""")
_SNIFFED_BYTES = 4096
# Control characters, and hints where a line may break: they would split words.
_UNWANTED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u200b\u2060\ufeff\ud800-\udfff]")


def decode(data: bytes, charset: str = "", *, markup: bool = False) -> str:
    """Decodes a document. In markup, the charset declared in the document is used if no other is given."""
    for mark, codec in _MARKS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    candidates = list(dict.fromkeys(_candidates(data, charset, markup=markup)))
    for codec in candidates:
        try:
            return data.decode(codec)
        except UnicodeDecodeError:
            continue
    return data.decode(candidates[0] if candidates[0] != "utf-8" else _FALLBACK, "replace")


def clean(text: str) -> str:
    """The text with `\\n` line ends and without invisible characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x85", "\n").replace("\x0c", "\n\n")
    return _UNWANTED.sub("", text)


def _candidates(data: bytes, charset: str, *, markup: bool) -> Iterator[str]:
    if codec := _codec(charset):
        yield codec
    if markup:
        head = data[:_SNIFFED_BYTES]
        for pattern in (_XML_DECLARED, _DECLARED):
            match = pattern.search(head)
            # A declaration that is readable as ASCII is not UTF-16, whatever it declares.
            if match and (codec := _codec(match[1].decode("ascii", "replace"))):
                yield "utf-8" if codec.startswith("utf-16") else codec
    yield "utf-8"


def _codec(charset: str) -> str:
    return _ALIASES.get(re.sub(r"[\W_]", "", charset.lower()), "")


_DAY = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,]\d+)? ?(Z|[+-]\d\d:?\d\d)?", re.IGNORECASE
)
_EARLIEST, _LATEST = 1970, 2200


def normal_date(text: str) -> str:
    """A date as RFC 3339: with time and offset if both are given, else the day; empty if it is not a date."""
    text = text.strip()[:60]
    timestamp = _TIMESTAMP.match(text)
    if timestamp and timestamp[3]:
        return _timestamp(f"{timestamp[1]}T{timestamp[2]}{timestamp[3].upper()}")
    day = _DAY.match(text)
    return _day(int(day[1]), int(day[2]), int(day[3])) if day else ""


def _timestamp(text: str) -> str:
    try:
        found = datetime.fromisoformat(text)
        utc = found.astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    if not _EARLIEST <= found.year <= _LATEST:
        return ""
    return utc.isoformat(timespec="seconds").replace("+00:00", "Z")


def _day(year: int, month: int, day: int) -> str:
    try:
        found = datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return ""
    return found.date().isoformat() if _EARLIEST <= year <= _LATEST else ""
