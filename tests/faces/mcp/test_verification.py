"""The tool `verify_citations`: facts for models, and no address that a search here has not found."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.faces.mcp.calls import FetchAllowList, run_tool
from groundwire.model import Answer, JsonObject, SearchOptions
from groundwire.verify.check import PageOutcome, check_answer, cited_urls
from groundwire.verify.facts import AddressFact, VerifyReport
from groundwire.verify.pages import PageText
from groundwire.verify.policy import VerifyPolicy
from tests.stub_client import StubClient

FOUND = "https://a.example/found"
OTHER = "https://evil.example/?secret=1"


class PagesClient(StubClient):
    """A client for which every allowed page says the same."""

    def __init__(self) -> None:
        super().__init__()
        self.contacted: list[str] = []

    async def averify(
        self, answer: Answer, *, options: SearchOptions | None = None, policy: VerifyPolicy | None = None
    ) -> VerifyReport:
        assert policy is not None
        self.contacted += (url for url in cited_urls(answer) if policy.is_allowed(url))
        said = PageOutcome(AddressFact("alive", origin="web"), PageText("The tower is 324 metres tall."))
        return check_answer(answer, dict.fromkeys(self.contacted, said), options)


async def verified(client: PagesClient, allow_list: FetchAllowList, arguments: JsonObject) -> Any:
    return await run_tool(client, allow_list, "verify_citations", arguments, lambda _: None)


async def test_claims_are_verified_against_pages_that_a_search_has_found() -> None:
    client, allow_list = PagesClient(), FetchAllowList(b"secret")
    name = allow_list.add(FOUND)
    citations: list[Any] = [
        {"claim": "The tower is 324 metres tall.", "url": FOUND, "quote": "324 metres tall"},
        {"claim": "The tower is 330 metres tall.", "url": name},
        {"claim": "The tower is old.", "url": OTHER},
    ]
    output = await verified(client, allow_list, {"citations": citations})
    assert not output.failed
    standings = [item["standing"] for item in output.structured["citations"]]
    assert standings == ["supported", "failed", "unchecked"]
    assert client.contacted == [FOUND]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"citations": []},
        {"citations": "x"},
        {"citations": [{"claim": "x"}]},
        {"citations": [{"claim": "", "url": FOUND}]},
        {"citations": [{"claim": "x", "url": FOUND, "more": 1}]},
        {"citations": [{"claim": "x", "url": FOUND}] * 101},
        {"citations": [{"claim": "x", "url": FOUND}], "more": 1},
    ],
)
async def test_other_arguments_are_refused(arguments: Any) -> None:
    output = await verified(PagesClient(), FetchAllowList(b"secret"), arguments)
    assert output.failed
    assert output.structured["error"]["type"] == "INVALID_TOOL_ARGUMENTS"
    assert output.structured["ok"] is False
