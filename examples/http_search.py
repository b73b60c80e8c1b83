"""One search over HTTP, without an SDK: needs `groundwire serve`."""

from __future__ import annotations

import json
import os
from urllib.request import Request, urlopen


def main() -> None:
    url = os.environ.get("GROUNDWIRE_URL", "http://127.0.0.1:8484")
    body = json.dumps({"query": "How long is the Nile?"}).encode()
    request = Request(f"{url}/v1/search", body, {"content-type": "application/json"})  # noqa: S310  our address
    with urlopen(request, timeout=60) as response:  # noqa: S310
        result = json.load(response)
    print(result["llmContent"])


if __name__ == "__main__":
    main()
