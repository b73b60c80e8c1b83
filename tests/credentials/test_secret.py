"""Secrets that cannot be shown by accident."""

from __future__ import annotations

import copy
import logging
import pickle
import traceback

import pytest

from groundwire.credentials.secret import Credential, Secret, Tokens, sendable

CANARY = "sk-proj-CANARY-0123456789"


@pytest.mark.parametrize(
    "show",
    [
        repr,
        str,
        lambda secret: f"{secret}",
        lambda secret: f"{secret!r:>40}",
        lambda secret: f"{secret:>40}",
        lambda secret: "%s %r" % (secret, secret),  # noqa: UP031  the old way shows nothing either
        lambda secret: repr([secret, {"key": secret}]),
        lambda secret: repr(Credential(secret, "api", "here", refresh=secret)),
        lambda secret: repr(Tokens(secret, 1.0, secret, secret)),
    ],
)
def test_no_string_conversion_shows_a_secret(show: object) -> None:
    assert callable(show)
    text = show(Secret(CANARY))
    assert not any(CANARY[at : at + 8] in text for at in range(len(CANARY) - 7))


def test_a_log_record_and_a_traceback_do_not_show_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret(CANARY)
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("x").debug("using %s", secret)
        shown = traceback.format_exception(ValueError(secret))
        assert CANARY not in "".join(shown)
    assert CANARY not in caplog.text


def test_reveal_gives_the_text() -> None:
    assert Secret(CANARY).reveal() == CANARY


def test_secrets_are_compared_by_value() -> None:
    assert Secret("same") == Secret("same")
    assert Secret("same") != Secret("other")
    assert Secret("same") != "same"
    assert Secret("ümlaut\ud800") == Secret("ümlaut\ud800")
    assert len({Secret("same"), Secret("same"), Secret("other")}) == 2


def test_an_empty_secret_is_false() -> None:
    assert not Secret("")
    assert Secret(" ")
    assert repr(Secret("")) != repr(Secret("x"))


def test_a_secret_cannot_be_changed_or_pickled_but_copied() -> None:
    secret = Secret(CANARY)
    with pytest.raises(AttributeError, match="cannot be changed"):
        secret._text = "other"
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(Credential(secret, "api", "here"))
    assert copy.deepcopy(secret) is copy.copy(secret) is secret


@pytest.mark.parametrize("text", ["two words", "line\nbreak", "schlüssel-ä", "nul\0", None, 7, "", "  "])
def test_text_that_is_not_valid_in_a_header_is_not_a_secret(text: object) -> None:
    assert not sendable(text)


def test_blanks_around_a_key_are_not_part_of_it() -> None:
    assert sendable("  key-1\n") == Secret("key-1")
