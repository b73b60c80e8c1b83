"""A backend with scripted events that records its calls."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

from groundwire.commands.http_app import create_app
from groundwire.config.schema import Config
from groundwire.errors import GroundwireError
from groundwire.model import Event, Request
from groundwire.model.value import replace
from groundwire.server.app import HttpApp
from tests.stub_client import StubClient


class ScriptedBackend(StubClient):
    """Yields scripted events; a scripted error is raised."""

    def __init__(self, *script: Event | GroundwireError, usable: Sequence[str] = ("gemini",)) -> None:
        super().__init__()
        self.script = script
        self.calls: list[tuple[str, str, Request]] = []
        self._usable = dict.fromkeys(usable, True)

    async def answer(
        self, request: Request, *, provider: str, model: str
    ) -> AsyncGenerator[Sequence[Event], None]:
        self.calls.append((provider, model, request))
        for item in self.script:
            if isinstance(item, GroundwireError):
                raise item
            yield (item,)

    def usable(self) -> Mapping[str, bool]:
        return self._usable


def app_for(backend: ScriptedBackend, folder: Path, config: Config | None = None) -> HttpApp:
    """An application with a scripted backend."""
    backend.config = replace(config or Config(), data_dir=str(folder))
    return create_app(backend, {})
