"""What stands in the place of Anthropic's encrypted fields in blocks that we made.

`encrypted_content`, `encrypted_index` and `signature` are required, and their owner rejects what it did not
write. Ours are `gw1.` + data + signature: recognised when a client sends them back, never passed on to the
real API. The data are what the block itself has no field for: excerpts of a page, the exact span of a
citation that had to be cut into several blocks.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from binascii import b2a_base64
from hashlib import blake2b

from groundwire.dialects.fields import as_object
from groundwire.dialects.json import dump_json, load_json
from groundwire.errors import ClientWireError
from groundwire.model import JsonObject

_PREFIX = "gw1."
_SIGNATURE_BYTES = 12
_KEY_BYTES = 64
_ALPHABET = bytes.maketrans(b"+/", b"-_")


def seal(data: JsonObject, key: bytes) -> str:
    """A token of ours that holds `data`."""
    payload = _encoded(dump_json(data).encode())
    return f"{_PREFIX}{payload}.{_sign(payload, key)}"


def is_ours(token: str) -> bool:
    """Did some groundwire make this token?"""
    return token.startswith(_PREFIX)


def unseal(token: str, key: bytes) -> JsonObject:
    """What the token holds; nothing if it is not ours or was signed with another key."""
    payload, _, signature = token.removeprefix(_PREFIX).rpartition(".")
    if not is_ours(token) or not hmac.compare_digest(signature.encode(), _sign(payload, key).encode()):
        return {}
    try:
        return as_object(load_json(urlsafe_b64decode(payload.encode()), ClientWireError))
    except (ClientWireError, Base64Error):
        return {}


def _sign(payload: str, key: bytes) -> str:
    # Keyed BLAKE2 is a signature by itself, at a third of the cost of HMAC: there is one for each citation.
    data = payload.encode("utf-8", "replace")
    return _encoded(blake2b(data, key=key[:_KEY_BYTES], digest_size=_SIGNATURE_BYTES).digest())


def _encoded(data: bytes) -> str:
    """In the alphabet of addresses; written out, because there is one for each citation."""
    return b2a_base64(data, newline=False).translate(_ALPHABET).decode("ascii")
