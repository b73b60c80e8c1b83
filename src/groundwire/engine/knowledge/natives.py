"""Outlines of modules written in C: there is no source to read, so they are imported and looked at.

Only standard library modules of a fixed list are, which do nothing when imported (`inventory.NATIVE`).
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from types import ModuleType

from groundwire.engine.knowledge.inventory import NATIVE
from groundwire.engine.knowledge.outline import Entry, Kind, Outline

_TOLD = re.compile(r"(?:\w+\.)?(?P<name>\w+)(?P<parameters>\([^\n]*?\))(?:\s|$)")
_INSTANCE = re.compile(r"\(\$\w+(?:, /)?(?:, )?")


def native_outline(module: str) -> Outline:
    """What a module says of itself; nothing if it is not on the list, or not there."""
    if module not in NATIVE:
        return Outline()
    try:
        loaded = import_module(module)
    except ImportError:
        return Outline()
    names = [name for name in vars(loaded) if not name.startswith("__")]
    return Outline(
        doc=inspect.cleandoc(loaded.__doc__ or ""),
        entries={name: _entry(name, getattr(loaded, name)) for name in names},
        exported=tuple(name for name in names if not name.startswith("_") and not _is_second(loaded, name)),
        is_open=False,
    )


def _is_second(module: ModuleType, name: str) -> bool:
    """Is it another name for a class that the module has under its own?"""
    item = getattr(module, name)
    return inspect.isclass(item) and item.__name__ != name and getattr(module, item.__name__, None) is item


def _entry(name: str, item: object) -> Entry:
    if inspect.isclass(item):
        members = [(key, _member(key, vars(item)[key])) for key in vars(item) if not key.startswith("_")]
        return Entry(_class_kind(item), _signature(name, item), _doc(item), tuple(members))
    if callable(item):
        return Entry("function", _signature(name, item) or "(…)", _doc(item))
    return Entry("data")


def _member(name: str, item: object) -> Entry:
    if isinstance(item, classmethod | staticmethod):
        item = item.__func__
    if inspect.isroutine(item):
        return Entry("function", _signature(name, item) or "(…)", _doc(item))
    if inspect.isdatadescriptor(item):
        return Entry("property", doc=_doc(item))
    return Entry("data")


def _class_kind(item: type) -> Kind:
    return "exception" if issubclass(item, BaseException) else "class"


def _doc(item: object) -> str:
    doc = getattr(item, "__doc__", None)
    return inspect.cleandoc(doc) if isinstance(doc, str) else ""


def _signature(name: str, item: object) -> str:
    """The parameters where C code tells them, in its signature or in the first words of its docstring."""
    text = getattr(item, "__text_signature__", None)
    if isinstance(text, str):
        return _INSTANCE.sub("(", text)
    told = _TOLD.match(_doc(item))
    return told["parameters"] if told and told["name"] == name else ""
