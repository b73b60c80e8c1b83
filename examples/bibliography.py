"""Print the cited sources of an answer as BibTeX."""

from __future__ import annotations

import groundwire
from groundwire.text.bibliography import bibtex


def main() -> None:
    answer = groundwire.search("How do I walk a directory tree?", provider="local")
    cited = [source for source in answer.sources if source.state == "cited"]
    print(bibtex(cited, accessed="2026-01-31"))


if __name__ == "__main__":
    main()
