"""Anthropic's SDK with any provider: needs `groundwire serve` and `pip install anthropic`."""

from __future__ import annotations

import os

from anthropic import Anthropic


def main() -> None:
    url = os.environ.get("GROUNDWIRE_URL", "http://127.0.0.1:8484")
    message = Anthropic(base_url=url, api_key="any").messages.create(
        model="auto",
        max_tokens=1000,
        messages=[{"role": "user", "content": "How long is the Nile?"}],
        tools=[{"type": "web_search_20250305", "name": "web_search"}],
    )
    for block in message.content:
        if block.type == "text":
            print(block.text, [citation.to_dict()["url"] for citation in block.citations or ()])


if __name__ == "__main__":
    main()
