"""Addresses that may be clicked, and the host that is shown beside them: one parser decides both."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from groundwire.transport.weburl import InvalidUrl, parse

_KEPT = "!$&'()*+,;=:@/?-._~%"


class WebLink(NamedTuple):
    """What is linked to, and whom it leads to."""

    href: str
    host: str
    """The host as it is, with its port."""

    @property
    def domain(self) -> str:
        """The host as it is shown: `www.` tells nobody anything."""
        return self.host.removeprefix("www.")


def web_link(url: str) -> WebLink | None:
    """A link to an http or https address; None for any other, and for one with a name or password in it."""
    try:
        found = parse(url)
    except InvalidUrl:
        return None
    mark = url.partition("#")[2].strip()
    fragment = "#" + quote(mark.encode("utf-8", "replace"), safe=_KEPT) if mark else ""
    return WebLink(f"{found}{fragment}", found.netloc)
