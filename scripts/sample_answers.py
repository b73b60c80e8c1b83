"""Generate docs/answers.md: twenty answers of the embedded engine, as they are, chosen by a fixed seed.

The questions are from tests/engine/questions (part `tuning`), about the handbook of an invented company in
tests/engine/handbook. The index has nothing but the handbook, so the answers are the same on every machine.
With `--check`, nothing is written; the exit status is 1 if the page is out of date.
"""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.engine.question_sets import HANDBOOK, load_questions  # noqa: E402

from groundwire.engine.compose.answer import QuestionPart, compose_parts  # noqa: E402
from groundwire.engine.compose.events import composition_events  # noqa: E402
from groundwire.engine.crawl.files import crawl_path  # noqa: E402
from groundwire.engine.crawl.results import CrawledPage, CrawlOptions  # noqa: E402
from groundwire.engine.index.base import Index  # noqa: E402
from groundwire.engine.index.location import open_index  # noqa: E402
from groundwire.engine.pages import EngineResult, Page  # noqa: E402
from groundwire.engine.retrieve.rank import find_passages  # noqa: E402
from groundwire.model import Answer, Assembler, SearchOptions  # noqa: E402
from groundwire.text.markdown import render_body  # noqa: E402
from groundwire.text.sources import label_of, number_answer  # noqa: E402

PAGE = ROOT / "docs" / "answers.md"
SITE = "https://handbook.tarnwick.example/"
COUNT = 20
SEED = 2026
PASSAGES = 20

_HEAD = """\
# Twenty answers

What the embedded engine answers, without a model: sentences, code, lists and tables quoted from the pages of
an index, each with its source. The pages are the handbook of an invented company
([tests/engine/handbook](../tests/engine/handbook)), with invented addresses. The questions are as people type
them, spelling included; a random choice with a fixed seed, so nothing is left out because it is answered
badly. How often answers are right is [measured](search-index.md).

`scripts/sample_answers.py` generates this page; `make check` compares it.
"""


def chosen() -> list[str]:
    """The questions, in the order of their file."""
    questions = [" ".join(question.text.split()) for question in load_questions("tuning", "handbook")]
    chooser = random.Random(SEED)  # noqa: S311  a choice that is the same in every run
    numbers = sorted(chooser.sample(range(len(questions)), COUNT))
    return [questions[number] for number in numbers]


async def _pages() -> list[Page]:
    found = [item async for item in crawl_path(HANDBOOK, CrawlOptions(base_url=SITE))]
    return [item.page for item in found if isinstance(item, CrawledPage)]


def answer(index: Index, question: str) -> Answer:
    """The answer as any client gets it."""
    found = find_passages(index, question, SearchOptions(), PASSAGES)
    part = QuestionPart(
        question, found.interpretation.text, found.passages, found.is_answer, found.probability
    )
    result = EngineResult(found.passages, (found.interpretation.text,))
    assembler = Assembler()
    for event in composition_events(question, result, compose_parts([part])):
        assembler.feed(event)
    return assembler.answer()


def section(question: str, given: Answer) -> str:
    """A question, its answer, and the sources under it."""
    numbering = number_answer(given)
    lines = [f"## {question}", "", render_body(given, numbering).strip("\n"), ""]
    if given.citations:
        lines += [
            f"[{number}] {label_of(source)}, `{source.url.removeprefix(SITE)}`  "
            for number, source in enumerate(numbering.sources, 1)
        ]
    thin = [warning.message for warning in given.warnings if warning.code == "thin_evidence"]
    return "\n".join([*lines, *thin]).rstrip() + "\n"


def render() -> str:
    """The page as Markdown."""
    with TemporaryDirectory() as folder, open_index(Path(folder)) as index:
        index.put(asyncio.run(_pages()))
        return "\n".join([_HEAD, *(section(question, answer(index, question)) for question in chosen())])


def main() -> int:
    """Write the page, or check it."""
    page = render()
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text("utf-8") == page:
            return 0
        print(f"{PAGE.relative_to(ROOT)} is out of date; run scripts/sample_answers.py", file=sys.stderr)
        return 1
    PAGE.write_text(page, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
