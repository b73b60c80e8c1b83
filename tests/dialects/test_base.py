"""Guarantees of every decoder and encoder, shown with minimal ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.dialects.base import Reply, StreamDecoder, StreamEncoder
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.dialects.sse import Frame
from groundwire.errors import (
    GroundwireError,
    Interrupted,
    Overloaded,
    RequestError,
    UpstreamWireError,
)
from groundwire.model import Event, Failed, Finished, TextDelta, Warned
from tests.model.strategies import cases


class Decoder(StreamDecoder):
    """`{"say": text}`, `{"end": true}`, `{"raise": true}`, `{"refuse": true}`."""

    def on_frame(self, frame: Frame) -> None:
        body = Fields.of(load_json(frame.data, UpstreamWireError), UpstreamWireError)
        if body.has("say"):
            self.emit(TextDelta(0, body.text("say")))
        if body.flag("end"):
            self.emit(Finished())
        if body.flag("refuse"):
            raise Overloaded("busy")
        if body.flag("twice"):
            self.emit(Failed(Overloaded("first")))
            self.emit(Failed(Overloaded("second")))
            self.emit(Finished())


class Lenient(Decoder):
    """Knows at the end of the bytes that the answer was complete."""

    def on_end(self) -> None:
        self.emit(Finished("length"))


class Strict(Decoder):
    """Finds at the end of the bytes that something is wrong with them."""

    def on_end(self) -> None:
        raise UpstreamWireError("half a thing", "$.thing")


class Encoder(StreamEncoder):
    def on_event(self, event: Event) -> None:
        match event:
            case TextDelta(_, text):
                self.send("say", {"say": text})
            case Finished():
                self.send("", {"end": True})
            case Failed(error):
                self.send("error", {"error": error.message})


def decode(data: bytes, decoder: StreamDecoder) -> list[Event]:
    return decoder.feed(data) + decoder.close()


HELLO = b'data: {"say": "hello"}\n\n'
END = b'data: {"end": true}\n\n'


def test_a_stream_that_ends_well_has_one_terminal_event() -> None:
    assert decode(HELLO + END, Decoder()) == [TextDelta(0, "hello"), Finished()]


def test_nothing_follows_the_terminal_event() -> None:
    decoder = Decoder()
    assert decoder.feed(HELLO + END + HELLO + b"data: broken\n\n") == [TextDelta(0, "hello"), Finished()]
    assert decoder.feed(HELLO) == []
    assert decoder.close() == []
    assert decoder.close() == []


def test_only_the_first_of_several_terminal_events_counts() -> None:
    assert decode(b'data: {"twice": true}\n\n', Decoder()) == [Failed(Overloaded("first"))]


@pytest.mark.parametrize("data", [b"", HELLO, b": comment\n\n", b"<html>", b"data: "])
def test_a_stream_that_just_ends_is_interrupted(data: bytes) -> None:
    events = decode(data, Decoder())
    assert isinstance(events[-1], Failed)
    assert isinstance(events[-1].error, Interrupted | UpstreamWireError)
    assert len([event for event in events if isinstance(event, Failed)]) == 1


def test_the_end_of_the_bytes_may_be_the_end_of_the_answer() -> None:
    assert decode(HELLO, Lenient()) == [TextDelta(0, "hello"), Finished("length")]
    assert decode(HELLO + END, Lenient()) == [TextDelta(0, "hello"), Finished()]


def test_an_error_found_at_the_end_is_emitted() -> None:
    assert decode(HELLO, Strict()) == [
        TextDelta(0, "hello"),
        Failed(UpstreamWireError("half a thing", "$.thing")),
    ]


@pytest.mark.parametrize(
    "broken", [b"data: nonsense\n\n", b'data: {"say": 1}\n\n', b"data: []\n\n", b'data: {"refuse": true}\n\n']
)
def test_malformed_bytes_fail_the_stream_and_earlier_events_are_kept(broken: bytes) -> None:
    events = decode(HELLO + broken + HELLO + END, Decoder())
    assert events[0] == TextDelta(0, "hello")
    assert len(events) == 2
    assert isinstance(events[1], Failed)


def test_a_last_event_without_its_blank_line_counts() -> None:
    assert decode(HELLO + END.rstrip(), Decoder()) == [TextDelta(0, "hello"), Finished()]


def test_a_bare_json_body_is_read_as_one_frame() -> None:
    assert decode(b' {"say": "x",\n "end": true}', Decoder()) == [TextDelta(0, "x"), Finished()]


@cases(200)
@given(
    st.lists(
        st.sampled_from([HELLO, END, b"data: x\n\n", b": c\n", b'data: {"say": "\xc3\xa9"}\n\n']), max_size=5
    ),
    st.lists(st.integers(0, 120), max_size=5),
)
def test_cut_anywhere_the_events_are_the_same(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(pieces)
    decoder = Decoder()
    events: list[Event] = []
    position = 0
    for cut in sorted({min(cut, len(data)) for cut in cuts}):
        events += decoder.feed(data[position:cut])
        position = cut
    events += decoder.feed(data[position:]) + decoder.close()
    assert events == decode(data, Decoder())


def test_the_decoder_remembers_the_text_and_numbers_the_parts() -> None:
    decoder = Decoder()
    assert [decoder.next_part() for _ in range(3)] == [0, 1, 2]
    decoder.feed(HELLO + HELLO)
    assert decoder.text_buffer.whole() == "hellohello"


def test_what_follows_the_end_is_not_remembered_as_text() -> None:
    decoder = Decoder()
    decoder.feed(END + HELLO)
    assert decoder.text_buffer.whole() == ""


def test_an_error_of_another_kind_is_a_bug_and_is_not_hidden() -> None:
    class Broken(Decoder):
        def on_frame(self, frame: Frame) -> None:
            raise RequestError("not for decoders")

    with pytest.raises(GroundwireError):
        Broken().feed(HELLO)


def test_the_encoder_takes_nothing_after_a_terminal_event() -> None:
    encoder = Encoder(Reply())
    assert encoder.feed(TextDelta(0, "a")) == b'event: say\ndata: {"say":"a"}\n\n'
    assert encoder.feed(Finished()) == b'data: {"end":true}\n\n'
    assert encoder.feed(TextDelta(0, "b")) == b""
    assert encoder.feed(Failed(Overloaded("x"))) == b""
    assert encoder.close() == b""


def test_closing_early_sends_an_interruption_error() -> None:
    encoder = Encoder(Reply())
    encoder.feed(TextDelta(0, "a"))
    assert encoder.close() == b'event: error\ndata: {"error":"the answer was interrupted"}\n\n'
    assert encoder.close() == b""


def test_an_event_without_text_gives_no_bytes() -> None:
    assert Encoder(Reply()).feed(Warned("a", "b")) == b""


def test_a_keep_alive_is_a_comment() -> None:
    assert Encoder(Reply()).ping() == b": keep-alive\n\n"


def test_raw_bytes_can_be_written_and_stay_in_order() -> None:
    class Raw(Encoder):
        def on_event(self, event: Event) -> None:
            super().on_event(event)
            self.send_raw(b"data: [DONE]\n\n")

    assert Raw(Reply()).feed(Finished()) == b'data: {"end":true}\n\ndata: [DONE]\n\n'
