"""Access tokens for Google Cloud: a token of the environment, or application default credentials.

The default credentials are a file: of a user, made by `gcloud auth application-default login`, or of a
service account, named by `GOOGLE_APPLICATION_CREDENTIALS`. On a machine of Google Cloud (Compute Engine,
Cloud Run, GKE), they are those of its service account. A token is kept until a minute before it expires. With
a file, tokens are requested from Google's own address, whatever the file says.
"""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlencode

from groundwire.credentials.secret import Credential, sendable
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import AuthRejected, ConfigError, UpstreamWireError, WireError
from groundwire.model import JsonObject
from groundwire.providers.google_cloud import TOKEN_VARIABLES
from groundwire.transport.http import Deadlines, Http, HttpRequest

TOKEN_URL = "https://oauth2.googleapis.com/token"  # noqa: S105  an address
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_DEADLINES = Deadlines(connect=5.0, first_byte=10.0, idle=10.0, total=15.0)
_LIFETIME = 3600
_MACHINE = "the service account of this machine"
_MARGIN = 60.0


_METADATA_HOST = "metadata.google.internal"
_METADATA_PATH = "/computeMetadata/v1/instance/service-accounts/default/token"
_METADATA_DEADLINES = Deadlines(connect=2.0, first_byte=5.0, idle=5.0, total=8.0)
_PRODUCT_FILE = Path("/sys/class/dmi/id/product_name")


def metadata_url(env: Mapping[str, str], product_file: Path = _PRODUCT_FILE) -> str:
    """Where a machine of Google Cloud gets its tokens; empty on any other machine. Nothing is requested."""
    if env.get("NO_GCE_CHECK", "").lower() == "true":
        return ""
    host = env.get("GCE_METADATA_HOST", "")
    if host or env.get("K_SERVICE") or _is_googles(product_file):
        return f"http://{host or _METADATA_HOST}{_METADATA_PATH}"
    return ""


def _is_googles(product_file: Path) -> bool:
    try:
        return product_file.read_text(encoding="utf-8").startswith("Google")
    except (OSError, UnicodeDecodeError):
        return False


def credentials_file(env: Mapping[str, str], home: str) -> Path:
    """Where the default credentials are."""
    named = env.get("GOOGLE_APPLICATION_CREDENTIALS", "")
    if named:
        return Path(named)
    folder = env.get("CLOUDSDK_CONFIG", "") or f"{home}/.config/gcloud"
    return Path(folder) / "application_default_credentials.json"


class GoogleTokens:
    """Finds or requests an access token."""

    def __init__(
        self,
        http: Http,
        env: Mapping[str, str],
        home: str,
        clock: Callable[[], float] = time.time,
        url: str = TOKEN_URL,
    ) -> None:
        self._http = http
        self._env = env
        self._home = home
        self._clock = clock
        self._url = url
        self._token: Credential | None = None
        self._expires = 0.0

    @property
    def origin(self) -> str:
        """Where a token comes from; empty if there is nothing."""
        variable = next((name for name in TOKEN_VARIABLES if self._env.get(name, "").strip()), "")
        if variable:
            return f"environment {variable}"
        path = credentials_file(self._env, self._home)
        if path.is_file():
            return str(path)
        return _MACHINE if metadata_url(self._env) else ""

    async def credential(self) -> Credential | None:
        """An access token; None if there is nothing to get one with."""
        for name in TOKEN_VARIABLES:
            if text := self._env.get(name, "").strip():
                return Credential(sendable(text), "api", f"environment {name}")
        path = credentials_file(self._env, self._home)
        if self._token is not None and self._clock() < self._expires and self.origin == self._token.origin:
            return self._token
        if path.is_file():
            body = urlencode(_grant(_read(path), int(self._clock()))).encode()
            headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
            await self._request(HttpRequest("POST", self._url, headers, body), _DEADLINES, str(path))
        elif url := metadata_url(self._env):
            call = HttpRequest("GET", url, {"metadata-flavor": "Google"})
            await self._request(call, _METADATA_DEADLINES, _MACHINE)
        else:
            return None
        return self._token

    async def _request(self, call: HttpRequest, deadlines: Deadlines, origin: str) -> None:
        now = self._clock()
        async with self._http.open(call, deadlines) as response:
            if response.status != 200:
                how = (
                    "Give it one with access to Vertex AI."
                    if origin == _MACHINE
                    else "Log in again with `gcloud auth application-default login`."
                )
                raise AuthRejected(
                    f"Google refused the credentials in {origin} (HTTP {response.status}). {how}",
                    status=response.status,
                )
            answer = Fields.of(load_json(await response.body(), UpstreamWireError), UpstreamWireError)
        self._token = Credential(sendable(answer.text("access_token")), "api", origin)
        self._expires = now + (answer.number("expires_in") or _LIFETIME) - _MARGIN


def _read(path: Path) -> Fields:
    try:
        return Fields.of(load_json(path.read_bytes(), WireError), WireError)
    except (OSError, WireError):
        raise ConfigError(f"{path} cannot be read as credentials of Google Cloud") from None


def _grant(account: Fields, now: int) -> Mapping[str, str]:
    match account.text("type"):
        case "authorized_user":
            fields = ("client_id", "client_secret", "refresh_token")
            return {"grant_type": "refresh_token", **{name: account.text(name) for name in fields}}
        case "service_account":
            return {"grant_type": _GRANT, "assertion": _signed(account, now)}
        case kind:
            raise ConfigError(
                f"credentials of the type {kind!r} are not supported; set VERTEX_ACCESS_TOKEN to the output "
                "of `gcloud auth print-access-token`"
            )


def _signed(account: Fields, now: int) -> str:
    """A JSON Web Token of the service account, signed with RS256."""
    try:
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415  optional
        from cryptography.hazmat.primitives.asymmetric import padding, rsa  # noqa: PLC0415
    except ImportError:
        raise ConfigError(
            "a service account of Google Cloud needs the package cryptography: install it, or set "
            "VERTEX_ACCESS_TOKEN"
        ) from None
    header: JsonObject = {"alg": "RS256", "typ": "JWT", "kid": account.text("private_key_id")}
    claims: JsonObject = {
        "iss": account.text("client_email"),
        "scope": _SCOPE,
        "aud": TOKEN_URL,
        "iat": now,
        "exp": now + _LIFETIME,
    }
    message = f"{_encoded(dump_json(header).encode())}.{_encoded(dump_json(claims).encode())}"
    try:
        key = serialization.load_pem_private_key(account.text("private_key").encode(), None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ConfigError("the private key of the service account cannot be read")
    signature = key.sign(message.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{message}.{_encoded(signature)}"


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
