"""Registry of the tools: name, provider, descriptions in English and German, schema and error codes.

Provider tools take only a query; `websearch` also takes search options. Error codes follow one pattern:
`MISSING_…` comes from the provider, `<PROVIDER>_WEB_SEARCH_FAILED` from the tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from groundwire.dialects.websearch.tools import UNIFIED_ARGUMENTS
from groundwire.dialects.websearch.tools import UNIFIED_TOOL as UNIFIED_NAME
from groundwire.model import Json, JsonObject
from groundwire.model.value import value
from groundwire.providers.catalog import KNOWN_PROVIDERS

Texts: TypeAlias = Mapping[str, str]
"""A text by language: `en`, `de`."""

DESCRIPTIONS: Mapping[str, Texts] = {
    "websearch": {
        "en": "Searches the web and returns an answer with numbered citations and the list of its sources. "
        "Use it for anything that may have changed or that needs evidence. Optionally choose who "
        "searches, on which sites, and for which time and place.",
        "de": "Durchsucht das Web und liefert eine Antwort mit nummerierten Belegen und der Liste ihrer "
        "Quellen. Für alles, was sich geändert haben kann oder belegt werden soll. Wahlweise lässt "
        "sich bestimmen, wer sucht, auf welchen Seiten und für welche Zeit und welchen Ort.",
    },
    "websearch_gemini": {
        "en": "Searches the web with Google Search through Gemini, and returns an answer with numbered "
        "citations and the list of its sources.",
        "de": "Durchsucht das Web mit der Google-Suche über Gemini und liefert eine Antwort mit "
        "nummerierten Belegen und der Liste ihrer Quellen.",
    },
    "websearch_openai_oauth": {
        "en": "Searches the web with a ChatGPT model through your ChatGPT login, and returns an answer with "
        "its sources.",
        "de": "Durchsucht das Web mit einem ChatGPT-Modell über die eigene ChatGPT-Anmeldung und liefert "
        "eine Antwort mit ihren Quellen.",
    },
    "websearch_openrouter": {
        "en": "Searches the web through OpenRouter, and returns an answer with numbered citations and the "
        "list of its sources.",
        "de": "Durchsucht das Web über OpenRouter und liefert eine Antwort mit nummerierten Belegen und der "
        "Liste ihrer Quellen.",
    },
    "websearch_openai": {
        "en": "Searches the web with an OpenAI model, and returns an answer with numbered citations and the "
        "list of its sources.",
        "de": "Durchsucht das Web mit einem Modell von OpenAI und liefert eine Antwort mit nummerierten "
        "Belegen und der Liste ihrer Quellen.",
    },
    "websearch_anthropic": {
        "en": "Searches the web with a Claude model, and returns an answer with numbered citations and the "
        "list of its sources.",
        "de": "Durchsucht das Web mit einem Claude-Modell und liefert eine Antwort mit nummerierten Belegen "
        "und der Liste ihrer Quellen.",
    },
    "websearch_copilot": {
        "en": "Searches the web with Bing through the GitHub Copilot CLI, and returns an answer with its "
        "sources. Slow: half a minute or more.",
        "de": "Durchsucht das Web mit Bing über die GitHub Copilot CLI und liefert eine Antwort mit ihren "
        "Quellen. Langsam: eine halbe Minute oder mehr.",
    },
    "websearch_web": {
        "en": "Searches the live web without any key, reads the pages, and returns what they say word for "
        "word, with citations.",
        "de": "Durchsucht das Web ohne Schlüssel, liest die Seiten und liefert, was dort wörtlich steht, "
        "mit Belegen.",
    },
    "websearch_local": {
        "en": "Searches the pages indexed on this machine, without network, and returns what they say word "
        "for word, with citations.",
        "de": "Durchsucht die auf diesem Rechner erfassten Seiten, ohne Netz, und liefert, was dort "
        "wörtlich steht, mit Belegen.",
    },
    "geminisearch": {
        "en": "Performs a web search using Google Search (via the Gemini API) and returns the results. This "
        "tool is useful for finding information on the internet based on a query.",
        "de": "Führt eine Websuche mit Google durch (über die Gemini-API) und liefert die Ergebnisse. Das "
        "Werkzeug hilft, zu einer Anfrage Informationen im Internet zu finden.",
    },
}

ARGUMENTS: Mapping[str, Texts] = {
    "query": {
        "en": "What to search for, in natural language.",
        "de": "Wonach gesucht wird, in natürlicher Sprache.",
    },
    "provider": {
        "en": f"Who searches: {', '.join(KNOWN_PROVIDERS)}, or a configured name. Leave it out to use the "
        "first that is available.",
        "de": f"Wer sucht: {', '.join(KNOWN_PROVIDERS)} oder ein konfigurierter Name. Ohne Angabe der erste, "
        "der verfügbar ist.",
    },
    "model": {
        "en": "A model of that provider, instead of its default.",
        "de": "Ein Modell dieses Anbieters statt seiner Vorgabe.",
    },
    "allowed_domains": {
        "en": "Search only these sites: bare hosts such as example.com.",
        "de": "Nur auf diesen Seiten suchen: reine Hostnamen wie example.com.",
    },
    "blocked_domains": {
        "en": "Never use these sites: bare hosts such as example.com.",
        "de": "Diese Seiten nie verwenden: reine Hostnamen wie example.com.",
    },
    "country": {
        "en": "Where the user is: ISO 3166 country code, two letters.",
        "de": "Wo der Fragende ist: Ländercode nach ISO 3166, zwei Buchstaben.",
    },
    "region": {
        "en": "Where the user is: region or state.",
        "de": "Wo der Fragende ist: Region oder Bundesland.",
    },
    "city": {"en": "Where the user is: city.", "de": "Wo der Fragende ist: Stadt."},
    "timezone": {
        "en": "Where the user is: IANA time zone, such as Europe/Berlin.",
        "de": "Wo der Fragende ist: IANA-Zeitzone wie Europe/Berlin.",
    },
    "language": {
        "en": "Preferred language of the pages, such as de.",
        "de": "Bevorzugte Sprache der Seiten, etwa de.",
    },
    "since": {
        "en": "Only pages from then on: 7d, 2026-01-31, or an RFC 3339 time.",
        "de": "Nur Seiten seit damals: 7d, 2026-01-31 oder eine Zeit nach RFC 3339.",
    },
    "until": {
        "en": "Only pages up to then: 2026-01-31, or an RFC 3339 time.",
        "de": "Nur Seiten bis dahin: 2026-01-31 oder eine Zeit nach RFC 3339.",
    },
    "max_uses": {"en": "How many searches may be made.", "de": "Wie viele Suchen erlaubt sind."},
    "max_sources": {"en": "How many sources to use.", "de": "Wie viele Quellen verwendet werden."},
    "context_size": {
        "en": "How much of the pages is read.",
        "de": "Wie viel von den Seiten gelesen wird.",
    },
    "live": {
        "en": "false: only what the provider has stored, no live access.",
        "de": "false: nur was der Anbieter gespeichert hat, kein Zugriff auf das Netz.",
    },
}


AUTO = "auto"


@value
class ToolSpec:
    """A tool."""

    name: str
    provider: str
    """The provider it uses; `auto` uses the configured order."""
    failed: str
    """Error code of a failed search."""
    description: Texts
    arguments: tuple[str, ...] = ("query",)

    def parameters(self, language: str = "en") -> JsonObject:
        """JSON Schema of the arguments."""
        properties: JsonObject = {name: _argument(name, language) for name in self.arguments}
        return {
            "type": "object",
            "properties": properties,
            "required": ["query"],
            "additionalProperties": False,
        }


def _argument(name: str, language: str) -> JsonObject:
    schema: JsonObject = {**_SCHEMAS.get(name, _STRING)}
    schema["description"] = ARGUMENTS[name][language]
    return schema


_STRING: JsonObject = {"type": "string"}
_COUNT: JsonObject = {"type": "integer", "minimum": 1}
_DOMAINS: JsonObject = {"type": "array", "items": {"type": "string"}, "maxItems": 100}
_SIZES: list[Json] = ["low", "medium", "high"]
_SCHEMAS: Mapping[str, JsonObject] = {
    "query": {"type": "string", "minLength": 1},
    "allowed_domains": _DOMAINS,
    "blocked_domains": _DOMAINS,
    "max_uses": _COUNT,
    "max_sources": _COUNT,
    "context_size": {"type": "string", "enum": _SIZES},
    "live": {"type": "boolean"},
}


def failure_code(provider: str) -> str:
    """Error code of a failed search; without a provider for `auto`."""
    return "WEB_SEARCH_FAILED" if provider == AUTO else f"{provider.upper()}_WEB_SEARCH_FAILED"


def _of_provider(provider: str) -> ToolSpec:
    name = f"websearch_{provider}"
    return ToolSpec(name, provider, failure_code(provider), DESCRIPTIONS[name])


GEMINISEARCH = ToolSpec("geminisearch", "geminisearch", failure_code("gemini"), DESCRIPTIONS["geminisearch"])
WEBSEARCH = ToolSpec(UNIFIED_NAME, AUTO, failure_code(AUTO), DESCRIPTIONS[UNIFIED_NAME], UNIFIED_ARGUMENTS)

_PROVIDERS = ("gemini", "openai_oauth", "openrouter", "openai", "anthropic", "copilot", "web", "local")

TOOLS: Mapping[str, ToolSpec] = {
    tool.name: tool for tool in (WEBSEARCH, *map(_of_provider, _PROVIDERS), GEMINISEARCH)
}
"""Every tool by its name."""
