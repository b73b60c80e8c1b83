"""Pages of agents: list, create, edit, import and export."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from groundwire.chat.agents import is_id, names_google, options_of, read_app, write_app
from groundwire.chat.questions import Controls
from groundwire.dialects.json import dump_json
from groundwire.errors import ClientWireError, GroundwireError, TurnedAway
from groundwire.faces.web.auth import read_form
from groundwire.faces.web.headers import redirect, send_file
from groundwire.faces.web.pages import PageRequest, PageRoute, WebApp, limits_of, record_action
from groundwire.model import Location
from groundwire.model.value import replace
from groundwire.store.base import Agent, Texts
from groundwire.text.sanitise import one_line

_SECTION = "agents"


async def list_agents(web: WebApp, request: PageRequest) -> None:
    """The list of agents."""
    owner = request.visitor.owner
    agents, unreadable = await web.chat.agents(owner), await web.chat.unreadable_agents(owner)
    await web.send(request, "agents", agents=agents, unreadable=unreadable, section=_SECTION)


async def show_new(web: WebApp, request: PageRequest) -> None:
    """The form for a new agent."""
    await _form(web, request, Agent("", {}))


async def show_agent(web: WebApp, request: PageRequest) -> None:
    """The form of an existing agent."""
    await _form(web, request, await web.chat.agent(request.params["id"], request.visitor.owner))


async def create(web: WebApp, request: PageRequest) -> None:
    """Store a new agent."""
    form = await read_form(request.visitor, request.exchange)
    await _save(web, request, form, Agent("", {}))


async def save(web: WebApp, request: PageRequest) -> None:
    """Store the changes of an agent."""
    form = await read_form(request.visitor, request.exchange)
    await _save(web, request, form, await web.chat.agent(request.params["id"], request.visitor.owner))


async def enable_search(web: WebApp, request: PageRequest) -> None:
    """Enable web search for an agent, then continue with the session."""
    form = await read_form(request.visitor, request.exchange)
    owner, session = request.visitor.owner, form.get("session", "")
    agent = await web.chat.agent(request.params["id"], owner)
    if session:
        await web.chat.session(owner, session)
    saved = await web.chat.save_agent(replace(agent, web_search=True), owner)
    if not session:
        await redirect(request.exchange, f"/?agent={saved.id}")
        return
    # A shared agent is copied: the session continues with the copy.
    updated = await web.chat.give_agent(owner, session, saved.id)
    await redirect(request.exchange, f"/chat/{updated.id}")


async def remove(web: WebApp, request: PageRequest) -> None:
    """Delete an agent."""
    await read_form(request.visitor, request.exchange)
    await web.chat.remove_agent(request.params["id"], request.visitor.owner)
    await _record(request, "agent_deleted", request.params["id"])
    await redirect(request.exchange, "/agents")


async def export_app(web: WebApp, request: PageRequest) -> None:
    """Download an agent as an app."""
    agent = await web.chat.agent(request.params["id"], request.visitor.owner)
    if not is_id(agent.id):
        raise TurnedAway(status=404, message="this agent does not exist", code="NOT_FOUND")
    await send_file(request.exchange, f"{agent.id}.json", "application/json", dump_json(write_app(agent)))


async def import_app(web: WebApp, request: PageRequest) -> None:
    """Create an agent from an app."""
    form = await read_form(request.visitor, request.exchange)
    agent = await web.chat.save_agent(read_app(form.get("app", "")), request.visitor.owner)
    await _record_shared(request, agent)
    await redirect(request.exchange, f"/agents/{agent.id}")


async def _record(request: PageRequest, action: str, agent: str) -> None:
    await asyncio.to_thread(record_action, request.app, action, request.visitor.key, agent)


async def _record_shared(request: PageRequest, agent: Agent) -> None:
    if not agent.owner:  # everybody who can open the page may use it
        await _record(request, "agent_shared", agent.id)


async def _form(web: WebApp, request: PageRequest, agent: Agent, error_text: str = "") -> None:
    providers = [
        (status.name, f"{status.name} · {one_line(status.title)}", status.usable)
        for status in request.app.groundwire.providers()
    ]
    owner = request.visitor.owner
    kept = {one.id for one in await web.chat.agents(owner) if one.created and one.owner == owner}
    await web.send(
        request,
        "agent",
        status=400 if error_text else 200,
        item=agent,
        providers=sorted(providers, key=lambda row: (not row[2], row[0])),
        error_text=error_text,
        limits=_app_limits(agent, web.pages.texts[request.visitor.language]),
        google=names_google(agent),
        kept=agent.id in kept,
        section=_SECTION,
    )


def _app_limits(agent: Agent, texts: Mapping[str, str]) -> str:
    """The search options of the app, on one line."""
    try:
        options = options_of(agent)
    except ClientWireError as error:
        return error.message
    location = options.location or Location()
    limits = limits_of(
        Controls(
            options.allowed_domains,
            options.blocked_domains,
            *(location.country, location.region, location.city, location.timezone),
        ),
        texts,
    )
    return " · ".join(filter(None, (limits, texts["app_not_live"] if options.live is False else "")))


async def _save(web: WebApp, request: PageRequest, form: Mapping[str, str], agent: Agent) -> None:
    edited = replace(
        agent,
        name=_texts(form, "name", agent.name, web.pages.texts),
        description=_texts(form, "description", agent.description, web.pages.texts),
        prompt=_texts(form, "prompt", agent.prompt, web.pages.texts),
        provider=form.get("provider", "").strip(),
        model=form.get("model", "").strip()[:200],
        web_search=form.get("web_search") == "on",
    )
    try:
        saved = await web.chat.save_agent(edited, request.visitor.owner)
    except GroundwireError as error:
        await _form(web, request, edited, web.error_text(request, error))
        return
    await _record_shared(request, saved)
    await redirect(request.exchange, f"/?agent={saved.id}")


def _texts(form: Mapping[str, str], field: str, known: Texts, languages: Iterable[str]) -> Texts:
    """The texts of a form, and the stored texts in languages that the form does not have."""
    entered = {language: form.get(f"{field}_{language}", "").replace("\r\n", "\n") for language in languages}
    other = {language: text for language, text in known.items() if language not in entered}
    return {**{language: text for language, text in entered.items() if text.strip()}, **other}


PAGES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/agents", list_agents, about="The list of agents."),
    PageRoute("GET", "/agents/new", show_new, about="The form for a new agent."),
    PageRoute("POST", "/agents/new", create, about="Creates an agent."),
    PageRoute("POST", "/agents/import", import_app, about="Creates an agent from an app."),
    PageRoute("GET", "/agents/{id}", show_agent, about="The form of an agent."),
    PageRoute("POST", "/agents/{id}", save, about="Changes an agent."),
    PageRoute("POST", "/agents/{id}/search", enable_search, about="Enables web search for an agent."),
    PageRoute("POST", "/agents/{id}/delete", remove, about="Deletes an agent."),
    PageRoute("GET", "/agents/{id}/app.json", export_app, about="An agent as an app."),
)
