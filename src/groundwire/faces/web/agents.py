"""Agents: listed, made, changed, imported and exported."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.chat.agents import LANGUAGES, is_id, names_google, options_of, read_app, write_app
from groundwire.chat.questions import Controls
from groundwire.dialects.json import dump_json
from groundwire.errors import ClientWireError, GroundwireError, TurnedAway
from groundwire.faces.web.app import Face, Page, PageRequest
from groundwire.faces.web.auth import read_form
from groundwire.faces.web.headers import send_away, send_file
from groundwire.faces.web.pages import limits_of
from groundwire.model import Location
from groundwire.model.value import replace
from groundwire.store.base import Agent, Texts
from groundwire.text.sanitise import one_line

_PLACE = "agents"


async def listing(face: Face, request: PageRequest) -> None:
    """All agents."""
    owner = request.visit.owner
    agents, unreadable = await face.chat.agents(owner), await face.chat.unreadable_agents(owner)
    await face.send(request, "agents", agents=agents, unreadable=unreadable, place=_PLACE)


async def blank(face: Face, request: PageRequest) -> None:
    """The form of a new agent."""
    await _form(face, request, Agent("", {}))


async def change(face: Face, request: PageRequest) -> None:
    """The form of an agent."""
    await _form(face, request, await face.chat.agent(request.names["id"], request.visit.owner))


async def create(face: Face, request: PageRequest) -> None:
    """Keep a new agent."""
    form = await read_form(request.visit, request.inbound)
    await _save(face, request, form, Agent("", {}))


async def save(face: Face, request: PageRequest) -> None:
    """Keep what was changed."""
    form = await read_form(request.visit, request.inbound)
    await _save(face, request, form, await face.chat.agent(request.names["id"], request.visit.owner))


async def turn_on(face: Face, request: PageRequest) -> None:
    """Let an agent search, and go on where that was wanted."""
    form = await read_form(request.visit, request.inbound)
    owner, session = request.visit.owner, form.get("session", "")
    agent = await face.chat.agent(request.names["id"], owner)
    if session:
        await face.chat.session(owner, session)
    kept = await face.chat.save_agent(replace(agent, web_search=True), owner)
    if not session:
        await send_away(request.inbound, f"/?agent={kept.id}")
        return
    # An agent of everybody's is copied: the session goes on with the copy.
    held = await face.chat.give_agent(owner, session, kept.id)
    await send_away(request.inbound, f"/chat/{held.id}")


async def remove(face: Face, request: PageRequest) -> None:
    """Forget an agent."""
    await read_form(request.visit, request.inbound)
    await face.chat.remove_agent(request.names["id"], request.visit.owner)
    await send_away(request.inbound, "/agents")


async def export_app(face: Face, request: PageRequest) -> None:
    """An agent as an app."""
    agent = await face.chat.agent(request.names["id"], request.visit.owner)
    if not is_id(agent.id):
        raise TurnedAway(status=404, message="there is no such agent", code="NOT_FOUND")
    await send_file(request.inbound, f"{agent.id}.json", "application/json", dump_json(write_app(agent)))


async def import_app(face: Face, request: PageRequest) -> None:
    """Keep the agent that an app describes."""
    form = await read_form(request.visit, request.inbound)
    agent = await face.chat.save_agent(read_app(form.get("app", "")), request.visit.owner)
    await send_away(request.inbound, f"/agents/{agent.id}")


async def _form(face: Face, request: PageRequest, agent: Agent, trouble: str = "") -> None:
    providers = [
        (status.name, f"{status.name} · {one_line(status.title)}", status.usable)
        for status in face.chat.groundwire.providers()
    ]
    owner = request.visit.owner
    kept = {one.id for one in await face.chat.agents(owner) if one.created and one.owner == owner}
    await face.send(
        request,
        "agent",
        status=400 if trouble else 200,
        item=agent,
        providers=sorted(providers, key=lambda row: (not row[2], row[0])),
        trouble=trouble,
        limits=_app_limits(agent, face.pages.texts[request.visit.language]),
        google=names_google(agent),
        kept=agent.id in kept,
        place=_PLACE,
    )


def _app_limits(agent: Agent, texts: Mapping[str, str]) -> str:
    """The search options that came with the app, on one line."""
    try:
        options = options_of(agent)
    except ClientWireError as error:
        return error.message
    place = options.location or Location()
    said = limits_of(
        Controls(
            options.allowed_domains,
            options.blocked_domains,
            *(place.country, place.region, place.city, place.timezone),
        )
    )
    return " · ".join(filter(None, (said, texts["app_not_live"] if options.live is False else "")))


async def _save(face: Face, request: PageRequest, form: Mapping[str, str], agent: Agent) -> None:
    changed = replace(
        agent,
        name=_texts(form, "name", agent.name),
        description=_texts(form, "description", agent.description),
        prompt=_texts(form, "prompt", agent.prompt),
        provider=form.get("provider", "").strip(),
        model=form.get("model", "").strip()[:200],
        web_search=form.get("web_search") == "on",
    )
    try:
        kept = await face.chat.save_agent(changed, request.visit.owner)
    except GroundwireError as error:
        await _form(face, request, changed, face.line(request, error))
        return
    await send_away(request.inbound, f"/?agent={kept.id}")


def _texts(form: Mapping[str, str], field: str, known: Texts) -> Texts:
    """The texts of a form, and those in languages it does not ask for."""
    said = {language: form.get(f"{field}_{language}", "").replace("\r\n", "\n") for language in LANGUAGES}
    others = {language: text for language, text in known.items() if language not in said}
    return {**{language: text for language, text in said.items() if text.strip()}, **others}


PAGES: tuple[Page, ...] = (
    Page("GET", "/agents", listing, about="All agents."),
    Page("GET", "/agents/new", blank, about="The form of a new agent."),
    Page("POST", "/agents/new", create, about="Makes an agent."),
    Page("POST", "/agents/import", import_app, about="Imports an app."),
    Page("GET", "/agents/{id}", change, about="The form of an agent."),
    Page("POST", "/agents/{id}", save, about="Changes an agent."),
    Page("POST", "/agents/{id}/search", turn_on, about="Lets an agent search."),
    Page("POST", "/agents/{id}/delete", remove, about="Deletes an agent."),
    Page("GET", "/agents/{id}/app.json", export_app, about="An agent as an app."),
)
