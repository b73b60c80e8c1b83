"""Temporary access keys of AWS: from a single sign-on, a role, a program, or the container's service.

| source | set by |
|---|---|
| web identity (EKS) | `AWS_WEB_IDENTITY_TOKEN_FILE` and `AWS_ROLE_ARN` |
| role | `role_arn` and `source_profile` of a profile |
| single sign-on | `sso_session` or `sso_start_url` of a profile, after `aws sso login` |
| program | `credential_process` of a profile |
| container (ECS, EKS Pod Identity) | `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` or `…_FULL_URI` |

Keys are kept until a minute before they expire.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha1
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import urlencode

from groundwire.credentials.redact import UnshownHeaders
from groundwire.credentials.secret import sendable
from groundwire.dialects.fields import Fields
from groundwire.dialects.json import load_json
from groundwire.errors import AuthRejected, ConfigError, UpstreamWireError, WireError
from groundwire.providers.aws_credentials import FoundKeys, find_keys, find_region, profile_named
from groundwire.providers.aws_signature import AwsKeys, sign
from groundwire.transport.http import Deadlines, Http, HttpRequest

Kind: TypeAlias = Literal["web identity", "role", "sso", "program", "container"]
_DEADLINES = Deadlines(connect=5.0, first_byte=10.0, idle=10.0, total=15.0)
_PROGRAM_SECONDS = 30.0
_MARGIN = 60.0
_SESSION_NAME = "groundwire"
_CONTAINER_HOST = "http://169.254.170.2"
_XML_FIELD = re.compile(r"<(AccessKeyId|SecretAccessKey|SessionToken|Expiration)>([^<]+)</")


class AwsLogin(NamedTuple):
    """A source of temporary keys, and the profile that names it."""

    kind: Kind
    origin: str
    profile: Mapping[str, str]


class _Temporary(NamedTuple):
    keys: AwsKeys
    expires: float


def find_login(env: Mapping[str, str], home: str) -> AwsLogin | None:
    """The source of temporary keys; None if there is none. Nothing is requested.

    Raises `ConfigError` for a profile that gets its keys in another way.
    """
    if env.get("AWS_WEB_IDENTITY_TOKEN_FILE") and env.get("AWS_ROLE_ARN"):
        return AwsLogin("web identity", "environment AWS_WEB_IDENTITY_TOKEN_FILE", {})
    name, profile = profile_named(env, home)
    fields: tuple[tuple[str, Kind], ...] = (
        ("role_arn", "role"),
        ("sso_session", "sso"),
        ("sso_start_url", "sso"),
        ("credential_process", "program"),
    )
    for field, kind in fields:
        if profile.get(field) and (kind != "role" or profile.get("source_profile")):
            return AwsLogin(kind, f"the AWS profile {name} ({kind})", profile)
    if _container_url(env):
        return AwsLogin("container", "the credentials of the container", {})
    if any(field in profile for field in ("role_arn", "login_session")):
        raise ConfigError(
            f"the AWS profile {name} has no access key of its own; run "
            f'`eval "$(aws configure export-credentials --profile {name} --format env)"` first'
        )
    return None


class AwsLogins:
    """Requests temporary keys, and keeps them while they are valid."""

    def __init__(
        self, http: Http, env: Mapping[str, str], home: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._http = http
        self._env = env
        self._home = home
        self._clock = clock
        self._kept: _Temporary | None = None

    async def keys(self, login: AwsLogin) -> FoundKeys:
        """The keys of a source. Raises `ConfigError` or `AuthRejected` with what to do."""
        if self._kept is None or self._clock() >= self._kept.expires - _MARGIN:
            self._kept = await _REQUESTS[login.kind](self, login)
        return FoundKeys(self._kept.keys, login.origin)

    async def _from_web_identity(self, login: AwsLogin) -> _Temporary:
        env = self._env
        return await self._assume(
            login,
            {
                "Action": "AssumeRoleWithWebIdentity",
                "RoleArn": env["AWS_ROLE_ARN"],
                "RoleSessionName": env.get("AWS_ROLE_SESSION_NAME", "") or _SESSION_NAME,
                "WebIdentityToken": _read(Path(env["AWS_WEB_IDENTITY_TOKEN_FILE"])),
            },
            None,
        )

    async def _from_role(self, login: AwsLogin) -> _Temporary:
        profile = login.profile
        source = {**self._env, "AWS_PROFILE": profile["source_profile"]}
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
            source.pop(name, None)
        found = find_keys(source, self._home)
        if found is None:
            raise ConfigError(
                f"the AWS profile {profile['source_profile']}, the source of {login.origin}, has no access "
                "key of its own"
            )
        fields = {
            "Action": "AssumeRole",
            "RoleArn": profile["role_arn"],
            "RoleSessionName": profile.get("role_session_name", "") or _SESSION_NAME,
            "ExternalId": profile.get("external_id", ""),
            "DurationSeconds": profile.get("duration_seconds", ""),
        }
        return await self._assume(login, fields, found.keys)

    async def _assume(self, login: AwsLogin, fields: Mapping[str, str], keys: AwsKeys | None) -> _Temporary:
        region = find_region(self._env, self._home) or "us-east-1"
        url = self._env.get("AWS_ENDPOINT_URL_STS", "") or f"https://sts.{region}.amazonaws.com"
        form = {**{name: text for name, text in fields.items() if text}, "Version": "2011-06-15"}
        headers = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
        call = HttpRequest("POST", f"{url.rstrip('/')}/", headers, urlencode(form).encode())
        if keys is not None:
            signed = {**headers, **sign(call, keys, region, "sts", self._clock())}
            call = HttpRequest(call.method, call.url, UnshownHeaders(signed), call.body)
        body = await self._answer(call, login)
        found = dict(_XML_FIELD.findall(body.decode("utf-8", "replace")))
        return _temporary(found, login)

    async def _from_sso(self, login: AwsLogin) -> _Temporary:
        profile = login.profile
        session = profile.get("sso_session", "")
        settings = {**profile_named(self._env, self._home, f"sso-session {session}")[1], **profile}
        name = session or profile["sso_start_url"]
        token_file = Path(self._home, ".aws", "sso", "cache", f"{sha1(name.encode()).hexdigest()}.json")  # noqa: S324  the name of a file
        again = f"run `aws sso login` for {login.origin}"
        try:
            token = Fields.of(load_json(token_file.read_bytes(), WireError), WireError)
        except (OSError, WireError):
            raise ConfigError(f"there is no login: {again}") from None
        if _seconds(token.text("expiresAt")) <= self._clock():
            raise ConfigError(f"the login is over: {again}")
        region = settings.get("sso_region", "")
        url = self._env.get("AWS_ENDPOINT_URL_SSO", "") or f"https://portal.sso.{region}.amazonaws.com"
        query = urlencode(
            {"role_name": settings.get("sso_role_name", ""), "account_id": settings.get("sso_account_id", "")}
        )
        headers = UnshownHeaders({"x-amz-sso_bearer_token": token.text("accessToken")})
        call = HttpRequest("GET", f"{url.rstrip('/')}/federation/credentials?{query}", headers)
        body = Fields.of(load_json(await self._answer(call, login), UpstreamWireError), UpstreamWireError)
        found = body.obj("roleCredentials")
        keys = _keys(found.text("accessKeyId"), found.text("secretAccessKey"), found.text("sessionToken"))
        return _Temporary(_checked(keys, login), (found.number("expiration") or 0.0) / 1000)

    async def _from_program(self, login: AwsLogin) -> _Temporary:
        words = shlex.split(login.profile["credential_process"])
        try:
            process = await asyncio.create_subprocess_exec(
                *words, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, env=dict(self._env)
            )
        except (OSError, ValueError):
            raise ConfigError(f"the program of {login.origin} cannot be started") from None
        try:
            async with asyncio.timeout(_PROGRAM_SECONDS):
                output, _ = await process.communicate()
        except TimeoutError:
            raise ConfigError(f"the program of {login.origin} took too long") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise ConfigError(f"the program of {login.origin} failed; run it to see why")
        return _from_json(output, login)

    async def _from_container(self, login: AwsLogin) -> _Temporary:
        env = self._env
        token = env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", "")
        if file := env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"):
            token = _read(Path(file))
        headers = UnshownHeaders({"authorization": token} if token else {})
        return _from_json(await self._answer(HttpRequest("GET", _container_url(env), headers), login), login)

    async def _answer(self, call: HttpRequest, login: AwsLogin) -> bytes:
        async with self._http.open(call, _DEADLINES) as response:
            if response.status != 200:
                raise AuthRejected(
                    f"AWS gave no access key for {login.origin} (HTTP {response.status}). Check that the "
                    "role exists and may be assumed, and log in again",
                    status=response.status,
                )
            return await response.body(_LARGEST)


_LARGEST = 100_000
_REQUESTS = {
    "web identity": AwsLogins._from_web_identity,
    "role": AwsLogins._from_role,
    "sso": AwsLogins._from_sso,
    "program": AwsLogins._from_program,
    "container": AwsLogins._from_container,
}


def _container_url(env: Mapping[str, str]) -> str:
    if path := env.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        return f"{_CONTAINER_HOST}{path}"
    return env.get("AWS_CONTAINER_CREDENTIALS_FULL_URI", "")


def _from_json(data: bytes, login: AwsLogin) -> _Temporary:
    """Keys as programs and containers write them."""
    try:
        found = Fields.of(load_json(data, WireError), WireError)
    except WireError:
        raise ConfigError(f"{login.origin} did not answer with an access key") from None
    names = ("AccessKeyId", "SecretAccessKey", "Expiration")
    token = found.text("SessionToken") or found.text("Token")
    return _temporary({**{name: found.text(name) for name in names}, "SessionToken": token}, login)


def _temporary(found: Mapping[str, str], login: AwsLogin) -> _Temporary:
    fields = (found.get(name, "") for name in ("AccessKeyId", "SecretAccessKey", "SessionToken"))
    expires = found.get("Expiration", "")
    return _Temporary(_checked(_keys(*fields), login), _seconds(expires) if expires else float("inf"))


def _keys(key_id: str, secret: str, token: str) -> AwsKeys | None:
    return AwsKeys(key_id, sendable(secret), sendable(token)) if key_id and secret else None


def _checked(keys: AwsKeys | None, login: AwsLogin) -> AwsKeys:
    if keys is None:
        raise ConfigError(f"{login.origin} did not answer with an access key")
    return keys


def _seconds(moment: str) -> float:
    """The Unix time of an ISO date; zero if it is none."""
    try:
        return datetime.fromisoformat(moment.replace("UTC", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{path} cannot be read") from None
