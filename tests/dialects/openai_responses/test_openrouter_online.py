"""The model suffix `:online` as a search declaration."""

from __future__ import annotations

from groundwire.dialects.openai_responses.search import encode_search, online_search
from groundwire.model.value import replace


def test_the_suffix_alone_needs_no_tool() -> None:
    assert encode_search(online_search(), "m:online", alone=True).tool is None


def test_options_next_to_the_suffix_are_sent_as_a_tool() -> None:
    options = replace(online_search(), allowed_domains=("example.com",), language="de")
    declaration = encode_search(options, "m:online", alone=True)
    assert declaration.tool is not None
    assert declaration.tool["filters"] == {"allowed_domains": ["example.com"]}
    assert "language" in declaration.unsupported
