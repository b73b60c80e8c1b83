"""Google's SDK with any provider: needs `groundwire serve` and `pip install google-genai`."""

from __future__ import annotations

import os

from google import genai
from google.genai import types


def main() -> None:
    url = os.environ.get("GROUNDWIRE_URL", "http://127.0.0.1:8484")
    client = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=url))
    response = client.models.generate_content(
        model="auto",
        contents="How long is the Nile?",
        config=types.GenerateContentConfig(tools=[types.Tool(google_search=types.GoogleSearch())]),
    )
    print(response.text)
    for candidate in response.candidates or ():
        metadata = candidate.grounding_metadata
        for chunk in (metadata.grounding_chunks if metadata else None) or ():
            print(chunk.web and chunk.web.uri)


if __name__ == "__main__":
    main()
