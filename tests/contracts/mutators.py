"""Stream mutators: ways to break a stream, from single bytes to its meaning.

A mutator takes a source of chance and a stream of server-sent events and gives back a broken one. Equal
seeds give equal mutants. Those that make megabytes are drawn seldom.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import TypeAlias

from groundwire.model import Json, JsonObject

Mutator: TypeAlias = Callable[[Random, bytes], bytes]
Blocks: TypeAlias = list[bytes]
Path: TypeAlias = tuple[str | int, ...]

_HOLE = "\ue0f0hole\ue0f0"
_INDEX_KEYS = {
    "index",
    "output_index",
    "content_index",
    "sequence_number",
    "annotation_index",
    "summary_index",
}
_OFFSET_KEYS = {"start_index", "end_index", "startIndex", "endIndex", "partIndex"}
_ODD_CHARACTERS = (
    "\u2028",
    "\u2029",
    "\x85",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1d",
    "\x1e",
    "\x00",
    "\ufeff",
    "\x7f",
)


def blocks_of(data: bytes) -> Blocks:
    """The raw events of a stream, without the empty lines between."""
    return [block for block in data.replace(b"\r\n", b"\n").split(b"\n\n") if block]


def _joined(blocks: Blocks) -> bytes:
    return b"".join(block + b"\n\n" for block in blocks)


def payload_of(block: bytes) -> tuple[bytes, Json]:
    """The bytes before the JSON of a block, and the JSON, or None."""
    head, mark, body = block.partition(b"data: ")
    if not mark:
        head, body = b"", block
    try:
        return head + mark, json.loads(body)
    except ValueError:
        return head + mark, None


def paths(value: Json, path: Path = ()) -> Iterator[Path]:
    """Every path in a value but its root."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*path, key)
            yield from paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield (*path, index)
            yield from paths(item, (*path, index))


def at(value: Json, path: Path) -> Json:
    """The value at a path."""
    for step in path:
        if isinstance(step, str):
            assert isinstance(value, dict)
            value = value[step]
        else:
            assert isinstance(value, list)
            value = value[step]
    return value


def put(value: Json, path: Path, new: Json) -> None:
    """Set the value at a path."""
    holder, key = at(value, path[:-1]), path[-1]
    if isinstance(key, str):
        assert isinstance(holder, dict)
        holder[key] = new
    else:
        assert isinstance(holder, list)
        holder[key] = new


def _on_blocks(change: Callable[[Random, Blocks], Blocks]) -> Mutator:
    return lambda random, data: _joined(change(random, blocks_of(data)))


def _on_json(change: Callable[[Random, Json], str | None], keys: set[str] | None = None) -> Mutator:
    """Break the JSON of one event, if any has one of the keys. `change` may return text for the hole."""

    def mutate(random: Random, data: bytes) -> bytes:
        blocks = blocks_of(data)
        order = list(range(len(blocks)))
        random.shuffle(order)
        for index in order:
            head, value = payload_of(blocks[index])
            if not isinstance(value, dict) or not _holds(value, keys):
                continue
            literal = change(random, value)
            body = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            if literal is not None:
                body = body.replace(f'"{_HOLE}"', literal)
            blocks[index] = head + body.encode("utf-8", "surrogatepass")
            break
        return _joined(blocks)

    return mutate


def _holds(value: Json, keys: set[str] | None) -> bool:
    return any(keys is None or path[-1] in keys for path in paths(value))


def _random_path(random: Random, value: Json, keys: set[str] | None = None) -> Path:
    return random.choice([path for path in paths(value) if keys is None or path[-1] in keys])


def _hole(literal: Callable[[Random], str], keys: set[str] | None = None) -> Mutator:
    def change(random: Random, value: Json) -> str:
        put(value, _random_path(random, value, keys), _HOLE)
        return literal(random)

    return _on_json(change, keys)


def _remove(random: Random, value: Json) -> None:
    path = _random_path(random, value)
    holder, key = at(value, path[:-1]), path[-1]
    if isinstance(key, str):
        assert isinstance(holder, dict)
        del holder[key]
    else:
        assert isinstance(holder, list)
        del holder[key]


def _rename(random: Random, value: Json) -> None:
    path = _random_path(random, value)
    holder, key = at(value, path[:-1]), path[-1]
    if isinstance(holder, dict) and isinstance(key, str):
        holder[key + "_renamed"] = holder.pop(key)


def _retype(random: Random, value: Json) -> None:
    odd: tuple[Json, ...] = (None, [], [[]], {}, {"a": 1}, 7, -1, 1.5, True, "", "text", [None], [1, "a", {}])
    put(value, _random_path(random, value), random.choice(odd))


def _unknown_type(random: Random, value: Json) -> None:
    odd: tuple[Json, ...] = ("no.such.type", None, [], 3, {"type": "x"})
    put(value, _random_path(random, value, {"type", "event_type"}), random.choice(odd))


def _wrong_index(random: Random, value: Json) -> None:
    put(
        value, _random_path(random, value, _INDEX_KEYS), random.choice((0, 1, 7, 10**6, -1, 10**30, 0.5, "0"))
    )


def _wrong_offset(random: Random, value: Json) -> None:
    path = _random_path(random, value, _OFFSET_KEYS)
    now = at(value, path)
    near = now if isinstance(now, int) else 0
    put(value, path, random.choice((-1, -(10**9), 10**9, 2**63, near + 1, near - 1, near + 2, 0, 1.0, None)))


def _wrong_chunk(random: Random, value: Json) -> None:
    odd: tuple[Json, ...] = ([99], [-1], [0, 0, 0], [], [10**20], ["0"], None)
    put(value, _random_path(random, value, {"groundingChunkIndices"}), random.choice(odd))


def _shuffle_list(random: Random, value: Json) -> None:
    """Citations out of order, or any other list."""
    lists = [path for path in paths(value) if isinstance(at(value, path), list)]
    found = at(value, random.choice(lists)) if lists else None
    if isinstance(found, list):
        random.shuffle(found)
        found += found[: random.randint(0, 2)]


def _odd_character(random: Random, value: Json) -> None:
    strings = [path for path in paths(value) if isinstance(at(value, path), str)]
    if strings:
        path = random.choice(strings)
        now = str(at(value, path))
        cut = random.randint(0, len(now))
        put(value, path, now[:cut] + random.choice(_ODD_CHARACTERS) * random.randint(1, 3) + now[cut:])


def _truncate(random: Random, data: bytes) -> bytes:
    return data[: random.randint(0, len(data))]


def _raw_bytes(random: Random, data: bytes) -> bytes:
    cut = random.randint(0, len(data))
    noise = random.choice((b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\xf0\x9f", random.randbytes(9)))
    return data[:cut] + noise + data[cut:]


def _drop(random: Random, blocks: Blocks) -> Blocks:
    return [block for block in blocks if random.random() > 0.2]


def _duplicate(random: Random, blocks: Blocks) -> Blocks:
    return [copy for block in blocks for copy in [block] * random.choice((1, 1, 1, 2))]


def _reorder(random: Random, blocks: Blocks) -> Blocks:
    if random.random() < 0.3:
        random.shuffle(blocks)
        return blocks
    first = random.randrange(len(blocks))
    blocks.insert(random.randrange(len(blocks)), blocks.pop(first))
    return blocks


def _insert(random: Random, blocks: Blocks) -> Blocks:
    odd = (
        b"data: {}",
        b"data: []",
        b"data: null",
        b"data: 1",
        b"data:",
        b"data: {",
        b'data: "x"',
        b"event: x",
    )
    blocks.insert(random.randint(0, len(blocks)), random.choice(odd))
    return blocks


def _error_midway(random: Random, blocks: Blocks) -> Blocks:
    errors = (
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"no"}}',
        b'data: {"error":{"code":503,"message":"no","status":"UNAVAILABLE"}}',
        b'event: error\ndata: {"type":"error","code":null,"message":"no","param":null,"sequence_number":3}',
        b'data: {"event_type":"error","error":{"code":"internal","message":"no"}}',
        b'data: {"error":{"message":7}}',
        b'data: {"error":"plain words"}',
    )
    blocks.insert(random.randint(0, len(blocks)), random.choice(errors))
    return blocks


def _noise(random: Random, blocks: Blocks) -> Blocks:
    odd = (b"id: 7", b"retry: 10", b"retry: x", b"event: ping", b": c", b"data", b"unknown: 1", b"event")
    return [random.choice(odd) + b"\n" + block if random.random() < 0.3 else block for block in blocks]


def _done(random: Random, blocks: Blocks) -> Blocks:
    done = b"data: [DONE]"
    kept = [block for block in blocks if block != done]
    for _ in range(random.randint(0, 2)):
        kept.insert(random.randint(0, len(kept)), done)
    return kept


def _multi_line(_: Random, blocks: Blocks) -> Blocks:
    changed = []
    for block in blocks:
        head, value = payload_of(block)
        lines = json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass").split(b"\n")
        changed.append(head + b"\ndata: ".join(lines) if isinstance(value, dict) else block)
    return changed


def _bare_array(_: Random, data: bytes) -> bytes:
    """What Gemini sends without `alt=sse`."""
    bodies = [block.partition(b"data: ")[2] or block for block in blocks_of(data)]
    return b"[" + b"\r\n,\r\n".join(bodies) + b"]"


def _not_a_stream(random: Random, _: bytes) -> bytes:
    bodies = (
        b"<!DOCTYPE html><html><title>502 Bad Gateway</title></html>",
        b'{"error":{"message":"no","type":"server_error","code":null}}',
        b'[{"error":{"code":429,"message":"no","status":"RESOURCE_EXHAUSTED"}}]',
        b'{"type":"error","error":{"type":"api_error","message":"no"}}',
        b'{"detail":"no"}',
        b"",
        b"\n\n\n",
        b"upstream connect error",
        b"[",
        b"{",
        b"null",
    )
    return random.choice(bodies)


MUTATORS: dict[str, Mutator] = {
    "truncate": _truncate,
    "raw bytes": _raw_bytes,
    "byte-order mark": lambda _, data: b"\xef\xbb\xbf" + data,
    "CR only": lambda _, data: data.replace(b"\n", b"\r"),
    "CRLF": lambda _, data: data.replace(b"\n", b"\r\n"),
    "no space": lambda _, data: data.replace(b"data: ", b"data:"),
    "no blank line at the end": lambda _, data: data.rstrip(b"\n"),
    "bytes after the end": lambda random, data: (
        data + random.choice((b"\x00", b"data: {}\n\n", b"xyz", data))
    ),
    "bare array": _bare_array,
    "not a stream": _not_a_stream,
    "drop": _on_blocks(_drop),
    "duplicate": _on_blocks(_duplicate),
    "reorder": _on_blocks(_reorder),
    "insert": _on_blocks(_insert),
    "no start": _on_blocks(lambda _, blocks: blocks[1:]),
    "no stop": _on_blocks(lambda random, blocks: blocks[: -random.randint(1, 3)]),
    "two starts": _on_blocks(lambda random, blocks: blocks[: random.randint(1, 4)] + blocks),
    "delta before the start": _on_blocks(lambda random, blocks: [random.choice(blocks), *blocks]),
    "error midway": _on_blocks(_error_midway),
    "noise": _on_blocks(_noise),
    "sentinels": _on_blocks(_done),
    "multi-line data": _on_blocks(_multi_line),
    "comments": lambda random, data: b": keep-alive\n\n" * random.randint(1, 200) + data,
    "field removed": _on_json(_remove),
    "field renamed": _on_json(_rename),
    "field of another type": _on_json(_retype),
    "unknown type": _on_json(_unknown_type, {"type", "event_type"}),
    "wrong index": _on_json(_wrong_index, _INDEX_KEYS),
    "wrong offset": _on_json(_wrong_offset, _OFFSET_KEYS),
    "wrong chunk index": _on_json(_wrong_chunk, {"groundingChunkIndices"}),
    "list out of order": _on_json(_shuffle_list),
    "odd character": _on_json(_odd_character),
    "half a pair": _hole(lambda random: random.choice(('"\\ud800"', '"a\\udfff b"', '"\\ud83d\\ud83d"'))),
    "no number": _hole(lambda random: random.choice(("NaN", "Infinity", "-Infinity", "1e999", "-1e999"))),
    "long number": _hole(lambda _: "9" * 5000),
}
HEAVY: dict[str, Mutator] = {
    "huge string": _hole(lambda _: '"' + "x" * 1_000_000 + '"'),
    "deep lists": _hole(lambda _: "[" * 100_000 + "]" * 100_000),
    "deep objects": _hole(lambda _: '{"a":' * 100_000 + "1" + "}" * 100_000),
    "deep and cut": lambda _, data: data + b"data: " + b"[" * 100_000,
}


def mutate(random: Random, data: bytes) -> tuple[bytes, list[str]]:
    """A broken stream, and the names of what was done to it."""
    names = random.choices(list(MUTATORS), k=random.choice((1, 1, 1, 2, 3)))
    if random.random() < 0.02:
        names.append(random.choice(list(HEAVY)))
    for name in names:
        if blocks_of(data):
            data = (MUTATORS.get(name) or HEAVY[name])(random, data)
    return data, names


def mutate_json(random: Random, value: JsonObject) -> tuple[bytes, list[str]]:
    """A broken body, and the names of what was done to it."""
    block = b"data: " + json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n\n"
    whole = [name for name in MUTATORS if name in _FOR_JSON]
    names = random.choices(whole, k=random.choice((1, 1, 2, 3)))
    for name in names:
        block = MUTATORS[name](random, block)
    return block.removeprefix(b"data: ").removesuffix(b"\n\n"), names


_FOR_JSON = {
    *("field removed", "field renamed", "field of another type", "unknown type", "wrong index"),
    *("wrong offset", "wrong chunk index", "list out of order", "odd character", "half a pair"),
}


def chunks(random: Random, data: bytes) -> Iterator[bytes]:
    """The bytes, cut at random."""
    cuts = sorted(random.randint(0, len(data)) for _ in range(random.choice((0, 1, 5, 20))))
    if len(data) < 3000 and random.random() < 0.05:
        cuts = list(range(len(data)))
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        yield data[start:end]
