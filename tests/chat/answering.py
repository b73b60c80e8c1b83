"""A process that asks one question after the other and prints what it was told, until somebody ends it.

python -m tests.chat.answering FOLDER STORE ADDRESS

Every line is something its reader was told: what it says was acknowledged.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import aclosing
from pathlib import Path
from time import time
from uuid import uuid4

from groundwire.chat.answers import state_of
from groundwire.chat.chat import Chat
from groundwire.chat.questions import ChatQuestion
from groundwire.chat.turns import Turn
from groundwire.errors import GroundwireError
from tests.chat.speaking import chatting, said
from tests.faces.gateway.serving import provider_at

TALKERS = 2
TURNS = 3
"""Questions in one session."""


def tell(turn: Turn, *, over: bool = False) -> None:
    answer = said(turn.answer)
    line = {
        "session": turn.session.id,
        "question": turn.question.id,
        "asked": turn.question.content.text,
        "answer": turn.answer.id,
        "text": answer.text,
        "state": state_of(answer),
        "over": over,
        "stored": not any(warning.code == "not_stored" for warning in answer.warnings),
        "at": time(),
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


async def talk(chat: Chat) -> None:
    """Session after session."""
    while True:
        session = ""
        for _ in range(TURNS):
            try:
                asked = ChatQuestion(f"{uuid4().hex}?", "", session=session, agent="finder")
                async with aclosing(chat.ask(asked)) as turns:
                    async for turn in turns:
                        session = turn.session.id
                        tell(turn)
                tell(turn, over=True)
            except GroundwireError:
                await asyncio.sleep(0.05)
                break


async def run(folder: Path, store: str, url: str) -> None:
    async with chatting(folder, {"p": provider_at("anthropic_messages", url)}, address=store) as chat:
        await asyncio.gather(*(talk(chat) for _ in range(TALKERS)))


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), *sys.argv[2:4]))
