"""Temporary keys of AWS, as botocore gets them from the same files, variables and services."""

from __future__ import annotations

import asyncio
import json
import sys
from hashlib import sha1
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from botocore.credentials import SSOProvider
from botocore.session import Session
from botocore.tokens import SSOTokenProvider

from groundwire.errors import AuthRejected, ConfigError
from groundwire.model import JsonObject
from groundwire.providers.aws_credentials import find_keys
from groundwire.providers.aws_login import AwsLogins, find_login
from groundwire.testing.script import ScriptedResponse, json_response
from groundwire.testing.upstream import Upstream
from groundwire.transport.http import Http

pytestmark = pytest.mark.server

KEYS = ("ASIATEMPORARY", "secret/of+the=role", "token-of-the-role")
EXPIRES = "2099-01-02T03:04:05Z"
JSON_KEYS: JsonObject = {
    "AccessKeyId": KEYS[0],
    "SecretAccessKey": KEYS[1],
    "Token": KEYS[2],
    "Expiration": EXPIRES,
}
CONFIG = f"""
[profile base]
aws_access_key_id = AKIDBASE
aws_secret_access_key = base-secret
[profile role]
role_arn = arn:aws:iam::123456789012:role/reader
source_profile = base
external_id = outside
[profile sso]
sso_session = corp
sso_account_id = 123456789012
sso_role_name = Reader
[sso-session corp]
sso_region = eu-west-1
sso_start_url = https://corp.awsapps.example/start
[profile program]
credential_process = {sys.executable} "{{program}}"
[profile browser]
login_session = arn:aws:iam::123456789012:user/me
"""
PROGRAM = f"import json; print(json.dumps({ {**JSON_KEYS, 'Version': 1, 'SessionToken': KEYS[2]}!r}))"


def assumed(action: str) -> ScriptedResponse:
    key_id, secret, token = KEYS
    xml = (
        f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result>'
        f"<Credentials><AccessKeyId>{key_id}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey>"
        f"<SessionToken>{token}</SessionToken><Expiration>{EXPIRES}</Expiration></Credentials>"
        f"<AssumedRoleUser><Arn>a</Arn><AssumedRoleId>i</AssumedRoleId></AssumedRoleUser>"
        f"</{action}Result></{action}Response>"
    )
    return ScriptedResponse(headers={"content-type": "text/xml"}, body=xml.encode())


SSO = json_response(
    {
        "roleCredentials": {
            "accessKeyId": KEYS[0],
            "secretAccessKey": KEYS[1],
            "sessionToken": KEYS[2],
            "expiration": 4070919845000,
        }
    }
)
SOURCES = {
    "web identity": ({"AWS_ROLE_ARN": "arn:aws:iam::1:role/pod"}, assumed("AssumeRoleWithWebIdentity")),
    "role": ({"AWS_PROFILE": "role"}, assumed("AssumeRole")),
    "sso": ({"AWS_PROFILE": "sso"}, SSO),
    "program": ({"AWS_PROFILE": "program"}, json_response({}, 500)),
    "container": ({"AWS_CONTAINER_AUTHORIZATION_TOKEN": "pod-token"}, json_response(JSON_KEYS)),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    cache = tmp_path / ".aws" / "sso" / "cache"
    cache.mkdir(parents=True)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    (tmp_path / ".aws" / "config").write_text(CONFIG.replace("{program}", str(program)))
    (tmp_path / "token").write_text("web-token")
    login(tmp_path, EXPIRES)
    return tmp_path


def login(home: Path, expires: str) -> None:
    """What `aws sso login` leaves."""
    name = sha1(b"corp").hexdigest()  # noqa: S324  the name of a file
    token = {"accessToken": "sso-token", "expiresAt": expires, "region": "eu-west-1"}
    (home / ".aws" / "sso" / "cache" / f"{name}.json").write_text(json.dumps(token))


def environment(source: str, home: Path, url: str) -> dict[str, str]:
    env = {"HOME": str(home), "AWS_DEFAULT_REGION": "eu-central-1", "AWS_EC2_METADATA_DISABLED": "true"}
    env |= {"AWS_ENDPOINT_URL_STS": url, "AWS_ENDPOINT_URL_SSO": url, **SOURCES[source][0]}
    if source == "web identity":
        env["AWS_WEB_IDENTITY_TOKEN_FILE"] = str(home / "token")
    if source == "container":
        env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = f"{url}/role"
    return env


@pytest.mark.parametrize("source", SOURCES)
async def test_keys_and_requests_are_those_of_botocore(
    source: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Upstream(SOURCES[source][1]) as upstream, Http({}) as http:
        env = environment(source, home, upstream.url)
        found = find_login(env, str(home))
        assert found is not None
        assert (found.kind, find_keys(env, str(home))) == (source, None)
        logins = AwsLogins(http, env, str(home))
        keys = (await logins.keys(found)).keys
        await logins.keys(found)  # kept until it expires
        for name, text in env.items():
            monkeypatch.setenv(name, text)
        for reader in (SSOProvider, SSOTokenProvider):  # they look for the folder when they are imported
            monkeypatch.setattr(reader, "_SSO_TOKEN_CACHE_DIR", str(home / ".aws" / "sso" / "cache"))
        theirs = await asyncio.to_thread(lambda: Session().get_credentials().get_frozen_credentials())
        requests = upstream.requests
    assert (keys.key_id, keys.secret.reveal(), keys.token.reveal()) == KEYS == theirs[:3]
    if source == "program":
        assert not requests
        return
    own, botocore = requests
    assert (own.method, urlsplit(own.target).path) == (botocore.method, urlsplit(botocore.target).path)
    ours, others = (
        {**parse_qs(urlsplit(sent.target).query), **parse_qs(sent.body.decode())} for sent in (own, botocore)
    )
    assert {**ours, "RoleSessionName": ""} == {**others, "RoleSessionName": ""}
    for header in ("x-amz-sso_bearer_token", "authorization"):
        name = own.headers.get(header, "")[:40].partition("/")[0]
        assert name == botocore.headers.get(header, "")[:40].partition("/")[0], header


async def test_mistakes_are_explained(home: Path) -> None:
    async with Upstream(json_response({}, 403)) as upstream, Http({}) as http:
        env = environment("role", home, upstream.url)
        role = find_login(env, str(home))
        assert role is not None
        with pytest.raises(
            AuthRejected, match=r"no access key for the AWS profile role \(role\) \(HTTP 403\)"
        ):
            await AwsLogins(http, env, str(home)).keys(role)
        login(home, "2020-01-01T00:00:00Z")
        env = environment("sso", home, upstream.url)
        sso = find_login(env, str(home))
        assert sso is not None
        with pytest.raises(ConfigError, match="the login is over: run `aws sso login`"):
            await AwsLogins(http, env, str(home)).keys(sso)
    with pytest.raises(ConfigError, match="aws configure export-credentials --profile browser"):
        find_login({"AWS_PROFILE": "browser"}, str(home))
    assert find_login({}, str(home)) is None
