"""An answer that is hard to display: wide tables and code, formulas, long titles, two text directions."""

from __future__ import annotations

from groundwire.model import (
    Citation,
    Cited,
    Event,
    Evidence,
    Finished,
    SearchCall,
    SearchCalled,
    SearchResult,
    SearchReturned,
    Source,
    Span,
    Started,
    TextDelta,
    TextSettled,
)

PAGE = Source("https://docs.example/page", "The [first] page", excerpts=("It was said.",))
OTHER = Source(f"https://other.example/{'long/' * 40}", "Another page, with a title " + "of many words " * 12)
TEXT = f'''It was **said**. It was said [before](https://links.example/), and by others.

| one | two | three | four | five | six | seven | eight |
|---|---|---|---|---|---|---|---|
| something | something | something | something | something | something | something | something |

```
{"code that is wider than any window; " * 6}
```

```python
def said(*args: str) -> str:
    """What was said."""
    return " ".join(args)  # 1
```

- [x] said, with $\\frac{{a^2}}{{b}}$ and `__init__`
- [ ] not said[^note], for $5 or $10

> one line
> another line

$$
\\sum_{{i=1}}^{{n}} i = \\frac{{n(n+1)}}{{2}}
$$

قيل ذلك من قبل.

[^note]: Or not yet.
'''


def rich_events() -> list[Event]:
    """The events of the answer."""

    def cited(words: str, *sources: Source) -> Cited:
        start = TEXT.index(words)
        evidence = tuple(Evidence(source, "It was said.") for source in sources)
        return Cited(Citation(Span(start, start + len(words)), evidence))

    return [
        Started("1", "model-1"),
        SearchCalled(0, SearchCall("s1", ("was it said",))),
        SearchReturned(1, SearchResult("s1", (PAGE, OTHER))),
        TextDelta(2, TEXT),
        cited("It was **said**.", PAGE),
        cited("and by others.", PAGE, OTHER),
        TextSettled(2),
        Finished("stop"),
    ]
