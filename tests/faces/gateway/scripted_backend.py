"""A backend with scripted events that records its requests."""

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

    def __init__(self, *lines: Event | GroundwireError, usable: Sequence[str] = ("gemini",)) -> None:
        super().__init__()
        self.lines = lines
        self.asked: list[tuple[str, str, Request]] = []
        self._usable = dict.fromkeys(usable, True)

    async def answer(
        self, request: Request, *, provider: str, model: str
    ) -> AsyncGenerator[Sequence[Event], None]:
        self.asked.append((provider, model, request))
        for line in self.lines:
            if isinstance(line, GroundwireError):
                raise line
            yield (line,)

    def usable(self) -> Mapping[str, bool]:
        return self._usable


def app_for(actor: ScriptedBackend, folder: Path, config: Config | None = None) -> HttpApp:
    """An application with a scripted backend."""
    actor.config = replace(config or Config(), data_dir=str(folder))
    return create_app(actor, {})
