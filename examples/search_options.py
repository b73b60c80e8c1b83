"""Restrict a search to some sites, and say how many sources to use."""

from __future__ import annotations

import groundwire


def main() -> None:
    options = groundwire.SearchOptions(allowed_domains=("github.com",), max_sources=3)
    answer = groundwire.search("How do I walk a directory tree?", provider="local", options=options)
    for source in answer.sources:
        print(source.url, source.title)
    for warning in answer.warnings:
        print(warning.code, warning.message)


if __name__ == "__main__":
    main()
