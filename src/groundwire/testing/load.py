"""An open-loop load client: requests start at their times, whether or not earlier ones were answered.

    report = await send_load(LoadPlan("http://127.0.0.1:8484/v1/chat/completions", body, rate=50, seconds=10))

A client that waits for each response before it sends the next request slows down with the server and hides
the queue. This one does not: latency counts from the time at which a request was due. As a program,
`python -m groundwire.testing.load URL --body FILE --rate 50` prints a report. It needs only the standard
library.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio import StreamReader
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import count, pairwise, takewhile
from math import ceil
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from groundwire.model.value import value

if TYPE_CHECKING:
    from groundwire.model import JsonObject

NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_LIMIT = 64 * 1024
_PERCENTILES = (50, 90, 99, 100)


@value
class LoadPlan:
    """What is sent, how often and how long."""

    url: str
    body: bytes = b""
    """Sent with POST; without a body, GET."""
    headers: Mapping[str, str] = NO_HEADERS
    rate: float = 10.0
    """Requests per second."""
    seconds: float = 10.0
    timeout: float = 30.0
    """Seconds after which a response is given up."""
    most: int = 10_000
    """Requests in flight; a request that is due beyond them is counted as `skipped`."""
    seed: int | None = None
    """With a seed, the times are those of a Poisson process; without one, they are regular."""

    def due_times(self) -> Iterator[float]:
        """When requests are due, in seconds from the start."""
        if self.seed is None:
            yield from takewhile(lambda at: at < self.seconds, (n / self.rate for n in count()))
            return
        chance = Random(self.seed)  # noqa: S311  not for secrets
        at = 0.0
        while at < self.seconds:
            yield at
            at += chance.expovariate(self.rate)


@value
class Sample:
    """The outcome of one request. Times are seconds after it was due."""

    outcome: str
    """The HTTP status, `timeout`, `incomplete`, or the name of an error of the connection."""
    first_byte: float = 0.0
    """When the first byte of the body arrived."""
    seconds: float = 0.0
    largest_gap: float = 0.0
    """The longest wait between two reads of the body."""

    @property
    def is_ok(self) -> bool:
        """Was it answered with success?"""
        return self.outcome.startswith("2")


@value
class LoadReport:
    """The outcomes of all requests."""

    samples: tuple[Sample, ...]
    skipped: int = 0

    @property
    def outcomes(self) -> dict[str, int]:
        """How often each outcome was seen, the most frequent first."""
        return dict(Counter(sample.outcome for sample in self.samples).most_common())

    def percentiles(self, field: str) -> dict[str, float]:
        """Percentiles of a time over the successful requests."""
        ordered = sorted(getattr(sample, field) for sample in self.samples if sample.is_ok)
        return (
            {f"p{share}": round(_percentile(ordered, share), 4) for share in _PERCENTILES} if ordered else {}
        )

    def summary(self) -> JsonObject:
        """The report as JSON."""
        return {
            "requests": len(self.samples),
            "skipped": self.skipped,
            "outcomes": {**self.outcomes},
            "first_byte": {**self.percentiles("first_byte")},
            "seconds": {**self.percentiles("seconds")},
            "largest_gap": {**self.percentiles("largest_gap")},
        }


def _percentile(ordered: Sequence[float], share: int) -> float:
    return ordered[max(0, ceil(len(ordered) * share / 100) - 1)]


async def send_load(plan: LoadPlan) -> LoadReport:
    """Send the requests of a plan; returns when all are answered, lost or given up."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    pending: set[asyncio.Task[Sample]] = set()
    samples: list[Sample] = []
    skipped = 0
    request = _encoded(plan)

    def done(task: asyncio.Task[Sample]) -> None:
        pending.discard(task)
        if not task.cancelled():
            samples.append(task.result())

    try:
        for due in plan.due_times():
            if (wait := started + due - loop.time()) > 0:
                await asyncio.sleep(wait)
            if len(pending) >= plan.most:
                skipped += 1
                continue
            task = asyncio.create_task(_send(plan, request, started + due))
            pending.add(task)
            task.add_done_callback(done)
        while pending:
            await asyncio.wait(pending)
            await asyncio.sleep(0)  # the callbacks run in the next iteration of the loop
    finally:
        for task in pending:
            task.cancel()
    return LoadReport(tuple(samples), skipped)


def _encoded(plan: LoadPlan) -> bytes:
    parts = urlsplit(plan.url)
    headers = {
        "host": parts.netloc,
        "connection": "close",
        **({"content-type": "application/json", "content-length": str(len(plan.body))} if plan.body else {}),
        **{name.lower(): text for name, text in plan.headers.items()},
    }
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [
        f"{'POST' if plan.body else 'GET'} {target} HTTP/1.1",
        *(f"{k}: {v}" for k, v in headers.items()),
    ]
    return "\r\n".join((*lines, "", "")).encode("latin-1") + plan.body


async def _send(plan: LoadPlan, request: bytes, due: float) -> Sample:
    loop = asyncio.get_running_loop()
    parts = urlsplit(plan.url)
    try:
        async with asyncio.timeout_at(due + plan.timeout):
            reader, writer = await asyncio.open_connection(
                parts.hostname,
                parts.port or (443 if parts.scheme == "https" else 80),
                ssl=parts.scheme == "https" or None,
                limit=_LIMIT,
            )
            try:
                writer.write(request)
                await writer.drain()
                return await _receive(reader, due)
            finally:
                writer.transport.abort()
    except TimeoutError:
        return Sample("timeout", seconds=loop.time() - due)
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
        return Sample(_ERRORS.get(type(error), type(error).__name__), seconds=loop.time() - due)


_ERRORS: Mapping[type[BaseException], str] = {
    asyncio.IncompleteReadError: "incomplete",
    ConnectionRefusedError: "refused",
    ConnectionResetError: "reset",
}


async def _receive(reader: StreamReader, due: float) -> Sample:
    loop = asyncio.get_running_loop()
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    status = head.partition(" ")[2][:3]
    times = [loop.time() async for _ in _body(reader, head)]
    ended = loop.time()
    gaps = [after - before for before, after in pairwise(times)]
    return Sample(status, (times[0] if times else ended) - due, ended - due, max(gaps, default=0.0))


async def _body(reader: StreamReader, head: str) -> AsyncIterator[bytes]:
    """The parts of a body as they arrive; raises `IncompleteReadError` if it is cut off."""
    if "\r\ntransfer-encoding: chunked" in head:
        while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
            yield await reader.readexactly(size + 2)
        return
    _, sized, rest = head.partition("\r\ncontent-length:")
    left = int(rest.partition("\r\n")[0]) if sized else None
    while left != 0:
        data = await reader.read(_LIMIT if left is None else min(left, _LIMIT))
        if not data:
            if left:
                raise asyncio.IncompleteReadError(b"", left)
            return
        left = None if left is None else left - len(data)
        yield data


def main(arguments: Sequence[str] | None = None) -> int:
    """Send the load and print the report."""
    from argparse import ArgumentParser  # noqa: PLC0415  only the command line needs it

    parser = ArgumentParser(
        prog="python -m groundwire.testing.load",
        description="Send requests at a fixed rate, whether or not earlier ones are answered, and print what "
        "came back as JSON. Exits with 1 unless every request succeeded.",
    )
    add = parser.add_argument
    add("url")
    add("--body", type=Path, help="a file with the body of a POST request; without one, GET")
    add("--header", action="append", default=[], metavar="NAME:VALUE", help="may be repeated")
    add("--rate", type=float, default=10.0, help="requests per second (default: 10)")
    add("--seconds", type=float, default=10.0, help="how long requests are sent (default: 10)")
    add("--timeout", type=float, default=30.0, help="seconds until a response is given up (default: 30)")
    add("--seed", type=int, help="random arrivals (a Poisson process) with this seed")
    options = parser.parse_args(arguments)
    if options.rate <= 0 or urlsplit(options.url).scheme not in ("http", "https"):
        parser.error("give an http or https URL, and a rate above 0")
    try:
        plan = LoadPlan(
            options.url,
            options.body.read_bytes() if options.body else b"",
            dict(line.split(":", 1) for line in options.header),
            options.rate,
            options.seconds,
            options.timeout,
            seed=options.seed,
        )
        report = asyncio.run(send_load(plan))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    sys.stdout.write(f"{json.dumps(report.summary(), indent=2)}\n")
    return 0 if all(sample.is_ok for sample in report.samples) and not report.skipped else 1


if __name__ == "__main__":
    sys.exit(main())
