"""Generate docs/http-api.md: every route of the gateway, with its request, its response and an example.

All of it comes from the OpenAPI document of the gateway. With `--check`, nothing is written; the exit status
is 1 if the page is out of date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from groundwire.commands.http_app import GATEWAY_ROUTES
from groundwire.faces.gateway.openapi import openapi_document
from groundwire.server.routes import Route

PAGE = Path(__file__).parents[1] / "docs" / "http-api.md"
INTRODUCTION = """\
# HTTP API

Every path of the [gateway](gateway.md), with its request and its response. `GET /openapi.json` returns the \
same as OpenAPI 3.1, with the complete schemas. The gateway accepts further fields of each vendor's API, and \
forwards them where the provider has the same field.

A path with the access "key" needs a [key](keys.md) once one exists. Send it as `Authorization: Bearer`, \
`x-api-key` or `x-goog-api-key`. The examples are for a gateway without keys. Errors have the format of the \
dialect; [Errors and warnings](errors.md) lists their codes. The pages of the [chat page](chat.md) and the \
[MCP server](mcp.md) at `/mcp` are not listed here.
"""


def render(routes: Sequence[Route]) -> str:
    """Return the page as Markdown."""
    document: Any = openapi_document(routes)
    schemas = document["components"]["schemas"]
    lines = [INTRODUCTION, "## Paths", "", "| method | path | description | access |", "|---|---|---|---|"]
    lines += [
        f"| {route.method} | [`{route.path}`](#{_fragment(route)}) | {route.about} | {_access(route)} |"
        for route in routes
    ]
    for route in routes:
        operation = document["paths"][route.path][route.method.lower()]
        lines += [
            "",
            f"### {route.method} {route.path}",
            "",
            f"{route.about} Access: {_access(route)}.",
            *_details(operation),
        ]
    lines += ["", "## Schemas"]
    for name, schema in sorted(schemas.items()):
        lines += ["", f"### {name}", "", *_fields(schema)]
    return "\n".join(lines) + "\n"


def _access(route: Route) -> str:
    if route.access != "key":
        return "public" if route.access == "public" else "metrics key"
    return "key" if route.role == "member" else f"key of an {route.role}"


def _details(operation: Mapping[str, Any]) -> Iterator[str]:
    for code in operation.get("x-codeSamples", ()):
        yield from ("", "```sh", code["source"], "```")
    if parameters := operation.get("parameters"):
        names = ", ".join(f"`{item['name']}` ({item['in']})" for item in parameters)
        yield from ("", f"Parameters: {names}.")
    bodies = []
    if request := operation.get("requestBody"):
        bodies.append(("Request", request["content"]))
    responses = operation["responses"]
    bodies += [("Response", responses["200"]["content"]), ("Error", responses["default"]["content"])]
    yield ""
    for title, content in bodies:
        yield f"- {title}: {'; or '.join(_body(kind, media['schema']) for kind, media in content.items())}"


def _body(content_type: str, schema: Mapping[str, Any]) -> str:
    described = "" if content_type == "text/html" or schema in ({}, {"type": "string"}) else _type(schema)
    return f"{described} as `{content_type}`" if described else f"`{content_type}`"


def _fields(schema: Mapping[str, Any]) -> Iterator[str]:
    properties = schema.get("properties")
    if not properties:
        yield f"{schema.get('description', '')} Type: {_type(schema)}.".strip()
        return
    required = schema.get("required", ())
    yield from ("| field | type | |", "|---|---|---|")
    for name, field in properties.items():
        notes = ["required" if name in required else "", field.get("description", "")]
        yield f"| `{name}` | {_type(field)} | {': '.join(filter(None, notes))} |"


def _type(schema: Mapping[str, Any]) -> str:
    """A type in words, with links to named schemas."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{item}`" for item in schema["enum"])
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_type(option) for option in options))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if properties := schema.get("properties"):
        return "object with " + ", ".join(f"`{name}`" for name in properties)
    kind = schema.get("type", "any value")
    return kind if isinstance(kind, str) else " or ".join(kind)


def _fragment(route: Route) -> str:
    return re.sub(r"[^\w\- ]", "", f"{route.method} {route.path}".lower()).replace(" ", "-")


def main(arguments: Sequence[str]) -> int:
    """Write the page; with `--check`, compare it."""
    page = render(GATEWAY_ROUTES)
    if "--check" not in arguments:
        PAGE.write_text(page, encoding="utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page:
        return 0
    print(f"{PAGE.name} is out of date: run scripts/http_api.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
