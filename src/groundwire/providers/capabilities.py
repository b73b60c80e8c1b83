"""What a provider can do, as data: it feeds the warnings, the refusals and the documentation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from groundwire.model.value import value

Support: TypeAlias = Literal["native", "emulated", "ignored", "refused"]
"""native: the provider does it; emulated: we ask for it in words, and audit the domains of the answer;
ignored: a hint that is dropped with a warning; refused: a restriction that would not be kept, so the request
is turned down."""

Billing: TypeAlias = Literal["call", "query", "prompt"]
"""What a vendor counts as one search: a call of its search tool (pages opened later are free), a distinct
query, or a prompt for which it found web pages."""

OPTIONS = (
    *("allowed_domains", "blocked_domains", "live"),
    *("location", "language", "since", "until", "max_uses", "max_sources", "context_size"),
)
RESTRICTIONS = frozenset({"allowed_domains", "blocked_domains", "live"})


@value
class Capabilities:
    """What to expect of a provider's search."""

    citations: Literal["spans", "sources", "none"] = "spans"
    streaming: bool = True
    search: Literal["native", "none"] = "native"
    functions_with_search: bool = True
    pauses: bool = False
    """May it stop in the middle of a turn, to be asked to go on?"""
    both_domain_lists: bool = True
    """Can a request have an allow list and a block list at once? If not, the block list is emulated."""
    coordinates: bool = False
    """Is a location with coordinates native, where one with names is emulated?"""
    options: Mapping[str, Support] = {}
    billing: tuple[tuple[str, Billing], ...] = ()
    """How searches are counted, by patterns of model names; `call` where none matches."""

    def billing_for(self, model: str) -> Billing:
        """What counts as one search of this model."""
        return next((rule for pattern, rule in self.billing if re.search(pattern, model)), "call")

    def support(self, option: str) -> Support:
        """How an option is treated; one that is not listed is an ignored hint or a refused restriction.

        A limit on the sources can always be kept, because the answer comes through us.
        """
        if option == "max_sources":
            return self.options.get(option, "emulated")
        return self.options.get(option, "refused" if option in RESTRICTIONS else "ignored")


_KEPT_BY_US = frozenset({"allowed_domains", "blocked_domains", "max_sources", "max_uses"})
"""Options of an engine's answer that we keep ourselves: we choose what is quoted."""


def capabilities_of_engine(honours: frozenset[str]) -> Capabilities:
    """What to expect of an engine that applies these options."""
    options: Mapping[str, Support] = {name: "native" for name in OPTIONS if name in honours | _KEPT_BY_US}
    return Capabilities(functions_with_search=False, options=options, billing=(("", "query"),))
