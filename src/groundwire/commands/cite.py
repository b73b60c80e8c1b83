"""`groundwire cite`: the sources of a saved answer as a bibliography."""

from __future__ import annotations

from argparse import Namespace

from groundwire.commands.verify import read_answer
from groundwire.faces.cli import exit_codes
from groundwire.faces.cli.console import Console
from groundwire.faces.cli.output import as_bibliography
from groundwire.verify.saved import read_saved


def run_cite(arguments: Namespace, console: Console) -> int:
    """Print the bibliography."""
    answer = read_saved(read_answer(arguments.answer, console)).answer
    text = as_bibliography(answer, arguments.format, console.clock())
    if not text.strip():
        console.note("groundwire: the answer has no sources")
        return exit_codes.NOTHING_FOUND
    console.write(text)
    return exit_codes.OK
