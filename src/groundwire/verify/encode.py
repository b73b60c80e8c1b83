"""The report as JSON, for `--json`, the gateway's extension field, MCP and the extras of an answer."""

from __future__ import annotations

from groundwire.dialects.extras import FIELD, VERIFICATION
from groundwire.model import Answer, JsonObject, Warned
from groundwire.model.extras import merge_extras
from groundwire.model.value import replace
from groundwire.verify.facts import MEANINGS, CitationFact, ClaimFact, StatementFact, VerifyReport

VERSION = 1
__all__ = ["FAILED", "VERIFICATION", "encode_report", "explain_failure", "with_report"]

FAILED = "citation_failed"
"""The code of the warning for a citation that fails."""
_LONGEST = 600
"""Code points of a passage or a claim in the report."""


def encode_report(report: VerifyReport) -> JsonObject:
    """The whole report."""
    failures = {id(fact) for fact in report.failures}
    return {
        "version": VERSION,
        "ok": report.ok,
        "counts": {str(standing): count for standing, count in report.counts().items()},
        "citations": [_encode_fact(fact, fails=id(fact) in failures) for fact in report.facts],
    }


def _encode_fact(fact: CitationFact, *, fails: bool) -> JsonObject:
    return _without_empty(
        {
            "citation": fact.citation,
            "start": fact.span.start if fact.span else None,
            "end": fact.span.end if fact.span else None,
            "claim": fact.claim[:_LONGEST],
            "url": fact.url,
            "standing": fact.standing,
            "fails": fails,
            "allowed": fact.allowed,
            "address": _without_empty(
                {
                    "verdict": fact.address.verdict,
                    "evidence": fact.address.evidence,
                    "target": fact.address.target,
                    "origin": fact.address.origin,
                    "cut": fact.address.is_cut or None,
                }
            ),
            "quote": _without_empty(
                {
                    "verdict": fact.quote.verdict,
                    "found": fact.quote.found[:_LONGEST],
                    "place": fact.quote.place,
                    "changes": [list(change) for change in fact.quote.changes],
                }
            ),
            "claimed": _encode_claim(fact.claimed),
        }
    )


def _encode_claim(claim: ClaimFact) -> JsonObject:
    return _without_empty(
        {
            "verdict": claim.verdict,
            "statements": [_encode_statement(statement) for statement in claim.statements],
            "model": claim.model,
            "model_quote": claim.model_quote[:_LONGEST],
        }
    )


def _encode_statement(statement: StatementFact) -> JsonObject:
    return _without_empty(
        {
            "text": statement.text[:_LONGEST],
            "verdict": statement.verdict,
            "found": list(statement.found),
            "missing": list(statement.missing),
            "passage": statement.passage[:_LONGEST],
            "place": statement.place,
            "claimed": statement.claimed,
            "stated": statement.stated,
            "note": statement.note,
        }
    )


def _without_empty(body: JsonObject) -> JsonObject:
    return {name: item for name, item in body.items() if item not in (None, "", [])}


def with_report(answer: Answer, report: VerifyReport) -> Answer:
    """The answer with the report in its extras, and a warning for each citation that fails."""
    warnings = tuple(Warned(FAILED, explain_failure(fact)) for fact in report.failures)
    return replace(
        answer,
        extras=merge_extras(answer.extras, {FIELD: {VERIFICATION: encode_report(report)}}),
        warnings=(*answer.warnings, *warnings),
    )


def explain_failure(fact: CitationFact) -> str:
    """Why a citation fails, in one sentence."""
    reasons = [reason for reason in (_address(fact), _quote(fact), _claim(fact), _policy(fact)) if reason]
    return f"{fact.url or fact.title or 'a source without an address'}: {'; '.join(reasons)}"


def _address(fact: CitationFact) -> str:
    if fact.address.verdict in ("gone", "no_such_host"):
        return f"{MEANINGS[fact.address.verdict]} ({fact.address.evidence})"
    return ""


def _quote(fact: CitationFact) -> str:
    return (
        f"the quote is {MEANINGS[fact.quote.verdict]}" if fact.quote.verdict in ("absent", "hidden") else ""
    )


def _claim(fact: CitationFact) -> str:
    verdict = fact.claimed.verdict
    if verdict in ("other_value", "other_name"):
        statement = next(item for item in fact.claimed.statements if item.verdict == verdict)
        return f"the claim says “{statement.claimed}”, the page says “{statement.stated}”"
    if verdict in ("negated", "hidden_only", "absent", "model_rejected"):
        return (
            f"“{_shortened(fact.claim)}” is {MEANINGS[verdict]}" if verdict == "absent" else MEANINGS[verdict]
        )
    return ""


def _policy(fact: CitationFact) -> str:
    return "" if fact.allowed else "the site is not among the allowed ones"


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"
