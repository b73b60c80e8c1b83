"""The word lists of queries have the form that their readers expect."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import groundwire.engine
from groundwire.engine.data_files import data_lines, data_words
from groundwire.engine.words import stop_words

FOLDER = Path(groundwire.engine.__file__).parent


def test_every_german_word_has_one_line_with_its_english_words() -> None:
    lines = [line.split() for line in data_lines(FOLDER, "translations_de")]
    assert [line for line in lines if len(line) < 2 or len(set(line[1:])) < len(line[1:])] == []
    assert [word for word, count in Counter(line[0] for line in lines).items() if count > 1] == []
    assert [line for line in lines if any(word != word.lower() for word in line)] == []


def test_german_stop_words_are_not_translated() -> None:
    # They are left out of queries, and their translations occur on every page.
    words = {line.split()[0] for line in data_lines(FOLDER, "translations_de")}
    assert words & stop_words("de") == set()


def test_groups_of_synonyms_have_at_least_two_words_each_once() -> None:
    groups = [line.split() for line in data_lines(FOLDER, "synonyms")]
    assert [group for group in groups if len(group) < 2 or len(set(group)) < len(group)] == []


def test_every_verb_of_a_task_is_listed_once() -> None:
    assert [verb for verb, count in Counter(data_words(FOLDER, "task_verbs")).items() if count > 1] == []
