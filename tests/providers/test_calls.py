"""No call has the id of an earlier one of the same conversation, whatever a provider says."""

from __future__ import annotations

from groundwire.model import Message, Request, Text, TextDelta, ToolCall, ToolCallDelta
from groundwire.providers.http import ToolCallIds


def ids_of(*used: str) -> ToolCallIds:
    parts = tuple(ToolCall(one, "clock", "{}") for one in used)
    return ToolCallIds(Request((Message("user", (Text("?"),)), Message("assistant", parts)), "m"))


def test_an_id_that_was_used_gets_a_number_that_was_not() -> None:
    ids = ids_of("call_0", "call_0_2")
    assert ids.unique(ToolCallDelta(0, "call_0", "clock", "{}")) == ToolCallDelta(0, "call_0_3", "clock", "{}")


def test_everything_else_stays_as_it_is() -> None:
    ids = ids_of("call_0")
    for event in (
        ToolCallDelta(0, "call_1", "clock"),
        ToolCallDelta(0, "", "", "more"),
        TextDelta(0, "call_0"),
    ):
        assert ids.unique(event) is event


def test_without_calls_in_the_history_there_is_nothing_to_look_for() -> None:
    assert not ids_of()
    assert not ids_of("")
