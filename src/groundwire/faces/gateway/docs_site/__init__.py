"""The documentation site: the Markdown pages of `docs/` as HTML, with navigation and search."""
