"""Known vulnerabilities and failures of other software, and the tests that guard against them."""

from __future__ import annotations

from typing import NamedTuple

from tests.reliability import tests_in


class Incident(NamedTuple):
    """Vulnerabilities or failures of other software, and the tests that make the same attack."""

    ids: tuple[str, ...]
    what: str
    guarantees: tuple[str, ...]
    tests: tuple[str, ...] = ()
    not_applicable: str = ""


def _cve(*names: str) -> tuple[str, ...]:
    """Tests of known vulnerabilities."""
    return tests_in("security/test_known_vulnerabilities", *names)


_NO_PROCESS = _cve("cve_2026_42271_and_30623_no_request_starts_a_process")
_NO_KEY_ROUTES = _cve(
    "cve_2026_47101_47102_and_35029_no_route_changes_keys_roles_or_settings",
)
_NO_ADDRESS = _cve("cve_2026_57143_108719_54157_and_33340_a_search_takes_no_address")
_REDIRECTS = _cve("cve_2026_45331_45400_and_45401_redirects_are_checked_like_urls")
_PRIVATE = _cve("cve_2026_55245_and_70485_no_spelling_of_a_private_address_is_public")
_INERT = _cve("cve_2026_109288_109300_70492_and_70480_an_answer_has_no_active_content")
_SESSIONS = _cve("cve_2026_59951_and_52869_mcp_stores_nothing_about_sessions")
_REBINDING = _cve("cve_2025_66416_and_66414_a_rebound_name_does_not_reach_mcp")
_FORMS = _cve("cve_2026_54283_and_2025_54121_forms_have_limits")

INCIDENTS = (
    Incident(
        ("LiteLLM 1.82.7 and 1.82.8 on PyPI, March 2026", "CVE-2026-33634"),
        "a stolen publisher token; a `.pth` file that ran at every start of Python",
        ("S18",),
        (
            *_cve("litellm_1_82_8_no_file_of_the_package_runs_whenever_python_starts"),
            *tests_in("system/test_wheel", "the_wheel_contains_the_package_and_nothing_else"),
            *tests_in("architecture/test_supply_chain", "every_locked_package_has_hashes"),
        ),
    ),
    Incident(
        ("CVE-2026-42208",),
        "LiteLLM: a wrong API key became part of an SQL statement, before authentication",
        ("S13",),
        _cve("cve_2026_42208_a_wrong_key_is_not_part_of_a_statement"),
    ),
    Incident(
        ("CVE-2026-42271", "CVE-2026-30623"),
        "LiteLLM: a route that tests MCP servers started any command",
        ("S9", "S2"),
        _NO_PROCESS,
    ),
    Incident(
        ("CVE-2026-48710",),
        "Starlette (BadHost): the path that was checked came from the Host header",
        ("S11",),
        (
            *_cve("cve_2026_48710_badhost_the_host_header_does_not_choose_the_route"),
            *tests_in("architecture/test_supply_chain", "no_locked_version_has_a_known_vulnerability"),
        ),
    ),
    Incident(
        ("CVE-2026-47101", "CVE-2026-47102"),
        "LiteLLM: users extended the rights of their own keys, and their roles",
        ("S12",),
        (
            *_NO_KEY_ROUTES,
            *tests_in(
                "faces/gateway/test_keys", "cve_2026_47101_and_47102_no_field_raises_the_rights_of_a_key"
            ),
        ),
    ),
    Incident(
        ("CVE-2026-40217",),
        "LiteLLM: code of users in a sandbox that was none",
        ("S13",),
        (
            *_NO_KEY_ROUTES,
            *tests_in(
                "architecture/test_injection",
                "no_source_file_breaks_a_rule_and_every_exception_is_needed",
            ),
        ),
    ),
    Incident(
        ("CVE-2026-42203", "PYSEC-2026-3861", "PYSEC-2026-387"),
        "LiteLLM: templates in requests were evaluated",
        ("S13",),
        _cve("cve_2026_42203_templates_in_requests_are_text"),
    ),
    Incident(
        ("CVE-2026-35030",),
        "LiteLLM: a cache of users by the first 20 characters of their tokens",
        ("S15",),
        _cve("cve_2026_35030_a_key_with_the_same_beginning_is_another_key"),
    ),
    Incident(
        ("CVE-2026-35029",),
        "LiteLLM: any user could change the configuration",
        ("S12",),
        _NO_KEY_ROUTES,
    ),
    Incident(
        ("CVE-2024-6587", "PYSEC-2026-4070", "PYSEC-2026-4069"),
        "LiteLLM: a field of the request chose the address that got the key",
        ("S2", "S1"),
        (
            *_cve("cve_2024_6587_a_body_does_not_choose_the_upstream_address"),
            *tests_in("faces/gateway/test_upstream_choice", "two_thousand_attempts_reach_only_the_provider"),
        ),
    ),
    Incident(
        ("CVE-2024-4264", "CVE-2024-5751"),
        "LiteLLM: `eval` of settings",
        ("S13",),
        _cve("cve_2024_4264_and_5751_settings_are_not_evaluated"),
    ),
    Incident(
        ("CVE-2024-8984",),
        "LiteLLM: a multipart boundary that takes for ever to parse",
        ("S16",),
        _cve("cve_2024_8984_a_multipart_body_is_refused_unread"),
    ),
    Incident(
        ("CVE-2024-9606", "LiteLLM 8075", "LiteLLM 15799", "LiteLLM 25203"),
        "LiteLLM: keys in logs and errors; the key of Gemini in a URL",
        ("S14",),
        (
            *_cve("cve_2024_9606_no_part_of_a_key_is_in_an_error"),
            *tests_in("providers/test_secrets", "an_echoed_key_is_never_shown"),
        ),
    ),
    Incident(
        ("PYSEC-2026-4067", "PYSEC-2026-4068"),
        "LiteLLM: MCP without authentication; rights of admin keys",
        ("S11", "S12"),
        _cve("pysec_2026_4067_mcp_needs_the_same_key_as_everything_else"),
    ),
    Incident(
        ("PYSEC-2026-4074",),
        "LiteLLM: checks that one kind of call did not pass through",
        ("S11",),
        (
            *tests_in(
                "contracts/test_conformance",
                "both_domain_lists_are_encoded_or_named_as_unsupported",
            ),
            *tests_in("providers/test_policy", "native_lists_are_audited_too"),
            *tests_in("server/test_routes", "without_a_key_only_public_paths_answer"),
        ),
    ),
    Incident(
        ("LiteLLM, cache eviction, February 2026",),
        "clients in use were closed when a cache dropped them",
        ("R18",),
        (
            *tests_in(
                "server/test_growth",
                "nothing_fails_or_grows_while_every_timeout_and_expiry_passes_many_times",
            ),
            *tests_in("routing/test_coalescing", "a_reader_that_disconnects_does_not_affect_the_others"),
        ),
    ),
    Incident(
        ("LiteLLM, dashboard query, May 2026",),
        "a query over two years blocked the event loop",
        ("R19",),
        tests_in("faces/web/test_busy", "large_reads_never_block_the_event_loop"),
    ),
    Incident(
        ("LiteLLM, slow Redis, April 2026",),
        "requests waited for a slow store",
        ("R19", "R24"),
        tests_in("server/test_usage", "an_unavailable_store_delays_no_request_and_lost_rows_are_logged"),
    ),
    Incident(
        ("LiteLLM 6404", "LiteLLM 8620", "LiteLLM 12685", "LiteLLM 27954", "LiteLLM 38193"),
        "memory that grew with every request",
        ("R17",),
        tests_in(
            "server/test_growth",
            "hundreds_of_requests_leave_no_memory_and_no_descriptor_behind",
            "a_hundred_thousand_requests_leave_no_memory_and_no_descriptor_behind",
        ),
    ),
    Incident(
        ("LiteLLM 3341", "LiteLLM 13774", "LiteLLM 30245", "LiteLLM 36123", "LiteLLM 37140"),
        "upstream requests went on after the client had disconnected",
        ("R4",),
        tests_in(
            "faces/gateway/test_cancel", "the_upstream_request_is_cancelled_when_the_client_disconnects"
        ),
    ),
    Incident(
        ("LiteLLM 34732", "LiteLLM 40095", "LiteLLM 26672", "LiteLLM 33325"),
        "budgets were exceeded by concurrent requests and by replicas that counted alone, or not enforced",
        ("R25",),
        (
            *tests_in(
                "server/test_budgets",
                "issue_34732_concurrent_requests_exceed_the_budget_by_one_reservation",
                "issue_26672_a_spent_budget_is_enforced",
            ),
            *tests_in("server/test_budget_leaks", "issue_33325_what_one_gateway_spends_counts_on_the_other"),
        ),
    ),
    Incident(
        ("LiteLLM 27639", "LiteLLM 28247", "LiteLLM 30460", "LiteLLM 27735"),
        "counters that were higher than what was spent, so that requests within their budget were refused",
        ("R25",),
        (
            *tests_in(
                "server/test_budgets",
                "issue_27639_reservations_do_not_leak",
                "issue_30460_a_repeated_write_does_not_inflate_the_counters",
                "issue_27735_what_is_enforced_is_what_is_shown",
            ),
            *tests_in(
                "server/test_budget_leaks",
                "issue_28247_gateways_that_start_together_do_not_inflate_what_was_spent",
            ),
        ),
    ),
    Incident(
        ("LiteLLM 34733", "LiteLLM 36940", "LiteLLM 39150"),
        "the reset of a window erased what was spent in the new one, or counted it in the wrong one",
        ("R25",),
        tests_in(
            "server/test_budget_leaks",
            "issue_34733_a_new_day_does_not_overwrite_what_was_spent_in_it",
            "a_request_over_midnight_belongs_to_the_day_in_which_it_was_sent",
        ),
    ),
    Incident(
        ("LiteLLM 32835", "LiteLLM 38153", "LiteLLM 19077", "LiteLLM 29808", "LiteLLM 28216"),
        "text twice, or two beginnings, after a failover in the middle of a stream",
        ("R6", "R2"),
        tests_in(
            "faces/gateway/test_streams",
            "no_text_is_sent_twice_and_no_partial_answer_looks_complete",
            "after_the_first_text_no_other_provider_is_tried",
        ),
    ),
    Incident(
        ("Claude Code 46105",),
        "beta headers that a provider does not know",
        ("R1",),
        _cve("claude_code_46105_beta_headers_of_one_vendor_do_not_reach_another"),
    ),
    Incident(
        ("CVE-2025-66405", "CVE-2026-110719"),
        "Portkey: a header chose the upstream host",
        ("S1", "S2"),
        _cve("cve_2025_66405_and_2026_110719_a_header_does_not_choose_it_either"),
    ),
    Incident(
        ("CVE-2026-55245",),
        "Bifrost: private addresses that the filter did not know",
        ("S1",),
        _PRIVATE,
    ),
    Incident(
        ("CVE-2026-86242",),
        "Bifrost: a plug-in was loaded from a URL",
        ("S1",),
        not_applicable="plug-ins are installed packages; none is loaded from a path or URL",
    ),
    Incident(
        ("CVE-2026-90898",),
        "Bifrost: MCP servers were registered without authentication",
        ("S9", "S10"),
        _NO_PROCESS,
    ),
    Incident(
        ("GO-2025-4154", "GO-2026-5652", "CVE-2025-24354"),
        "new-api and imgproxy: redirects to private addresses; 0.0.0.0",
        ("S1",),
        (*_REDIRECTS, *_cve("cve_2025_24354_the_unspecified_address_is_refused")),
    ),
    Incident(
        ("CVE-2026-24779", "CVE-2026-25960"),
        "vLLM: check and connection parsed a backslash differently",
        ("S1", "S5"),
        _cve("cve_2026_24779_and_25960_check_and_connection_read_the_same_host"),
    ),
    Incident(
        (
            *("CVE-2026-108719", "CVE-2026-57143", "CVE-2026-54157", "CVE-2024-47066"),
            *("CVE-2026-33340", "CVE-2024-22205"),
        ),
        "LLMGateway, PraisonAI, LobeChat, LoLLMs, Whoogle: the caller named the URL of a callback, proxy or"
        " search engine",
        ("S1", "S2"),
        _NO_ADDRESS,
    ),
    Incident(
        ("CVE-2026-45331", "CVE-2026-45400", "CVE-2026-45401", "CVE-2026-70485"),
        "Open WebUI: web search fetched private addresses",
        ("S1",),
        (*_REDIRECTS, *_PRIVATE),
    ),
    Incident(
        (
            *("CVE-2026-109288", "CVE-2026-109300", "CVE-2026-70492", "CVE-2026-70480"),
            *("CVE-2026-45303", "CVE-2026-59214"),
        ),
        "Open WebUI: scripts in answers, formulas, diagrams and embedded pages",
        ("S3", "S4"),
        _INERT,
    ),
    Incident(
        ("CVE-2026-109291",),
        "Open WebUI: a script as the address of a citation",
        ("S5",),
        _cve("cve_2026_109291_a_citation_has_no_script_as_its_address"),
    ),
    Incident(
        ("CVE-2026-59216",),
        "Open WebUI: the session of another user was accepted",
        ("S12",),
        _cve("cve_2026_59216_the_session_of_another_user_cannot_be_continued"),
    ),
    Incident(
        ("CVE-2025-69222", "CVE-2026-32625"),
        "LibreChat: private addresses; variables of the server in a URL of the user",
        ("S1", "S2"),
        (*_cve("cve_2026_32625_variables_in_a_project_s_address_are_not_expanded"), *_PRIVATE),
    ),
    Incident(
        ("CVE-2026-22252", "CVE-2026-45018", "CVE-2026-40933"),
        "LibreChat, Chainlit, Flowise: a user named the command of an MCP server",
        ("S9",),
        _NO_PROCESS,
    ),
    Incident(
        ("CVE-2025-8848",),
        "LibreChat: the language of the browser was written into the page",
        ("S3",),
        _cve("cve_2025_8848_the_language_of_the_browser_is_not_written_into_the_page"),
    ),
    Incident(
        ("CVE-2026-86062", "CVE-2026-24399", "CVE-2026-23733"),
        "LightRAG, ChatterMate, LobeChat: scripts of read documents in answers",
        ("S3",),
        _INERT,
    ),
    Incident(
        ("CVE-2025-32711",),
        "EchoLeak: an image in an answer sent data away without a click",
        ("S4",),
        _cve("cve_2025_32711_echoleak_showing_an_answer_fetches_nothing"),
    ),
    Incident(
        ("CVE-2026-21852",),
        "Claude Code: a project chose where the key was sent",
        ("S2",),
        _cve("cve_2026_21852_a_project_does_not_choose_where_keys_are_sent"),
    ),
    Incident(
        ("CVE-2026-54316",),
        "Claude Code: a permitted domain was used to send data away",
        ("S2", "S8"),
        _cve("cve_2026_54316_only_pages_that_a_search_found_are_fetched"),
    ),
    Incident(
        ("GHSA-g8r9-g2v8-jv6f",),
        "Copilot CLI: shell expansion in an approved command",
        ("S9",),
        _cve("ghsa_g8r9_g2v8_jv6f_the_cli_has_no_shell"),
    ),
    Incident(
        ("CVE-2025-66416", "CVE-2025-66414", "CVE-2026-11624", "GHSA-rjr6-rcgv-9m7m"),
        "MCP servers: a web page reached them through a rebound name",
        ("S10",),
        _REBINDING,
    ),
    Incident(
        ("CVE-2025-53365", "CVE-2025-53366"),
        "MCP SDK: a malformed message ended the server",
        ("R1",),
        _cve("cve_2025_53365_and_53366_garbage_does_not_end_the_mcp_server"),
    ),
    Incident(
        ("CVE-2026-52869", "CVE-2026-59951"),
        "MCP SDK: sessions of other users; memory for every session",
        ("S12", "R17"),
        (
            *_SESSIONS,
            *tests_in("faces/mcp/test_http", "a_cancellation_of_another_session_is_ignored"),
        ),
    ),
    Incident(
        ("CVE-2025-69196",),
        "FastMCP: tokens for another audience were accepted",
        ("S10",),
        not_applicable="the gateway accepts its own keys only, no OAuth tokens",
    ),
    Incident(
        ("CVE-2025-62727", "CVE-2025-54121", "CVE-2026-54283"),
        "Starlette: ranges at quadratic cost; forms that block or have no limits",
        ("S16",),
        (*_cve("cve_2025_62727_a_flood_of_ranges_is_ignored"), *_FORMS),
    ),
    Incident(
        ("SQLite WAL-reset bug",),
        "SQLite before 3.51.3: pages of a write-ahead log were lost",
        ("R21",),
        _cve("sqlite_wal_reset_no_database_has_a_write_ahead_log"),
    ),
    Incident(
        ("CVE-2026-11822",),
        "SQLite: a crafted database with FTS5 corrupts memory",
        ("R21",),
        tests_in(
            "store/test_sqlite",
            "a_file_of_another_program_is_refused_and_not_changed",
            "the_database_file_is_readable_only_by_its_owner",
        ),
        "no request and no provider can supply a database; restore backups that you trust only",
    ),
    Incident(
        ("httpx-sse 34", "codex-lb 1010", "dify 39008", "FastAPI 15515", "FastAPI 15608"),
        "streams were split at U+2028 and other unusual line ends",
        ("R1", "R3"),
        _cve("httpx_sse_34_unusual_line_ends_do_not_end_a_line"),
    ),
    Incident(
        (
            *("Codex 10332", "Claude Code 24317", "Claude Code 56339", "Claude Code 88583"),
            *("OpenCode 28234", "CLIProxyAPI 3783"),
        ),
        "several processes refreshed one session, and used up or overwrote its token",
        ("R26",),
        tests_in(
            "credentials/test_refresh_processes",
            "each_expiry_of_a_session_costs_one_refresh",
            "a_process_killed_inside_a_refresh_loses_nothing",
        ),
    ),
    Incident(
        ("Parsers of JSON",),
        "nesting of 100,000, numbers of 5,000 digits, NaN and lone surrogates crash or yield invalid output",
        ("R1", "S16"),
        _cve("json_that_breaks_parsers_or_encoders_is_refused_or_repaired"),
    ),
)
