"""Sentence boundaries, text that is not a sentence, and offsets of the pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.engine.compose.sentences import split_sentences
from tests.engine.compose.passages import documentation
from tests.growth import LINEAR, growth
from tests.model.strategies import cases, texts

pytestmark = pytest.mark.server

LINES = (
    *(
        "A sentence. Another one!",
        "Is it? Yes.",
        "- item one. More",
        "1. first",
        "```",
        "~~~",
        "Title",
        "=====",
    ),
    *(">>> code()", "x = 3", "name(a, b=(1, 2)) -> int", "Example::", "    indented. Text", "Args:", ""),
    *(
        "    timeout: The seconds.",
        "z. B. am 3. Mai 2024.",
        "東京です。はい。",
        "word",
        ".. note:: x",
        "`a. b`",
    ),
)


def pieces_of(text: str) -> list[tuple[str, str]]:
    return [(piece.kind, text[piece.start : piece.end]) for piece in split_sentences(text)]


def sentences(text: str) -> list[str]:
    return [text_of_piece for kind, text_of_piece in pieces_of(text) if kind in ("prose", "item")]


def check_tiling(text: str) -> None:
    """Check that pieces are in order, not empty, and separated only by white space."""
    pieces = split_sentences(text)
    for piece in pieces:
        assert piece.start < piece.end
        assert text[piece.start : piece.end].strip() == text[piece.start : piece.end]
    for one, other in pairwise(pieces):
        assert one.end <= other.start
    covered = "".join(text[piece.start : piece.end] for piece in pieces)
    assert "".join(covered.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One is here. Two is there.", ["One is here.", "Two is there."]),
        ("Is it so? It is! Good.", ["Is it so?", "It is!", "Good."]),
        ("Dr. J. R. Smith paid 3.50 euros. He left.", ["Dr. J. R. Smith paid 3.50 euros.", "He left."]),
        ("Use keys, e.g. Names, i.e. Words. Done.", ["Use keys, e.g. Names, i.e. Words.", "Done."]),
        ("It has cats, dogs etc. They are old.", ["It has cats, dogs etc.", "They are old."]),
        ("See https://a.example/b.c?d=e. Then go.", ["See https://a.example/b.c?d=e.", "Then go."]),
        (
            "Das gilt z. B. für Bäume, d. h. Holz. Ende gut.",
            ["Das gilt z. B. für Bäume, d. h. Holz.", "Ende gut."],
        ),
        ("Am 3. Mai war es so. Am 4. Juni nicht.", ["Am 3. Mai war es so.", "Am 4. Juni nicht."]),
        ("Im 19. Jahrhundert begann es. Dann kam mehr.", ["Im 19. Jahrhundert begann es.", "Dann kam mehr."]),
        ("New in version 3. The rest is old.", ["New in version 3.", "The rest is old."]),
        ("Python 3.11 is fast. 3.12 too.", ["Python 3.11 is fast.", "3.12 too."]),
        ("He said “stop.” Then he left.", ["He said “stop.”", "Then he left."]),
        ("Wait ... there is more. End.", ["Wait ... there is more.", "End."]),
        ("Call it first. json.dumps writes it.", ["Call it first.", "json.dumps writes it."]),
        ("Set ``a. B`` to one. Go on.", ["Set ``a. B`` to one.", "Go on."]),
        (
            "東京は首都です。人口は多い！本当？はい。",
            ["東京は首都です。", "人口は多い！", "本当？", "はい。"],
        ),
        ("A line that\nis wrapped. And\nanother.", ["A line that\nis wrapped.", "And\nanother."]),
        ("One paragraph\n\nAnother paragraph here.", ["Another paragraph here."]),
    ],
)
def test_sentence_boundaries_are_found(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("json.dumps(obj, *, cls=None) -> str", [("signature", "json.dumps(obj, *, cls=None) -> str")]),
        ("Usage\n=====", [("heading", "Usage"), ("rule", "=====")]),
        ("# Usage", [("heading", "# Usage")]),
        (">>> f()\n... x", [("code", ">>> f()"), ("code", "... x")]),
        ("```\nA. B.\n```", [("rule", "```"), ("code", "A. B."), ("rule", "```")]),
        (
            "Like this::\n\n    Not. Prose.\n\nYes.",
            [("prose", "Like this::"), ("code", "Not. Prose."), ("prose", "Yes.")],
        ),
        (
            "- one\n  more\n- two",
            [("bullet", "-"), ("item", "one\n  more"), ("bullet", "-"), ("item", "two")],
        ),
        ("1. one.\n2. two.", [("bullet", "1."), ("item", "one."), ("bullet", "2."), ("item", "two.")]),
        (
            "Args:\n    a: The one.\n    b: The other.",
            [("heading", "Args:"), ("item", "a: The one."), ("item", "b: The other.")],
        ),
        (
            "Text here.\n\nmaxsplit\n  How many splits.",
            [("prose", "Text here."), ("heading", "maxsplit"), ("item", "How many splits.")],
        ),
        (
            "os.walk: A generator.\nos.remove: Remove a file.",
            [("item", "os.walk: A generator."), ("item", "os.remove: Remove a file.")],
        ),
        (
            "append() -- append an item\npop() -- remove one",
            [("item", "append() -- append an item"), ("item", "pop() -- remove one")],
        ),
        (
            "os.copy(src, count=None,\n        offset=None)\n\nCopy it.",
            [
                ("signature", "os.copy(src, count=None,"),
                ("signature", "offset=None)"),
                ("prose", "Copy it."),
            ],
        ),
        ('print("It is.")', [("code", 'print("It is.")')]),
        ("It takes the\nreturn value of f", [("prose", "It takes the\nreturn value of f")]),
        (".. versionadded:: 3.2", [("rule", ".. versionadded:: 3.2")]),
    ],
)
def test_text_that_is_not_prose_is_recognised(text: str, expected: list[tuple[str, str]]) -> None:
    assert pieces_of(text) == expected


@cases(120)
@given(st.lists(st.sampled_from(LINES), max_size=12).map("\n".join) | texts(20))
def test_the_pieces_of_any_text_are_contiguous(text: str) -> None:
    check_tiling(text)


def test_the_pieces_of_standard_library_documentation_are_contiguous() -> None:
    pages = list(documentation())
    assert len(pages) > 500
    for page in pages:
        check_tiling(page.text)


@pytest.mark.parametrize(
    "unit",
    ["a. ", "`", "f(", "* ", "[", "A.", "\n", ". ", "x\n", "``a", "(a)#", "    ", "1. ", "::\n ", "。"],
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    assert growth(lambda size: split_sentences(unit * (size // len(unit))), 4_000) < LINEAR


def test_a_sentence_that_begins_after_an_arrow_is_separated_from_the_signature() -> None:
    text = "repeat(object [,times]) -> create an iterator which returns the object\nfor a number of times."
    assert pieces_of(text) == [
        ("signature", "repeat(object [,times]) ->"),
        ("prose", "create an iterator which returns the object\nfor a number of times."),
    ]
    assert [kind for kind, _ in pieces_of("walk(top) -> list of str")] == ["signature"]


def test_interpreter_output_is_not_a_sentence() -> None:
    text = "It counts letters.\n\n>>> count('word')\nThere are four of them.\n\nNothing else is counted."
    assert sentences(text) == ["It counts letters.", "Nothing else is counted."]


@pytest.mark.parametrize(
    "line",
    ["groundwire index add docs/ --as-html", "pip install groundwire", "ls -l", "name = make(name[, x])"],
)
def test_a_shell_or_interpreter_line_is_not_a_sentence(line: str) -> None:
    assert sentences(f"This is how it is done.\n{line}\n\nThen it is done.") == [
        "This is how it is done.",
        "Then it is done.",
    ]


def test_the_body_of_a_statement_in_an_example_is_code() -> None:
    text = (
        "Example:\n\nimport os\nfor root, dirs, files in os.walk('lib'):\n    print(root)\n"
        "    if 'CVS' in dirs:\n        dirs.remove('CVS')\n\nThe next sentence is prose."
    )
    kinds = [kind for kind, _ in pieces_of(text)]
    assert kinds == ["heading", *["code"] * 5, "prose"]


def test_parameters_that_go_on_in_the_next_line_belong_to_the_signature() -> None:
    text = "def run(self, group=None,\n        target=None, *, daemon=None):\n\nRuns it."
    assert {segment.kind for segment in split_sentences(text)} == {"signature", "prose"}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("If dir_fd is not None, it should be a file descriptor that is open;", "prose"),
        ("int total = sum(values, 3);", "code"),
        ("INSERT INTO users VALUES (1);", "code"),
        ("const name = await read(file);", "code"),
    ],
)
def test_a_semicolon_at_the_end_makes_no_code_of_a_sentence(line: str, kind: str) -> None:
    assert [segment.kind for segment in split_sentences(line)] == [kind]
