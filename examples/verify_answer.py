"""Compare the citations of an answer with stored pages: one claim is right, one has another number."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from groundwire import Answer, Citation, Evidence, Groundwire, Source, Span
from groundwire.model import Text
from groundwire.verify.policy import VerifyPolicy

CLAIMS = ("The tower is 324 metres tall.", "The tower was finished in 1887.")
PAGE = "<title>The tower</title><p>The tower is 324 metres tall.</p><p>The tower was finished in 1889.</p>"


def main() -> None:
    source = Source("https://tower.example/facts.html", "The tower")
    text = " ".join(CLAIMS)
    spans = [Span(text.index(claim), text.index(claim) + len(claim)) for claim in CLAIMS]
    answer = Answer((Text(text),), tuple(Citation(span, (Evidence(source),)) for span in spans))
    with TemporaryDirectory() as folder:
        page = Path(folder) / "tower.example" / "facts.html"
        page.parent.mkdir()
        page.write_text(PAGE, "utf-8")
        report = Groundwire().verify(answer, policy=VerifyPolicy(offline=True, folder=folder))
    for claim, fact in zip(CLAIMS, report.facts, strict=True):
        print(f"{fact.standing:<10} {fact.claimed.verdict:<12} {claim}")


if __name__ == "__main__":
    main()
