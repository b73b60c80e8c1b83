"""OpenCode's custom tools: one TypeScript file for each tool, which runs `groundwire tool NAME`.

The files import only what comes with the runtime, so OpenCode has nothing to install. They return the JSON of
the tool, for results and for errors.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from groundwire.tools import TOOLS
from groundwire.tools.registry import ARGUMENTS

_FILE = """\
// Written by `groundwire connect opencode --tools --write`; `groundwire connect opencode --undo` removes it.
import { spawn } from "node:child_process"

const [program, ...options] = %(command)s

function run(args, context) {
  return new Promise((resolve, reject) => {
    const settings = { cwd: context?.directory, signal: context?.abort, stdio: ["pipe", "pipe", "pipe"] }
    const child = spawn(program, options, settings)
    let out = ""
    let errors = ""
    child.stdout.setEncoding("utf8").on("data", (chunk) => (out += chunk))
    child.stderr.setEncoding("utf8").on("data", (chunk) => (errors += chunk))
    child.on("error", reject)
    child.on("close", () => (out.trim() ? resolve(out.trim()) : reject(new Error(errors.trim()))))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(args))
  })
}

export default {
  description: %(description)s,
  args: {
    query: { type: "string", description: %(query)s },
  },
  execute: run,
}
"""


def tool_file(name: str, command: Sequence[str], language: str = "en") -> str:
    """The text of a tool's file."""
    values = {
        "command": [*command, "tool", name, "-"],
        "description": TOOLS[name].description[language],
        "query": ARGUMENTS["query"][language],
    }
    return _FILE % {key: json.dumps(value, ensure_ascii=False) for key, value in values.items()}
