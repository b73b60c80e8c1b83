"""Generate docs/providers.md: the providers and engines, their credentials, models and search options.

The tables come from the provider specifications in the source. With `--check`, nothing is written; the exit
status is 1 if the page is out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from groundwire.client import Groundwire, ProviderStatus
from groundwire.config.schema import KNOWN_PROVIDERS, Config
from groundwire.credentials.lookup import Lookup
from groundwire.engine.engines.api import ApiEngineSpec
from groundwire.providers.models import CHECKED, MODELS
from groundwire.providers.policy import OPTIONS
from groundwire.providers.registry import load_registered
from groundwire.providers.spec import ProviderSpec

PAGE = Path(__file__).parents[1] / "docs" / "providers.md"

_HEAD = """\
# Providers

This page lists the providers and engines that groundwire can use, with their credentials, default models and
search options. A provider is an API that answers questions. An engine only finds pages, and groundwire quotes
the answer from them.

```sh
groundwire providers          # which of them you can use, and why; --all lists every one
groundwire login gemini       # stores a key
groundwire doctor             # where credentials were found
```

`scripts/providers.py` generates this page from the source.

## Credentials and dialects
"""

_SUPPORT = {"native": "yes", "emulated": "prompt", "ignored": "–", "refused": "refused"}
_OTHERS = {
    "copilot": "the login of its own CLI; off unless named, or `providers.copilot.enabled = true`",
    "searxng": "none; `SEARXNG_URL` is the URL of the server",
    "azure": (
        "`AZURE_OPENAI_API_KEY`, `AZURE_OPENAI_AD_TOKEN`, `groundwire login azure`; "
        "`AZURE_OPENAI_ENDPOINT` is the address"
    ),
    "vertex": "`VERTEX_ACCESS_TOKEN`, or application default credentials; `GOOGLE_CLOUD_PROJECT`",
    "vertex_claude": "as `vertex`; `ANTHROPIC_VERTEX_PROJECT_ID` comes first",
    "bedrock": (
        "`AWS_BEARER_TOKEN_BEDROCK`, OpenCode (`amazon-bedrock`, api), `groundwire login bedrock`, or an "
        "access key: `AWS_ACCESS_KEY_ID`, `~/.aws` (`AWS_PROFILE`), a role, a container; `AWS_REGION` or the "
        "profile's region"
    ),
    "google_pse": "`GOOGLE_PSE_API_KEY`, `groundwire login google_pse`; `GOOGLE_PSE_ENGINE_ID`",
    "ollama": "none; found on port 11434",
    "vllm": "none, or `VLLM_API_KEY`; found on port 8000",
    "lmstudio": "none, or `LM_API_TOKEN`; found on port 1234",
    "llamacpp": "none, or `LLAMA_API_KEY`; found on port 8080",
    "web": "none; it asks `ddgs`, then Tavily without a key",
}

_OPTIONS = """\
- **yes**: the provider or engine supports the option.
- **prompt**: the prompt asks the model for it. For domain lists, sources outside the list are then removed
  from the answer.
- **–**: the hint is not used, and a warning says so.
- **refused**: the provider cannot keep this restriction, so the request is refused.

Gemini takes a location natively only as coordinates. The prompt names country, region and city.
"""

_MODELS = f"""\
If neither the request nor the configuration names a model, the provider's default is used. If the vendor has
withdrawn that model, groundwire requests the vendor's current model of the same family once, with a warning.
A model that you name is never replaced.

The vendors' announcements were last checked on {CHECKED}.
"""

_NOTES = """\
## Notes

**Models without web search** (`no search` in the table) answer requests without search. To let one search,
give it an engine:

```toml
[providers.deepseek]
search = "engine:web"
```

**Azure.** `AZURE_OPENAI_ENDPOINT` or `providers.azure.base_url` is the address of the resource, like
`https://NAME.openai.azure.com`. The model is the name of a deployment; set `providers.azure.model` for a
default. Instead of a key, `AZURE_OPENAI_AD_TOKEN` can hold a token of Entra ID.

**Vertex AI** uses Gemini in a project of Google Cloud. `GOOGLE_CLOUD_PROJECT` names it, and
`GOOGLE_CLOUD_LOCATION` the region (`global` by default). Credentials are an access token in
`VERTEX_ACCESS_TOKEN`, or the file of `gcloud auth application-default login`, or that of a service account
in `GOOGLE_APPLICATION_CREDENTIALS`, which needs the package `cryptography`. On a machine of Google Cloud
(Compute Engine, Cloud Run, GKE), the service account of the machine is used.

**Bedrock** takes a key of its own (`AWS_BEARER_TOKEN_BEDROCK`) or the credentials of AWS: an access key, a
profile (also one with a role, a single sign-on after `aws sso login`, or `credential_process`), a web
identity (EKS), or the credentials of a container (ECS, EKS Pod Identity). The role of an EC2 instance is not
read.

**Regions.** A key of DashScope (`qwen`), Z.ai or Moonshot is valid in one region. For the other one, set
`base_url`; the error about a rejected key says to what.

**Servers on this machine.** `groundwire doctor`, `groundwire providers` and `groundwire serve` connect to
the ports of Ollama, vLLM, LM Studio and llama.cpp, for a tenth of a second at most. One that listens can be
used, with the first model that it lists. A request waits for that only if it needs a model and there is no
other. With `base_url` or `model` in the configuration, a server counts as running.

**The live web.** `web` asks public search services through the package `ddgs`. If they fail or find
nothing, it asks Tavily without a key, which is limited for each IP address; the warning
`search_service_replaced` says so.

"""

_TAIL = """\
## Any other server

To use any other compatible server, add a table to your [configuration](configuration.md#providersname):

```toml
[providers.acme]
dialect = "openai_chat"
base_url = "https://api.acme.example/v1"
key_env = "ACME_API_KEY"
model = "acme-large"
search_form = "perplexity"    # how it declares a search, if not as OpenAI does
```

The same keys adjust a built-in provider. Packages can add providers through the entry point group
`groundwire.providers`.
"""


def render(statuses: list[ProviderStatus]) -> str:
    """Return the page as Markdown."""
    return "\n".join(
        [
            *(_HEAD, *_credential_table(statuses), ""),
            *("## Search options", "", *_option_table(statuses), "", _OPTIONS),
            *("## Default models", "", _MODELS, *_models(), ""),
            _NOTES + _TAIL,
        ]
    )


def _credential_table(statuses: list[ProviderStatus]) -> Iterator[str]:
    yield _line("provider", "dialect", "default model", "credentials (the first one found is used)")
    yield _line("---", "---", "---", "---")
    for status in statuses:
        sources = _OTHERS.get(status.name) or ", ".join(map(_source, _lookups(status.name))) or "none"
        dialect = (
            status.dialect if " " in status.dialect or status.dialect == "engine" else f"`{status.dialect}`"
        )
        yield _line(f"`{status.name}`", dialect, f"`{status.model}`" if status.model else "", sources)


def _lookups(name: str) -> tuple[Lookup, ...]:
    found = load_registered(name)
    return found.lookups if isinstance(found, ApiEngineSpec | ProviderSpec) else ()


def _source(lookup: Lookup) -> str:
    names = {
        "environment": f"`{lookup.name}`",
        "own": f"`groundwire login {lookup.name}`",
        "opencode": f"OpenCode (`{lookup.name}`, {lookup.record})",
        "codex": "Codex CLI",
    }
    return names[lookup.kind]


def _option_table(statuses: list[ProviderStatus]) -> Iterator[str]:
    yield _line("provider", *(f"`{option}`" for option in OPTIONS))
    yield _line("---", *("---" for _ in OPTIONS))
    for status in statuses:
        abilities = status.capabilities
        has_search = abilities.search != "none"
        cells = (_SUPPORT[abilities.support(option)] if has_search else "no search" for option in OPTIONS)
        yield _line(f"`{status.name}`", *cells)


def _models() -> Iterator[str]:
    yield _line("provider", "model", "announced end", "successor")
    yield _line("---", "---", "---", "---")
    for model in MODELS:
        default = model == next(other for other in MODELS if other.provider == model.provider)
        name = f"`{model.name}`" + ("" if default else " (earlier default)")
        yield _line(
            f"`{model.provider}`",
            name,
            model.ends or "none",
            f"`{model.successor}`" if model.successor else "",
        )


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Write the page; with `--check`, compare it."""
    found = {status.name: status for status in Groundwire(Config(), env={"HOME": "/nonexistent"}).providers()}
    page = render([found[name] for name in KNOWN_PROVIDERS])
    if "--check" in sys.argv[1:]:
        if PAGE.is_file() and PAGE.read_text("utf-8") == page:
            return 0
        print("docs/providers.md is out of date: run scripts/providers.py", file=sys.stderr)
        return 1
    PAGE.write_text(page, "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
