"""Shared by all tests: recordings, Hypothesis profiles, garbage collection, async tests."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.figures import Figures

# CI must not fail at random: the same cases in every run, more and new ones in `make test-all`.
settings.register_profile("steady", max_examples=50, derandomize=True, deadline=None, database=None)
settings.register_profile("searching", deadline=None)
settings.load_profile("searching" if os.environ.get("GROUNDWIRE_TEST_SEARCH") else "steady")

# No test starts a process that it does not know of.
os.environ["GROUNDWIRE_BUILD_INDEX"] = "0"
# Preparing a sentence encoder and computing vectors takes too long for each data directory: the tests that
# are about them turn them on. Programs that tests start inherit this.
os.environ["GROUNDWIRE_SEMANTIC"] = "0"

# A shell starts background jobs with SIGINT ignored, and programs inherit that: the ones that tests start and
# interrupt must not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Disable garbage collection while tests are collected: they live for the whole run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        # Tests make much garbage and keep little: searching for cycles less often takes less time.
        gc.set_threshold(20_000, 20, 50)
        gc.enable()


RECORDINGS = Path(__file__).parents[2] / "shared" / "recordings"


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of recorded provider traffic; tests that need it are reported as not run without it."""
    if not RECORDINGS.is_dir():
        pytest.skip("the recordings are not on this machine: not run")
    return RECORDINGS


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    """Where a test writes down what it has measured."""
    return Figures(request.node.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write down how each thorough test ends."""
    report = yield
    if call.when == "call" and item.get_closest_marker("thorough"):
        Figures(item.nodeid).end(report.outcome)
    return report


ASYNC_TEST_SECONDS = 120.0
"""Time limit of one async test: longer than this, it hangs. Thorough tests have five times as long."""


def is_ours(task: asyncio.Task[object]) -> bool:
    """Whether a task runs a coroutine of groundwire or of a test, not one of a library."""
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and "site-packages" not in code.co_filename


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run each `async def` test in its own event loop, with a time limit. It must leave no task running."""
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(test).parameters}

    seconds = ASYNC_TEST_SECONDS * (5 if pyfuncitem.get_closest_marker("thorough") else 1)

    async def bounded() -> None:
        async with asyncio.timeout(seconds):
            await test(**arguments)
        for _ in range(5):  # cancelled tasks end within a few turns of the loop
            await asyncio.sleep(0)
        tasks = [task for task in asyncio.all_tasks() - {asyncio.current_task()} if is_ours(task)]
        assert not tasks, f"tasks still running: {tasks}"

    asyncio.run(bounded())
    return True
