"""A process that asks one question after the other and prints every update, until it is killed.

Run with `python -m tests.chat.chat_process FOLDER STORE URL`. Everything in a printed line counts as
acknowledged.
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
from tests.chat.scripted_chat import answer_in, open_chat
from tests.faces.gateway.serving import provider_at

CLIENTS = 2
TURNS = 3
"""Questions in one session."""


def print_turn(turn: Turn, *, over: bool = False) -> None:
    answer = answer_in(turn.answer)
    line = {
        "session": turn.session.id,
        "question": turn.question.id,
        "question_text": turn.question.content.text,
        "answer": turn.answer.id,
        "text": answer.text,
        "state": state_of(answer),
        "over": over,
        "stored": not any(warning.code == "not_stored" for warning in answer.warnings),
        "at": time(),
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


async def ask_repeatedly(chat: Chat) -> None:
    """Ask questions in one session after the other."""
    while True:
        session = ""
        for _ in range(TURNS):
            try:
                question = ChatQuestion(f"{uuid4().hex}?", "", session=session, agent="finder")
                async with aclosing(chat.ask(question)) as turns:
                    async for turn in turns:
                        session = turn.session.id
                        print_turn(turn)
                print_turn(turn, over=True)
            except GroundwireError:
                await asyncio.sleep(0.05)
                break


async def run(folder: Path, store: str, url: str) -> None:
    async with open_chat(folder, {"p": provider_at("anthropic_messages", url)}, address=store) as chat:
        await asyncio.gather(*(ask_repeatedly(chat) for _ in range(CLIENTS)))


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), *sys.argv[2:4]))
