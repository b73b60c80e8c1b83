"""Warnings and errors have a message in the visitor's language."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from groundwire import errors
from groundwire.chat.questions import InvalidDomain, OutsideAgent
from groundwire.chat.storage import STORE_CODES
from groundwire.errors import GroundwireError, RateLimited, TurnedAway
from groundwire.faces.web.messages import error_line, error_message, finish_message, warning_message
from groundwire.faces.web.pages import Pages
from groundwire.model import Answer, Text, Warned
from groundwire.model.events import FinishReason
from groundwire.store.base import UNREADABLE_MESSAGE

CHAT_CODES = {*STORE_CODES, UNREADABLE_MESSAGE, InvalidDomain.code, OutsideAgent.code}
SOURCE = Path(errors.__file__).parent
LANGUAGES = ("en", "de")
TEXTS = Pages().texts


@cache
def modules_with(name: str) -> list[ast.Module]:
    """The modules of the source that mention a name."""
    texts = (path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py")))
    return [ast.parse(text) for text in texts if name in text]


def constants_in(tree: ast.Module) -> dict[str, str]:
    """The string constants of a module."""
    return {
        target.id: item.value.value
        for item in tree.body
        if isinstance(item, ast.Assign) and isinstance(item.value, ast.Constant)
        for target in item.targets
        if isinstance(target, ast.Name) and isinstance(item.value.value, str)
    }


@cache
def shared_constants() -> dict[str, str]:
    """The string constants of the model, which every layer imports."""
    trees = (ast.parse(path.read_text("utf-8")) for path in sorted((SOURCE / "model").rglob("*.py")))
    return {name: text for tree in trees for name, text in constants_in(tree).items()}


@cache
def calls_of(name: str) -> list[tuple[ast.Call, dict[str, str]]]:
    """Every call of a name in the source, with the constants that its module may use."""
    return [
        (node, {**shared_constants(), **constants_in(tree)})
        for tree in modules_with(name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


def text_of(node: ast.expr, constants: dict[str, str]) -> str:
    """The string value of a node; empty if it is only known at run time."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return constants.get(node.id, "") if isinstance(node, ast.Name) else ""


def warning_codes() -> set[str]:
    found = {text_of(node.args[0], constants) for node, constants in calls_of("Warned") if node.args}
    return found - {""}


def error_codes() -> set[str]:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    named = {kind.code for kind in kinds if issubclass(kind, GroundwireError)}
    given = (
        text_of(keyword.value, constants)
        for node, constants in calls_of("TurnedAway")
        for keyword in node.keywords
        if keyword.arg == "code"
    )
    return named | {code for code in given if code} | CHAT_CODES


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_warning_of_the_source_has_a_sentence(language: str) -> None:
    codes = warning_codes()
    assert {"citation_unplaced", "nothing_found", "not_stored"} <= codes
    assert sorted(code for code in codes if not TEXTS[language].get(f"warning_{code}")) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_error_of_the_source_has_a_sentence(language: str) -> None:
    codes = error_codes()
    assert {"UPSTREAM_RATE_LIMITED", "OVERLOADED", "CLOSING"} <= codes
    assert sorted(code for code in codes if not TEXTS[language].get(f"error_{code}")) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_finish_reason_of_an_incomplete_answer_has_a_sentence(language: str) -> None:
    texts = TEXTS[language]
    for reason in get_args(FinishReason):
        note = finish_message(Answer((Text("So"),), finish=reason, detail="SAFETY"), texts)
        assert bool(note.sentence) == (reason not in ("stop", "tool_calls"))
    assert finish_message(Answer((), finish="stop"), texts).sentence == texts["finish_empty"]
    assert finish_message(Answer(()), texts).sentence == ""


def test_there_is_no_sentence_for_an_unused_code() -> None:
    prefixes = {"warning_": warning_codes(), "error_": error_codes()}
    for name in TEXTS["en"]:
        prefix = next((prefix for prefix in prefixes if name.startswith(prefix)), None)
        if prefix and name != "error_title":
            assert name.removeprefix(prefix) in prefixes[prefix]


def test_the_message_of_a_warning_follows_its_sentence() -> None:
    german = warning_message(Warned("failed_over", "a: overloaded;\nb was used instead"), TEXTS["de"])
    assert german.sentence == "Ein Anbieter ist ausgefallen, und ein anderer hat geantwortet."
    assert german.detail == "a: overloaded; stattdessen hat b geantwortet."
    assert warning_message(Warned("not_live", "Nothing was fetched."), TEXTS["de"]).detail == ""
    strange = warning_message(Warned("x", "Something else."), TEXTS["de"])
    assert (strange.sentence, strange.detail) == ("", "Something else.")


def test_an_error_is_shown_in_the_language_of_the_visitor() -> None:
    assert error_message(RateLimited("slow down"), TEXTS["de"]).detail == "slow down"
    line = error_line(TurnedAway(status=503, message="come again", code="OVERLOADED"), TEXTS["de"])
    assert line == TEXTS["de"]["error_OVERLOADED"]
