"""Compare groundwire's requests with those of the vendors' own SDKs.

groundwire sends a request to a recorder on loopback. The SDK of the vendor then sends the same fields, each
as a parameter of its own, so an unknown field is an error. Method, path, authentication and body must be
equal. What the SDKs sent is stored in tests/providers/vendor_requests.json, and
`tests/providers/test_vendor_requests.py` compares with it.

The SDKs are large, so they have an environment of their own (`make test-all` creates it). With `--check`,
nothing is written; the exit status is 1 if a request differs, or if the stored facts are out of date.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
FACTS = ROOT / "tests" / "providers" / "vendor_requests.json"
sys.path.insert(0, str(ROOT / "src"))

from groundwire.credentials.redact import Redactor  # noqa: E402
from groundwire.credentials.secret import Credential, Secret  # noqa: E402
from groundwire.errors import GroundwireError  # noqa: E402
from groundwire.model import (  # noqa: E402
    FunctionTool,
    Limits,
    Message,
    Request,
    SearchOptions,
    Text,
)
from groundwire.model.value import replace  # noqa: E402
from groundwire.providers.bedrock import bedrock_spec  # noqa: E402
from groundwire.providers.http import HttpProvider  # noqa: E402
from groundwire.providers.registry import find_spec  # noqa: E402
from groundwire.providers.spec import ProviderSpec, flatten  # noqa: E402
from groundwire.transport.http import Http  # noqa: E402

KEY = "key-of-the-vendor"
_AUTHENTICATION = ("authorization", "x-api-key", "api-key")
Body = dict[str, Any]
_DEFAULTS = (
    *(("stream", False), ("prefix", False), ("object", "entry"), ("type", "message.input")),
    *(("response_format", None), ("thinking", None)),
)
"""What the SDKs of Mistral, Cohere and Z.ai write although it is the default."""


class Vendor(NamedTuple):
    """A row, the package of its SDK, and a call of the SDK that sends a body to a server."""

    package: str
    send: Callable[[str, Body], object]
    base: str = ""
    """Path of groundwire's base URL below that of the server."""
    model: str = ""
    other_key: bool = False
    """Does the SDK authenticate in another way that is valid as well? That of AWS signs the request
    (`tests/providers/test_bedrock.py` compares signatures), that of Anthropic uses a newer version of its
    API."""


def _openai_chat(url: str, body: Body) -> object:
    from openai import OpenAI  # noqa: PLC0415

    return OpenAI(base_url=url, api_key=KEY, max_retries=0).chat.completions.create(**body)


def _openai_responses(url: str, body: Body) -> object:
    from openai import OpenAI  # noqa: PLC0415

    return OpenAI(base_url=url, api_key=KEY, max_retries=0).responses.create(**body)


def _anthropic(url: str, body: Body) -> object:
    from anthropic import Anthropic  # noqa: PLC0415

    return Anthropic(base_url=url, api_key=KEY, max_retries=0).messages.create(**body)


def _perplexity(url: str, body: Body) -> object:
    from perplexity import Perplexity  # noqa: PLC0415

    return Perplexity(base_url=url, api_key=KEY, max_retries=0).chat.completions.create(**body)


def _perplexity_responses(url: str, body: Body) -> object:
    from perplexity import Perplexity  # noqa: PLC0415

    return Perplexity(base_url=url, api_key=KEY, max_retries=0).responses.create(**body)


def _groq(url: str, body: Body) -> object:
    from groq import Groq  # noqa: PLC0415

    return Groq(base_url=url, api_key=KEY, max_retries=0).chat.completions.create(**body)


def _together(url: str, body: Body) -> object:
    from together import Together  # noqa: PLC0415

    return Together(base_url=url, api_key=KEY, max_retries=0).chat.completions.create(**body)


def _fireworks(url: str, body: Body) -> object:
    from fireworks import Fireworks  # noqa: PLC0415

    return Fireworks(base_url=f"{url}/inference", api_key=KEY, max_retries=0).chat.completions.create(**body)


def _zai(url: str, body: Body) -> object:
    from zai import ZaiClient  # noqa: PLC0415

    return ZaiClient(base_url=f"{url}/api/paas/v4", api_key=KEY, max_retries=0).chat.completions.create(
        **body
    )


def _mistral(url: str, body: Body) -> object:
    from mistralai.client import Mistral  # noqa: PLC0415

    return Mistral(server_url=url, api_key=KEY).chat.complete(**body)


def _mistral_conversations(url: str, body: Body) -> object:
    from mistralai.client import Mistral  # noqa: PLC0415

    return Mistral(server_url=url, api_key=KEY).beta.conversations.start(**body)


def _cohere(url: str, body: Body) -> object:
    from cohere import ClientV2  # noqa: PLC0415

    return ClientV2(base_url=url, api_key=KEY).chat(**body)


def _bedrock(url: str, body: Body) -> object:
    from botocore.config import Config  # noqa: PLC0415
    from botocore.session import Session  # noqa: PLC0415

    client = Session().create_client(
        "bedrock-runtime",
        "us-east-1",
        endpoint_url=url,
        aws_access_key_id="id",
        aws_secret_access_key=KEY,
        config=Config(retries={"total_max_attempts": 1}),
    )
    return client.converse(modelId=bedrock_spec("us-east-1").model, **body)


VENDORS: Mapping[str, Vendor] = {
    "anthropic": Vendor("anthropic", _anthropic, other_key=True),
    "openai": Vendor("openai", lambda url, body: _openai_responses(f"{url}/v1", body), "/v1"),
    "openai_chat": Vendor("openai", lambda url, body: _openai_chat(f"{url}/v1", body), "/v1"),
    "deepseek": Vendor("openai", lambda url, body: _openai_chat(f"{url}/v1", body), "/v1"),
    "moonshot": Vendor("openai", lambda url, body: _openai_chat(f"{url}/v1", body), "/v1"),
    "perplexity": Vendor("perplexityai", _perplexity),
    "perplexity_responses": Vendor("perplexityai", _perplexity_responses, "/v1"),
    "bedrock": Vendor("botocore", _bedrock, other_key=True),
    "groq": Vendor("groq", _groq, "/openai/v1"),
    "zai": Vendor("zai-sdk", _zai, "/api/paas/v4"),
    "mistral_conversations": Vendor("mistralai", _mistral_conversations, "/v1"),
    "mistral": Vendor("mistralai", _mistral, "/v1"),
    "cohere": Vendor("cohere", _cohere),
    "together": Vendor("together", _together, "/v1"),
    "fireworks": Vendor("fireworks-ai", _fireworks, "/inference/v1"),
    **{
        name: Vendor("openai", lambda url, body: _openai_chat(f"{url}/v1", body), "/v1", "llama")
        for name in ("ollama", "vllm", "lmstudio", "llamacpp")
    },
}
WEATHER = FunctionTool("weather", "The weather of a city.", {"type": "object", "properties": {}})
REQUEST = Request(
    (Message("user", (Text("How long is the Nile?"),)),),
    system=(Text("Be brief."),),
    limits=Limits(99, temperature=0.5, top_p=0.25),
)


def request_to(row: ProviderSpec) -> Request:
    """The request: with web search where the vendor has it, else with a function."""
    if row.capabilities.search == "none":
        return replace(REQUEST, tools=(WEATHER,))
    return replace(REQUEST, search=SearchOptions())


class Recorded(NamedTuple):
    """What a client sent."""

    method: str
    path: str
    authentication: dict[str, str]
    body: Body


@contextmanager
def recorder() -> Iterator[tuple[str, list[Recorded]]]:
    """A server on loopback that answers every request with an empty object, and what it received."""
    received: list[Recorded] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            shown = {name: self.headers[name] for name in _AUTHENTICATION if name in self.headers}
            received.append(Recorded(self.command, self.path, shown, json.loads(data)))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def row_of(name: str) -> ProviderSpec:
    """The spec of a vendor."""
    row = bedrock_spec("us-east-1") if name == "bedrock" else find_spec(name)
    if row is None:
        raise LookupError(name)
    return replace(row, model=VENDORS[name].model or row.model)


async def send(row: ProviderSpec) -> None:
    """Send groundwire's request; the answer is empty, which is an error."""

    async def credential() -> Credential:
        return Credential(Secret(KEY), "api", "a test")

    async with Http({}) as http:
        provider = HttpProvider(row, http, credential, Redactor())
        try:
            async for _ in flatten(provider.batches(request_to(row))):
                pass
        except GroundwireError:
            return


def differences(name: str, vendor: Vendor) -> tuple[Recorded, list[str]]:
    """What the SDK sent, and how groundwire's request differs from it."""
    with recorder() as (url, received):
        asyncio.run(send(replace(row_of(name), base_url=url + vendor.base)))
        (own,) = received
        try:
            vendor.send(url, dict(own.body))
        except Exception as error:  # noqa: BLE001  the response is empty, which every SDK reports differently
            if len(received) < 2:
                return own, [f"{name}: the SDK did not send the request: {error}"]
        theirs = received[1]
    theirs = theirs._replace(body=_without_defaults(theirs.body, own.body))
    if vendor.other_key:
        own, theirs = own._replace(authentication={}), theirs._replace(authentication={})
    return theirs, [
        f"{name}: {field}: groundwire sends {getattr(own, field)}, {vendor.package} {getattr(theirs, field)}"
        for field in Recorded._fields
        if getattr(own, field) != getattr(theirs, field)
    ]


def _without_defaults(theirs: Any, own: Any) -> Any:
    """What an SDK sent, without the defaults that it adds by itself, in the order of groundwire's fields."""
    if isinstance(theirs, list) and isinstance(own, list) and len(theirs) == len(own):
        return [_without_defaults(*pair) for pair in zip(theirs, own, strict=True)]
    if not isinstance(theirs, dict) or not isinstance(own, dict):
        return theirs
    kept = {name: _without_defaults(theirs[name], own[name]) for name in own if name in theirs}
    added = {name: item for name, item in theirs.items() if name not in own}
    return kept | {name: item for name, item in added.items() if (name, item) not in _DEFAULTS}


def fact_of(package: str, sent: Recorded) -> Body:
    """What is stored of a request."""
    return {
        "sdk": f"{package} {version(package)}",
        "method": sent.method,
        "path": sent.path,
        "authentication": sent.authentication,
        "body": sent.body,
    }


def main(arguments: Sequence[str]) -> int:
    """Compare all requests, and write or check the facts."""
    found = {name: differences(name, vendor) for name, vendor in VENDORS.items()}
    faults = [fault for _, lines in found.values() for fault in lines]
    facts = {name: fact_of(VENDORS[name].package, sent) for name, (sent, _) in found.items()}
    text = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
    print("\n".join(faults) or f"{len(facts)} requests are equal to those of the SDKs", file=sys.stderr)
    if "--check" not in arguments:
        FACTS.write_text(text)
        return bool(faults)
    is_stale = not FACTS.is_file() or FACTS.read_text() != text
    if is_stale:
        print(f"{FACTS.name} is out of date: run scripts/vendor_requests.py", file=sys.stderr)
    return bool(faults) or is_stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
