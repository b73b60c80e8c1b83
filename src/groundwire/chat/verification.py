"""The verification of a stored answer: where its report is kept with the answer.

It has a place of its own in the extras. The field `groundwire` may come from a provider that is a gateway
itself, and what it says about its own citations is not shown as if it had been checked here.
"""

from __future__ import annotations

from groundwire.chat.questions import EXTRAS
from groundwire.model import Answer, JsonObject
from groundwire.model.value import replace
from groundwire.verify.encode import encode_report
from groundwire.verify.facts import VerifyReport

_VERIFICATION = "verification"
_CHECKED = "checked"


def with_verification(answer: Answer, report: VerifyReport, checked: str) -> Answer:
    """The answer with the report and the time of the check; a report from before is replaced."""
    chat: JsonObject = {
        **answer.extras.get(EXTRAS, {}),
        _VERIFICATION: {_CHECKED: checked, **encode_report(report)},
    }
    return replace(answer, extras={**answer.extras, EXTRAS: chat})


def verification_of(answer: Answer) -> JsonObject | None:
    """The report that is kept with an answer."""
    found = answer.extras.get(EXTRAS, {}).get(_VERIFICATION)
    return found if isinstance(found, dict) else None


def checked_at(answer: Answer) -> str:
    """When the answer was verified; empty if it was not."""
    at = (verification_of(answer) or {}).get(_CHECKED)
    return at if isinstance(at, str) else ""
