"""Stored pages by their addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.verify.folder import PageFolder


@pytest.mark.parametrize(
    ("file", "url"),
    [
        ("a.example/x.html", "https://a.example/x.html"),
        ("a.example/x.html", "https://a.example/x"),
        ("a.example/docs/index.html", "http://A.example/docs/"),
        ("a.example/docs/index.html", "https://a.example/docs"),
        ("a.example/ä.html", "https://a.example/%C3%A4.html"),
        ("a.example/x?q=1", "https://a.example/x?q=1"),
        ("a.example:8080/x", "https://user@a.example:8080/x"),
    ],
)
def test_a_page_is_found_where_wget_stores_it(file: str, url: str, tmp_path: Path) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("hello")
    found = PageFolder(tmp_path)(url)
    assert found is not None
    assert (found.data, found.url, found.is_complete) == (b"hello", url, True)


@pytest.mark.parametrize(
    "url",
    [
        "https://../secret",
        "https://a.example/../../secret",
        "https://a.example/%2e%2e/%2e%2e/secret",
        "https://a.example/link",
        "https://a.example/\0",
        "https://[bad/",
        "secret",
        "",
    ],
)
def test_no_address_leads_out_of_the_folder(url: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "pages"
    (folder / "a.example").mkdir(parents=True)
    (folder / "a.example" / "link").symlink_to(tmp_path / "secret")
    assert PageFolder(folder)(url) is None
