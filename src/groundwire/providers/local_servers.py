"""Model servers on this machine: Ollama, vLLM, LM Studio, llama.cpp.

They need no key and have no web search. Without a model in the configuration, the first one that the server
lists is used. Connecting to its port shows whether one is running; requests never wait for that.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping
from threading import Thread
from time import monotonic
from urllib.parse import urlsplit

from groundwire.credentials.lookup import Lookup
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import ProviderSpec, path

PROBE_SECONDS = 0.1
_VALID_SECONDS = 30.0
_NO_SEARCH = Capabilities(search="none")


def _server(name: str, title: str, port: int, variable: str = "") -> ProviderSpec:
    return ProviderSpec(
        name=name,
        title=title,
        dialect="openai_chat",
        base_url=f"http://127.0.0.1:{port}/v1",
        url=path("/chat/completions"),
        model="",
        lookups=(Lookup("environment", variable), Lookup("own", name)) if variable else (),
        advice=f"Start {title}, or set providers.{name}.base_url.",
        capabilities=_NO_SEARCH,
        is_local=True,
    )


OLLAMA = _server("ollama", "Ollama", 11434)
VLLM = _server("vllm", "vLLM", 8000, "VLLM_API_KEY")
LM_STUDIO = _server("lmstudio", "LM Studio", 1234, "LM_API_TOKEN")
LLAMA_CPP = _server("llamacpp", "llama.cpp", 8080, "LLAMA_API_KEY")


def is_listening(base_url: str, seconds: float = PROBE_SECONDS) -> bool:
    """Does something listen at the host and port of a URL? Blocks for at most `seconds`."""
    parts = urlsplit(base_url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 80), seconds):
            return True
    except (OSError, ValueError):
        return False


class PortProbe:
    """Which servers are running, as of the last look; each look connects to all of them at once."""

    def __init__(
        self,
        addresses: Mapping[str, str],
        listening: Callable[[str], bool] = is_listening,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._addresses = addresses
        self._listening = listening
        self._clock = clock
        self._running: frozenset[str] = frozenset()
        self._looked_at = float("-inf")

    def __contains__(self, name: str) -> bool:
        """Was this server running?"""
        return name in self._running

    def look(self) -> None:
        """Connect to every server, unless that was done a moment ago. Blocks for 0.1 seconds at most."""
        if self._clock() - self._looked_at < _VALID_SECONDS:
            return
        found: set[str] = set()
        threads = [Thread(target=self._connect, args=(name, found), daemon=True) for name in self._addresses]
        _run(threads)
        self._running = frozenset(found)
        self._looked_at = self._clock()

    def _connect(self, name: str, found: set[str]) -> None:
        if self._listening(self._addresses[name]):
            found.add(name)


def _run(threads: Iterable[Thread]) -> None:
    started = list(threads)
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(PROBE_SECONDS)
