"""Outlines of source files, read without running them."""

from __future__ import annotations

from textwrap import dedent

from groundwire.engine.knowledge.library import ModuleOutline, read_outline


def outline(source: str, module: str = "things", *, is_package: bool = False) -> ModuleOutline:
    return read_outline(dedent(source), module, is_package=is_package)


def test_code_that_would_do_harm_is_only_read() -> None:
    assert outline('"""Says so."""\nraise SystemExit\n').doc == "Says so."


def test_source_that_does_not_parse_has_no_outline() -> None:
    assert outline("def (") == ModuleOutline()
    assert outline("x = '\0'") == ModuleOutline()


def test_headers_are_as_written() -> None:
    entries = outline(
        """
        def plain(a, /, b: int = 1, *rest, c=None, **more) -> str: 'Doc.'
        async def waits(seconds): 'Doc.'
        class Thing:
            def __init__(self, name, *, size=3): 'How to make one.'
            def only(self): 'Doc.'
            def first(self, /, item): 'Doc.'
            def loose(*args): 'Doc.'
            @staticmethod
            def fixed(a, b): 'Doc.'
            @classmethod
            def made(cls, text): 'Doc.'
            @property
            def width(self): 'How wide.'
            @width.setter
            def width(self, width): 'Not listed.'
            def _hidden(self): 'Not listed.'
        """
    ).entries
    assert entries["plain"].header == "def plain(a, /, b: int = 1, *rest, c=None, **more) -> str:"
    assert entries["waits"].header == "async def waits(seconds):"
    thing = entries["Thing"]
    assert thing.header == "class Thing:"
    assert thing.constructor == "def __init__(self, name, *, size=3):\n\nHow to make one."
    assert {name: item.header for name, item in thing.members} == {
        "only": "def only(self):",
        "first": "def first(self, /, item):",
        "loose": "def loose(*args):",
        "fixed": "def fixed(a, b):",
        "made": "def made(cls, text):",
        "width": "def width(self):",
    }
    assert dict(thing.members)["width"].kind == "property"


def test_all_forms_of_dunder_all_are_read() -> None:
    parsed = outline(
        """
        __all__ = ["a"]
        __all__ += ("b",)
        __all__.extend(["c", "d"])
        __all__.append("e")
        """
    )
    assert parsed.exported == ("a", "b", "c", "d", "e")
    assert not parsed.is_open
    assert outline("__all__ = ['a']\n__all__ += other.__all__").is_open
    assert outline("x = 1").is_open


def test_imports_are_resolved_even_inside_conditions() -> None:
    parsed = outline(
        """
        from .near import one as first
        from ..far import two
        from . import sibling
        try:
            from _fast import three
        except ImportError:
            def three(): 'Slow.'
        if True:
            from whole import *
        choice = _made.choice
        _made = Maker()
        pick = _made.pick
        other = three
        """,
        "package.inner",
        is_package=True,
    )
    assert parsed.imports["first"] == ("package.inner.near", "one")
    assert parsed.imports["two"] == ("package.far", "two")
    assert parsed.imports["sibling"] == ("package.inner", "sibling")
    assert parsed.imports["three"] == ("_fast", "three")
    assert parsed.stars == ("whole",)
    assert parsed.entries["three"].doc == "Slow."
    assert parsed.aliases["pick"] == "Maker.pick"
    assert parsed.aliases["other"] == "three"


def test_a_docstring_is_as_written_with_its_file_and_line() -> None:
    said = outline(
        """
        \"\"\"What it is for.\"\"\"

        @decorated
        def split(text,
                  at="\\\\n"):  # a comment
            \"\"\"Split at \\\\n.\"\"\"

        def joined():
            ("One half"
             " and the other.")
        """,
        "package.things",
    )
    assert (said.file, said.line) == ("package/things.py", 2)
    split = said.entries["split"]
    assert (split.file, split.line) == ("package/things.py", 5)
    assert split.header == 'def split(text,\n          at="\\\\n"):  # a comment'
    assert split.doc == "Split at \\\\n."
    assert said.entries["joined"].file == ""
