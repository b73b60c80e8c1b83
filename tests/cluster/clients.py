"""Clients of a cluster, which count what they see: load, and users of the chat page."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

import aiohttp

from groundwire.model.access import KeyLimits
from groundwire.model.value import replace
from groundwire.testing.load import LoadPlan, LoadReport, send_load
from groundwire.testing.script import Dribble
from tests.cluster.cluster import ANSWER, QUESTION, SECONDS, Browser, Cluster, at_once
from tests.faces.web.test_pages import token_of
from tests.figures import Figures

PLENTY = KeyLimits(requests_per_minute=1_000_000, tokens_per_minute=1_000_000_000)
SLOW = replace(ANSWER, dribble=Dribble(len(ANSWER.stream or b"") // 10 + 1, 0.1))
"""An answer whose stream lasts a second."""
STREAM = {**QUESTION, "stream": True}
NOT_STORED = "The answer could not be stored."
"""What the page says about an answer that is complete and not acknowledged."""


def show(what: str, seen: object) -> None:
    print(f"\n  {what}: {seen}", end="", flush=True)  # noqa: T201


def plan(url: str, key: str, body: Mapping[str, object], rate: float, seconds: float) -> LoadPlan:
    headers = {"authorization": f"Bearer {key}"}
    return LoadPlan(
        f"{url}/v1/chat/completions",
        json.dumps(body).encode(),
        headers,
        rate=rate,
        seconds=seconds,
        timeout=SECONDS,
    )


@asynccontextmanager
async def load(**plans: LoadPlan) -> AsyncIterator[dict[str, LoadReport]]:
    """Send loads during the block, and print what their clients saw; the reports are there after it."""
    reports: dict[str, LoadReport] = {}
    async with asyncio.TaskGroup() as group:
        tasks = {name: group.create_task(send_load(one)) for name, one in plans.items()}
        yield reports
    for name, task in tasks.items():
        reports[name] = task.result()
        show(name.replace("_", " "), {**reports[name].outcomes, **reports[name].percentiles("seconds")})


def write_down(figures: Figures, scenario: str, **counts: float) -> None:
    """Record what clients saw; `docs/reliability.md` has a table of it."""
    for what, number in counts.items():
        figures.add("failures", f"{scenario}: {what.replace('_', ' ')}", number)


def answered(*reports: LoadReport) -> dict[str, float]:
    """How many requests of some loads were answered, and how many were not."""
    samples = [sample for report in reports for sample in report.samples]
    count = sum(sample.is_ok for sample in samples)
    return {"requests": len(samples), "answered": count, "not_answered": len(samples) - count}


def failures(report: LoadReport) -> int:
    return sum(not sample.is_ok for sample in report.samples)


@dataclass
class ChatUser:
    """Asks one question after the other, and remembers what the page has acknowledged."""

    browser: Browser
    session: str = ""
    questions: list[tuple[str, str]] = field(default_factory=list)
    """Ids and texts of the questions that are stored, says the page."""
    answers: list[str] = field(default_factory=list)
    """Ids of the questions whose answers are complete, says the page."""
    outcomes: Counter[str] = field(default_factory=Counter)

    async def ask(self, url: str, text: str) -> str:
        """Ask; returns the last event, a status, or `broken`."""
        outcome = "broken"
        try:
            async with asyncio.timeout(SECONDS), self.browser.at(url) as page:
                headers = {"x-groundwire-token": await token_of(page)}
                body = {"text": text, **({"session": self.session} if self.session else {})}
                async with page.post("/chat/ask", json=body, headers=headers) as response:
                    outcome = str(response.status)
                    async for line in response.content:
                        if line.startswith(b"event: "):
                            outcome = line[7:].decode().strip()
                        elif line.startswith(b"data: "):
                            self._note(outcome, json.loads(line[6:]), text)
        except (aiohttp.ClientError, AssertionError, TimeoutError):
            outcome = "broken"
        self.outcomes[outcome] += 1
        return outcome

    def _note(self, event: str, data: Mapping[str, str], text: str) -> None:
        if event == "turn":
            self.session = data["session"]
            self.questions.append((data["question"], text))
        elif event == "done" and NOT_STORED not in data["html"]:
            self.answers.append(self.questions[-1][0])

    async def lost(self, url: str) -> list[str]:
        """What was acknowledged and is not there."""
        async with self.browser.at(url) as page, page.get(f"/chat/{self.session}/export.json") as response:
            stored = (await response.json())["messages"]
        texts = {message["id"]: json.dumps(message["content"]) for message in stored}
        after = {stored[at]["id"]: texts[stored[at + 1]["id"]] for at in range(len(stored) - 1)}
        lost = [text for id_, text in self.questions if text not in texts.get(id_, "")]
        return lost + [id_ for id_ in self.answers if "Yes." not in after.get(id_, "")]


async def chat_users(cluster: Cluster, count: int, *urls: str) -> list[ChatUser]:
    """Users who are logged in. A login is good for all gateways of one host."""
    users = [ChatUser(Browser()) for _ in range(count)]
    for number, user in enumerate(users):
        key = await cluster.new_key(f"user {number}")
        for url in urls:
            await user.browser.login(url, key)
    return users


async def until_shared(cluster: Cluster) -> None:
    """Wait until every gateway uses Redis."""
    async with asyncio.timeout(SECONDS), aiohttp.ClientSession() as client:
        for url in cluster.urls:
            while True:
                async with client.get(f"{url}/readyz") as response:
                    if not (await response.json()).get("degraded"):
                        break
                await asyncio.sleep(0.05)


async def until_exact(cluster: Cluster) -> None:
    """Wait until a limit is exact over all gateways: a busy machine may lose Redis for a moment again."""
    async with asyncio.timeout(SECONDS):
        for attempt in count(1):
            await until_shared(cluster)
            key = await cluster.new_key(f"limited {attempt}", KeyLimits(requests_per_minute=20))
            seen = await at_once(cluster, key, 20)
            show("a limit of 20 afterwards", dict(seen))
            assert seen[200] <= 2 * 20
            if seen[200] == 20:
                return
