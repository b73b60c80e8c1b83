"""Stored responses: what is written is read, and damaged data is ignored."""

from __future__ import annotations

import zlib

from hypothesis import given
from hypothesis import strategies as st

from groundwire.server.idempotency import MAX_RESPONSE_BYTES, StoredResponse
from groundwire.server.shared_responses import decode_response, encode_response

latin = st.text(st.characters(max_codepoint=255), max_size=20)
responses = st.builds(
    StoredResponse,
    st.binary(min_size=32, max_size=32),
    st.integers(200, 299),
    st.lists(st.tuples(latin, latin), max_size=4).map(tuple),
    st.binary(max_size=300),
)


@given(responses)
def test_a_response_is_read_as_it_was_written(response: StoredResponse) -> None:
    assert decode_response(encode_response(response)) == response


@given(responses, st.data())
def test_damaged_data_is_not_a_response(response: StoredResponse, data: st.DataObject) -> None:
    whole = encode_response(response)
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert decode_response(whole[:cut]) is None


def test_a_response_that_unpacks_to_too_much_is_not_read() -> None:
    large = encode_response(StoredResponse(b"\0" * 32, 200, (), bytes(MAX_RESPONSE_BYTES + 2**20)))
    assert len(large) < 2**17
    assert decode_response(large) is None
    assert decode_response(b"groundwire response 1\n" + zlib.compress(b"[]\nx")) is None
