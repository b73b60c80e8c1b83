"""`groundwire index add package`: installed packages, wheels, source archives, and the download by pip."""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from importlib.metadata import PackageNotFoundError, PathDistribution
from pathlib import Path

import pytest

from groundwire.commands import index_package
from tests.commands.test_index import Shell

pytestmark = pytest.mark.server

USAGE = "# Usage\n\nCall `turn` to turn the crank twice.\n"
METADATA = """Metadata-Version: 2.1
Name: my-thing
Version: 1.2
Description-Content-Type: text/markdown

# Thing

Thing turns the crank of the machine.
"""
BACKEND = """
from pathlib import Path


def prepare_metadata_for_build_wheel(folder, config_settings=None):
    info = Path(folder, "my_thing-1.2.dist-info")
    info.mkdir()
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\\nName: my-thing\\nVersion: 1.2\\n")
    return info.name
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
# Takes the arguments of pip, and has one archive.
FAKE_PIP = """
import shutil, sys
arguments = dict(item.split("=", 1) for item in sys.argv if item.startswith("--") and "=" in item)
assert sys.argv[1] == "download" and sys.argv[-2] == "--" and arguments["--no-binary"] == "my-thing"
if {fails}:
    print("WARNING: retrying", file=sys.stderr)
    print("ERROR: No matching distribution found for " + sys.argv[-1], file=sys.stderr)
    sys.exit(1)
print("Collecting " + sys.argv[-1], flush=True)
shutil.copy({archive!r}, arguments["--dest"])
"""


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setattr("groundwire.faces.cli.live._NOTE_INTERVAL", float("inf"))
    return Shell(tmp_path)


@pytest.fixture
def sdist(tmp_path: Path) -> Path:
    path = tmp_path / "built" / "my_thing-1.2.tar.gz"
    path.parent.mkdir()
    files = {"docs/usage.md": USAGE, "PKG-INFO": METADATA, "pyproject.toml": PROJECT, "backend.py": BACKEND}
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"my_thing-1.2/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "my_thing-1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("my_thing/docs/usage.md", USAGE)
        archive.writestr("my_thing-1.2.dist-info/METADATA", METADATA)
        archive.writestr("my_thing-1.2.dist-info/RECORD", "")
    return path


@pytest.fixture
def site_packages(tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the wheel is installed in, and the only one."""
    folder = tmp_path / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)  # noqa: S202  made above
    names = ("my_thing/docs/usage.md", "my_thing-1.2.dist-info/METADATA")
    info = folder / "my_thing-1.2.dist-info"
    info.joinpath("RECORD").write_text("".join(f"{name},,\n" for name in names))

    def found(name: str) -> PathDistribution:
        if name != "my-thing":
            raise PackageNotFoundError(name)
        return PathDistribution(info)

    monkeypatch.setattr(index_package, "distribution", found)
    return folder


def pretend_pip(monkeypatch: pytest.MonkeyPatch, folder: Path, archive: Path, *, fails: bool) -> None:
    script = folder / "pip.py"
    script.write_text(FAKE_PIP.format(fails=fails, archive=str(archive)))
    monkeypatch.setattr(index_package, "PIP", (sys.executable, "-I", "-S", str(script)))


def test_the_documents_of_an_installed_package_are_stored_under_its_name(
    shell: Shell, site_packages: Path
) -> None:
    assert shell.run("add", "package", "my-thing") == 0
    assert shell.out == "2 added, 0 updated, 0 unchanged\n"
    assert shell.run("list", "--collection", "my-thing") == 0
    info = site_packages / "my_thing-1.2.dist-info"
    assert [line.split()[0] for line in shell.out.splitlines()] == [
        f"file://{info}/METADATA",
        f"file://{site_packages}/my_thing/docs/usage.md",
    ]
    assert shell.run("show", f"file://{site_packages}/my_thing/docs/usage.md") == 0
    assert "turn the crank twice" in shell.out


def test_wheels_and_source_archives_are_named_by_their_path(shell: Shell, wheel: Path, sdist: Path) -> None:
    assert shell.run("add", "package", wheel.name, str(sdist), "--base-url", "https://thing.example/") == 0
    assert shell.run("list", "--collection", "my_thing") == 0
    assert [line.split()[0] for line in shell.out.splitlines()] == [
        "https://thing.example/docs/usage.md",
        "https://thing.example/my_thing-1.2.dist-info/METADATA",
        "https://thing.example/my_thing/docs/usage.md",
    ]


def test_a_source_archive_is_downloaded_and_kept(
    shell: Shell, sdist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_pip(monkeypatch, tmp_path, sdist, fails=False)
    assert shell.run("add", "package", "my-thing==1.2", "--download") == 0
    kept = tmp_path / "data" / "downloads" / sdist.name
    assert shell.run("show", f"file://{kept}/docs/usage.md") == 0
    assert [path.name for path in kept.parent.iterdir()] == [sdist.name]
    assert kept.read_bytes() == sdist.read_bytes()


def test_a_failed_download_is_an_error_of_the_network_that_says_what_to_do(
    shell: Shell, sdist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_pip(monkeypatch, tmp_path, sdist, fails=True)
    assert shell.run("add", "package", "my-thing", "--download") == 5
    assert "No matching distribution found for my-thing. Download it elsewhere and run" in shell.err
    assert "retrying" not in shell.err


@pytest.mark.thorough
@pytest.mark.parametrize("is_there", [True, False])
def test_pip_itself_finds_a_source_archive(
    shell: Shell, sdist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    config = tmp_path / "pip.conf"
    folder = sdist.parent if is_there else tmp_path
    config.write_text(f"[global]\nno-index = true\nfind-links = {folder}\n")
    monkeypatch.setattr(index_package, "PIP", ("env", f"PIP_CONFIG_FILE={config}", *index_package.PIP))
    assert shell.run("add", "package", "my-thing", "--download") == (0 if is_there else 5)
    assert shell.run("list", "--collection", "my_thing") == (0 if is_there else 3)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("package",), "needs the name of a package"),
        (
            ("package", "no-such-thing"),
            "is not installed. Name its wheel or source archive, or add --download",
        ),
        (("package", "a @ file:///x", "--download"), "is neither the name of a package nor a wheel"),
        (("package", "https://a.example/x", "--download"), "is neither the name of a package nor a wheel"),
        (("package", "lxml", "--max-depth", "2"), "--max-depth cannot be used with `index add package`"),
        (("package", "lxml", "--all"), "--all needs `index add python`"),
        (("package", "thing-1.2.tar.gz"), "there is no file 'thing-1.2.tar.gz'"),
        (("docs", "--download"), "--download needs `index add package`"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(shell: Shell, words: tuple[str, ...], reason: str) -> None:
    assert shell.run("add", *words) == 2
    assert reason in shell.err
