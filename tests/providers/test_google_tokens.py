"""Vertex AI: its address, and access tokens from the environment and from application default credentials."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from importlib import import_module
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from groundwire.client import Groundwire
from groundwire.config.schema import Config, ProviderSettings
from groundwire.errors import AuthRejected, ConfigError, MissingCredential
from groundwire.model import Source
from groundwire.providers.google_tokens import GoogleTokens, metadata_url
from groundwire.testing.answers import answer_events
from groundwire.testing.script import Script, answer, json_response
from groundwire.testing.upstream import Upstream
from groundwire.transport.http import Http

pytestmark = pytest.mark.server

EVENTS = answer_events("Long.", Source("https://alpha.example/"), query="nile")
USER = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}


def stored(home: Path, account: dict[str, str]) -> str:
    path = home / ".config" / "gcloud" / "application_default_credentials.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(account))
    return str(path)


async def test_a_token_of_the_environment_is_used_as_it_is(tmp_path: Path) -> None:
    async with Http({}) as http:
        tokens = GoogleTokens(http, {"VERTEX_ACCESS_TOKEN": "ya29.token"}, str(tmp_path))
        credential = await tokens.credential()
        assert credential is not None
        assert (credential.secret.reveal(), tokens.origin) == (
            "ya29.token",
            "environment VERTEX_ACCESS_TOKEN",
        )
        assert await GoogleTokens(http, {}, str(tmp_path)).credential() is None


async def test_a_machine_of_google_cloud_has_a_token_of_its_service_account(tmp_path: Path) -> None:
    response = json_response({"access_token": "ya29.machine", "expires_in": 3599, "token_type": "Bearer"})
    async with Upstream(response) as upstream, Http({}) as http:
        env = {"GCE_METADATA_HOST": upstream.url.removeprefix("http://")}
        tokens = GoogleTokens(http, env, str(tmp_path))
        assert tokens.origin == "the service account of this machine"
        for _ in range(2):
            credential = await tokens.credential()
            assert credential is not None
            assert credential.secret.reveal() == "ya29.machine"
        (sent,) = upstream.requests
        upstream.script = Script((json_response({}, 404),))
        with pytest.raises(AuthRejected, match="the service account of this machine"):
            await GoogleTokens(http, env, str(tmp_path)).credential()
    assert (sent.method, sent.headers["metadata-flavor"]) == ("GET", "Google")
    assert sent.path == "/computeMetadata/v1/instance/service-accounts/default/token"


@pytest.mark.parametrize(
    ("env", "product", "host"),
    [
        ({}, "Google Compute Engine\n", "metadata.google.internal"),
        ({"K_SERVICE": "run"}, "", "metadata.google.internal"),
        ({"K_SERVICE": "run", "NO_GCE_CHECK": "true"}, "Google", ""),
        ({}, "Standard PC", ""),
    ],
)
def test_a_machine_of_google_cloud_is_recognised(
    env: dict[str, str], product: str, host: str, tmp_path: Path
) -> None:
    file = tmp_path / "product_name"
    file.write_text(product)
    assert urlsplit(metadata_url(env, file)).netloc == host


async def test_a_login_is_exchanged_for_a_token_that_is_kept_until_it_expires(tmp_path: Path) -> None:
    path = stored(tmp_path, USER)
    now = [1000.0]
    response = json_response({"access_token": "ya29.new", "expires_in": 3599, "token_type": "Bearer"})
    async with Upstream(response) as upstream, Http({}) as http:
        tokens = GoogleTokens(http, {}, str(tmp_path), lambda: now[0], f"{upstream.url}/token")
        for at, requests in ((1000.0, 1), (4500.0, 1), (4540.0, 2)):
            now[0] = at
            credential = await tokens.credential()
            assert credential is not None
            assert (credential.secret.reveal(), credential.origin) == ("ya29.new", path)
            assert len(upstream.requests) == requests
        form = parse_qs(upstream.requests[0].body.decode())
    assert form == {
        "grant_type": ["refresh_token"],
        "client_id": ["c"],
        "client_secret": ["s"],
        "refresh_token": ["r"],
    }


async def test_a_service_account_signs_its_request(tmp_path: Path) -> None:
    hazmat = import_module("cryptography.hazmat.primitives.asymmetric.rsa")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding

    key = hazmat.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    account = {
        "type": "service_account",
        "client_email": "me@x.example",
        "private_key_id": "1",
        "private_key": pem,
    }
    stored(tmp_path, account)
    async with Upstream(json_response({"access_token": "t" * 20})) as upstream, Http({}) as http:
        tokens = GoogleTokens(http, {}, str(tmp_path), lambda: 1000.0, f"{upstream.url}/token")
        assert await tokens.credential() is not None
        assertion = parse_qs(upstream.requests[0].body.decode())["assertion"][0]
    message, _, signature = assertion.rpartition(".")
    signed = urlsafe_b64decode(signature + "==")
    key.public_key().verify(signed, message.encode(), padding.PKCS1v15(), hashes.SHA256())
    claims = json.loads(urlsafe_b64decode(message.partition(".")[2] + "=="))
    assert (claims["iss"], claims["exp"] - claims["iat"]) == ("me@x.example", 3600)
    assert claims["aud"] == "https://oauth2.googleapis.com/token"


async def test_refused_and_unreadable_credentials_are_explained(tmp_path: Path) -> None:
    path = Path(stored(tmp_path, USER))
    async with Upstream(json_response({"error": "invalid_grant"}, 400)) as upstream, Http({}) as http:
        tokens = GoogleTokens(http, {}, str(tmp_path), url=upstream.url)
        with pytest.raises(AuthRejected, match="gcloud auth application-default login"):
            await tokens.credential()
        path.write_text("not json")
        with pytest.raises(ConfigError, match="cannot be read as credentials"):
            await tokens.credential()
        path.write_text(json.dumps({"type": "external_account"}))
        with pytest.raises(ConfigError, match=r"external_account.*VERTEX_ACCESS_TOKEN"):
            await tokens.credential()
        path.write_text(json.dumps({"type": "service_account", "private_key": "none"}))
        with pytest.raises(ConfigError, match="private key of the service account"):
            await tokens.credential()


def client(home: Path, env: dict[str, str], base_url: str = "") -> Groundwire:
    config = Config(
        providers={"vertex": ProviderSettings(base_url=base_url)}, data_dir=str(home), config_dir=str(home)
    )
    return Groundwire(config, env={"HOME": str(home), **env})


TOKEN = {"VERTEX_ACCESS_TOKEN": "ya29.token"}


async def test_project_and_region_are_parts_of_the_address(tmp_path: Path) -> None:
    env = {**TOKEN, "GOOGLE_CLOUD_PROJECT": "my-project", "GOOGLE_CLOUD_LOCATION": "europe-west4"}
    async with Upstream(answer("gemini", EVENTS)) as upstream:
        async with client(tmp_path, env, upstream.url) as groundwire:
            assert groundwire.usable()["vertex"]
            found = await groundwire.asearch("how long?", provider="vertex", model="gemini-3.8-flash")
            assert found.text == "Long."
        (received,) = upstream.requests
    place = "/v1/projects/my-project/locations/europe-west4/publishers/google/models"
    assert received.path == f"{place}/gemini-3.8-flash:generateContent"
    assert received.headers["authorization"] == "Bearer ya29.token"


async def test_missing_and_wrong_settings_are_explained(tmp_path: Path) -> None:
    async with client(tmp_path, TOKEN) as groundwire:
        assert not groundwire.usable()["vertex"]
        with pytest.raises(MissingCredential, match="Set GOOGLE_CLOUD_PROJECT"):
            await groundwire.asearch("how long?", provider="vertex")
    env = {**TOKEN, "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "us-central1-a"}
    async with client(tmp_path, env) as groundwire:
        with pytest.raises(
            ConfigError, match="'us-central1-a', which is not a region; write one like europe-west4"
        ):
            await groundwire.asearch("how long?", provider="vertex")


def test_each_region_has_a_host(tmp_path: Path) -> None:
    hosts = {
        "": "https://aiplatform.googleapis.com",
        "us-central1": "https://us-central1-aiplatform.googleapis.com",
        "eu": "https://aiplatform.eu.rep.googleapis.com",
    }
    for location, host in hosts.items():
        groundwire = client(tmp_path, {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": location})
        status = {status.name: status for status in groundwire.providers()}["vertex"]
        assert status.base_url == host
