"""Secrets are redacted from text."""

from __future__ import annotations

import base64
import json
import re
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.credentials.redact import MASK, Redactor, redact_patterns
from groundwire.credentials.secret import Credential, Secret
from tests.growth import LINEAR, growth

CANARIES = (
    "sk-proj-C4n4ry_0penA1-x9y8z7w6v5",
    "AIzaSyC4n4ryG00gl3-0123456789abcdefghij",
    "sk-ant-api03-C4n4ryAnthr0p1c",
    "sk-or-v1-c4n4ry0penr0ut3r",
    "eyJhbGciOiJSUzI1NiJ9.eyJjYW5hcnkiOiJ0cnVlIn0.c2lnbmF0dXJlLWNhbmFyeQ",
    "rt_C4n4ryR3fr3sh.tok3n/with+every=kind~of!character",
    'c4n4ry"with\\quotes&amp;äöü€𝄞 and blanks',
    "12345678",
)


def leaks(text: str) -> list[str]:
    pieces = (secret[at : at + 8] for secret in CANARIES for at in range(len(secret) - 7))
    return [piece for piece in pieces if piece in text]


@pytest.fixture
def redactor() -> Redactor:
    made = Redactor()
    for secret in CANARIES:
        made.add(secret)
    return made


@pytest.mark.parametrize("secret", CANARIES)
@pytest.mark.parametrize(
    "wrap",
    [
        "{}",
        "x{}x",
        "Authorization: Bearer {}\n",
        "https://host/path?key={}&b=1",
        "{0}{0}",
        "Incorrect API key provided: {}. You can find your key at https://x.",
        "é𝄞{}\u2028",
        "a{}",
        "ab{}",
        "abc{}",
    ],
)
def test_a_known_secret_is_masked_wherever_it_occurs(redactor: Redactor, secret: str, wrap: str) -> None:
    shown = redactor.redact_known(wrap.format(secret))
    assert not leaks(shown)
    assert shown == wrap.replace("{0}{0}", "{}").format(MASK)


@pytest.mark.parametrize("secret", CANARIES[:-1])
def test_a_secret_quoted_in_part_is_masked(redactor: Redactor, secret: str) -> None:
    for start in range(len(secret) - 8):
        for end in (start + 8, start + 9, len(secret)):
            assert not leaks(redactor.redact_known(f"key {secret[start:end]}…"))


def test_keys_that_providers_mask_in_part_are_redacted(redactor: Redactor) -> None:
    message = f"Incorrect API key provided: {CANARIES[0][:8]}***********{CANARIES[0][-4:]}."
    assert not leaks(redactor.redact(message))


@pytest.mark.parametrize("secret", CANARIES)
def test_encoded_forms_are_masked(redactor: Redactor, secret: str) -> None:
    data = secret.encode()
    forms = [
        quote(secret, safe=""),
        re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), quote(secret, safe="")),
        json.dumps(secret),
        json.dumps(secret, ensure_ascii=False),
        base64.b64encode(data).decode(),
        base64.urlsafe_b64encode(data).decode(),
        base64.b64encode(b"u" + data).decode(),
        base64.b64encode(b"u:" + data).decode(),
        base64.b64encode(b"us:" + data + b"xy").decode(),
    ]
    for form in forms:
        shown = redactor.redact_known(f"before {form} after")
        before, after = shown.removeprefix("before ").removesuffix(" after").split(MASK)
        assert max(len(before), len(after)) < 8, (form, shown)


def test_short_words_and_credentials_without_secrets_are_not_redacted() -> None:
    redactor = Redactor()
    redactor.add("seven77")
    redactor.add(Secret(""))
    redactor.add_credential(Credential(Secret("short"), "api", "x"))
    assert redactor.redact("seven77 short") == "seven77 short"


def test_both_secrets_of_a_credential_are_redacted() -> None:
    redactor = Redactor()
    redactor.add_credential(
        Credential(Secret("access-canary"), "oauth", "x", refresh=Secret("refresh-canary"))
    )
    assert redactor.redact_known("access-canary refresh-canary") == f"{MASK} {MASK}"
    assert "canary" not in repr(redactor)


@given(st.text(max_size=60), st.integers(0, len(CANARIES) - 1), st.text(max_size=60))
def test_the_text_around_a_secret_stays(before: str, index: int, after: str) -> None:
    redactor = Redactor()
    redactor.add(CANARIES[index])
    shown = redactor.redact_known(before + CANARIES[index] + after)
    assert not leaks(shown)
    if not any(piece in before + after for piece in CANARIES[index]):
        assert shown == before + MASK + after


@given(st.text(alphabet="abcd", min_size=8, max_size=12), st.text(alphabet="abcd", max_size=80))
def test_exactly_the_stretches_of_eight_and_more_are_masked(secret: str, text: str) -> None:
    redactor = Redactor()
    redactor.add(secret)
    pieces = {secret[at : at + 8] for at in range(len(secret) - 7)}
    masked = [False] * len(text)
    for at in range(len(text) - 7):
        if text[at : at + 8] in pieces:
            masked[at : at + 8] = [True] * 8
    expected = ""
    for at, char in enumerate(text):
        if not masked[at]:
            expected += char
        elif at == 0 or not masked[at - 1]:
            expected += MASK
    assert redactor.redact_known(text) == expected


PATTERNS = [
    ("Authorization: Bearer abcdefgh12345678", f"Authorization: {MASK}"),
    ("authorization: Basic dXNlcjpwYXNzd29yZA==", f"authorization: {MASK}"),
    ("sent Bearer abc.def-ghi_jkl to x", f"sent Bearer {MASK} to x"),
    ("x-api-key: abc", f"x-api-key: {MASK}"),
    ("{'x-goog-api-key': 'abc', 'a': 'b'}", f"{{'x-goog-api-key': '{MASK}', 'a': 'b'}}"),
    ("GET /v1?a=b&key=abc&alt=sse HTTP", f"GET /v1?a=b&key={MASK}&alt=sse HTTP"),
    ("https://x/?api_key=abc#top", f"https://x/?api_key={MASK}"),
    ("grant_type=refresh_token&refresh_token=abc&client_id=x", f"&refresh_token={MASK}&client_id=x"),
    ('{"access_token": "abc", "expires_in": 3}', f'{{"access_token": "{MASK}", "expires_in": 3}}'),
    ('{\\"refresh_token\\":\\"abc\\",\\"b\\":1}', f'{{\\"refresh_token\\":\\"{MASK}\\",\\"b\\":1}}'),
    ('{"openai":{"access":"abc","refresh":"def"}}', f'{{"access":"{MASK}","refresh":"{MASK}"}}'),
    ('{"type":"api","key":"abc"}', f'"key":"{MASK}"'),
    ("Incorrect API key provided: sk-proj-abcdef12.", f"provided: {MASK}."),
    ("key AIzaSyA-1234567890 is bad", f"key {MASK} is bad"),
    ("new key AQ.Ab8RN6-1234567890_xyz", f"new key {MASK}"),
    ("jwt eyJhbGciOiJub25lIn0.eyJhIjoxfQ.c2ln!", f"jwt {MASK}!"),
    ("ghp_0123456789abcdef gsk_0123456789", f"{MASK} {MASK}"),
    ("xai-0123456789 tvly-dev-0123456789", f"{MASK} {MASK}"),
    ("Set-Cookie: a=b; c=d\nnext", f"Set-Cookie: {MASK}\nnext"),
    (
        "OPENAI_API_KEY is not set; see https://x.test/a?b=c",
        "OPENAI_API_KEY is not set; see https://x.test/a?b=c",
    ),
    (
        "a task-oriented key, the token limit, basic facts",
        "a task-oriented key, the token limit, basic facts",
    ),
]


@pytest.mark.parametrize(("text", "shown"), PATTERNS)
def test_text_that_looks_like_a_secret_is_masked(text: str, shown: str) -> None:
    found = redact_patterns(text)
    assert shown in found
    assert Redactor().redact(text) == found
    assert redact_patterns(found) == found


def test_text_that_only_looks_like_a_secret_is_kept_in_answers(redactor: Redactor) -> None:
    text = "See [maps](https://maps.test/?key=AIzaNotOurs12345) and sk-learn-like-names."
    assert redactor.redact_known(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        "The quick brown fox. ",
        "eyJ",
        "Bearer ",
        "\\",
        "sk-",
        "api_key ",
        "api_key:",
        '"key":"',
        "?key=",
        "secret" + " " * 1000,
        "cookie:",
        CANARIES[0][:7] + " ",
        CANARIES[0],
    ],
)
def test_the_cost_grows_with_the_text_and_not_with_its_square(redactor: Redactor, piece: str) -> None:
    assert growth(lambda size: redactor.redact(piece * (size // len(piece))), 20_000) < LINEAR
