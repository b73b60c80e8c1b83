"""Amazon Bedrock, Converse API: the Nova models can search the web, the others cannot.

The key is one of Bedrock (`AWS_BEARER_TOKEN_BEDROCK`), or an access key of AWS, which signs the requests. Web
search is available in regions of the United States.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from urllib.parse import quote

from groundwire.credentials.lookup import Lookup
from groundwire.credentials.secret import Credential
from groundwire.errors import ConfigError, MissingCredential
from groundwire.model import Request
from groundwire.model.value import replace
from groundwire.providers.aws_credentials import FoundKeys, find_keys, find_region
from groundwire.providers.aws_login import AwsLogins, find_login
from groundwire.providers.aws_signature import sign
from groundwire.providers.http import HttpProvider
from groundwire.providers.policy import Capabilities
from groundwire.providers.spec import (
    Batches,
    ProviderContext,
    ProviderPlugin,
    ProviderSpec,
    bearer,
)
from groundwire.transport.http import Deadlines, HttpRequest

_SERVICE = "bedrock"
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d{1,2}")
_NOVA = re.compile(r"\bamazon\.nova-", re.IGNORECASE)
_PROFILES = (("us-gov-", "us-gov"), ("us-", "us"), ("eu-", "eu"))
"""Prefixes of regions, and of the inference profiles that cover them; elsewhere the global one is used."""
_ADVICE = (
    "Set AWS_REGION, and AWS_BEARER_TOKEN_BEDROCK or an access key (AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws)."
)
_NO_REGION = "Bedrock needs a region: set AWS_REGION to one like us-east-1"


def default_model_in(region: str) -> str:
    """Nova 2 Lite, of December 2025, by the inference profile of the region."""
    profile = next((name for prefix, name in _PROFILES if region.startswith(prefix)), "global")
    return f"{profile}.amazon.nova-2-lite-v1:0"


def is_nova(model: str) -> bool:
    """Can the model search the web?"""
    return _NOVA.search(model) is not None


def url(base: str, request: Request) -> str:
    """The address of a model, whose name may be an ARN."""
    operation = "converse-stream" if request.stream else "converse"
    return f"{base.rstrip('/')}/model/{quote(request.model, safe='')}/{operation}"


def headers(credential: Credential | None) -> Mapping[str, str]:
    """Bearer authentication, and the type of a stream."""
    return {"accept": "application/json, application/vnd.amazon.eventstream", **bearer(credential)}


def bedrock_spec(region: str) -> ProviderSpec:
    """Bedrock in a region."""
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"

    def checked_url(base: str, request: Request) -> str:
        if not region:
            raise ConfigError(_NO_REGION)
        if not _REGION.fullmatch(region):
            raise ConfigError(f"AWS_REGION is {region!r}, which is not a region; write one like us-east-1")
        return url(base, request)

    return ProviderSpec(
        name="bedrock",
        title="Amazon Bedrock",
        dialect="bedrock_converse",
        base_url=f"https://bedrock-runtime.{region}.{domain}",
        url=checked_url,
        model=default_model_in(region),
        lookups=(
            Lookup("environment", "AWS_BEARER_TOKEN_BEDROCK"),
            Lookup("opencode", "amazon-bedrock", "api"),
            Lookup("own", "bedrock"),
        ),
        missing="MISSING_AWS_CREDENTIALS",
        advice=_ADVICE,
        headers=headers,
        passes_through=False,
        models_page="https://docs.aws.amazon.com/bedrock/latest/userguide/models-regions.html",
        key_hint=f"Check that the key is valid in {region or 'the region'}, and may use the model there",
        # A search takes Nova up to minutes, and it sends nothing meanwhile.
        deadlines=Deadlines(first_byte=300.0, idle=300.0),
        capabilities=Capabilities(options={"allowed_domains": "emulated", "blocked_domains": "emulated"}),
    )


class BedrockProvider:
    """Chooses by the model: one that cannot search gets no search tool, and the answer a warning."""

    def __init__(self, nova: HttpProvider, other: HttpProvider) -> None:
        self.name = nova.name
        self.model = nova.model
        self.capabilities = nova.capabilities if is_nova(nova.model) else other.capabilities
        self._nova = nova
        self._other = other

    def batches(self, request: Request) -> Batches:
        """The answer of the requested model, or of the default."""
        return (self._nova if is_nova(request.model or self.model) else self._other).batches(request)


class _Signer:
    """Finds the credentials of a request, and signs it if they are an access key."""

    def __init__(self, context: ProviderContext, row: ProviderSpec, region: str) -> None:
        self._context = context
        self._row = row
        self._region = region
        self._found: FoundKeys | None = None
        self.clock: Callable[[], float] = time.time
        self._logins = AwsLogins(context.http, context.environment, context.home, self.clock)

    def reason(self) -> str:
        """Where the credentials come from, or what is missing."""
        try:
            return self._origin() or self._row.advice
        except ConfigError as error:
            return error.message

    def is_usable(self) -> bool:
        """Are there credentials and a region?"""
        try:
            return bool(self._region and self._origin())
        except ConfigError:
            return False

    def _origin(self) -> str:
        if key := self._context.credential(self._row.lookups):
            return key.origin
        place = (self._context.environment, self._context.home)
        found = find_keys(*place) or find_login(*place)
        return found.origin if found else ""

    async def credential(self) -> Credential | None:
        """A key of Bedrock, or the secret of an access key."""
        self._found = None
        if key := self._context.credential(self._row.lookups):
            return key
        place = (self._context.environment, self._context.home)
        self._found = find_keys(*place)
        if self._found is None and (login := find_login(*place)):
            self._found = await self._logins.keys(login)
        if self._found is None:
            missing = MissingCredential(f"no credentials for {self._row.title}. {self._row.advice}")
            missing.code = self._row.missing
            raise missing
        keys = self._found.keys
        self._context.redactor.add(keys.token)
        return Credential(keys.secret, "api", self._found.origin)

    def headers(self, credential: Credential | None) -> Mapping[str, str]:
        """The key of Bedrock; a signature is added later."""
        return headers(credential if self._found is None else None)

    def sign(self, request: HttpRequest) -> Mapping[str, str]:
        """The signature, if there is an access key."""
        if self._found is None:
            return {}
        return sign(request, self._found.keys, self._region, _SERVICE, self.clock())


def create_bedrock(context: ProviderContext) -> ProviderPlugin:
    """A `ProviderFactory`: Bedrock with the credentials and the region of AWS."""
    region = find_region(context.environment, context.home)
    row = bedrock_spec(region)
    settings = context.settings
    row = replace(row, base_url=settings.base_url or row.base_url, model=settings.model or row.model)
    if context.timeout:
        row = replace(row, deadlines=replace(row.deadlines, total=context.timeout))
    signer = _Signer(context, row, region)
    row = replace(row, headers=signer.headers, sign=signer.sign)
    plain = replace(row, capabilities=replace(row.capabilities, search="none"))
    nova, other = (
        HttpProvider(spec, context.http, signer.credential, context.redactor) for spec in (row, plain)
    )
    return ProviderPlugin(
        BedrockProvider(nova, other),
        row.title,
        is_usable=signer.is_usable,
        reason=lambda: signer.reason() if region else _NO_REGION,
        lookups=row.lookups,
        dialect=row.dialect,
        base_url=row.base_url,
    )
