"""Translate a stream from one vendor's format into another's, chunk by chunk."""

from __future__ import annotations

from groundwire import Source
from groundwire.dialects.base import Reply
from groundwire.dialects.registry import dialect
from groundwire.testing.answers import answer_events, encode_answer


def main() -> None:
    events = answer_events("The Nile is 6650 km long.", Source("https://river.example/nile"), query="nile")
    received = encode_answer("openai_responses", events).stream  # from a provider, in reality
    decoder = dialect("openai_responses").decoder()
    encoder = dialect("anthropic_messages").encoder(Reply(id="msg_1", model="any"))
    sent = b""
    for start in range(0, len(received), 100):
        for event in decoder.feed(received[start : start + 100]):
            sent += encoder.feed(event)
    for event in decoder.close():
        sent += encoder.feed(event)
    sent += encoder.close()
    print(sent.decode())


if __name__ == "__main__":
    main()
