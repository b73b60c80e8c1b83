"""Damaged rows in the store: a placeholder is shown, an error is logged, and the rest is displayed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from groundwire.chat.questions import ChatQuestion
from groundwire.store.base import Agent
from tests.chat.scripted_chat import answered
from tests.faces.web.test_pages import open_page, stream_of, token_of

pytestmark = pytest.mark.server

DAMAGED = (
    "",
    "not JSON",
    "[]",
    "null",
    "{}",
    '{"version": 2, "type": "Answer"}',
    '{"version": 1, "type": "Request", "messages": []}',
    '{"version": 1, "type": "Answer", "parts": [{"type": "Text", "text": 5}]}',
    '{"version": 1, "type": "Answer", "citations": [{"span": [0], "evidence": []}]}',
    "[" * 100_000,
)


def damage(folder: Path, statement: str, *values: object) -> None:
    """Change the database file directly."""
    with closing(sqlite3.connect(folder / "chat.db")) as connection, connection:
        assert connection.execute(statement, values).rowcount == 1


def _damages() -> list[object]:
    """Each damage of a question or of an answer; both in the long form."""
    return [
        pytest.param(
            body,
            number,
            marks=[pytest.mark.thorough] if (place + number) % 2 else [],
            id=f"{body[:40]}-{number}",
        )
        for place, body in enumerate(DAMAGED)
        for number in (1, 2)
    ]


@pytest.mark.parametrize(("body", "number"), _damages())
async def test_a_damaged_message_is_shown_as_a_placeholder(
    number: int, body: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        async with open_page(tmp_path) as (here, browser):
            turn = await answered(here.chat, ChatQuestion("First?", ""))
            name = turn.session.id
            await answered(here.chat, ChatQuestion("Second?", "", name))
            damage(
                tmp_path,
                "UPDATE groundwire_messages SET body = ? WHERE session = ? AND number = ?",
                *(body, name, number),
            )
            caplog.clear()
            async with browser.get(f"/chat/{name}") as page:
                html = await page.text()
                assert page.status == 200
            assert html.count("This message is damaged") == 1
            assert html.count('class="question-text" dir="auto">Second?') == 1
            assert html.count("<p>Said.</p>") == (2 if number == 1 else 1)
            assert "cannot be read" in caplog.text
            for path in (f"/chat/{name}/export.md", f"/chat/{name}/export.json", "/find?q=second"):
                async with browser.get(path) as page:
                    assert page.status == 200
                    assert "econd" in await page.text()
            # The session continues: readable messages are sent, damaged ones are not changed.
            events = await stream_of(browser, await token_of(browser), text="Third?", session=name)
            assert events[-1][0] == "done"

    await run()
    with closing(sqlite3.connect(tmp_path / "chat.db")) as connection:
        kept = connection.execute("SELECT body FROM groundwire_messages WHERE number = ?", (number,))
        assert kept.fetchall() == [(body,)]


async def test_pages_load_although_stored_values_are_not_text_or_dates(tmp_path: Path) -> None:
    async with open_page(tmp_path) as (here, browser):
        turn = await answered(here.chat, ChatQuestion("First?", ""))
        for statement, value in (
            ("UPDATE groundwire_messages SET body = ? WHERE number = 2", b"\xff\xfe"),
            ("UPDATE groundwire_sessions SET updated = ?", "yesterday"),
            ("UPDATE groundwire_sessions SET title = ?", b"\xff"),
        ):
            damage(tmp_path, statement, value)
            for path in ("/", f"/chat/{turn.session.id}"):
                async with browser.get(path) as page:
                    assert page.status == 200, statement


async def test_damaged_search_settings_are_reported_and_a_retry_does_not_drop_them(
    tmp_path: Path,
) -> None:
    async with open_page(tmp_path) as (here, browser):
        turn = await answered(here.chat, ChatQuestion("First?", ""))
        question = json.dumps(
            {
                "version": 1,
                "type": "Message",
                "role": "user",
                "parts": [{"type": "Text", "text": "First?"}],
                "extras": {"chat": {"allowed_domains": 7}},
            }
        )
        damage(tmp_path, "UPDATE groundwire_messages SET body = ? WHERE number = 1", question)
        async with browser.get(f"/chat/{turn.session.id}") as page:
            assert "search settings of this question cannot be read" in await page.text()
        body = {"text": "", "session": turn.session.id, "replaces": turn.question.id}
        ((name, _),) = await stream_of(browser, await token_of(browser), **body)
        assert name == "refused"
        assert len(here.store.messages(turn.session.id)) == 2


@pytest.mark.parametrize("body", [*DAMAGED[:4], '{"name": 5, "owner": ""}', '{"name": {"en": []}}'])
async def test_pages_load_although_an_agent_is_damaged_and_it_can_be_deleted(
    body: str, tmp_path: Path
) -> None:
    async with open_page(tmp_path) as (here, browser):
        turn = await answered(here.chat, ChatQuestion("First?", "", agent="finder"))
        await here.chat.save_agent(Agent("other", {"en": "Other one"}), "")
        damage(tmp_path, "UPDATE groundwire_agents SET body = ? WHERE id = 'finder'", body)
        for path in ("/", f"/chat/{turn.session.id}", "/agents", "/agents/other", "/usage"):
            async with browser.get(path) as page:
                assert page.status == 200
                html = await page.text()
            assert ("This agent is damaged" in html) == (path == "/agents")
        token = await token_of(browser)
        assert (await stream_of(browser, token, text="x", agent="finder"))[0][0] == "refused"
        assert (await stream_of(browser, token, text="x", agent="other"))[-1][0] == "done"
        async with browser.post("/agents/finder/delete", data={"token": token}) as page:
            assert page.status == 200
            assert "This agent is damaged" not in await page.text()


async def test_the_error_page_of_a_broken_database_reveals_no_details(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        async with open_page(tmp_path) as (here, browser):
            turn = await answered(here.chat, ChatQuestion("First?", ""))
            token = await token_of(browser)
            damage(tmp_path, "DELETE FROM groundwire_agents WHERE id = 'finder'")
            with closing(sqlite3.connect(tmp_path / "chat.db")) as connection, connection:
                connection.execute("DROP TABLE groundwire_messages")
                connection.execute("DROP TABLE groundwire_agents")
            for path in ("/", "/agents", f"/chat/{turn.session.id}", f"/chat/{turn.session.id}/export.md"):
                async with browser.get(path) as page:
                    html = await page.text()
                assert page.status == 500
                assert "The database cannot be used." in html
                assert str(tmp_path) not in html
                assert "groundwire_" not in html
            refused = await stream_of(browser, token, text="x", session=turn.session.id)
            assert refused == [
                (
                    "refused",
                    {
                        "status": 500,
                        "message": "The database cannot be used. The log of the server has the reason.",
                    },
                )
            ]

    await run()
    assert str(tmp_path / "chat.db") in caplog.text
