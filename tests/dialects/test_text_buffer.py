"""The text of an answer while it is received."""

from __future__ import annotations

import random

from groundwire.dialects.text_buffer import TextBuffer


def test_an_empty_transcript_has_no_text_anywhere() -> None:
    transcript = TextBuffer()
    assert (len(transcript), transcript.whole(), transcript.text(3), transcript.start(3)) == (0, "", "", 0)
    assert transcript.slice(0, 5) == ""


def test_parts_begin_where_the_text_of_earlier_parts_ends() -> None:
    transcript = TextBuffer()
    for part, text in ((0, "aé"), (4, "😀"), (4, "b"), (2, "xyz")):
        transcript.add(part, text)
    assert transcript.whole() == "aéxyz😀b"
    assert [transcript.start(part) for part in range(6)] == [0, 2, 2, 5, 5, 7]
    assert [transcript.text(part) for part in (0, 2, 4, 5)] == ["aé", "xyz", "😀b", ""]


def test_any_pieces_in_any_order_agree_with_the_whole() -> None:
    chance = random.Random(1)
    for _ in range(500):
        transcript = TextBuffer()
        parts: dict[int, str] = {}
        for _ in range(chance.randrange(8)):
            part, text = chance.randrange(4), chance.choice(["", "a", "éé", "😀x"])
            transcript.add(part, text)
            parts[part] = parts.get(part, "") + text
            whole = "".join(parts[number] for number in sorted(parts))
            assert transcript.whole() == whole
            assert len(transcript) == len(whole)
            for number in range(5):
                assert transcript.text(number) == parts.get(number, "")
                assert transcript.start(number) == sum(len(parts[n]) for n in parts if n < number)
            start, end = sorted((chance.randrange(len(whole) + 1), chance.randrange(len(whole) + 1)))
            assert transcript.slice(start, end) == whole[start:end]
