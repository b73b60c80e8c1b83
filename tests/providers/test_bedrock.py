"""Bedrock: signatures and requests like botocore's, credentials and regions as AWS finds them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.session import Session

from groundwire import Groundwire
from groundwire.config.schema import Config, ProviderSettings
from groundwire.credentials.secret import NO_SECRET, Secret
from groundwire.errors import ConfigError, GroundwireError, MissingCredential
from groundwire.model import Answer, Source
from groundwire.providers.aws_credentials import find_keys, find_region
from groundwire.providers.aws_signature import AwsKeys, sign
from groundwire.testing.answers import answer_events
from groundwire.testing.script import ScriptedResponse, answer, json_response
from groundwire.testing.upstream import Upstream
from groundwire.transport.http import HttpRequest

pytestmark = pytest.mark.server

KEY_ID, KEY, TOKEN = "AKIDCANARY", "canary/Secret+Zq7Kp2Wm9Xv4Tn8Rb3", "canary-session-Yd6Xv4Tn8=="
PAGE = Source("https://a.example/nile", "The Nile")
NOW = 1_790_000_000.0


@contextmanager
def botocore_clock() -> Iterator[None]:
    """The clock of botocore's signatures, at `NOW`."""
    moment = datetime.fromtimestamp(NOW, UTC)
    with patch("botocore.auth.get_current_datetime", lambda *_, **__: moment):
        yield


@pytest.mark.parametrize(
    "url",
    [
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.amazon.nova-2-lite-v1%3A0/converse",
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Ax%2Fy/converse-stream",
        "http://127.0.0.1:8080/model/a~b_c.d-e/converse?b=2&a=%20x&c",
        "https://host.example:443/",
    ],
)
@pytest.mark.parametrize("token", ["", TOKEN])
def test_a_signature_is_that_of_botocore(url: str, token: str) -> None:
    body = '{"messages": "ü"}'.encode()
    request = AWSRequest("POST", url, {"Content-Type": "application/json"}, body)
    with botocore_clock():
        SigV4Auth(Credentials(KEY_ID, KEY, token or None), "bedrock", "us-east-1").add_auth(request)
    keys = AwsKeys(KEY_ID, Secret(KEY), Secret(token) if token else NO_SECRET)
    call = HttpRequest("POST", url, {"content-type": "application/json", "accept": "x"}, body)
    signed = sign(call, keys, "us-east-1", "bedrock", NOW)
    assert signed["authorization"] == request.headers["Authorization"]
    assert signed["x-amz-date"] == request.headers["X-Amz-Date"]
    assert signed.get("x-amz-security-token") == request.headers.get("X-Amz-Security-Token")


CREDENTIALS = f"""\
[default]
aws_access_key_id = AKIDDEFAULT
aws_secret_access_key = default-secret-1
[work]
aws_access_key_id={KEY_ID}
aws_secret_access_key={KEY}
aws_session_token={TOKEN}
"""
CONFIG = """\
[default]
region = us-west-2
[profile work]
region = eu-central-1
[profile inline]
aws_access_key_id = AKIDINLINE
aws_secret_access_key = inline-secret-1
region = us-east-2
[profile login]
sso_session = corp
region = us-east-1
"""
PLACES: dict[str, tuple[dict[str, str], str, str]] = {
    "environment": (
        {"AWS_ACCESS_KEY_ID": "AKIDENV", "AWS_SECRET_ACCESS_KEY": "env-secret-1", "AWS_REGION": "us-east-1"},
        "AKIDENV",
        "us-east-1",
    ),
    "default profile": ({"AWS_DEFAULT_REGION": "eu-west-1"}, "AKIDDEFAULT", "eu-west-1"),
    "named profile": ({"AWS_PROFILE": "work"}, KEY_ID, "eu-central-1"),
    "profile in the configuration": ({"AWS_PROFILE": "inline"}, "AKIDINLINE", "us-east-2"),
    "unknown profile": ({"AWS_PROFILE": "nobody"}, "", ""),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / ".aws"
    folder.mkdir()
    (folder / "credentials").write_text(CREDENTIALS)
    (folder / "config").write_text(CONFIG)
    return tmp_path


@pytest.mark.parametrize("place", PLACES)
def test_credentials_and_region_are_those_that_botocore_finds(
    place: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env, key_id, region = PLACES[place]
    found = find_keys(env, str(home))
    assert (found.keys.key_id if found else "", find_region(env, str(home))) == (key_id, region)
    if not found:
        return
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, text in {**env, "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true"}.items():
        monkeypatch.setenv(name, text)
    session = Session()
    theirs = session.get_credentials().get_frozen_credentials()
    token = found.keys.token.reveal() or None
    assert theirs == ReadOnlyCredentials(found.keys.key_id, found.keys.secret.reveal(), token, None)
    # botocore itself reads only AWS_DEFAULT_REGION; other SDKs of AWS read AWS_REGION as well.
    assert session.get_config_variable("region") in (region, "us-west-2")


def test_a_broken_file_is_named(home: Path) -> None:
    (home / ".aws" / "config").write_text("no section\n")
    with pytest.raises(ConfigError, match=r"\.aws/config cannot be read"):
        find_region({}, str(home))


@asynccontextmanager
async def bedrock(
    env: dict[str, str], response: ScriptedResponse, home: Path, *, address: bool = True
) -> AsyncIterator[tuple[Groundwire, Upstream]]:
    """Groundwire with Bedrock at a scripted upstream."""
    async with Upstream(response) as upstream:
        settings = Config(
            providers={"bedrock": ProviderSettings(base_url=upstream.url if address else "")},
            data_dir=str(home),
            config_dir=str(home),
        )
        async with Groundwire(settings, env={"HOME": str(home), **env}) as groundwire:
            yield groundwire, upstream


KEYS = {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": KEY}
BEARER = {"AWS_REGION": "us-east-1", "AWS_BEARER_TOKEN_BEDROCK": "bedrock-api-key-canary1"}
GROUNDED = answer("bedrock_converse", answer_events("Long.", PAGE))


async def search(groundwire: Groundwire, model: str = "") -> Answer:
    return await groundwire.asearch("how long?", provider="bedrock", model=model)


async def test_a_request_is_signed_and_the_answer_has_its_citations(tmp_path: Path) -> None:
    async with bedrock({**KEYS, "AWS_SESSION_TOKEN": TOKEN}, GROUNDED, tmp_path) as (groundwire, upstream):
        found = await search(groundwire)
        assert [source.url for source in found.sources] == [PAGE.url]
        (request,) = upstream.requests
        assert request.path == "/model/us.amazon.nova-2-lite-v1%3A0/converse"
        assert json.loads(request.body)["toolConfig"] == {
            "tools": [{"systemTool": {"name": "nova_grounding"}}]
        }
        theirs = AWSRequest(
            "POST",
            f"http://{request.headers['host']}{request.path}",
            {"content-type": request.headers["content-type"]},
            request.body,
        )
        moment = datetime.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        with patch("botocore.auth.get_current_datetime", lambda *_, **__: moment):
            SigV4Auth(Credentials(KEY_ID, KEY, TOKEN), "bedrock", "us-east-1").add_auth(theirs)
        assert request.headers["authorization"] == theirs.headers["Authorization"]
        assert request.headers["x-amz-security-token"] == TOKEN


async def test_a_key_of_bedrock_wins_and_other_models_have_no_search_tool(tmp_path: Path) -> None:
    async with bedrock({**KEYS, **BEARER}, GROUNDED, tmp_path) as (groundwire, upstream):
        found = await search(groundwire, "anthropic.claude-sonnet-4-6-v1:0")
        assert [warning.code for warning in found.warnings] == ["search_unavailable"]
        (request,) = upstream.requests
        assert "toolConfig" not in json.loads(request.body)
        assert request.headers["authorization"] == "Bearer bedrock-api-key-canary1"


MISTAKES: dict[str, tuple[dict[str, str], str]] = {
    "no key": ({"AWS_REGION": "us-east-1"}, "no credentials for Amazon Bedrock. Set AWS_REGION, and"),
    "no region": (
        {name: text for name, text in BEARER.items() if name != "AWS_REGION"},
        "Bedrock needs a region: set AWS_REGION",
    ),
    "not a region": ({**BEARER, "AWS_REGION": "useast1"}, "'useast1', which is not a region"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
async def test_a_mistake_is_one_clear_sentence_and_nothing_is_sent(mistake: str, tmp_path: Path) -> None:
    env, sentence = MISTAKES[mistake]
    async with bedrock(env, GROUNDED, tmp_path) as (groundwire, upstream):
        with pytest.raises(GroundwireError) as caught:
            await search(groundwire)
        assert sentence in caught.value.message
        assert isinstance(caught.value, ConfigError)
        assert isinstance(caught.value, MissingCredential) == (mistake == "no key")
        assert upstream.connections == 0


REFUSALS: dict[str, tuple[int, str, str, str]] = {
    "wrong region": (
        403,
        "InvalidSignatureException",
        "Credential should be scoped to a valid region. ",
        "Check that the key is valid in us-east-1, and may use the model there",
    ),
    "unknown model": (
        400,
        "ValidationException",
        "The provided model identifier is invalid.",
        "If Amazon Bedrock has no us.amazon.nova-2-lite-v1:0, choose one of https://docs.aws.amazon.com/",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
async def test_a_refusal_says_what_to_check_and_shows_no_secret(case: str, tmp_path: Path) -> None:
    status, name, message, advice = REFUSALS[case]
    refusal = json_response({"message": f"{message} {KEY}"}, status, {"x-amzn-errortype": name})
    async with bedrock(KEYS, refusal, tmp_path) as (groundwire, _):
        with pytest.raises(GroundwireError) as caught:
            await search(groundwire)
        assert advice in caught.value.message
        assert KEY not in caught.value.message
