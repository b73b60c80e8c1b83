"""A documentation of two pages, as Sphinx writes it."""

from __future__ import annotations

from pathlib import Path

OS_PAGE = """<!DOCTYPE html>
<html><head><title>os — Operating system — Python 3.12.1 documentation</title></head><body>
<div class="related" role="navigation">index</div>
<div class="body" role="main">
<section id="module-os">
<h1>os — Operating system<a class="headerlink" href="#module-os">¶</a></h1>
<p>A portable way of using the operating system.</p>
<section id="files-and-directories">
<h2><span class="section-number">16.1.5. </span>Files<a class="headerlink" href="#f">¶</a></h2>
<p>These functions change files.</p>
<dl class="py function">
<dt class="sig sig-object py" id="os.walk">
<span class="sig-prename descclassname">os.</span><span class="sig-name descname">walk</span>(<em>top</em>, \
<em>topdown=True</em>)<a class="headerlink" href="#os.walk">¶</a></dt>
<dd><p>Generate the file names in a directory tree.</p>
<pre>for root, dirs, files in os.walk('.'):
    print(root)
</pre></dd></dl>
<p>After them, more.</p>
<dl class="py class">
<dt class="sig sig-object py" id="os.DirEntry">
<em class="property">class </em><span class="sig-prename descclassname">os.</span>\
<span class="sig-name descname">DirEntry</span><a class="headerlink" href="#os.DirEntry">¶</a></dt>
<dd><p>What scandir yields.</p>
<dl class="py attribute">
<dt class="sig sig-object py" id="os.DirEntry.name">
<span class="sig-prename descclassname">os.DirEntry.</span><span class="sig-name descname">name</span></dt>
<dd><p>The entry’s base filename.</p></dd></dl>
</dd></dl>
</section></section></div></body></html>
"""
ERRORS_PAGE = """<title>Errors</title><main><section id="errors"><h1>8. Errors</h1>
<p>Errors detected during execution are called exceptions.</p></section></main>"""


def write_documentation(folder: Path, version: str = "3.12") -> Path:
    """Writes the pages, and others that are not indexed."""
    pages = {
        "library/os.html": OS_PAGE,
        "tutorial/errors.html": ERRORS_PAGE,
        "c-api/intro.html": ERRORS_PAGE.replace("exceptions", "exceptions in C too"),
        "genindex-A.html": ERRORS_PAGE,
        "whatsnew/changelog.html": ERRORS_PAGE,
        "search.html": ERRORS_PAGE,
    }
    for path, markup in pages.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(markup, "utf-8")
    head = f"# Sphinx inventory version 2\n# Project: Python\n# Version: {version}\n"
    (folder / "objects.inv").write_bytes(head.encode())
    return folder
