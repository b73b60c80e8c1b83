"""Ask a question and print each claim with its sources."""

from __future__ import annotations

import sys

import groundwire


def main() -> None:
    question = " ".join(sys.argv[1:]) or "How do I walk a directory tree?"
    answer = groundwire.search(question, provider="local")  # without `provider`, the first that you can use
    for citation in answer.citations:
        claim = answer.text[slice(*citation.span)] if citation.span else "the whole answer"
        print(claim)
        for evidence in citation.evidence:
            print("   ", evidence.source.title, evidence.source.url)


if __name__ == "__main__":
    main()
