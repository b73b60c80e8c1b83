"""What the README shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_example_prints_what_the_readme_shows() -> None:
    result = subprocess.run(  # noqa: S603
        [sys.executable, str(ROOT / "examples" / "cited_answer.py")],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    shown = re.findall(r"```\n\$ make run\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    lines = [line for line in shown[0].splitlines() if line.strip() and "…" not in line]
    assert len(lines) > 6
    for line in lines:
        assert line in result.stdout


def test_the_code_of_the_readme_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    segment = {"endIndex": 5, "text": "Köln"}
    metadata = {
        "groundingChunks": [{"web": {"uri": "https://stadt.example/", "title": "Köln"}}],
        "groundingSupports": [{"segment": segment, "groundingChunkIndices": [0]}],
    }
    candidate = {
        "content": {"role": "model", "parts": [{"text": "Köln liegt am Rhein."}]},
        "finishReason": "STOP",
        "groundingMetadata": metadata,
    }
    scope: dict[str, object] = {"body": {"candidates": [candidate]}}
    exec(blocks[0], scope)  # noqa: S102  our own README
    message = scope["message"]
    assert isinstance(message, dict)
    texts = [block for block in message["content"] if block["type"] == "text"]
    assert [block["text"] for block in texts] == ["Köln", " liegt am Rhein."]
    assert texts[0]["citations"][0]["url"] == "https://stadt.example/"
