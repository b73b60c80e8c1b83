"""A small handbook with code, lists, tables and dates, in English and German, for tests of structure."""

from __future__ import annotations

from groundwire.engine.pages import Page
from groundwire.engine.read import Document, read

GUIDE_URL = "https://handbook.example/guide.md"
GUIDE = """# Deployment guide

Everything about shipping our services.

## Install the client

The client needs Python 3.11. To install it, run:

```sh
pip install acme-client
acme login --user YOU
```

Afterwards `acme --version` shows the version.

## Roll back a release

A release can be rolled back for 14 days, e.g. after a failed test.

1. Open the release page.
2. Choose *Roll back*.
3. Confirm with your key.

## Travel rates

The daily rates for business trips are:

| City | Rate | Hotel |
|---|---|---|
| Berlin | 40 EUR | 120 EUR |
| Paris | 55 EUR | 160 EUR |
| Wien | 45 EUR | 110 EUR |
"""

LEAVE_URL = "https://handbook.example/urlaub.html"
LEAVE = """<html lang="de"><title>Urlaub</title><main>
<section id="anspruch"><h2>Anspruch<a href="#anspruch">¶</a></h2>
<p>Alle Beschäftigten haben 30 Tage Urlaub im Jahr. Der Antrag ist
bis zum 2. Werktag des Monats zu stellen.</p>
</section>
<section id="krankheit"><h2>Krankheit</h2>
<p>Wer krank wird, meldet sich vor 9 Uhr. Ein Attest ist ab dem 3. Tag nötig.</p>
<ul><li>Telefon: 1234</li><li>Mail: krank@handbook.example</li></ul>
</section>
<section id="elternzeit"><h2>Elternzeit</h2><p>Elternzeit wird sieben Wochen vorher beantragt,
formlos bei der Personalabteilung, die auch über Teilzeit während der Elternzeit berät.</p>
</section></main></html>"""


def page_of(text: str, media_type: str, url: str) -> Page:
    """The page of a document that can be read."""
    page = read(Document(text.encode(), media_type, url)).page
    assert page is not None
    return page


def guide() -> Page:
    """The deployment guide."""
    return page_of(GUIDE, "text/markdown", GUIDE_URL)


def leave() -> Page:
    """The German page about leave."""
    return page_of(LEAVE, "text/html", LEAVE_URL)
