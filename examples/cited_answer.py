"""Decode a streamed Gemini answer, print it with its sources, and encode it for clients of other vendors.

The sample stream has Gemini's format: citations come last, and their offsets count UTF-8 bytes.
"""

from __future__ import annotations

from typing import Any

from groundwire.dialects.base import Reply
from groundwire.dialects.registry import dialect
from groundwire.model import Event, assemble
from groundwire.text.markdown import render_answer

STREAM = """\
data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Köln hat 1,1 Mio. Einwohner 🏙️. "}]}}]}

data: {"candidates":[{"content":{"role":"model","parts":[{"text":"東京の人口は約1,400万人です。"}]}}]}

data: {"candidates":[{"content":{"role":"model"},"finishReason":"STOP","groundingMetadata":{
data: "webSearchQueries":["Einwohner Köln","東京 人口"],
data: "groundingChunks":[{"web":{"uri":"https://stadt.example/koeln","title":"Köln in Zahlen"}},
data: {"web":{"uri":"https://statistik.example/staedte","title":"Großstädte"}},
data: {"web":{"uri":"https://toukei.example/tokyo","title":"東京都の統計"}}],
data: "groundingSupports":[
data: {"segment":{"endIndex":36,"text":"Köln hat 1,1 Mio. Einwohner 🏙️"},"groundingChunkIndices":[0,1]},
data: {"segment":{"startIndex":38,"endIndex":76,"text":"東京の人口は約1,400万人です"},
data: "groundingChunkIndices":[2]}]}}],
data: "usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":31},"modelVersion":"sample"}

"""


def decode(stream: bytes) -> list[Event]:
    """Decode the stream in small chunks, as they would arrive from a network."""
    decoder = dialect("gemini").decoder()
    chunks = (stream[start : start + 50] for start in range(0, len(stream), 50))
    return [*(event for chunk in chunks for event in decoder.feed(chunk)), *decoder.close()]


def main() -> None:
    events = decode(STREAM.encode())
    answer = assemble(events)
    print(render_answer(answer))
    print("\nThe same answer for clients of other vendors:\n")
    reply = Reply(id="1", model="sample")
    body: Any = dialect("anthropic_messages").encode_response(answer, reply)
    for block in body["content"]:
        if block["type"] == "text":
            cited = [citation["url"] for citation in block.get("citations", [])]
            print(f"  anthropic_messages  {block['text']!r} {cited or ''}")
    body = dialect("openai_chat").encode_response(answer, reply)
    message = body["choices"][0]["message"]
    for annotation in message["annotations"]:
        citation = annotation["url_citation"]
        span = message["content"][citation["start_index"] : citation["end_index"]]
        print(f"  openai_chat         {span!r} {citation['url']}")
    print("\nNext: docs/dialects.md explains what each dialect can express.")


if __name__ == "__main__":
    main()
