"""Search tools for agents: each takes a query and returns one JSON result with its sources."""

from groundwire.tools.registry import TOOLS, ToolSpec
from groundwire.tools.run import Outcome, call_tool, run_tool

__all__ = ["TOOLS", "Outcome", "ToolSpec", "call_tool", "run_tool"]
