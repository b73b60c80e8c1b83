"""Compare groundwire's requests with those of the vendors' own SDKs.

groundwire sends a request to a recorder on loopback, as a provider or as a search engine. The SDK of the
vendor then sends the same fields, each as a parameter of its own, so an unknown field is an error. Method,
path, query, authentication and body must be equal. What the SDKs sent is stored in
tests/providers/vendor_requests.json, and `tests/providers/test_vendor_requests.py` compares with it.

The SDKs are large, so they have an environment of their own (`make test-all` creates it). With `--check`,
nothing is written; the exit status is 1 if a request differs, or if the stored facts are out of date.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

ROOT = Path(__file__).parents[1]
FACTS = ROOT / "tests" / "providers" / "vendor_requests.json"
sys.path.insert(0, str(ROOT / "src"))

from groundwire.credentials.redact import Redactor  # noqa: E402
from groundwire.credentials.secret import Credential, Secret  # noqa: E402
from groundwire.engine.engines.api import ApiEngineSpec, ServiceQuery  # noqa: E402
from groundwire.errors import GroundwireError  # noqa: E402
from groundwire.model import (  # noqa: E402
    FunctionTool,
    Limits,
    Location,
    Message,
    Request,
    SearchOptions,
    Text,
)
from groundwire.model.value import replace  # noqa: E402
from groundwire.providers.bedrock import bedrock_spec  # noqa: E402
from groundwire.providers.gemini import vertex_spec  # noqa: E402
from groundwire.providers.http import HttpProvider  # noqa: E402
from groundwire.providers.registry import find_spec, load_registered  # noqa: E402
from groundwire.providers.spec import ProviderSpec, flatten  # noqa: E402
from groundwire.providers.vertex_claude import vertex_claude_spec  # noqa: E402
from groundwire.transport.http import Http  # noqa: E402

KEY = "key-of-the-vendor"
PROJECT, REGION = "my-project", "europe-west4"
_AUTHENTICATION = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
Body = dict[str, Any]
_DEFAULTS = (
    *(("stream", False), ("prefix", False), ("object", "entry"), ("type", "message.input")),
    *(("response_format", None), ("thinking", None)),
    *(("alt", "json"), ("crawl_timeout", 10)),
)
"""What SDKs write although it is the default."""
_ADDED = frozenset({"origin", "key"})
"""Names that SDKs give themselves, and a key in the query where groundwire sends it in a header."""


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
    API, that of OpenAI sends a key of Azure as a bearer token, that of Google Search sends it in the URL."""


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


def _responses_at(path: str) -> Callable[[str, Body], object]:
    return lambda url, body: _openai_responses(url + path, body)


def _qwen(url: str, body: Body) -> object:
    from openai import OpenAI  # noqa: PLC0415

    own = {name: body.pop(name) for name in ("enable_search", "search_options") if name in body}
    chat = OpenAI(base_url=f"{url}/compatible-mode/v1", api_key=KEY, max_retries=0).chat.completions
    return chat.create(**body, extra_body=own)


def _generate(client: Any, model: str, body: Body) -> object:
    config = {**body.pop("generationConfig", {}), **body}
    return client.models.generate_content(model=model, contents=config.pop("contents"), config=config)


def _gemini(url: str, body: Body) -> object:
    from google import genai  # noqa: PLC0415

    client = genai.Client(api_key=KEY, http_options={"base_url": url, "api_version": "v1beta"})
    return _generate(client, row_of("gemini").model, body)


def _vertex(url: str, body: Body) -> object:
    from google import genai  # noqa: PLC0415
    from google.oauth2.credentials import Credentials  # noqa: PLC0415

    client = genai.Client(
        vertexai=True,
        project=PROJECT,
        location=REGION,
        credentials=Credentials(KEY),  # type: ignore[no-untyped-call]
        http_options={"base_url": url, "api_version": "v1"},
    )
    return _generate(client, row_of("vertex").model, body)


def _vertex_claude(url: str, body: Body) -> object:
    from anthropic import AnthropicVertex  # noqa: PLC0415

    client = AnthropicVertex(
        region=REGION, project_id=PROJECT, access_token=KEY, base_url=f"{url}/v1", max_retries=0
    )
    older = {"anthropic_version": body.pop("anthropic_version")}  # by default, the newest one
    return client.messages.create(model=row_of("vertex_claude").model, **body, extra_body=older)


def _snake(fields: Any) -> Any:
    """The same names as Python parameters."""
    if not isinstance(fields, dict):
        return fields
    return {re.sub("[A-Z]", lambda big: f"_{big[0].lower()}", name): _snake(fields[name]) for name in fields}


def _tavily(url: str, body: Body) -> object:
    from tavily import TavilyClient  # type: ignore[import-untyped]  # noqa: PLC0415

    return TavilyClient(api_key=KEY, api_base_url=url).search(**body)


def _exa(url: str, body: Body) -> object:
    from exa_py import Exa  # noqa: PLC0415

    return Exa(KEY, url).search(**_snake(body))


def _firecrawl(url: str, body: Body) -> object:
    from firecrawl import Firecrawl  # noqa: PLC0415

    return Firecrawl(api_key=KEY, api_url=url).search(**_snake(body))


def _linkup(url: str, body: Body) -> object:
    from linkup import LinkupClient  # noqa: PLC0415

    query = body.pop("q")
    return LinkupClient(api_key=KEY, base_url=f"{url}/v1").search(query, **_snake(body))


def _parallel(url: str, body: Body) -> object:
    from parallel import Parallel  # noqa: PLC0415

    return Parallel(api_key=KEY, base_url=url, max_retries=0).search(**body)


def _you(url: str, body: Body) -> object:
    from youdotcom import You  # noqa: PLC0415

    plain: Body = {"knowledge": None, "extraction": None}  # the SDK adds both to a search by default
    return You(api_key_auth=KEY).search(server_url=url, **body, **plain)


def _google_pse(url: str, query: Body) -> object:
    from googleapiclient.discovery import build  # noqa: PLC0415

    service = build("customsearch", "v1", developerKey=KEY, client_options={"api_endpoint": url})
    return service.cse().list(**query).execute()


def _ollama_search(url: str, body: Body) -> object:
    import httpx  # noqa: PLC0415
    from ollama import Client  # noqa: PLC0415

    class ToRecorder(httpx.HTTPTransport):
        """Sends requests to the recorder: the address of the service is fixed in the SDK."""

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            here = httpx.URL(url)
            request.url = request.url.copy_with(scheme=here.scheme, host=here.host, port=here.port)
            return super().handle_request(request)

    client = Client(headers={"authorization": f"Bearer {KEY}"}, transport=ToRecorder())
    return client.web_search(**body)


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
    "gemini": Vendor("google-genai", _gemini),
    "vertex": Vendor("google-genai", _vertex),
    "vertex_claude": Vendor("anthropic", _vertex_claude),
    "openrouter": Vendor("openai", _responses_at("/api/v1"), "/api/v1"),
    "xai": Vendor("openai", _responses_at("/v1"), "/v1"),
    "azure": Vendor("openai", _responses_at("/openai/v1"), model="my-deployment", other_key=True),
    "qwen": Vendor("openai", _qwen, "/compatible-mode/v1"),
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
ENGINES: Mapping[str, Vendor] = {
    "tavily": Vendor("tavily-python", _tavily),
    "exa": Vendor("exa-py", _exa),
    "firecrawl": Vendor("firecrawl-py", _firecrawl),
    "linkup": Vendor("linkup-sdk", _linkup, "/v1"),
    "parallel": Vendor("parallel-web", _parallel),
    "you": Vendor("youdotcom", _you),
    "google_pse": Vendor("google-api-python-client", _google_pse, other_key=True),
    "ollama_search": Vendor("ollama", _ollama_search),
}
OPTIONS = SearchOptions(
    ("docs.example",), (), Location("DE"), "de", "2026-01-01T00:00:00Z", "2026-06-30T23:59:59Z"
)
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


_DEPENDENT: Mapping[str, ProviderSpec] = {
    "bedrock": bedrock_spec("us-east-1"),
    "vertex": vertex_spec(PROJECT, REGION),
    "vertex_claude": vertex_claude_spec(PROJECT, REGION),
}
"""Specs that depend on the environment."""


class Recorded(NamedTuple):
    """What a client sent."""

    method: str
    path: str
    authentication: dict[str, str]
    body: Body
    query: Body = {}  # noqa: RUF012  never changed


@contextmanager
def recorder() -> Iterator[tuple[str, list[Recorded]]]:
    """A server on loopback that answers every request with an empty object, and what it received."""
    received: list[Recorded] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            received.append(recorded(self.command, self.path, dict(self.headers), data))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_POST  # noqa: N815

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
    row = _DEPENDENT.get(name) or find_spec(name)
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


def engine_request(row: ApiEngineSpec, base_url: str) -> Recorded:
    """What an engine sends, with the options that it honours."""
    unset = SearchOptions()
    honoured = {name: getattr(OPTIONS, name) for name in row.honours if hasattr(unset, name)}
    settings = dict.fromkeys(row.variables, "my-engine")
    query = ServiceQuery(
        "How long is the Nile?", SearchOptions(**honoured), base_url, Secret(KEY), 5, "2026-07-01", settings
    )
    call = row.request(query)
    return recorded(call.method, call.url, call.headers, call.body or b"")


def recorded(method: str, target: str, headers: Mapping[str, str], data: bytes) -> Recorded:
    """A request, as it is compared."""
    known = {name.lower(): text for name, text in headers.items()}
    shown = {name: known[name] for name in _AUTHENTICATION if name in known}
    url = urlsplit(target)
    return Recorded(method, url.path, shown, json.loads(data or b"{}"), dict(parse_qsl(url.query)))


def engine_differences(name: str, vendor: Vendor) -> tuple[Recorded, list[str]]:
    """What the SDK sent, and how the request of the engine differs from it."""
    row = load_registered(name)
    if not isinstance(row, ApiEngineSpec):
        raise TypeError(f"{name} is not a search engine")
    with recorder() as (url, received):
        own = engine_request(row, url + vendor.base)
        return compared(name, vendor, own, lambda: vendor.send(url, dict(own.body or own.query)), received)


def differences(name: str, vendor: Vendor) -> tuple[Recorded, list[str]]:
    """What the SDK sent, and how groundwire's request differs from it."""
    with recorder() as (url, received):
        asyncio.run(send(replace(row_of(name), base_url=url + vendor.base)))
        own = received.pop()
        return compared(
            name, vendor, own, lambda: vendor.send(url, json.loads(json.dumps(own.body))), received
        )


def compared(
    name: str, vendor: Vendor, own: Recorded, send: Callable[[], object], received: list[Recorded]
) -> tuple[Recorded, list[str]]:
    """Let the SDK send its request, and compare it."""
    try:
        send()
    except Exception as error:  # noqa: BLE001  the response is empty, which every SDK reports differently
        if not received:
            return own, [f"{name}: the SDK did not send the request: {type(error).__name__}: {error}"]
    theirs = received[0]
    theirs = theirs._replace(
        body=_without_defaults(theirs.body, own.body), query=_without_defaults(theirs.query, own.query)
    )
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
    return kept | {
        name: item
        for name, item in added.items()
        if name not in _ADDED and not any((name, item) == known for known in _DEFAULTS)
    }


def fact_of(package: str, sent: Recorded) -> Body:
    """What is stored of a request."""
    return {
        "sdk": f"{package} {version(package)}",
        "method": sent.method,
        "path": sent.path,
        "authentication": sent.authentication,
        "body": sent.body,
        **({"query": sent.query} if sent.query else {}),
    }


def main(arguments: Sequence[str]) -> int:
    """Compare all requests, and write or check the facts."""
    found = {name: differences(name, vendor) for name, vendor in VENDORS.items()}
    found |= {name: engine_differences(name, vendor) for name, vendor in ENGINES.items()}
    faults = [fault for _, lines in found.values() for fault in lines]
    sdks = {**VENDORS, **ENGINES}
    facts = {name: fact_of(sdks[name].package, sent) for name, (sent, _) in found.items()}
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
