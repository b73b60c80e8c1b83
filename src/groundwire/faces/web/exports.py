"""Downloads of a session: Markdown, HTML, JSON, bibliographies; and a page to print, also as PDF."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from groundwire.chat.export import session_as_json, session_as_markdown
from groundwire.faces.web.bibliographies import BIBLIOGRAPHIES, bibliography
from groundwire.faces.web.headers import NOT_INDEXED, file_name, send_export, send_file, send_page
from groundwire.faces.web.pages import STYLES, PageRequest, PageRoute, WebApp
from groundwire.faces.web.sessions import readonly_articles
from groundwire.model.value import value
from groundwire.text.sanitise import one_line


@value
class ExportPage:
    """The title and the articles of a session."""

    title: str
    articles: list[str]


async def download_sources(web: WebApp, request: PageRequest) -> None:
    """Download the sources of an answer, or of all answers of a session, as a bibliography."""
    owner, name, exchange = request.visitor.owner, request.params["id"], request.exchange
    number = exchange.query_param("answer")
    form = BIBLIOGRAPHIES.get(exchange.query_param("format"), BIBLIOGRAPHIES["markdown"])
    session = await web.chat.session(owner, name)
    if number:
        is_number = number.isascii() and number.isdecimal() and len(number) < 10
        messages = [await web.chat.answer(owner, name, int(number) if is_number else 0)]
    else:
        reader = await web.chat.read_session(owner, name)
        messages = await asyncio.to_thread(list, reader.turns)
    text = await asyncio.to_thread(bibliography, messages, form)
    await send_file(exchange, file_name(session.title, form.suffix, "sources"), form.content_type, text)


async def export_markdown(web: WebApp, request: PageRequest) -> None:
    """Download a session as Markdown."""
    conversation = await web.chat.read_session(request.visitor.owner, request.params["id"])
    chunks = session_as_markdown(conversation, request.visitor.language)
    name = file_name(conversation.session.title, ".md")
    await send_export(request.exchange, name, "text/markdown", chunks)


async def export_json(web: WebApp, request: PageRequest) -> None:
    """Download a session as JSON."""
    conversation = await web.chat.read_session(request.visitor.owner, request.params["id"])
    name = file_name(conversation.session.title, ".json")
    await send_export(request.exchange, name, "application/json", session_as_json(conversation))


async def export_html(web: WebApp, request: PageRequest) -> None:
    """Download a session as one HTML file that needs nothing else."""
    page = await _page(web, request)

    def chunks() -> Iterator[str]:
        style = web.pages.files[STYLES["system"]].data.decode()
        head, _, foot = web.pages.render(
            "export", request.visitor, title=page.title, style=style, articles="\0"
        ).partition("\0")
        yield head
        yield from page.articles
        yield foot

    await send_export(request.exchange, file_name(page.title, ".html"), "text/html", chunks())


async def show_print(web: WebApp, request: PageRequest) -> None:
    """A session as a page to print, or to save as PDF."""
    page = await _page(web, request)
    html = await asyncio.to_thread(
        web.pages.render, "print", request.visitor, title=page.title, articles=page.articles
    )
    await send_page(request.exchange, html, extra=(*NOT_INDEXED, *request.visitor.cookies))


async def _page(web: WebApp, request: PageRequest) -> ExportPage:
    reader = await web.chat.read_session(request.visitor.owner, request.params["id"])
    turns = tuple(await asyncio.to_thread(list, reader.turns))
    articles = await asyncio.to_thread(readonly_articles, web, request, reader.agent, turns)
    return ExportPage(one_line(reader.session.title), articles)


PAGES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/chat/{id}/sources", download_sources, about="The sources of a session or an answer."),
    PageRoute("GET", "/chat/{id}/export.md", export_markdown, about="A session as Markdown."),
    PageRoute("GET", "/chat/{id}/export.html", export_html, about="A session as HTML."),
    PageRoute("GET", "/chat/{id}/export.json", export_json, about="A session as JSON."),
    PageRoute("GET", "/chat/{id}/print", show_print, about="A session as a page to print."),
)
