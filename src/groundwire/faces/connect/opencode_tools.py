"""OpenCode's custom tools: a file each, whose name is the tool's, that runs `groundwire tool`.

The files import nothing but what comes with the runtime, so OpenCode has nothing to install; what they give
back is the JSON of the tool, whether it went well or not.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from groundwire.tools import TOOLS
from groundwire.tools.registry import ARGUMENTS

_FILE = """\
// Written by `groundwire connect opencode --tools --write`; `groundwire connect opencode --undo` removes it.
import { spawn } from "node:child_process"

const [program, ...words] = %(command)s

function run(args, context) {
  return new Promise((resolve, reject) => {
    const options = { cwd: context?.directory, signal: context?.abort, stdio: ["pipe", "pipe", "pipe"] }
    const child = spawn(program, words, options)
    let out = ""
    let trouble = ""
    child.stdout.setEncoding("utf8").on("data", (piece) => (out += piece))
    child.stderr.setEncoding("utf8").on("data", (piece) => (trouble += piece))
    child.on("error", reject)
    child.on("close", () => (out.trim() ? resolve(out.trim()) : reject(new Error(trouble.trim()))))
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
    """The file of a tool."""
    words = {
        "command": [*command, "tool", name, "-"],
        "description": TOOLS[name].description[language],
        "query": ARGUMENTS["query"][language],
    }
    return _FILE % {key: json.dumps(word, ensure_ascii=False) for key, word in words.items()}
