"""The tools of the contract: the unified `websearch`, and one per provider that takes a query alone."""

from __future__ import annotations

from collections.abc import Collection

from groundwire.dialects.websearch.errors import WrongArguments
from groundwire.dialects.websearch.search import OPTIONS
from groundwire.model import FunctionTool, JsonObject, OpaqueTool, Request

UNIFIED_TOOL = "websearch"
UNIFIED_ARGUMENTS = ("query", "provider", "model", *OPTIONS)


def check_arguments(body: JsonObject, accepted: Collection[str], display: str) -> None:
    """Refuse unknown arguments by name, so that a misspelt restriction is never dropped."""
    unknown = [name for name in body if name not in accepted]
    if unknown:
        names = ", ".join(f"'{name}'" for name in accepted)
        raise WrongArguments(f"Unknown argument(s): {', '.join(unknown)}, only {names} supported.", display)


def unsupported_tools(request: Request) -> dict[str, bool]:
    """Which tool options a request has: a tool call cannot carry any of them."""
    functions = [tool for tool in request.tools if isinstance(tool, FunctionTool)]
    return {
        "tools": bool(functions),
        "strict": any(tool.strict for tool in functions),
        "opaque_tools": any(isinstance(tool, OpaqueTool) for tool in request.tools),
        "tool_choice": request.tool_choice is not None,
    }
