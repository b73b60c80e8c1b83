"""Multi-turn conversations: a client sends a recorded answer back, with a new question, to another provider.

The client sends back what its protocol has fields for: the content blocks, the output items, the message, the
content, the steps of the answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from groundwire.client import Groundwire
from groundwire.commands.http_app import create_app
from groundwire.config.schema import Config
from groundwire.dialects.features import Feature
from groundwire.dialects.registry import dialect
from groundwire.faces.gateway.clients.quirks import HEADER as RENDER
from groundwire.faces.gateway.rendering import Rendering
from groundwire.model import Answer
from groundwire.server.app import HttpApp
from groundwire.testing.answers import answer_events
from groundwire.testing.script import answer
from groundwire.testing.upstream import Upstream
from tests.contracts.recorded.catalogue import Recording, answer_of
from tests.faces.gateway.asgi_client import LOCAL, AsgiResponse, send_request
from tests.faces.gateway.matrix import INBOUND, Row, Score, answer_once, row_of
from tests.faces.gateway.serving import provider_at

Body = dict[str, Any]
FIRST, NEXT = "What is new?", "And what else?"
HEAD = {**LOCAL, "content-type": "application/json"}


class NextTurn(NamedTuple):
    """The client's dialect, the recorded answer, the provider of the next turn, and the rendering."""

    inbound: str
    row: Row
    target: str
    rendering: Rendering


class Protocol(NamedTuple):
    """The first request of a client of a dialect, and the request that follows an answer."""

    path: str
    first: Body
    again: Callable[[Body, Body], Body]


def _user(text: str) -> Body:
    return {"role": "user", "content": text}


def _contents(text: str) -> Body:
    return {"role": "user", "parts": [{"text": text}]}


def _converse(text: str) -> Body:
    return {"role": "user", "content": [{"text": text}]}


PROTOCOLS: dict[str, Protocol] = {
    "anthropic_messages": Protocol(
        "/v1/messages",
        {
            "max_tokens": 99,
            "messages": [_user(FIRST)],
            "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        },
        lambda body, response: {
            **body,
            "messages": [_user(FIRST), {"role": "assistant", "content": response["content"]}, _user(NEXT)],
        },
    ),
    "openai_responses": Protocol(
        "/v1/responses",
        {"input": [_user(FIRST)], "tools": [{"type": "web_search"}]},
        lambda body, response: {**body, "input": [_user(FIRST), *response["output"], _user(NEXT)]},
    ),
    "openai_chat": Protocol(
        "/v1/chat/completions",
        {"messages": [_user(FIRST)], "web_search_options": {}},
        lambda body, response: {
            **body,
            "messages": [_user(FIRST), response["choices"][0]["message"], _user(NEXT)],
        },
    ),
    "gemini": Protocol(
        "/v1beta/models/{}:generateContent",
        {"contents": [_contents(FIRST)], "tools": [{"googleSearch": {}}]},
        lambda body, response: {
            **body,
            "contents": [_contents(FIRST), response["candidates"][0]["content"], _contents(NEXT)],
        },
    ),
    "bedrock_converse": Protocol(
        "/model/{}/converse",
        {
            "messages": [_converse(FIRST)],
            "toolConfig": {"tools": [{"systemTool": {"name": "nova_grounding"}}]},
        },
        lambda body, response: {
            **body,
            "messages": [_converse(FIRST), response["output"]["message"], _converse(NEXT)],
        },
    ),
    "cohere_chat": Protocol(
        "/v2/chat",
        {"messages": [_user(FIRST)], "connectors": [{"id": "web-search"}]},
        lambda body, response: {**body, "messages": [_user(FIRST), response["message"], _user(NEXT)]},
    ),
    "mistral_conversations": Protocol(
        "/v1/conversations",
        {"inputs": [_user(FIRST)], "tools": [{"type": "web_search"}]},
        lambda body, response: {**body, "inputs": [_user(FIRST), *response["outputs"], _user(NEXT)]},
    ),
    "gemini_interactions": Protocol(
        "/v1beta/interactions",
        {"input": FIRST, "tools": [{"type": "google_search"}]},
        lambda body, response: {
            **body,
            "input": [_step(FIRST), *response["steps"], _step(NEXT)],
        },
    ),
}


def _step(text: str) -> Body:
    return {"type": "user_input", "content": [{"type": "text", "text": text}]}


def with_citations(recordings: Iterable[Recording]) -> list[Recording]:
    """The recorded answers that cite something."""
    return [item for item in recordings if answer_of(item).citations and answer_of(item).error is None]


def readable(inbound: str, rendering: Rendering, first: Answer) -> set[str]:
    """The cited URLs that a client of this dialect sends back."""
    spec = dialect(inbound)
    if rendering == "structured" and spec.not_resent:
        return set()
    whole = rendering != "structured" or Feature.UNPLACED not in spec.losses
    return {
        item.source.url
        for citation in first.citations
        if whole or citation.span is not None
        for item in citation.evidence
    }


async def play_turns(
    recordings: Sequence[Recording], renderings: Sequence[Rendering] = ("structured",)
) -> dict[NextTurn, Score]:
    """Continue every recorded answer in every dialect, with every provider."""
    scores: dict[NextTurn, Score] = {}
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory())
        first = await stack.enter_async_context(Upstream(answer("gemini", answer_events("Yes."))))
        targets = {
            name: await stack.enter_async_context(Upstream(answer(name, answer_events("Still so."))))
            for name in INBOUND
        }
        gateway = await stack.enter_async_context(_TurnGateway(Path(folder), first, targets))
        for recording in recordings:
            for inbound in INBOUND:
                for rendering in renderings:
                    await _continue(
                        NextTurn(inbound, row_of(recording), "", rendering), recording, gateway, scores
                    )
    return scores


class _TurnGateway:
    """A gateway with the provider of the first answer and those of the next turn."""

    def __init__(self, folder: Path, first: Upstream, targets: Mapping[str, Upstream]) -> None:
        self.first = first
        self.targets = targets
        providers = {f"to_{name}": provider_at(name, target.url) for name, target in targets.items()}
        providers |= {f"from_{name}": provider_at(name, first.url) for name in INBOUND}
        config = Config(providers, data_dir=str(folder))
        self._groundwire = Groundwire(config, env={"HOME": str(folder)})
        self.gateway: HttpApp = create_app(self._groundwire, {})

    async def __aenter__(self) -> _TurnGateway:
        await self._groundwire.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._groundwire.aclose()

    async def post(self, protocol: Protocol, model: str, body: Body, rendering: Rendering) -> AsgiResponse:
        """One request of a client."""
        path = protocol.path.format(model.replace("/", "%2F"))
        data = json.dumps({**body, "model": model}).encode()
        return await send_request(self.gateway, "POST", path, {**HEAD, RENDER: rendering}, data)


async def _continue(
    turn: NextTurn, recording: Recording, here: _TurnGateway, scores: dict[NextTurn, Score]
) -> None:
    protocol = PROTOCOLS[turn.inbound]
    here.first.script = answer_once(recording, len(here.first.requests))
    model = f"from_{recording.dialect}/model-1"
    first = await here.post(protocol, model, protocol.first, turn.rendering)
    expected = readable(turn.inbound, turn.rendering, answer_of(recording))
    following = protocol.again(protocol.first, first.json) if first.status == 200 else None
    if turn.inbound == recording.dialect and turn.rendering == "structured":
        # Passed through: some providers have their URLs in fields that no client sends back.
        expected = {url for url in expected if url in json.dumps(following, ensure_ascii=False)}
    for name, target in here.targets.items():
        score = scores.setdefault(turn._replace(target=name), Score())
        faults = [f"the first answer has status {first.status}"]
        if following is not None:
            reply = await here.post(protocol, f"to_{name}/model-1", following, turn.rendering)
            sent = target.requests[-1].body.decode() if reply.status == 200 else ""
            faults = list(_missing(expected, sent, reply))
        score.total += 1
        score.citations += len(expected)
        score.failed += bool(faults)
        score.faults += [f"{recording.name}: {fault}" for fault in faults]


def _missing(expected: set[str], sent: str, reply: AsgiResponse) -> Iterator[str]:
    if reply.status != 200:
        yield f"the next turn has status {reply.status}: {reply.body[:200]!r}"
        return
    text = json.dumps(json.loads(sent), ensure_ascii=False)
    if lost := {url for url in expected if json.dumps(url, ensure_ascii=False)[1:-1] not in text}:
        yield f"not readable: {lost}"
