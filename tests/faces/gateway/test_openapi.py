"""The OpenAPI document: its schemas are valid, and describe what the gateway reads and writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from asyncio import create_subprocess_exec
from asyncio import wait_for as within
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from groundwire.commands.http_app import GATEWAY_ROUTES
from groundwire.faces.gateway.curl_examples import BASE_URL
from groundwire.faces.gateway.openapi import openapi_document
from groundwire.model import Source
from groundwire.model.access import KeyRights
from groundwire.server.keys import KeyFile
from groundwire.testing.answers import answer_events
from groundwire.testing.upstream import Upstream, answer
from tests.built_index import copy_index
from tests.faces.gateway.asgi_client import LOCAL, SMALLEST_REQUESTS, app_in, send_request
from tests.faces.gateway.serving import provider_at, serving

__all__ = ["copy_index"]

DOCUMENT: Any = openapi_document(GATEWAY_ROUTES)
SCHEMATHESIS = Path(sys.prefix) / "fuzzing" / "bin" / "schemathesis"


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for item in node.values():
            yield from _references(item)
    elif isinstance(node, list):
        for item in node:
            yield from _references(item)


def _validate(reference: dict[str, Any], instance: object) -> None:
    schema = {**reference, "components": DOCUMENT["components"]}
    Draft202012Validator(schema).validate(instance)


def test_every_schema_is_valid_and_every_reference_leads_to_one() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
    used = set(_references(DOCUMENT))
    assert used <= {f"#/components/schemas/{name}" for name in schemas}


def test_every_post_of_a_dialect_describes_its_request() -> None:
    undescribed = [
        route.path
        for route in GATEWAY_ROUTES
        if route.method == "POST"
        and "$ref"
        not in DOCUMENT["paths"][route.path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    ]
    assert undescribed == []


def _operation(path: str) -> dict[str, Any]:
    template = path.partition("?")[0].replace("/models/auto:", "/models/{model}:")
    operation: dict[str, Any] = DOCUMENT["paths"][template]["post"]
    return operation


@pytest.mark.parametrize("dialect", SMALLEST_REQUESTS)
async def test_a_request_its_response_and_an_error_match_their_schemas(tmp_path: Path, dialect: str) -> None:
    path, body = SMALLEST_REQUESTS[dialect]
    operation = _operation(path)
    request = operation["requestBody"]["content"]["application/json"]["schema"]
    _validate(request, body)
    gateway = app_in(tmp_path)
    headers = {**LOCAL, "content-type": "application/json"}
    response = await send_request(gateway, "POST", path, headers, json.dumps(body).encode())
    assert response.status == 200
    _validate(operation["responses"]["200"]["content"]["application/json"]["schema"], response.json)
    refused = await send_request(gateway, "POST", path, headers, b"[1]")
    assert refused.status == 400
    _validate(operation["responses"]["default"]["content"]["application/json"]["schema"], refused.json)


MISSING = {
    *(f"{method} /v1/responses/{{id}}" for method in ("GET", "DELETE")),
    "POST /v1/responses/{id}/cancel",
    "POST /api/web_fetch",  # a page of the web
}
"""Routes whose example names something that the gateway of the test does not have."""


async def _curl(command: str, url: str, env: dict[str, str]) -> int:
    """Run a curl command against a gateway; returns the status."""
    process = await create_subprocess_exec(
        *("bash", "-c", f"{command.replace(BASE_URL, url)} -s -o /dev/null -w '%{{http_code}}' -m 30"),
        stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], **env},
    )
    output, _ = await within(process.communicate(), 60)
    return int(output)


@pytest.mark.server
async def test_every_curl_example_gets_a_response(copy_index: Callable[[Path], None]) -> None:
    events = answer_events("The Nile is 6650 km long.", Source("https://alpha.example/nile"), query="nile")
    statuses: dict[str, int] = {}
    async with (
        Upstream(answer("anthropic_messages", events)) as upstream,
        serving({"up": provider_at("anthropic_messages", upstream.url)}) as running,
    ):
        copy_index(Path(running.groundwire.config.data_dir))
        key, env = "", {}
        for route in sorted(GATEWAY_ROUTES, key=lambda route: route.role != "member"):
            if route.role != "member" and not key:
                keys = KeyFile(running.groundwire.config.data_dir)
                key, _ = keys.create("owner", 0, KeyRights("owner"))
                _, other = keys.create("other", 0)
                env = {"GROUNDWIRE_KEY": key}
            operation = DOCUMENT["paths"][route.path][route.method.lower()]
            command = operation["x-codeSamples"][0]["source"]
            if key:
                command = command.replace("/ID", f"/{other.id}")
            if "requestBody" in operation and "example" in (
                media := operation["requestBody"]["content"]["application/json"]
            ):
                _validate(media["schema"], media["example"])
            statuses[f"{route.method} {route.path}"] = await _curl(command, running.url, env)
    failed = {name: status for name, status in statuses.items() if status >= 400 and name not in MISSING}
    assert failed == {"GET /v1/responses": 426, "POST /v1/conversations/{id}": 404}
    assert {statuses[name] for name in MISSING} <= {404, 502}


@pytest.mark.thorough
async def test_generated_requests_get_responses_as_documented(tmp_path: Path) -> None:
    """Schemathesis makes requests from the document, valid and not; no response is a server error or differs
    from the document."""
    assert SCHEMATHESIS.exists(), "schemathesis is missing: run make test-all, which installs it"
    events = answer_events("The Nile is 6650 km long.", Source("https://alpha.example/nile"), query="nile")
    async with (
        Upstream(answer("anthropic_messages", events)) as upstream,
        serving({"up": provider_at("anthropic_messages", upstream.url)}) as running,
    ):
        process = await create_subprocess_exec(
            *(str(SCHEMATHESIS), "run", f"{running.url}/openapi.json"),
            # The MCP library writes its own errors, and the other two are pages for people. After the first
            # generated key, all other requests would be refused.
            *("--exclude-path-regex", "^/(mcp|docs.*|v1/keys.*|)$", "--phases", "examples,coverage,fuzzing"),
            *("--checks", "not_a_server_error,status_code_conformance,content_type_conformance"),
            *("--checks", "response_schema_conformance,unsupported_method"),
            *("-n", "30", "--request-timeout", "30", "--continue-on-failure"),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        output, _ = await within(process.communicate(), 900)
    assert process.returncode == 0, output.decode(errors="replace")[-6000:]
