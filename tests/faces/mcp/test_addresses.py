"""Which names of pages are known again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groundwire.faces.mcp.calls import FetchAllowList


def test_an_id_is_known_to_every_process_with_the_same_secret() -> None:
    name = FetchAllowList(b"one").add("https://a.example/x.y?z=1")
    assert FetchAllowList(b"one").resolve(name) == "https://a.example/x.y?z=1"
    assert FetchAllowList(b"other").resolve(name) == ""


def test_a_bare_address_is_known_to_who_found_it() -> None:
    addresses = FetchAllowList(b"one")
    addresses.add("https://a.example/")
    assert addresses.resolve("https://a.example/") == "https://a.example/"
    assert FetchAllowList(b"one").resolve("https://a.example/") == ""


def test_the_oldest_are_forgotten_and_what_comes_again_is_young() -> None:
    addresses = FetchAllowList(b"one", limit=2)
    for url in ("https://a.example", "https://b.example", "https://a.example", "https://c.example"):
        addresses.add(url)
    assert [bool(addresses.resolve(f"https://{name}.example")) for name in "abc"] == [True, False, True]


@given(st.text(max_size=80))
def test_nothing_that_was_not_found_is_known(name: str) -> None:
    addresses = FetchAllowList(b"one")
    addresses.add("https://a.example/")
    assert addresses.resolve(name) == ("https://a.example/" if name == "https://a.example/" else "")


def test_an_id_cannot_be_given_another_address() -> None:
    addresses = FetchAllowList(b"one")
    signature = addresses.add("https://a.example/").partition(".")[0]
    assert addresses.resolve(f"{signature}.http://169.254.169.254/") == ""
