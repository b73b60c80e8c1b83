"""Answers in the documented shapes of vendors are decoded as their documentation says."""

from __future__ import annotations

import pytest

from tests.contracts.documented import DOCUMENTED, DocumentedAnswer
from tests.contracts.recorded.catalogue import answer_of


@pytest.mark.parametrize("documented", DOCUMENTED, ids=lambda documented: documented.vendor)
def test_text_citations_and_queries_are_decoded(documented: DocumentedAnswer) -> None:
    for recording in documented.recordings():
        answer = answer_of(recording)
        cited = {
            (answer.text[slice(*citation.span)] if citation.span else "", item.source.url)
            for citation in answer.citations
            for item in citation.evidence
        }
        assert (answer.text, cited) == (documented.text, {*documented.cited}), recording.name
        assert tuple(search.query for search in answer.searches) == documented.queries, recording.name
        assert (answer.finish, answer.error, answer.warnings) == ("stop", None, ()), recording.name
        assert (answer.usage.input_tokens, answer.usage.output_tokens) == (11, 7), recording.name
