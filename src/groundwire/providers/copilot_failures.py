"""What went wrong when the Copilot CLI failed: its exit code says only that, its words say what."""

from __future__ import annotations

import re

from groundwire.errors import (
    AuthRejected,
    ConfigError,
    GroundwireError,
    Interrupted,
    NotFound,
    QuotaExhausted,
    RateLimited,
    Refused,
    UpstreamError,
    UpstreamWireError,
    upstream_error_class,
)
from groundwire.providers.copilot_result import clean_line

_LONGEST = 300
_STATUS = re.compile(r"(?:Last error|status(?: code)?|HTTP)\W{0,3}\s*([45]\d\d)\b", re.IGNORECASE)
_STATISTICS = re.compile(r"(?:Changes|Duration|Tokens|Resume|AI Credits|Requests)\s")
_LOGIN = (
    "set COPILOT_GITHUB_TOKEN to a token that may make Copilot requests (the system's keyring and the login "
    "of `gh` are out of the sandbox's reach)"
)
_WORDS: tuple[tuple[re.Pattern[str], type[UpstreamError], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind, advice)
    for pattern, kind, advice in (
        ("no authentication information|not (?:logged|signed) in", AuthRejected, _LOGIN),
        ("could not be validated|bad credentials|unauthori[sz]ed|authentication", AuthRejected, _LOGIN),
        ("quota|premium requests?|ai credits|exceeded your", QuotaExhausted, "wait, or change the plan"),
        ("rate.?limit|too many requests", RateLimited, "try again in a while"),
        (
            r"model\b.{0,80}\bnot (?:available|found|supported|enabled|allowed)",
            NotFound,
            "choose another model with WEB_SEARCH_MODEL",
        ),
        ("unknown option|invalid option", Refused, "update the Copilot CLI"),
    )
)
_BY_STATUS = {401: _LOGIN, 403: _LOGIN}


def failure(code: int, text: str, status: int | None = None) -> GroundwireError:
    """The error for a run without an answer, by its words, the HTTP status it tells, and its exit code."""
    said = _essence(text)
    if said.startswith("bwrap: "):
        return ConfigError(f"the sandbox for the Copilot CLI does not start: {said}")
    if status is None and (match := _STATUS.search(text)):
        status = int(match[1])
    for pattern, kind, advice in _WORDS:
        if pattern.search(text):
            return kind(f"the Copilot CLI failed: {said}; {advice}", status=status)
    if status is not None and status >= 400:
        advice = f"; {_BY_STATUS[status]}" if status in _BY_STATUS else ""
        return upstream_error_class(status)(f"the Copilot CLI failed: {said}{advice}", status=status)
    if code < 0 or code > 128:
        return Interrupted("the Copilot CLI was killed before its answer")
    if code:
        return Refused(f"the Copilot CLI failed: {said or f'exit code {code}'}")
    return UpstreamWireError(f"the Copilot CLI gave no answer{f': {said}' if said else ''}")


def _essence(text: str) -> str:
    """The first line that says something."""
    for line in text.splitlines():
        said = clean_line(line).removeprefix("Error: ")
        if said and not _STATISTICS.match(said):
            return said[:_LONGEST]
    return ""
