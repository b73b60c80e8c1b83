"""The request that asks a provider once more, with the citations that failed."""

from __future__ import annotations

from groundwire.model import Answer, Message, Request, SearchOptions, Text
from groundwire.verify.encode import explain_failure
from groundwire.verify.facts import VerifyReport

_MOST_FAILURES = 20
_LONGEST_CLAIM = 300


def correction_request(query: str, answer: Answer, report: VerifyReport, options: SearchOptions) -> Request:
    """The question, the answer without its citations, and what is wrong with them."""
    failures = "\n".join(
        f"- “{fact.claim[:_LONGEST_CLAIM]}”: {explain_failure(fact)}"
        if fact.claim
        else f"- {explain_failure(fact)}"
        for fact in report.failures[:_MOST_FAILURES]
    )
    text = (
        "The cited pages were read, and these citations of your answer failed:\n"
        f"{failures}\n\n"
        "Answer the question again. Search anew where you need to, correct or leave out what the pages do "
        "not say, and cite only pages that say it."
    )
    return Request(
        (
            Message("user", (Text(query),)),
            Message("assistant", (Text(answer.text),)),
            Message("user", (Text(text),)),
        ),
        search=options,
        stream=False,
    )
