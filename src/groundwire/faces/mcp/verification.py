"""The tool `verify_citations`: claims with their addresses in, facts out.

Addresses come from a model, which a page may have told what to send where. So only pages that a search here
has found are fetched, as `fetch` does; others are looked up in the index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.errors import InvalidArguments
from groundwire.faces.mcp.tool_list import MOST_CITATIONS, VERIFY
from groundwire.model import Answer, Citation, Evidence, Json, JsonObject, Source, Span, Text
from groundwire.verify.encode import encode_report
from groundwire.verify.policy import VerifyPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundwire.client_protocol import SearchClient

_TAKES = f"{VERIFY} takes `citations`: a list of objects with `claim`, `url` and perhaps `quote`."
_FIELDS = frozenset({"claim", "url", "quote"})


async def verify_citations(
    client: SearchClient, arguments: JsonObject, resolve: Callable[[str], str]
) -> JsonObject:
    """The report; `resolve` gives the URL of an address that a search here has found, or nothing."""
    answer, found = answer_of(arguments, resolve)
    settings = client.config.verify
    policy = VerifyPolicy(follow=settings.follow, seconds=settings.timeout, is_allowed=found.__contains__)
    return encode_report(await client.averify(answer, policy=policy))


def answer_of(arguments: JsonObject, resolve: Callable[[str], str]) -> tuple[Answer, frozenset[str]]:
    """An answer of the claims, one in a line, each with its citation; and the URLs that a search here has
    found. Raises `InvalidArguments`."""
    given = arguments.get("citations")
    if set(arguments) != {"citations"} or not isinstance(given, list) or not given:
        raise InvalidArguments(_TAKES)
    if len(given) > MOST_CITATIONS:
        raise InvalidArguments(f"{VERIFY} takes at most {MOST_CITATIONS} citations.")
    text = ""
    found: set[str] = set()
    citations: list[Citation] = []
    for item in given:
        claim, url, quote = _fields(item)
        start = len(text)
        text += claim + "\n"
        known = resolve(url)
        found |= {known} if known else set()
        source = Source(known or url)
        citations.append(Citation(Span(start, start + len(claim)), (Evidence(source, quote),)))
    return Answer((Text(text),), tuple(citations), finish="stop"), frozenset(found)


def _fields(item: Json) -> tuple[str, str, str]:
    if not isinstance(item, dict) or not _FIELDS.issuperset(item):
        raise InvalidArguments(_TAKES)
    claim, url, quote = item.get("claim"), item.get("url"), item.get("quote", "")
    if not isinstance(claim, str) or not isinstance(url, str) or not isinstance(quote, str):
        raise InvalidArguments(_TAKES)
    if not claim.strip() or not url.strip():
        raise InvalidArguments(_TAKES)
    return claim.strip(), url.strip(), quote
