"""The AI SDK reads the UI message stream of the gateway, and sends its own message back in the next turn."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.clients.packages import AI_SDKS, ClientPackage, modules_of
from tests.clients.pages import ANSWER_URL, FACT, QUESTION
from tests.clients.running_gateway import BOUND, RunningGateway

SCRIPT = Path(__file__).with_name("ai_sdk.mjs")
ASKED = {"id": "1", "role": "user", "parts": [{"type": "text", "text": QUESTION}]}


def _ask(
    package: ClientPackage, gateway: RunningGateway, messages: Sequence[Any], **options: Mapping[str, str]
) -> Any:
    """The message that the SDK assembles. Node finds a module from the folder of the script."""
    script = modules_of(package).parent / SCRIPT.name
    shutil.copy(SCRIPT, script)
    words = ["node", str(script), gateway.url, json.dumps(messages), json.dumps(options)]
    done = subprocess.run(  # noqa: S603
        words,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )
    assert done.returncode == 0, done
    return json.loads(done.stdout)


@pytest.mark.parametrize("package", AI_SDKS, ids=lambda package: package.version)
def test_the_ai_sdk_assembles_a_message_with_our_sources(
    package: ClientPackage, gateway: RunningGateway, show: Callable[[str, str], None]
) -> None:
    first = _ask(package, gateway, [ASKED], body={"model": "local"})
    show(f"{package.label}, useChat transport, model local", json.dumps(first["parts"], indent=2))
    parts = {part["type"]: part for part in first["parts"]}
    assert FACT in parts["text"]["text"]
    assert ANSWER_URL in [part["url"] for part in first["parts"] if part["type"] == "source-url"]
    assert parts["tool-web_search"]["state"] == "output-available"
    assert parts["data-citation"]["data"]["end"] <= len(parts["text"]["text"])
    assert first["metadata"]["provider"] == "local"

    again = {"id": "2", "role": "user", "parts": [{"type": "text", "text": QUESTION}]}
    marked = _ask(
        package,
        gateway,
        [ASKED, first, again],
        body={"model": "local"},
        headers={"x-groundwire-render": "markers"},
    )
    text = "".join(part["text"] for part in marked["parts"] if part["type"] == "text")
    assert "[1]" in text
    assert ANSWER_URL in text
