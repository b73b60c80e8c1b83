"""Ratings of answers: the buttons under an answer, and the export."""

from __future__ import annotations

from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.errors import ClientWireError, GroundwireError
from groundwire.faces.web.auth import check_token
from groundwire.faces.web.headers import TOKEN_HEADER, send_error, send_export, send_json
from groundwire.faces.web.pages import PageRequest, PageRoute, WebApp

_MAX_BYTES = 1024
_RATINGS = {"good": 1, "bad": -1, "": 0}


async def rate(web: WebApp, request: PageRequest) -> None:
    """Rate an answer, or remove its rating."""
    owner = request.visitor.owner
    try:
        check_token(request.visitor, request.exchange.headers.get(TOKEN_HEADER, ""))
        await web.chat.session(owner, request.params["id"])
        body = load_json(await request.exchange.read_json(_MAX_BYTES), ClientWireError)
        fields = Fields.of(body, ClientWireError)
        rating = _RATINGS.get(fields.text("rating"))
        if rating is None:
            raise fields.fault("expected good, bad or an empty text", "rating")
        answer = await web.chat.answer(owner, request.params["id"], fields.count("answer") or 0)
        await web.chat.ratings.put(owner, answer, rating)
    except GroundwireError as error:
        request.context.outcome = error.code
        await send_error(request.exchange, error, web.error_text(request, error))
        return
    await send_json(request.exchange, {})


async def list_ratings(web: WebApp, request: PageRequest) -> None:
    """The ratings in a session, by the id of the answer."""
    session = await web.chat.session(request.visitor.owner, request.params["id"])
    ratings = await web.chat.ratings.of_session(session.owner, session.id)
    names = {number: name for name, number in _RATINGS.items()}
    await send_json(request.exchange, {answer: names[rating] for answer, rating in ratings.items()})


async def export_ratings(web: WebApp, request: PageRequest) -> None:
    """Download all ratings with their questions and answers, one JSON object in a line."""
    rows = web.chat.ratings.export(request.visitor.owner)
    await send_export(request.exchange, "ratings.jsonl", "application/jsonl", rows)


PAGES: tuple[PageRoute, ...] = (
    PageRoute("POST", "/chat/{id}/rate", rate, about="Rates an answer."),
    PageRoute("GET", "/chat/{id}/ratings", list_ratings, about="The ratings in a session."),
    PageRoute("GET", "/ratings.jsonl", export_ratings, about="All ratings."),
)
