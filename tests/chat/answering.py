"""A process that asks one question and prints what it was told, until somebody ends it.

python -m tests.chat.answering FOLDER ADDRESS
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import aclosing
from pathlib import Path

from groundwire.chat.questions import Asked
from tests.chat.speaking import chatting, said
from tests.faces.gateway.serving import speaking


async def run(folder: Path, url: str) -> None:
    async with (
        chatting(folder, {"p": speaking("openai_chat", url)}) as chat,
        aclosing(chat.ask(Asked("Will it end?", agent="finder"))) as turns,
    ):
        async for turn in turns:
            line = json.dumps({"session": turn.session.id, "text": said(turn.answer).text})
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), sys.argv[2]))
