"""Names of code in a question, as opposed to names of files and everyday words."""

from __future__ import annotations

import pytest

from groundwire.engine.retrieve.names import mentioned_names


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("does json.loads take bytes", ["json.loads"]),
        ("what does `partial` do", ["partial"]),
        ("how do I use @cached_property", ["cached_property"]),
        ("math.log or math.log10", ["math.log", "math.log10"]),
        ("read settings.ini", []),
        ("read `data.csv` and write Report.PDF", []),
        ("why is main.py not found", []),
        ("what does enumerate do", ["enumerate"]),
        ("was macht enumerate?", ["enumerate"]),
        ("what is asyncio used for", ["asyncio"]),
        ("wofür ist der yield", []),
        ("asyncio gather vs taskgroup", ["asyncio.gather", "asyncio.TaskGroup"]),
        ("walk a tree with os", ["os.walk"]),
        ("decimal point", []),
        ("send an email message", []),
        ("what is json.dump_html", ["json.dump_html"]),
        ("what is a list", []),
        ("what is happiness", []),
        ("sort a list with sorted", []),
    ],
)
def test_names_are_those_that_are_written_or_asked_about_as_code(question: str, names: list[str]) -> None:
    assert mentioned_names(question) == names
