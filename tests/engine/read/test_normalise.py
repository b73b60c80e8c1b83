"""Decoding of bytes in any charset."""

from __future__ import annotations

import codecs

import pytest

from groundwire.engine.read import read_bytes
from groundwire.engine.read.normalise import decode

TEXT = "Grüße – „Köln“ €"


@pytest.mark.parametrize(
    ("data", "charset"),
    [
        (TEXT.encode(), ""),
        (TEXT.encode(), "utf-8"),
        (TEXT.encode(), "latin-1x"),
        (codecs.BOM_UTF8 + TEXT.encode(), "iso-8859-1"),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), ""),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-8"),
        (TEXT.encode("cp1252"), ""),
        (TEXT.encode("cp1252"), "ISO-8859-1"),
        (TEXT.encode("cp1252"), "us-ascii"),
        (TEXT.encode("cp1252"), "utf-8"),
        (TEXT.encode("utf-16-le"), "UTF-16LE"),
    ],
)
def test_text_is_read_in_the_charset_it_is_in(data: bytes, charset: str) -> None:
    assert decode(data, charset) == TEXT


@pytest.mark.parametrize(
    ("text", "codec", "label"),
    [
        ("Привет", "cp1251", "windows-1251"),
        ("Привет", "koi8-r", "KOI8-R"),
        ("こんにちは", "cp932", "Shift_JIS"),
        ("こんにちは", "euc_jp", "EUC-JP"),
        ("안녕하세요", "cp949", "euc-kr"),
        ("你好", "gb18030", "gb2312"),
        ("你好", "big5hkscs", "Big5"),
        ("Łódź", "iso8859-2", "iso-8859-2"),
        ("İstanbul", "cp1254", "iso-8859-9"),
    ],
)
def test_the_charsets_that_browsers_know_are_known(text: str, codec: str, label: str) -> None:
    data = f"<meta charset='{label}'><title>{text}</title><p>{text}".encode(codec)
    page = read_bytes(data, media_type="text/html")
    assert page is not None
    assert (page.title, page.text) == (text, text)
    data = f"<p>{text}".encode(codec)
    page = read_bytes(data, media_type="text/html", charset=label)
    assert page is not None
    assert page.text == text


@pytest.mark.parametrize(
    "charset", ["punycode", "idna", "rot13", "unicode_escape", "hex", "undefined", "\0", "x" * 999]
)
def test_only_charsets_of_the_web_are_used(charset: str) -> None:
    assert decode(TEXT.encode(), charset) == TEXT


def test_the_header_and_detection_have_precedence_over_the_charset_in_the_page() -> None:
    page = read_bytes(
        b"<meta charset=windows-1251><p>" + TEXT.encode(), media_type="text/html", charset="utf-8"
    )
    assert page is not None
    assert page.text == TEXT
    page = read_bytes(b"<meta charset=utf-16><p>" + TEXT.encode(), media_type="text/html")
    assert page is not None
    assert page.text == TEXT


def test_an_xml_declaration_counts() -> None:
    data = "<?xml version='1.0' encoding='iso-8859-2'?><html><body><p>Łódź</p></body></html>".encode(
        "iso8859-2"
    )
    page = read_bytes(data, media_type="application/xhtml+xml")
    assert page is not None
    assert page.text == "Łódź"
