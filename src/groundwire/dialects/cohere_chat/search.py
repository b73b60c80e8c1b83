"""The declaration of a web search.

Version 2 of the API has none. The connector of version 1 is accepted, with which clients can declare it as an
additional body parameter: `{"connectors": [{"id": "web-search", "options": {"site": "example.com"}}]}`. So is
an entry of `tools` with the type `web_search`.
"""

from __future__ import annotations

from groundwire.dialects.base import Encoded
from groundwire.dialects.fields import Fields
from groundwire.model import JsonObject, SearchOptions
from groundwire.model.value import field_names

NAME = "cohere_chat"
CONNECTOR = "web-search"
_SEARCH_TOOLS = frozenset({"web_search", CONNECTOR})


def is_search_tool(tool: Fields) -> bool:
    """Whether an entry of `tools` declares a web search."""
    return tool.text("type") in _SEARCH_TOOLS


def decode_search(body: Fields) -> SearchOptions | None:
    """Decode the declaration; None if there is none."""
    for connector in body.objs("connectors"):
        if connector.text("id") == CONNECTOR:
            site = connector.obj("options").text("site")
            return SearchOptions(allowed_domains=(site,) if site else ())
    return SearchOptions() if any(map(is_search_tool, body.objs("tools"))) else None


def encode_search(options: SearchOptions) -> Encoded:
    """Encode the connector, and name the options that it does not have. It searches one site at most."""
    connector: JsonObject = {"id": CONNECTOR}
    unset = SearchOptions()
    given = {
        name
        for name in field_names(SearchOptions)
        if name != "extras" and getattr(options, name) != getattr(unset, name)
    }
    if options.live is not False:
        given.discard("live")
    if len(options.allowed_domains) == 1:
        given.discard("allowed_domains")
        connector["options"] = {"site": options.allowed_domains[0]}
    return Encoded({"connectors": [connector]}, tuple(sorted(given)))
