"""An option that a search service honours is part of the request that it gets."""

from __future__ import annotations

import pytest

from groundwire.credentials.secret import Secret
from groundwire.engine.engines.api import ApiEngineSpec, ServiceQuery
from groundwire.model import Location, SearchOptions
from groundwire.providers.catalog import CATALOG
from groundwire.providers.registry import load_registered

FOUND = [load_registered(entry.name) for entry in CATALOG if entry.kind == "engine"]
SPECS = [spec for spec in FOUND if isinstance(spec, ApiEngineSpec)]
OPTIONS = {
    "allowed_domains": SearchOptions(allowed_domains=("example.com",)),
    "blocked_domains": SearchOptions(blocked_domains=("example.com",)),
    "location": SearchOptions(location=Location(country="DE")),
    "language": SearchOptions(language="de"),
    "since": SearchOptions(since="2026-01-01", until="2026-11-01"),
    "until": SearchOptions(since="2026-01-01", until="2026-11-01"),
}
CASES = [(spec, option) for spec in SPECS for option in sorted(spec.honours)]


@pytest.mark.parametrize(("spec", "option"), CASES, ids=[f"{spec.name}-{option}" for spec, option in CASES])
def test_an_honoured_option_changes_the_request(spec: ApiEngineSpec, option: str) -> None:
    def request(options: SearchOptions) -> object:
        query = ServiceQuery("nile", options, "https://api.example.com", Secret("key"), 10, "2026-11-16")
        return spec.request(query)

    assert request(OPTIONS[option]) != request(SearchOptions())
