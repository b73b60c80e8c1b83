"""An answer shows code, lists and tables as the page has them, each under its own citation."""

from __future__ import annotations

import pytest

from groundwire.engine.compose.answer import (
    QuestionPart,
    compose,
    compose_comparison,
    compose_parts,
    missing_things,
)
from groundwire.engine.knowledge.addresses import local_address
from groundwire.engine.outline import Block, encode_outline
from groundwire.engine.pages import Page, Passage, page_passages
from groundwire.model.value import replace
from tests.engine.compose.passages import check, passage
from tests.engine.sample_handbook import guide, leave, page_of


def passages(*pages: Page) -> list[Passage]:
    return [item for page in pages for item in page_passages(page)]


def answer(question: str, *pages: Page) -> str:
    found = passages(*pages or (guide(), leave()))
    composition = compose(question, found)
    check(composition, found)
    return composition.text


def answered(question: str, *pages: Page) -> str:
    """The answer if the engine is sure that the passages have it."""
    found = passages(*pages)
    composition = compose_parts([QuestionPart(question, question, found, is_answer=True)])
    check(composition, found)
    return composition.text


def test_a_how_to_question_gets_the_command() -> None:
    assert answer("How do I install the client?") == (
        "The client needs Python 3.11. To install it, run:\n\n"
        "    pip install acme-client\n    acme login --user YOU\n"
    )


def test_a_sentence_and_what_it_announces_are_one_citation() -> None:
    found = passages(guide())
    composition = compose("How do I install the client?", found)
    assert [len(citation.evidence) for citation in composition.citations] == [1, 2]
    announcement = composition.citations[1]
    assert announcement.span is not None
    assert composition.text[announcement.span.start : announcement.span.end].startswith("To install it, run:")
    assert announcement.evidence[1].quote == "pip install acme-client\nacme login --user YOU"


def test_steps_are_shown_as_a_numbered_list() -> None:
    assert answer("How do I roll back a release?") == (
        "A release can be rolled back for 14 days, e.g. after a failed test.\n\n"
        "1. Open the release page.\n2. Choose Roll back.\n3. Confirm with your key."
    )


def test_a_table_is_shown_in_columns() -> None:
    assert answer("What is the daily rate for Paris?") == (
        "The daily rates for business trips are:\n\n"
        "    City    Rate    Hotel\n"
        "    Berlin  40 EUR  120 EUR\n"
        "    Paris   55 EUR  160 EUR\n"
        "    Wien    45 EUR  110 EUR\n"
    )


def test_of_a_long_table_the_rows_that_answer_are_shown() -> None:
    rows = "".join(f"<tr><td>City{number}</td><td>{number} EUR</td></tr>" for number in range(40))
    markup = f"<main><h2>Travel rates</h2><table><tr><th>City</th><th>Rate</th></tr>{rows}</table></main>"
    page = page_of(markup, "text/html", "https://a.example/rates")
    assert answer("What is the rate for City17?", page) == "    City    Rate\n    City17  17 EUR\n"


def test_of_a_long_table_that_is_announced_the_first_rows_are_shown() -> None:
    rows = "".join(f"<tr><td>City{number}</td><td>{number} EUR</td></tr>" for number in range(40))
    table = f"<table><tr><th>City</th><th>Rate</th></tr>{rows}</table>"
    text = f"<main><h1>Business trips</h1><p>We pay travel rates:</p>{table}</main>"
    page = page_of(text, "text/html", "https://a.example/trips")
    shown = answer("Which travel rates do we pay?", page).split("\n")
    assert shown[:4] == ["We pay travel rates:", "", "    City   Rate", "    City0  0 EUR"]
    assert shown[-2:] == ["    City7  7 EUR", ""]


def test_other_pages_that_a_page_refers_to_are_not_an_answer() -> None:
    text = (
        "<main><h1>Drills</h1><p>(Skip this if you know drills.)</p><p>A drill makes holes in a wall.</p>"
        "<p>See also</p><dl><dt>Plugs</dt><dd>How to hang a picture on a wall with drills.</dd></dl></main>"
    )
    page = page_of(text, "text/html", "https://a.example/drills")
    assert answer("How to hang a picture on a wall with drills?", page) == "A drill makes holes in a wall."


def test_an_item_of_a_list_that_is_shown_is_not_repeated() -> None:
    items = "- A master key opens all doors of a house.\n- A room key opens one door."
    text = f"# Keys\n\nThe difference between master keys and room keys matters for visitors:\n\n{items}"
    page = page_of(text, "text/markdown", "https://a.example/keys")
    assert answer("Is a master key for visitors?", page) == text.partition("\n\n")[2]


def test_of_a_glossary_only_the_term_that_was_asked_about_is_explained() -> None:
    text = (
        "GLOSSARY\n\nBadger: the old server.\n\n"
        "Hairball: an incident that affected patients. Each gets a review.\n\n"
        "Litter box: the test system. Its data are scrambled every Sunday."
    )
    page = page_of(text, "text/plain", "https://a.example/glossary")
    assert (
        answered("hairball meaning", page)
        == "Hairball: an incident that affected patients. Each gets a review."
    )


def test_a_sentence_about_the_text_does_not_open_the_answer() -> None:
    text = (
        "# Reading big files\n\nThe examples of this section assume a big file.\n\n"
        "To read a big file from a share, copy it first."
    )
    page = page_of(text, "text/markdown", "https://a.example/files")
    assert answer("How do I read a big file?", page) == "To read a big file from a share, copy it first."


def test_the_numbers_of_german_ordinals_do_not_end_a_sentence() -> None:
    text = answer("Bis wann ist der Antrag auf Urlaub zu stellen?")
    assert "Der Antrag ist bis zum 2. Werktag des Monats zu stellen." in text


def test_the_citation_leads_to_the_section() -> None:
    found = passages(leave())
    composition = compose("Ab wann ist ein Attest nötig?", found)
    assert {item.source.url for citation in composition.citations for item in citation.evidence} == {
        "https://handbook.example/urlaub.html#krankheit"
    }


def test_a_question_for_a_heading_finds_its_section() -> None:
    assert "sieben Wochen" in answer("Elternzeit")


DOCSTRING = Page(
    "https://a.example/#tool.run",
    "tool.run — Documentation",
    "tool.run(job)\n\nRuns a job and waits for its end.\n\nExample:\n\n>>> tool.run('x')\n0\n",
)


@pytest.mark.parametrize("question", ["How do I run a job?", "run a job", "is there a way to run a job"])
def test_the_code_of_a_documentation_string_is_shown(question: str) -> None:
    assert answer(question, DOCSTRING).endswith("    >>> tool.run('x')\n    0\n")


def test_of_the_examples_of_a_documented_name_the_first_is_shown() -> None:
    text = (
        "tool.walk(top)\n\nWalk a tree of folders from the top.\n\nThis prints every folder:\n\n"
        "    >>> print(tool.walk(top))\n\n"
        "In the next example, walking the tree of folders from the top deletes the tree:\n\n"
        "    >>> tool.delete(tool.walk(top))\n"
    )
    page = passage(text, title="tool.walk — Python documentation")
    question = "How do I walk a tree of folders?"
    composition = compose_parts([QuestionPart(question, question, [page], True, 0.9)])
    check(composition, [page])
    assert "print(tool.walk(top))" in composition.text
    assert "delete" not in composition.text


def test_the_marks_of_a_list_are_not_quoted() -> None:
    steps = ("Stop the pump.", "Close the valve of the pump.", "Call Ada.")
    text = "To stop the pump:\n\n" + "\n".join(f"{at}. {step}" for at, step in enumerate(steps, 1))
    page = passage(text)
    composition = compose("How do I stop the pump?", [page])
    check(composition, [page])
    assert "1. Stop the pump.\n2. Close the valve of the pump.\n3. Call Ada." in composition.text
    quotes = [item.quote for citation in composition.citations for item in citation.evidence]
    assert quotes[-3:] == list(steps)


INTERRUPTED = """# Restarting a worker

If you stop a worker with

```sh
worker stop --now
```

the jobs in its queue are moved to another worker. After you have changed its settings:

```sh
worker start
```

starts it again, and `worker.log` has a new section."""


def worker() -> Page:
    return page_of(INTERRUPTED, "text/markdown", "https://acme.example/worker")


@pytest.mark.parametrize(
    "question", ["What happens to the jobs in the queue of a worker?", "Which command will stop a worker?"]
)
def test_a_sentence_that_code_interrupts_is_quoted_whole(question: str) -> None:
    assert answer(question, worker()).startswith(
        "If you stop a worker with\n\n    worker stop --now\n\n\n"
        "the jobs in its queue are moved to another worker."
    )


def test_the_end_of_a_sentence_that_code_interrupts_is_not_quoted_alone() -> None:
    text = answer("What starts a worker again with a new section?", worker())
    assert "    worker start\n\n\nstarts it again" in text


def test_a_name_of_code_after_code_begins_a_sentence() -> None:
    page = page_of(
        "# Log\n\nSee an example\n\n```py\nlog.write(1)\n```\n\nlog.write returns a receipt.",
        "text/markdown",
        "https://acme.example/log",
    )
    assert answer("What does log.write return?", page) == "log.write returns a receipt."


def test_code_that_is_not_wanted_is_left_out() -> None:
    assert ">>>" not in answer("What does tool.run do?", DOCSTRING)


@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\x1b[31m", "\ue200"])
def test_hidden_characters_do_not_come_back_with_code_lists_and_tables(hidden: str) -> None:
    for question in ("How do I install the client?", "How do I roll back a release?", "the rate for Paris"):
        found = [
            replace(passage, text=passage.text.replace("e", f"e{hidden}"), outline="")
            for passage in passages(guide())
        ]
        assert hidden not in compose(question, found).text


def test_each_part_of_a_question_is_answered_under_its_heading() -> None:
    found = passages(guide())
    parts = [
        QuestionPart(question, question, found)
        for question in ("how do I install the client", "what is the rate for Wien?")
    ]
    composition = compose_parts(parts)
    check(composition, found)
    assert composition.text.startswith("How do I install the client?\n\nThe client needs")
    assert "\n\nWhat is the rate for Wien?\n\nThe daily rates" in composition.text


def test_a_part_without_an_answer_says_so() -> None:
    found = passages(guide())
    parts = [
        QuestionPart(question, question, found)
        for question in ("How do I install the client?", "Who won the football championship?")
    ]
    assert "Who won the football championship?\n\nNothing was found" in compose_parts(parts).text


HALL = passage("Widgets are painted in the hall.", "w", "widget — painted things")
GADGET = passage("A gadget is a small device with a battery.", "g", "gadget — devices")
YARD = passage("A gadget store is in the yard.", "y", "store — gadget")
COMPARED = "difference between widgets and gadgets"


def test_both_sides_of_a_comparison_are_described() -> None:
    whole = QuestionPart(COMPARED, COMPARED, [HALL], True, 0.9)
    answer = compose_parts([whole])
    assert missing_things(answer, ("widgets", "gadget")) == ("gadget",)
    thing = QuestionPart("gadget", "gadget", [HALL, YARD, GADGET], True)
    composition = compose_comparison(answer, [thing])
    check(composition, [HALL, GADGET])
    assert composition.text == f"widget: {HALL.text}\n\ngadget: {GADGET.text}"


def test_the_page_of_one_thing_does_not_describe_another_that_it_mentions() -> None:
    title = "copy.deepcopy — deep copy of an object"
    deep = passage("Deepcopy returns a deep copy of the object.", "d", title)
    question = "deepcopy vs copy"
    answer = compose_parts([QuestionPart(question, question, [deep], True, 0.9)])
    assert missing_things(answer, ("deepcopy", "copy")) == ("copy",)
    both = replace(deep, title="How do copy and deepcopy differ? — FAQ")
    answer = compose_parts([QuestionPart(question, question, [both], True, 0.9)])
    assert missing_things(answer, ("deepcopy", "copy")) == ()


def test_descriptions_of_all_sides_replace_a_doubtful_comparison() -> None:
    whole = QuestionPart(COMPARED, COMPARED, [YARD], True, 0.5)
    doubtful = compose_parts([whole])
    assert missing_things(doubtful, ("widget", "gadget")) == ("widget", "gadget")
    things = [
        QuestionPart("widget", "widget", [HALL], True),
        QuestionPart("gadget", "gadget", [GADGET], True),
    ]
    composition = compose_comparison(doubtful, things)
    assert composition.text == f"widget: {HALL.text}\n\ngadget: {GADGET.text}"
    assert not composition.is_doubtful
    # With one side only, what may be the answer to the whole question stays.
    assert compose_comparison(doubtful, [things[0], replace(things[1], is_answer=False)]) == doubtful


def test_a_side_of_a_comparison_is_not_quoted_twice() -> None:
    whole = QuestionPart(COMPARED, COMPARED, [GADGET], True, 0.9)
    answer = compose_parts([whole])
    again = QuestionPart("gadget", "gadget", [GADGET], True)
    assert compose_comparison(answer, [again]) == answer


def dated(year: int, days: int) -> Passage:
    return Passage(
        f"https://handbook.example/{year}",
        f"Leave {year}",
        f"Employees get {days} days of paid leave each year.",
        0,
        1.0 if year < 2026 else 0.9,
        published=f"{year}-02-01",
    )


def test_of_two_dated_pages_that_disagree_the_newer_one_comes_first() -> None:
    found = [dated(2024, 28), dated(2026, 30)]
    composition = compose("How many days of paid leave do employees get?", found)
    check(composition, found)
    assert composition.text == (
        "Employees get 30 days of paid leave each year.\n\n"
        "An older page (2024-02-01) says otherwise; the page above is of 2026-02-01: "
        "Employees get 28 days of paid leave each year."
    )


def test_the_page_that_ranks_first_opens_the_answer() -> None:
    first = passage("Widgets are painted in the hall.", "a", "Paint", score=1.0)
    second = passage("To paint a widget in red, paint the widget with red paint.", "b", "Red", score=0.6)
    ranked = QuestionPart("how do I paint a widget red", "how do I paint a widget red", [first, second], True)
    assert compose_parts([ranked]).citations[0].evidence[0].source.url == first.url
    unranked = replace(ranked, is_answer=None)
    assert compose_parts([unranked]).citations[0].evidence[0].source.url == second.url


def test_a_page_of_the_user_is_not_followed_by_built_in_pages() -> None:
    own = passage("Roll back a service with one command.", "a", "Deploying")
    built_in = Passage(
        "https://docs.python.org/3/x.html", "sqlite3", "Roll back a service transaction.", 0, 0.9
    )
    part = QuestionPart("roll back a service", "roll back a service", [own, built_in], is_answer=True)
    cited = {item.source.url for one in compose_parts([part]).citations for item in one.evidence}
    assert cited == {own.url}


def test_parts_with_the_same_answer_share_it() -> None:
    found = passages(guide())
    questions = ("how do I install the client", "what is the rate for Wien?", "which rate does Wien have")
    composition = compose_parts([QuestionPart(question, question, found) for question in questions])
    check(composition, found)
    assert "\n\nWhat is the rate for Wien? Which rate does Wien have?\n\nThe daily rates" in composition.text
    assert composition.text.count("Wien  ") == 1


def test_the_newest_edition_of_a_page_answers() -> None:
    old = passage("Business class is allowed on long flights.", "a", "Travel policy 2023")
    new = passage("Business class is not allowed on any flight, long or short.", "b", "Travel policy 2025")
    assert compose("is business class allowed on flights", [old, new]).text == new.text
    assert old.text in compose("was business class allowed on flights in 2023", [old, new]).text


def test_a_remark_about_the_page_is_not_part_of_an_answer() -> None:
    page = passage(
        "Source code: Lib/copy.py\n\nNew in version 3.1.\n\nCopy objects of any type.", title="copy — Docs"
    )
    assert compose("copy objects", [page]).text == "copy: Copy objects of any type."


@pytest.mark.parametrize(
    ("signature", "shown"), [("decorator", False), ("decorator(function)", True)], ids=["name", "call"]
)
def test_a_signature_that_is_only_the_name_is_not_repeated(signature: str, *, shown: bool) -> None:
    text = f"{signature}\n\nWraps a function.\n\nIt runs once.\n\n@decorator\ndef main(): ..."
    blocks = [
        Block("signature", 0, len(signature)),
        Block("paragraph", text.index("Wraps"), text.index("Wraps") + len("Wraps a function.")),
        Block("paragraph", text.index("It runs"), text.index("It runs") + len("It runs once.")),
        Block("code", text.index("@"), len(text)),
    ]
    page = replace(passage(text, title="decorator — Docs"), outline=encode_outline(blocks))
    composed = compose("how do I write a decorator that wraps a function", [page]).text
    assert composed.startswith("decorator: Wraps a function.")
    assert "@decorator" in composed
    assert (f"    {signature}\n" in composed) is shown


def test_the_first_sentence_about_a_name_needs_no_other_sentence() -> None:
    page = passage("This error is raised when a disk is full.", title="DiskError — Docs")
    assert compose("DiskError", [page]).text == "DiskError: This error is raised when a disk is full."
    assert not compose("is a disk full", [passage("This error is raised when a disk is full.")]).found


@pytest.mark.parametrize("label", ["Note", "Warning:", "Hinweis", "Example"])
def test_the_label_of_a_remark_is_not_a_sentence(label: str) -> None:
    text = f"{label}\n\nModules share their state."
    blocks = [Block("paragraph", 0, len(label)), Block("paragraph", text.index("Modules"), len(text))]
    page = replace(passage(text, title="copy — Docs"), outline=encode_outline(blocks))
    part = QuestionPart("what is cloning", "what is cloning", [page], is_answer=True, probability=0.9)
    assert compose_parts([part]).text == "copy: Modules share their state."


def test_the_code_that_opens_a_section_is_shown_before_the_comment_on_it() -> None:
    text = "Roll back\n\nslipway rollback SERVICE\n\nA rollback of a service does not undo migrations."
    code = text.index("slipway")
    blocks = [
        Block("heading", 0, len("Roll back"), 2),
        Block("code", code, code + len("slipway rollback SERVICE")),
        Block("paragraph", text.index("A rollback"), len(text)),
    ]
    page = replace(passage(text), section="Deploying\nRoll back", outline=encode_outline(blocks))
    composition = compose("command to roll back a service", [page])
    assert (
        composition.text
        == "    slipway rollback SERVICE\n\n\nA rollback of a service does not undo migrations."
    )
    check(composition, [page])


def test_the_evidence_is_thin_if_the_engine_doubts_it() -> None:
    own = passage("Widgets are painted in the hall.")
    built_in = replace(own, url=local_address("widgets"))
    for page, probability, is_thin in (
        *((own, 0.7, True), (own, 0.8, False)),
        *((built_in, 0.8, True), (built_in, 0.9, False)),
    ):
        part = QuestionPart(
            "where are widgets painted", "where are widgets painted", [page], True, probability
        )
        assert any(note.code == "thin_evidence" for note in compose_parts([part]).notes) == is_thin


@pytest.mark.parametrize(
    ("question", "doubt"),
    [
        ("where are widgets painted", "The index may not have the answer. The closest passage:"),
        (
            "wo werden die widgets gestrichen",
            "Der Index enthält die Antwort vielleicht nicht. Am nächsten kommt diese Stelle:",
        ),
    ],
)
def test_a_doubtful_answer_begins_with_the_doubt(question: str, doubt: str) -> None:
    own = passage("Widgets are painted in the hall.")
    built_in = replace(own, url=local_address("widgets"))
    for page, probability, is_doubted in (
        *((own, 0.7, True), (own, 0.8, False)),
        *((built_in, 0.5, True), (built_in, 0.7, False)),
    ):
        answer = compose_parts([QuestionPart(question, question, [page], True, probability)])
        check(answer, [page])
        assert answer.text == (f"{doubt}\n\n{page.text}" if is_doubted else page.text)


def test_thin_evidence_is_quoted_from_one_page() -> None:
    pages = [
        passage("Widgets are painted in the hall.", score=1.0),
        passage("Gadgets and widgets are painted at night.", site="b", score=0.99),
    ]
    question = "where are widgets painted"
    for probability, count in ((0.6, 1), (0.99, 2)):
        answer = compose_parts([QuestionPart(question, question, pages, True, probability)])
        cited = {item.source.url for citation in answer.citations for item in citation.evidence}
        assert len(cited) == count
