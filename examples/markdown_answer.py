"""Print an answer as Markdown whose numbers link to the list of sources."""

from __future__ import annotations

import groundwire
from groundwire.text.markdown import render_answer


def main() -> None:
    print(render_answer(groundwire.search("How do I walk a directory tree?", provider="local")))


if __name__ == "__main__":
    main()
