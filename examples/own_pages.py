"""Add a folder of pages to an index of its own, and search it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from groundwire import Groundwire
from groundwire.commands.main import run
from groundwire.config.schema import Config

PAGE = "# Leave\n\nEvery employee has 29 days of leave a year.\n"


def main() -> None:
    with TemporaryDirectory() as folder:
        pages, data = Path(folder) / "pages", Path(folder) / "data"
        pages.mkdir()
        (pages / "leave.md").write_text(PAGE, "utf-8")
        address = "https://handbook.example/"
        run(["index", "add", str(pages), "--base-url", address, "--data-dir", str(data)])
        groundwire = Groundwire(Config(data_dir=str(data)))
        print(groundwire.search("How many days of leave do I have?", provider="local").text)


if __name__ == "__main__":
    main()
