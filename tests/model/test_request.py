"""Properties of requests."""

from __future__ import annotations

from groundwire.model import Message, Request, SearchCall, Text, ToolResult


def test_the_query_is_the_last_user_text() -> None:
    request = Request(
        (
            Message("user", (Text("first"),)),
            Message("assistant", (Text("answer"),)),
            Message("user", (Text("sec"), SearchCall("s"), Text("ond"))),
            Message("assistant", (Text("calls a tool"),)),
            Message("user", (ToolResult("c", (Text("result"),)),)),
        )
    )
    assert request.query == "second"


def test_without_a_user_there_is_no_query() -> None:
    assert Request(()).query == ""
    assert Request((Message("assistant", (Text("x"),)),)).query == ""
