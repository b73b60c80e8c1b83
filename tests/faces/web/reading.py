"""Reads the last answer of a page from the elements on the screen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from tests.faces.web.browsing import Page

_READ_ANSWER = """() => {
  const article = [...document.querySelectorAll('.answer')].at(-1);
  const chip = (link) => ({ number: Number(link.textContent), href: link.getAttribute('href'),
    card: document.getElementById(link.getAttribute('aria-describedby'))?.textContent ?? '' });
  const pieces = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) pieces.push(node.data);
    else if (node.matches('.card, .host')) return;
    else if (node.matches('.chip')) pieces.push(chip(node));
    else node.childNodes.forEach(walk);
  };
  walk(article.querySelector('.prose'));
  const groups = {};
  for (const list of article.querySelectorAll('.sources .list'))
    groups[list.previousElementSibling.textContent] = [...list.children].map((item) =>
      ({ number: item.value, href: item.querySelector('a')?.getAttribute('href') ?? '' }));
  const texts = (pick) => [...article.querySelectorAll(pick)].map((item) => item.textContent);
  return {
    state: article.dataset.state, pieces, groups,
    whole: [...article.querySelectorAll('.whole .chip')].map(chip),
    queries: texts('.query > [dir]'), warnings: texts('.warnings li'), ungrounded: texts('.ungrounded'),
    ending: texts('.ending').join(''), summary: texts('.sources summary').join(''),
    suggestions: [...article.querySelectorAll('.suggestions a')].map((link) =>
      [link.textContent, link.getAttribute('href')]),
  };
}"""
_LINK = re.compile(r"!?\[([^\]]*)\]\(<?[^()\s]*(?:\([^()\s]*\)[^()\s]*)*>?\)")
_NOT_SHOWN = re.compile(r"(?m)^\s*\d+[.)]\s|^\s*```\w*$")


@dataclass
class Chip:
    """A citation number in the text: its source, and the letters before it."""

    number: int
    href: str
    card: str
    before: str = ""


@dataclass
class ShownAnswer:
    """An answer as it is shown."""

    state: str
    text: str
    chips: list[Chip]
    whole: list[Chip]
    """Chips for the whole answer."""
    groups: dict[str, list[tuple[int, str]]]
    """Sources with their numbers, by the heading above them."""
    queries: list[str]
    suggestions: list[tuple[str, str]]
    warnings: list[str]
    ungrounded: bool
    ending: str
    summary: str


async def read_answer(page: Page) -> ShownAnswer:
    """Read the last answer."""
    found = await page.evaluate(_READ_ANSWER)
    text = ""
    chips: list[Chip] = []
    for piece in found["pieces"]:
        if isinstance(piece, str):
            text += piece
        else:
            chips.append(Chip(piece["number"], piece["href"], piece["card"], letters(text)))
    groups = {
        name: [(item["number"], item["href"]) for item in items] for name, items in found["groups"].items()
    }
    return ShownAnswer(
        found["state"],
        text,
        chips,
        [Chip(item["number"], item["href"], item["card"]) for item in found["whole"]],
        groups,
        found["queries"],
        [(label, href) for label, href in found["suggestions"]],
        found["warnings"],
        bool(found["ungrounded"]),
        found["ending"],
        found["summary"],
    )


def letters(text: str) -> str:
    """Letters and digits alone, which Markdown does not change."""
    return "".join(char for char in text if char.isalnum())


def visible_letters(markdown: str) -> str:
    """The letters of a Markdown text as they are shown: lists without numbers, code without its language."""
    return letters(_LINK.sub(r"\1", _NOT_SHOWN.sub("", markdown)))


def page_of(url: str) -> str:
    """A URL without parts that do not distinguish pages: `www.`, tracking, a trailing slash, a fragment."""
    parts = urlsplit(url)
    fields = [field for field in parts.query.split("&") if field and not field.startswith("utm_")]
    host = (parts.hostname or "").removeprefix("www.")
    return unquote(f"{host}{parts.path.rstrip('/')}?{'&'.join(fields)}").rstrip("?")
