"""The clock of a shared store as a gateway knows it."""

from __future__ import annotations

from typing import cast

import pytest

from groundwire.errors import GroundwireError
from groundwire.store.base import Store
from groundwire.store.clock import StoreClock


class Database:
    """A database and a timer that are read at set times. A call takes `seconds`, and reads the clock when
    `share` of them have passed."""

    def __init__(self, ahead: float) -> None:
        self.ahead = ahead
        self.timer = 50.0
        self.seconds = 0.0
        self.share = 0.5
        self.is_away = False

    def now(self) -> float:
        if self.is_away:
            raise GroundwireError("away")
        self.timer += self.seconds * self.share
        time = self.timer + self.ahead
        self.timer += self.seconds * (1 - self.share)
        return time

    def clock(self) -> StoreClock:
        return StoreClock(cast("Store", self), lambda: self.timer)


def test_the_time_is_that_of_the_database_and_goes_on_between_readings() -> None:
    database = Database(ahead=1_000_000)
    clock = database.clock()
    assert clock() == 1_000_050
    database.timer += 7
    assert clock() == 1_000_057


def test_the_time_is_known_without_the_database_once_it_was_read() -> None:
    database = Database(ahead=1_000_000)
    clock = database.clock()
    clock()
    database.is_away = True
    database.timer += 3600
    with pytest.raises(GroundwireError):
        clock.read()
    assert clock() == 1_003_650


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_slow_readings_do_not_move_a_time_that_is_right(share: float) -> None:
    database = Database(ahead=1_000_000)
    clock = database.clock()
    clock()
    database.seconds, database.share = 4.0, share
    clock.read()
    assert clock() - database.timer == 1_000_000


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_first_reading_is_wrong_by_half_its_duration_at_most(share: float) -> None:
    database = Database(ahead=1_000_000)
    database.seconds, database.share = 4.0, share
    assert abs(database.clock()() - database.timer - 1_000_000) <= 2


@pytest.mark.parametrize("jump", [-600.0, 600.0])
def test_a_database_with_another_clock_is_followed(jump: float) -> None:
    database = Database(ahead=1_000_000)
    clock = database.clock()
    clock()
    database.ahead += jump
    clock.read()
    assert clock() - database.timer == 1_000_000 + jump
