"""The MCP Inspector lists and calls our tools, and reads the files of clients that cannot be run here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.connect import TRANSPORTS, configure_index, connect_server
from tests.clients.inspector import ERAS, inspect, inspect_call, printed_by, target_of
from tests.clients.packages import INSPECTOR
from tests.clients.pages import ANSWER_URL, FACT, QUESTION
from tests.clients.running_gateway import RunningGateway

KEYLESS = {"websearch", "websearch_web", "websearch_local", "search", "fetch", "verify_citations"}
ARGUMENTS = {"query": QUESTION}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_inspector_lists_our_tools_and_finds_no_fault_in_their_schemas(
    transport: str, era: str, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    configure_index(gateway, home)
    run = inspect(home, target_of(transport, gateway), era, "tools/list", "--strict")
    assert run.code == 0, run
    names = [tool["name"] for tool in printed_by(run)["tools"]]
    show(f"{INSPECTOR.label}, {era}, tools/list over {transport}", " ".join(names))
    assert set(names) >= KEYLESS


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_inspector_receives_cited_answers_and_links(
    transport: str, era: str, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    configure_index(gateway, home)
    target = target_of(transport, gateway)
    arguments = ARGUMENTS | ({"provider": "local"} if transport == "http" else {})
    answer = inspect_call(home, target, era, "websearch", arguments)
    found = inspect_call(home, target, era, "websearch_local", ARGUMENTS)
    for result in (answer, found):
        text, *links = result["content"]
        assert ANSWER_URL in text["text"]
        assert ANSWER_URL in [link["uri"] for link in links]
    show(f"{INSPECTOR.label}, {era}, websearch over {transport}", answer["content"][0]["text"])


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_inspector_fetches_the_page_that_it_found(
    transport: str, era: str, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    configure_index(gateway, home)
    target = target_of(transport, gateway)
    results = inspect_call(home, target, era, "search", ARGUMENTS)["structuredContent"]["results"]
    [page] = [page for page in results if page["url"] == ANSWER_URL]
    # Over stdio, each run of the Inspector starts a new server, which does not know ids of another.
    name = page["id"] if transport == "http" else page["url"]
    read = inspect_call(home, target, era, "fetch", {"id": name})["structuredContent"]
    show(f"{INSPECTOR.label}, {era}, search and fetch over {transport}", json.dumps(read, indent=2))
    assert (read["url"], FACT in read["text"]) == (ANSWER_URL, True)


@pytest.mark.parametrize("client", ["cursor", "claude-desktop"])
def test_the_inspector_reads_the_server_from_the_file_of_another_client(
    client: str, gateway: RunningGateway, home: Path, show: Callable[[str, str], None]
) -> None:
    connect_server(client, "stdio", gateway, home)
    [file] = [path for path in home.rglob("*.json") if "mcpServers" in path.read_text("utf-8")]
    target = ["--config", str(file), "--server", "groundwire"]
    result = inspect_call(home, target, "legacy", "websearch", ARGUMENTS)
    show(f"{INSPECTOR.label}, with the file of {client}", result["structuredContent"]["returnDisplay"])
    assert ANSWER_URL in json.dumps(result["structuredContent"]["sources"])
