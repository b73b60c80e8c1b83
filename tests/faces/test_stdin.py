"""Standard input that is not text is refused as such, by every command that reads it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BINARY = [b"\xff\xfe\x00\x01", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), b"words\0and more"]


@pytest.mark.parametrize("data", BINARY, ids=["bytes", "picture", "nul"])
@pytest.mark.parametrize(
    "command", [["search", "-"], ["tool", "websearch", "-"], ["login", "gemini"]], ids=" ".join
)
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_binary_input_is_refused_as_binary(
    command: list[str], data: bytes, locale: str, tmp_path: Path
) -> None:
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "groundwire", *command],
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LC_ALL": locale},
        cwd=tmp_path,
    )
    assert result.returncode == 2
    assert b"standard input is not UTF-8 text" in result.stderr
    assert not result.stdout
