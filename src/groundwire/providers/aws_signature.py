"""Signature version 4 of Amazon's web services: an HMAC of the request, with a key for one day and region.

The path is encoded twice, as every service but S3 expects it. Headers that the signature does not list may be
added afterwards.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import parse_qsl, quote, urlsplit

from groundwire.credentials.secret import NO_SECRET, Secret
from groundwire.model.value import value
from groundwire.transport.http import HttpRequest

_ALGORITHM = "AWS4-HMAC-SHA256"
_DEFAULT_PORTS = {"https": 443, "http": 80}


@value
class AwsKeys:
    """An access key: its id, its secret, and the token of a temporary one."""

    key_id: str
    secret: Secret
    token: Secret = NO_SECRET


def sign(request: HttpRequest, keys: AwsKeys, region: str, service: str, now: float) -> Mapping[str, str]:
    """The headers that sign a request."""
    moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    added = {"x-amz-date": moment}
    if keys.token:
        added["x-amz-security-token"] = keys.token.reveal()
    signed = {"host": _host(request.url), **added}
    if content_type := request.headers.get("content-type"):
        signed["content-type"] = content_type
    names = ";".join(sorted(signed))
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    summary = sha256(_canonical(request, signed, names).encode()).hexdigest()
    text = "\n".join((_ALGORITHM, moment, scope, summary))
    signature = hmac.new(_signing_key(keys.secret, scope), text.encode(), sha256).hexdigest()
    credential = f"Credential={keys.key_id}/{scope}"
    added["authorization"] = f"{_ALGORITHM} {credential}, SignedHeaders={names}, Signature={signature}"
    return added


def _canonical(request: HttpRequest, signed: Mapping[str, str], names: str) -> str:
    parts = urlsplit(request.url)
    query = sorted((quote(name, safe="-_.~"), quote(text, safe="-_.~")) for name, text in _query(parts.query))
    headers = "".join(f"{name}:{' '.join(signed[name].split())}\n" for name in sorted(signed))
    return "\n".join(
        (
            request.method,
            quote(parts.path or "/", safe="/-_.~"),
            "&".join(f"{name}={text}" for name, text in query),
            headers,
            names,
            sha256(request.body).hexdigest(),
        )
    )


def _query(text: str) -> list[tuple[str, str]]:
    return parse_qsl(text, keep_blank_values=True)


def _host(url: str) -> str:
    parts = urlsplit(url)
    is_default = parts.port in (None, _DEFAULT_PORTS.get(parts.scheme))
    return parts.hostname or "" if is_default else f"{parts.hostname}:{parts.port}"


def _signing_key(secret: Secret, scope: str) -> bytes:
    key = b"AWS4" + secret.reveal().encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), sha256).digest()
    return key
