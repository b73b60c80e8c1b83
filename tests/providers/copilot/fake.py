"""A fake Copilot CLI: records its calls, and replays a scripted output."""

from __future__ import annotations

import base64
import json
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from groundwire.model.value import value
from groundwire.providers.copilot.command import CopilotSettings, settings_from

PYTHON = os.path.realpath(sys.executable)
TOKEN = "github_pat_0123456789abcdefghijklmnop"  # noqa: S105

_PROGRAM = """#!{python} -IS
import base64, json, os, sys, time
RECORD = {record!r}
STEPS = json.loads({steps!r})
call = {{
    "argv": sys.argv[1:],
    "env": dict(os.environ),
    "cwd": os.getcwd(),
    "found": os.listdir("."),
    "home": sorted(os.path.join(path, name)[len(os.environ["HOME"]) + 1 :]
                   for path, _, names in os.walk(os.environ["HOME"]) for name in names),
    "stdin": base64.b64encode(sys.stdin.buffer.read()).decode(),
    "pid": os.getpid(),
}}
if RECORD:
    with open(RECORD, "a") as file:
        file.write(json.dumps(call) + "\\n")
def say(event):
    sys.stdout.write(json.dumps(event) + "\\n")
    sys.stdout.flush()
for name, given in STEPS:
    if name == "out":
        sys.stdout.write(given)
        sys.stdout.flush()
    elif name == "err":
        sys.stderr.write(given)
    elif name == "exit":
        sys.exit(given)
    elif name == "run":
        exec(given)
"""


@value
class Fake:
    """A fake CLI, installed in a folder."""

    path: Path
    record: Path

    def calls(self) -> list[dict[str, Any]]:
        """The recorded calls."""
        if not self.record.exists():
            return []
        calls = [json.loads(line) for line in self.record.read_text("utf-8").splitlines()]
        for call in calls:
            call["stdin"] = base64.b64decode(call["stdin"])
        return calls

    def settings(self, env: Mapping[str, str] | None = None, *, sandbox: bool = False) -> CopilotSettings:
        """Settings for this CLI; without the sandbox unless it is tested, because it hides the record."""
        from groundwire.model.value import replace

        around = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "COPILOT_GITHUB_TOKEN": TOKEN}
        made = settings_from(
            {**around, "COPILOT_PATH": str(self.path), **(env or {})}, str(self.path.parent / "user")
        )
        return replace(made, sandbox=sandbox)


def fake_cli(folder: Path, *steps: tuple[str, Any], recorded: bool = True) -> Fake:
    """Write a fake CLI into a folder."""
    record = folder / "calls.jsonl"
    program = folder / "copilot"
    text = _PROGRAM.format(python=PYTHON, record=str(record) if recorded else "", steps=json.dumps(steps))
    program.write_text(text, "utf-8")
    program.chmod(stat.S_IRWXU)
    return Fake(program, record)


def line(kind: str, /, **data: Any) -> str:
    """One event of its output."""
    return json.dumps({"type": kind, "data": data, "id": "1", "timestamp": "t", "parentId": "0"}) + "\n"


def result_line(code: int = 0) -> str:
    """The last line of its output."""
    return json.dumps({"type": "result", "sessionId": "s", "exitCode": code, "usage": {}}) + "\n"


def search_lines(content: str, *, call: str = "call_1", query: str = "q", **more: Any) -> str:
    """A use of the search tool."""
    return line(
        "tool.execution_start", toolCallId=call, toolName="web_search", arguments={"query": query}
    ) + line(
        "tool.execution_complete",
        **{
            "toolCallId": call,
            "success": True,
            "result": {"content": content, "detailedContent": ""},
            **more,
        },
    )


def document(
    text: str,
    annotations: list[dict[str, Any]] | None,
    queries: tuple[str, ...] | None = ("q",),
) -> str:
    """The result of the search tool."""
    searches = (
        None
        if queries is None
        else [{"text": query, "url": "https://www.bing.com/search?q=x"} for query in queries]
    )
    return json.dumps(
        {
            "type": "text",
            "text": {"value": text, "annotations": annotations},
            "bing_searches": searches,
            "annotations": None,
        },
        ensure_ascii=False,
    )


def note(start: int | None, end: int | None, url: str, title: str = "T", text: str = "") -> dict[str, Any]:
    """An annotation of that result."""
    return {
        "text": text,
        "start_index": start,
        "end_index": end,
        "url_citation": {"title": title, "url": url},
    }
