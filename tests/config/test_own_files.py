"""Errors in groundwire's own files: reported with file, line, key, and what to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

from groundwire.config.opencode import OpenCode
from groundwire.config.schema import ProviderSettings
from tests.config.machine import Machine, write

WRONG_TYPES = {
    "timeout = 'x'": "timeout: expected a positive number of seconds, found this text",
    "timeout = true": "timeout: expected a positive number of seconds, found true or false",
    "timeout = 0": "timeout: expected a positive number of seconds, found 0",
    "timeout = -1.5": "timeout: expected a positive number of seconds, found -1.5",
    "timeout = inf": "timeout: expected a positive number of seconds, found inf",
    "timeout = nan": "timeout: expected a positive number of seconds, found nan",
    "timeout = [1]": "timeout: expected a positive number of seconds, found a list",
    "timeout = {a = 1}": "timeout: expected a positive number of seconds, found a table",
    "timeout = 2026-01-01": "timeout: expected a positive number of seconds, found a date or time",
    "data_dir = ''": "data_dir: expected the path of a directory, found this text",
    "order = 'gemini'": "order: expected a list of provider names, found this text",
    "order = []": "order: expected a list of provider names, found a list",
    "order = [1]": "order: expected a list of provider names, found a list",
    "search = 1": "search: expected a table; write [search] and its keys below",
    "providers = []": "providers: expected a table; write [providers] and its keys below",
    "providers.gemini = 'x'": "providers.gemini: expected a table; write [providers.gemini]",
    "aliases.fast = 1": "aliases.fast: expected a text that is not blank, found 1",
    "search.city = '  '": "search.city: expected a text that is not blank, found this text",
    'search.city = "a\\u001b"': "search.city: expected a text that is not blank, found this text",
    "search.country = 'Germany'": "search.country: expected a country as two letters, such as DE",
    "search.live = 'no'": "search.live: expected true or false, found this text",
    "search.max_uses = 1.5": "search.max_uses: expected a whole number from 1, found 1.5",
    "search.max_uses = 0": "search.max_uses: expected a whole number from 1, found 0",
    "search.context_size = 'huge'": "search.context_size: expected one of low, medium, high, found this text",
    "gateway.cache_seconds = -1": "gateway.cache_seconds: expected a number of seconds, 0 for not at all, ",
    "gateway.cache_seconds = false": "gateway.cache_seconds: expected a number of seconds, 0 for not at all",
    "search.since = 'soon'": "search.since: expected a time such as 7d (h, d, w, m, y), 2026-01-31",
    "search.since = 7": "search.since: expected a time such as 7d",
    "search.allowed_domains = ['https://a.example']": "search.allowed_domains: expected a list of bare hosts",
    "search.allowed_domains = ['a b']": "search.allowed_domains: expected a list of bare hosts",
    "search.allowed_domains = ['']": "search.allowed_domains: expected a list of bare hosts",
    "search.blocked_domains = 'a.example'": "search.blocked_domains: expected a list of bare hosts",
    "providers.x.dialect = 'latin'": "providers.x.dialect: expected one of anthropic_messages, ",
    "providers.gemini.search = 'maybe'": "providers.gemini.search: expected native, none or engine:NAME",
    "providers.gemini.enabled = 1": "providers.gemini.enabled: expected true or false, found 1",
    "providers.gemini.key_env = 'sk-1'": "providers.gemini.key_env: expected the name of an environment",
    "providers.gemini.base_url = 1": "providers.gemini.base_url: expected an address that starts with",
}


@pytest.mark.parametrize("text", WRONG_TYPES)
def test_a_value_of_the_wrong_type_is_reported_with_file_line_and_key(machine: Machine, text: str) -> None:
    path = machine.write_user_file(f"# first line\n\n{text}\n")
    assert machine.load_error().startswith(f"{path}:3: {WRONG_TYPES[text]}")


@pytest.mark.parametrize("seconds", ["0", "0.0", "60"])
def test_zero_cache_seconds_disable_the_cache(machine: Machine, seconds: str) -> None:
    machine.write_user_file(f"gateway.cache_seconds = {seconds}")
    assert machine.load().gateway.cache_seconds == float(seconds)


def test_at_most_a_hundred_domains_are_accepted(machine: Machine) -> None:
    domains = [f"site{number}.example" for number in range(101)]
    machine.write_user_file(f"search.allowed_domains = {domains[:100]}")
    assert machine.load().search.allowed_domains == tuple(domains[:100])
    machine.write_user_file(f"search.allowed_domains = {domains}")
    assert "at most 100" in machine.load_error()


UNKNOWN = {
    "timeuot = 1": "timeuot: unknown key; did you mean timeout?",
    "[searhc]\nx = 1": "searhc: unknown key; did you mean search?",
    "search.contry = 'DE'": "search.contry: unknown key; did you mean country?",
    "providers.gemini.modle = 'x'": "providers.gemini.modle: unknown key; did you mean model?",
    "providers.gemini.baseURL = 'x'": "providers.gemini.baseURL: unknown key; did you mean base_url?",
    "providers.gemini.base-url = 'x'": "providers.gemini.base-url: unknown key; did you mean base_url?",
    "zzz = 1": "zzz: unknown key; known are: order, timeout, max_answer_mb, data_dir, store, redis, ",
    "providers.gemini.api_key = 'sk-1'": "providers.gemini.api_key: this file may not hold keys; put the key",
    '"a b" = 1': '"a b": unknown key',
    '"a\\u001bb" = 1': '"a\\x1bb": unknown key',
    "providers.'a/b'.model = 'x'": 'providers."a/b": a provider\'s name has only letters',
    "providers.gemni.model = 'x'": "providers.gemni: there is no provider 'gemni'; did you mean gemini? "
    "To define one, set its dialect and base_url in your configuration",
    "order = ['opnai']": "order: there is no provider 'opnai'; did you mean openai?",
    "order = ['zzzzzz']": "order: there is no provider 'zzzzzz'; known are: anthropic, azure, bedrock,",
}


@pytest.mark.parametrize("text", UNKNOWN)
def test_an_unknown_name_is_reported_with_the_most_similar_one(machine: Machine, text: str) -> None:
    path = machine.write_user_file(text)
    assert machine.load_error().startswith(f"{path}:1: {UNKNOWN[text]}")


def test_a_value_is_never_quoted(machine: Machine) -> None:
    for text in (
        "providers.gemini.key_env = 'sk-canary-1'",
        "providers.gemini.api_key = 'sk-canary-1'",
        "providers.gemini.base_url = 'https://u:sk-canary-1@host'",
        "providers.gemini.base_url = 'sk-canary-1'",
        "timeout = 'sk-canary-1'",
        "timeout = 'sk-canary-1",
    ):
        machine.write_user_file(text)
        assert "canary" not in machine.load_error()


BROKEN = {
    "a = ": ":1:5: not valid TOML: Invalid value",
    "timeout = 1\ntimeout = 2": ":2:12: not valid TOML: Cannot overwrite a value",
    "x = 1\n[search\n": ":2:8: not valid TOML: Expected ']' at the end of a table declaration",
    "= 1": ":1:1: not valid TOML: Invalid statement",
    'a = """\nx': ":2:2: not valid TOML: Unterminated string",
    f"a = {'1' * 5000}": ": a number is too long, or the nesting too deep; correct it",
    f"a = {'[' * 50_000}": ": a number is too long, or the nesting too deep; correct it",
}


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_broken_toml_is_reported_with_line_and_column(machine: Machine, text: str) -> None:
    path = machine.write_user_file(text)
    assert machine.load_error() == f"{path}{BROKEN[text]}"


def test_a_file_that_is_not_text_is_reported_with_its_line(machine: Machine) -> None:
    path = machine.write_user_file("")
    path.write_bytes(b"timeout = 1\n# \xff\n")
    assert machine.load_error() == f"{path}:2: this is not UTF-8; save the file as UTF-8 text"


def test_a_byte_order_mark_is_accepted(machine: Machine) -> None:
    machine.write_user_file("").write_bytes(b"\xef\xbb\xbftimeout = 1\r\n")
    assert machine.load().timeout == 1


def test_a_file_that_is_too_large_is_refused(machine: Machine) -> None:
    path = machine.write_user_file("#" * (1024 * 1024 + 1))
    assert machine.load_error() == f"{path} is larger than 1048576 bytes; make it smaller or remove it"


def test_a_directory_in_place_of_the_file_is_refused(machine: Machine) -> None:
    machine.user_file.mkdir(parents=True)
    assert machine.load_error() == f"{machine.user_file} is not a file; remove it or put a file in its place"


def test_a_pipe_in_place_of_the_file_does_not_block(machine: Machine) -> None:
    os.mkfifo(machine.project_file)
    assert "is not a file" in machine.load_error()


def test_a_file_that_may_not_be_read_is_reported(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    path = machine.write_user_file("timeout = 1")

    def refuse(*_: object) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    # Root may read everything, so the refusal is simulated.
    monkeypatch.setattr("groundwire.files.text_file.os.open", refuse)
    monkeypatch.setattr("groundwire.config.load.read_opencode", lambda *_: OpenCode({}, {}, ()))
    assert machine.load_error() == f"{path} cannot be read: Permission denied; make it readable or remove it"


def test_a_file_that_cannot_be_opened_is_reported(machine: Machine) -> None:
    machine.user_file.parent.mkdir(parents=True)
    machine.user_file.symlink_to(machine.user_file)
    assert machine.load_error().startswith(
        f"{machine.user_file} cannot be read: Too many levels of symbolic links; "
    )


def test_a_named_file_must_exist(machine: Machine) -> None:
    missing = machine.project / "nothing.toml"
    assert machine.load_error({"GROUNDWIRE_CONFIG": "nothing.toml"}) == (
        f"GROUNDWIRE_CONFIG names {missing}, which does not exist; correct or unset it"
    )


def test_a_tilde_is_expanded_in_the_path_of_a_named_file(machine: Machine) -> None:
    write(machine.home / "mine.toml", "timeout = 3")
    assert machine.load({"GROUNDWIRE_CONFIG": "~/mine.toml"}).timeout == 3


REFUSED_ADDRESSES = {
    "http://api.example.com": "http:// would send your key in the clear",
    "http://127.0.0.1.example.com": "http:// would send your key in the clear",
    "http://localhost.example.com": "http:// would send your key in the clear",
    "http://192.168.0.7:11434": "http:// would send your key in the clear",
    "http://[::2]": "http:// would send your key in the clear",
    "http://0.0.0.0": "http:// would send your key in the clear",
    "ftp://example.com": "expected an address that starts with https://",
    "file:///etc/passwd": "expected an address that starts with https://",
    "example.com": "expected an address that starts with https://",
    "https://": "expected an address that starts with https://",
    "": "expected an address that starts with https://",
    "https://user:pass@example.com": "an address holds no user name or password",
    "http://127.0.0.1@example.com": "an address holds no user name or password",
    "https://example.com?key=1": 'an address to add a path to has no "?" and no "#"',
    "https://example.com/#x": 'an address to add a path to has no "?" and no "#"',
    "https://exa mple.com": "an address has no blanks, backslashes or letters beyond ASCII",
    "https://example.com\\@evil.example": "an address has no blanks, backslashes or letters beyond ASCII",
    "https://exämple.com": "an address has no blanks, backslashes or letters beyond ASCII",
    "https://[::1": "this is not a valid address",
    "https://example.com:99999": "this is not a valid address",
}


@pytest.mark.parametrize("url", REFUSED_ADDRESSES)
def test_an_unsafe_base_url_is_refused(machine: Machine, url: str) -> None:
    path = machine.write_user_file(f"[providers.gemini]\nbase_url = '{url}'")
    assert machine.load_error().startswith(f"{path}:2: providers.gemini.base_url: {REFUSED_ADDRESSES[url]}")


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com",
        "https://api.example.com:8443/v1/",
        "http://localhost:8080/v1",
        "http://LOCALHOST:1",
        "http://127.0.0.1:1",
        "http://127.9.9.9",
        "http://[::1]:9/v1",
    ],
)
def test_https_and_loopback_base_urls_are_accepted(machine: Machine, url: str) -> None:
    machine.write_user_file(f"[providers.gemini]\nbase_url = '{url}'")
    assert machine.load().provider("gemini") == ProviderSettings(base_url=url)


def test_a_domain_may_have_a_path(machine: Machine) -> None:
    machine.write_user_file("search.allowed_domains = ['example.com/docs/*', '*.example.org']")
    assert machine.load().search.allowed_domains == ("example.com/docs/*", "*.example.org")


def test_flags_are_checked_like_files(machine: Machine) -> None:
    assert machine.load_error(flags={"timeout": "x"}) == (
        "command line: timeout: expected a positive number of seconds, found this text"
    )
    assert machine.load_error(flags={"search.cuntry": "x"}) == (
        "command line: search.cuntry: unknown key; did you mean country?"
    )
    assert machine.load_error(flags={"search": 1, "search.city": "x"}) == (
        "command line: search: given both as a value and as a table"
    )
    assert machine.load_error(flags={"order": ["gemni"]}).startswith(
        "command line: order: there is no provider 'gemni'; did you mean gemini?"
    )


def test_a_provider_that_the_user_defines_can_be_used_everywhere(machine: Machine) -> None:
    machine.write_user_file("[providers.my-llm]\ndialect = 'openai_chat'\nbase_url = 'http://localhost:1'")
    machine.write_project_file("order = ['my-llm']\n[providers.my-llm]\nmodel = 'project'")
    config = machine.load({"GROUNDWIRE_MY_LLM_BASE_URL": "http://localhost:2"})
    assert config.order == ("my-llm",)
    assert config.provider("my-llm") == ProviderSettings("openai_chat", "http://localhost:2", model="project")


def test_a_provider_of_an_installed_package_is_known(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundwire.config.layers.installed", lambda: frozenset({"extra"}))
    monkeypatch.setattr("groundwire.config.layers.installed", lambda: frozenset({"extra"}))
    machine.write_user_file("order = ['extra']\n[providers.extra]\nmodel = 'm'")
    config = machine.load({"GROUNDWIRE_EXTRA_BASE_URL": "https://extra.example"})
    assert config.provider("extra") == ProviderSettings(base_url="https://extra.example", model="m")


def test_a_missing_home_directory_is_treated_as_empty(machine: Machine, tmp_path: Path) -> None:
    machine.home = tmp_path / "nowhere"
    assert machine.load().settings[0].origin == "default"
