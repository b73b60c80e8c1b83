"""Fixtures: one gateway for all proofs, and a report of what each client printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.network_namespace import is_inside
from tests.clients.running_gateway import RunningGateway, run_gateway

_SHOWN: pytest.StashKey[list[tuple[str, str]]] = pytest.StashKey()


@pytest.fixture(scope="session")
def session_gateway() -> Iterator[RunningGateway]:
    """The gateway, for the whole session."""
    with run_gateway() as gateway:
        yield gateway


@pytest.fixture
def gateway(session_gateway: RunningGateway) -> RunningGateway:
    """The gateway, without recorded model requests and without a script."""
    session_gateway.model_requests.clear()
    session_gateway.script.clear()
    return session_gateway


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home directory."""
    return tmp_path


@pytest.fixture
def show(pytestconfig: pytest.Config) -> Callable[[str, str], None]:
    """Record what a client printed, for the report at the end."""
    noted = pytestconfig.stash.setdefault(_SHOWN, [])
    return lambda client, text: noted.append((client, text))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the report."""
    network = "loopback only" if is_inside() else "the network of this machine (no namespace could be made)"
    terminalreporter.section("what the clients printed")
    terminalreporter.write_line(f"network: {network}")
    for client, text in config.stash.get(_SHOWN, []):
        terminalreporter.write_line(f"\n{client}\n    " + text.strip().replace("\n", "\n    "))
