"""A gateway with a budget as a process of its own, which a test kills: `UPSTREAM FOLDER USD_PER_DAY`."""

from __future__ import annotations

import asyncio
import socket
import sys
from decimal import Decimal
from pathlib import Path

from groundwire.model.access import KeyLimits
from groundwire.server.http_server import HttpServer
from tests.server.billing_upstream import KEY, budgeted_service


async def main(upstream: str, folder: str, usd: str) -> None:
    """Serve on a free port, and print the address."""
    limits = {KEY: KeyLimits(usd_per_day=Decimal(usd))}
    app = budgeted_service({"scripted": upstream}, Path(folder), limits)
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)  # noqa: T201
    await HttpServer(app, drain=1).serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
