"""OpenAI's SDK with any provider, in both of its APIs: needs `groundwire serve` and `pip install openai`."""

from __future__ import annotations

import os

from openai import OpenAI


def main() -> None:
    url = os.environ.get("GROUNDWIRE_URL", "http://127.0.0.1:8484")
    client = OpenAI(base_url=f"{url}/v1", api_key="any")
    response = client.responses.create(
        model="auto", input="How long is the Nile?", tools=[{"type": "web_search"}]
    )
    print("Responses:", response.output_text)
    completion = client.chat.completions.create(
        model="auto",
        messages=[{"role": "user", "content": "How long is the Nile?"}],
        web_search_options={},
    )
    message = completion.choices[0].message
    urls = [item.url_citation.url for item in message.annotations or ()]
    print("Chat:", message.content, urls)


if __name__ == "__main__":
    main()
