"""The public names of the package."""

from __future__ import annotations

import subprocess
import sys

import pytest

import groundwire

pytestmark = pytest.mark.server


def test_every_public_name_exists_and_they_are_sorted() -> None:
    assert list(groundwire.__all__) == sorted(groundwire.__all__)
    for name in groundwire.__all__:
        assert getattr(groundwire, name) is not None


def test_an_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'serach'"):
        groundwire.serach  # noqa: B018


def test_importing_the_package_imports_nothing_else() -> None:
    program = (
        "import sys, groundwire; print([name for name in sys.modules if name.startswith('groundwire.')])"
    )
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.strip() == "[]"
