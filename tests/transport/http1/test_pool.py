"""Idle connections are bounded: beyond the limit the oldest is closed."""

from __future__ import annotations

import pytest

from groundwire.transport.http1.connect import Connector
from groundwire.transport.http1.origin import Origin
from groundwire.transport.http1.pool import Pool
from tests.transport.fake_transport import connected
from tests.transport.raw_server import OK

pytestmark = pytest.mark.server


async def test_beyond_the_limit_the_oldest_idle_connection_is_closed() -> None:
    pool = Pool(Connector(), 30.0, max_idle=2)
    transports = []
    for host in ("a.example", "b.example", "a.example"):
        connection, transport = connected()
        connection.data_received(OK)
        pool.release(Origin(host, 80), connection)
        transports.append(transport)
    assert [transport.is_cut for transport in transports] == [True, False, False]
    pool.close()
    assert all(transport.is_cut for transport in transports)


async def test_a_connection_with_an_incomplete_response_is_not_kept() -> None:
    pool = Pool(Connector(), 30.0)
    connection, transport = connected()
    connection.data_received(OK[:-1])
    pool.release(Origin("a.example", 80), connection)
    assert transport.is_cut
    pool.close()
