"""Timestamps in responses, computed without a clock."""

from __future__ import annotations


def timestamp(seconds: int) -> str:
    """Format seconds since the epoch as `2026-05-15T18:52:36Z`, without a clock."""
    days, rest = divmod(seconds, 86400)
    era, day_of_era = divmod(days + 719468, 146097)  # days since 1 March of year 0; eras of 400 years
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    year = year_of_era + era * 400 + (month <= 2)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{year:04}-{month:02}-{day:02}T{clock}Z"
