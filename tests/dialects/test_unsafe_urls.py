"""Unsafe URLs are found in the bytes of a response, however they are written."""

from __future__ import annotations

import json

import pytest

from groundwire.dialects.base import Reply
from groundwire.dialects.registry import DIALECTS, dialect
from groundwire.dialects.unsafe_urls import has_unsafe_url, remove_unsafe_urls
from groundwire.model import Citation, Cited, Evidence, Finished, Source, Span, Started, TextDelta, assemble
from tests.contracts.amazon_frames import BINARY, as_binary, as_sse

UNSAFE = [
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    " \t\njavascript:alert(1)",
    "java\tscript:alert(1)",
    "\x01javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "data:image/svg+xml,<svg onload=alert(1)>",
    "file:///etc/passwd",
    "vbscript:x",
    "blob:https://a.example/x",
    "view-source:https://a.example/",
    "ms-word:ofe|u|https://evil.example/",
    "intent://x#Intent;end",
]
SAFE = [
    "https://a.example/javascript:x",
    "http://a.example/",
    "HTTPS://A.example/",
    "",
    "gs://bucket/x",
    "data:image/png;base64,AAAA",
]
NAMES = ["url", "uri", "source", "document_uri", "sourceUri", "retrievedUrl"]


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("url", UNSAFE)
def test_an_unsafe_url_is_emptied_and_all_else_stays(url: str, name: str, ascii_only: bool) -> None:
    body = {"before": "x", name: url, "after": {name: "https://a.example/"}}
    data = json.dumps(body, ensure_ascii=ascii_only).encode()
    assert has_unsafe_url(data)
    assert json.loads(remove_unsafe_urls(data)) == {**body, name: ""}
    escaped = data.replace(b"script", b"\\u0073cript")
    assert json.loads(remove_unsafe_urls(escaped))[name] == ""


@pytest.mark.parametrize("url", SAFE)
def test_safe_urls_and_text_about_them_are_untouched(url: str) -> None:
    text = json.dumps({"url": "javascript:alert(1)"})
    data = json.dumps({"url": url, "text": text, "arguments": text, "source": {"url": url}}).encode()
    assert not has_unsafe_url(data)
    assert remove_unsafe_urls(data) is data or remove_unsafe_urls(data) == data


@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "websearch"])
def test_a_decoded_source_keeps_its_title_and_loses_an_unsafe_url_with_a_warning(name: str) -> None:
    codec = dialect(name)
    evidence = Evidence(Source("https://evil.example/", "The title", "cited"), "quote")
    encoder = codec.encoder(Reply())
    events = (Started("i", "m"), TextDelta(0, "Claim."), Cited(Citation(Span(0, 6), (evidence,))), Finished())
    wire = b"".join(encoder.feed(event) for event in events)
    text = as_sse(wire) if name in BINARY else wire
    changed = text.replace(b"https://evil.example/", b"javascript:alert(1)")
    decoder = codec.decoder()
    answer = assemble([*decoder.feed(as_binary(changed) if name in BINARY else changed), *decoder.close()])
    assert answer.finish == "stop"
    assert "javascript" not in repr([source.url for source in answer.sources])
    assert [source.title for source in answer.sources] == ["The title"]
    assert "address_removed" in {warning.code for warning in answer.warnings}
