"""Downloads of sources as a bibliography, for one answer or a whole session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from groundwire.dialects.json import dump_json
from groundwire.model import Answer, Source
from groundwire.model.value import value
from groundwire.store.base import StoredMessage
from groundwire.text.bibliography import bibtex, csl_items, markdown_list, ris
from groundwire.text.sanitise import escape_invisible_json
from groundwire.text.sources import number_answer, number_sources


@value
class BibliographyForm:
    """A format of bibliographies."""

    title: str
    suffix: str
    content_type: str
    write: Callable[[Sequence[Source], str], str]


def _csl(sources: Sequence[Source], accessed: str) -> str:
    return escape_invisible_json(dump_json(csl_items(sources, accessed))) + "\n"


BIBLIOGRAPHIES: Mapping[str, BibliographyForm] = {
    "markdown": BibliographyForm("Markdown", ".md", "text/markdown", markdown_list),
    "bibtex": BibliographyForm("BibTeX", ".bib", "application/x-bibtex", bibtex),
    "ris": BibliographyForm("RIS", ".ris", "application/x-research-info-systems", ris),
    "csl-json": BibliographyForm("CSL-JSON", ".json", "application/vnd.citationstyles.csl+json", _csl),
}


def bibliography(messages: Sequence[StoredMessage], form: BibliographyForm) -> str:
    """The sources of the answers, each page once. They were accessed on the day of the last answer."""
    answers = [message for message in messages if isinstance(message.content, Answer)]
    found = (
        source
        for message in answers
        if isinstance(message.content, Answer)
        for source in number_answer(message.content).sources
        if source.url or source.title
    )
    accessed = answers[-1].created[:10] if answers else ""
    return form.write(number_sources(found).sources, accessed)
