"""Lighthouse against the chat page on loopback: performance, accessibility and best practices, 0 to 100.

Installs Lighthouse from npm into the virtual environment on first use. `--least 95` fails if a score is
lower. The page is served with a scripted answer; Lighthouse simulates a slow network and processor.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".venv" / "lighthouse"
PACKAGE = "lighthouse@12.8.2"
CHROMIUM = "/usr/bin/chromium"
CHROMIUM_FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-background-networking"
CATEGORIES = ("performance", "accessibility", "best-practices")
SECONDS = 300.0
PATHS = ("/", "/chat/s", "/settings")


def install() -> Path:
    """The program; it is installed if it is missing."""
    program = FOLDER / "node_modules" / ".bin" / "lighthouse"
    npm = shutil.which("npm")
    if not program.exists():
        if npm is None:
            sys.exit("npm is missing: install Node 20 or newer")
        command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(FOLDER), PACKAGE]
        subprocess.run(command, check=True, timeout=SECONDS)
    return program


async def measure(program: Path, url: str, form: str) -> dict[str, int]:
    """The scores of one page, as a phone or a desktop computer."""
    command = [
        *(str(program), url, "--quiet", "--output=json", f"--chrome-flags={CHROMIUM_FLAGS}"),
        f"--only-categories={','.join(CATEGORIES)}",
        *(["--preset=desktop"] if form == "desktop" else []),
    ]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=subprocess.PIPE,
        env={"CHROME_PATH": CHROMIUM, "PATH": "/usr/bin:/bin:/usr/local/bin"},
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    except TimeoutError:
        process.kill()
        raise
    report = json.loads(output)
    for audit in report["audits"].values():
        if audit["score"] is not None and audit["score"] < 0.9 and audit["scoreDisplayMode"] != "informative":
            print(f"    {audit['id']}: {audit.get('displayValue', audit['title'])}")
    return {name: round(100 * (report["categories"][name]["score"] or 0)) for name in CATEGORIES}


async def main(arguments: list[str]) -> int:
    """Print a row for each page; returns 1 if a score is too low."""
    sys.path.insert(0, str(ROOT))
    from tests.faces.web.serving import running_page  # noqa: PLC0415  needs the checkout on sys.path
    from tests.faces.web.trust import store_answer, trust_answer  # noqa: PLC0415

    least = int(arguments[arguments.index("--least") + 1]) if "--least" in arguments else 0
    program = install()
    lowest = 100
    print(f"{'page':<12} {'form':<9}", *(f"{name:>15}" for name in CATEGORIES))
    with TemporaryDirectory() as data:
        async with running_page(Path(data), {}) as served:
            store_answer(served.store, trust_answer())
            for path in PATHS:
                for form in ("phone", "desktop"):
                    scores = await measure(program, served.url + path, form)
                    lowest = min(lowest, *scores.values())
                    print(
                        f"{path:<12} {form:<9}", *(f"{scores[name]:>15}" for name in CATEGORIES), flush=True
                    )
    return int(lowest < least)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
