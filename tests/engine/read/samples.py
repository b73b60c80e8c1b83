"""Documents made for the tests."""

from __future__ import annotations

import re

ARTICLE = """<!DOCTYPE html>
<html lang="de-AT">
<head>
  <meta charset="utf-8">
  <title>Die Donau – Flüsse</title>
  <meta property="article:published_time" content="2024-05-03T10:00:00+02:00">
  <link rel="canonical" href="/fluesse/donau">
  <style>p { color: red }</style>
  <script>var hidden = "script words";</script>
</head>
<body>
  <header>Kopf der Seite</header>
  <nav><ul><li><a href="/">Start</a></li><li><a href="/fluesse">Flüsse</a></li></ul></nav>
  <main>
    <h1>Die Donau<a class="headerlink" href="#donau">¶</a></h1>
    <p>Die Donau ist mit <b>2857 km</b> der zweitlängste Fluss
       in Europa,<br>nach der <a href="wolga.html">Wolga</a>.</p>
    <h2>Länder</h2>
    <ul><li><p>Deutschland</p></li><li>Österreich<ul><li>Wien</li></ul></li></ul>
    <table>
      <thead><tr><th>Stadt</th><th>Einwohner</th></tr></thead>
      <tbody><tr><td><p>Wien</p></td><td>2 005 760</td></tr><tr><td>Ulm</td><td>129 942</td></tr></tbody>
    </table>
    <pre>def mündung():
    return  "Schwarzes Meer"
</pre>
    <p hidden>versteckt</p><p style="display: none">unsichtbar</p><p aria-hidden="true">stumm</p>
    <aside>Werbung</aside>
    <p>Sie entsteht durch den Zusammenfluss von Brigach und Breg in Donaueschingen und mündet nach langem
       Lauf in das Schwarze Meer, wo sie ein großes Delta bildet, das zum Weltnaturerbe gehört.</p>
  </main>
  <footer>Impressum</footer>
</body>
</html>
"""
ARTICLE_TEXT = """Die Donau

Die Donau ist mit 2857 km der zweitlängste Fluss in Europa,
nach der Wolga.

Länder

Deutschland
Österreich
Wien

Stadt	Einwohner
Wien	2 005 760
Ulm	129 942

def mündung():
    return  "Schwarzes Meer"

Sie entsteht durch den Zusammenfluss von Brigach und Breg in Donaueschingen und mündet nach langem \
Lauf in das Schwarze Meer, wo sie ein großes Delta bildet, das zum Weltnaturerbe gehört."""


def pdf(*pages: str, title: str = "") -> bytes:
    """A minimal PDF: one line of Latin text per page, uncompressed."""
    about = f"/Title ({title}) /CreationDate (D:20230405060708Z)".encode("latin-1")
    kids = " ".join(f"{3 + 2 * number} 0 R" for number in range(len(pages)))
    font = 3 + 2 * len(pages)
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
    ]
    for number, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode("latin-1")
        bodies.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {4 + 2 * number} 0 R "
            f"/Resources << /Font << /F1 {font} 0 R >> >> >>".encode()
        )
        bodies.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    bodies.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    bodies.append(b"<< %s >>" % about)
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(bodies, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer << /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (len(bodies) + 1, len(bodies))
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def words(text: str) -> list[str]:
    """The words of a text."""
    return re.findall(r"\w+", text)
