"""Search APIs of other services, so that programs with a search setting can use the gateway.

| API | routes |
|---|---|
| groundwire | `GET`, `POST /v1/find` |
| SearXNG | `GET`, `POST /search` with `q` |
| Tavily | `POST /search` with `query`, `POST /extract` |
| Perplexity Search | `POST /search` with its fields, or from its client |
| Ollama | `POST /api/web_search`, `POST /api/web_fetch` |
| Open WebUI | `POST /v1/external` |
"""
