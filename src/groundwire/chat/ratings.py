"""Ratings of answers, and their export with question, answer and sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from groundwire.chat.storage import StoreThreads, generic_errors
from groundwire.chat.turns import timestamp
from groundwire.dialects.json import dump_json
from groundwire.model import Answer, JsonObject, Message
from groundwire.store.base import AnswerRating, Store, StoredMessage
from groundwire.text.sanitise import escape_invisible_json


class AnswerRatings:
    """The ratings of all answers of a store."""

    def __init__(self, store: Store, threads: StoreThreads, clock: Callable[[], float]) -> None:
        self._store = store
        self._threads = threads
        self._clock = clock

    async def put(self, owner: str, answer: StoredMessage, rating: int) -> None:
        """Rate an answer: 1 is good, -1 is bad, 0 removes the rating."""
        rated = AnswerRating(answer.id, answer.session, owner, rating, timestamp(self._clock()))
        await self._threads.run(lambda: self._store.put_rating(rated))

    async def of_session(self, owner: str, session: str) -> dict[str, int]:
        """The ratings in a session, by the id of the answer."""
        found = await self._threads.run(lambda: self._store.ratings(owner, session))
        return {rated.message: rated.rating for rated in found}

    def export(self, owner: str) -> Iterator[str]:
        """All ratings of an owner, one JSON object in a line, with the question and the answer. Blocks."""
        with generic_errors():
            for rated in self._store.ratings(owner):
                yield escape_invisible_json(dump_json(self._row(rated))) + "\n"

    def _row(self, rated: AnswerRating) -> JsonObject:
        """A rating with what it is about. An answer follows its question."""
        messages = self._store.messages(rated.session)
        at = next(index for index, message in enumerate(messages) if message.id == rated.message)
        answer, question = messages[at].content, messages[at - 1].content if at else Message("user", ())
        content = answer if isinstance(answer, Answer) else Answer()
        cited = dict.fromkeys(item.source.url for part in content.citations for item in part.evidence)
        return {
            "rating": "good" if rated.rating > 0 else "bad",
            "rated": rated.rated,
            "session": rated.session,
            "number": messages[at].number,
            "provider": messages[at].provider,
            "model": content.model,
            "question": question.text,
            "answer": content.text,
            "sources": list(cited),
        }
