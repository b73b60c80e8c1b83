"""`groundwire providers` and the lists of providers that are written by hand."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from groundwire.commands import providers
from groundwire.providers.catalog import CATALOG, KNOWN_PROVIDERS
from groundwire.providers.policy import OPTIONS

PROJECT = Path(__file__).parents[2]


def test_there_is_a_column_for_every_search_option() -> None:
    assert set(providers._COLUMNS) == set(OPTIONS) - {"until"}  # shares the column of `since`


def test_the_configuration_page_lists_every_built_in_provider() -> None:
    page = (PROJECT / "docs/configuration.md").read_text("utf-8")
    listed = re.search(r"Adjusts a built-in provider \(([^)]*)\)", page)
    assert listed is not None
    assert set(re.findall(r"`(\w+)`", listed[1])) == set(KNOWN_PROVIDERS)


def test_the_import_contract_names_every_provider_module() -> None:
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (contract,) = (item for item in contracts if item["name"] == "Providers do not import each other")
    modules = {entry.reference.partition(":")[0] for entry in CATALOG if entry.kind == "model"}
    packages = {".".join(module.split(".")[:3]) for module in modules}
    assert set(contract["modules"]) == packages
