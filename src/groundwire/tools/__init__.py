"""The tools that agents call: a query goes in, one JSON result with its sources comes out."""

from groundwire.tools.registry import TOOLS, ToolSpec
from groundwire.tools.run import Outcome, call_tool, run_tool

__all__ = ["TOOLS", "Outcome", "ToolSpec", "call_tool", "run_tool"]
