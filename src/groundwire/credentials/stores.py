"""What a store of credentials holds, in one shape for all stores."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.credentials.secret import Credential
from groundwire.dialects.json import load_json
from groundwire.errors import ClientWireError, WireError
from groundwire.files.text_file import Document
from groundwire.model import JsonObject
from groundwire.model.value import value


@value
class Places:
    """Where to look: the environment, the home directory, and the directory of our own configuration."""

    env: Mapping[str, str]
    home: str
    config_dir: str


@value
class Shelf:
    """The credentials of one store by name, and what is to be said about the store."""

    place: str
    """For people, with the path."""
    credentials: Mapping[str, tuple[Credential, ...]] = {}
    variables: Mapping[str, Credential] = {}
    """Environment variables that the store defines."""
    missing: bool = False
    dropped: int = 0
    """How many records were invalid and passed over."""
    problem: str = ""
    """Why the store could not be read at all."""
    warnings: tuple[str, ...] = ()


def json_object(document: Document) -> JsonObject | None:
    """The JSON object in a document; None when it holds something else, or half of one."""
    try:
        found = load_json(document.text, ClientWireError)
    except WireError:
        return None
    return found if isinstance(found, dict) else None


def loose_warnings(name: str, document: Document) -> tuple[str, ...]:
    """What the user should know about how another program's file lies around."""
    should = "it should be a file of its own that only you can read"
    return tuple(f"{name} ({document.path}) {unsafe}; {should}" for unsafe in document.loose)
