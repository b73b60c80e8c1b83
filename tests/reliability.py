"""Reliability and security: what is required, the target, and the tests that show it.

R1 to R26 are about reliability, S1 to S18 about security. `fast` tests run with `make test`, `thorough` ones
with `make test-all`. `limits` says what is not offered or not shown. `test_reliability.py` checks that every
test exists; `scripts/reliability.py` writes docs/reliability.md. `tests/incidents.py` lists known
vulnerabilities of other software.
"""

from __future__ import annotations

from typing import NamedTuple

RELIABILITY = tuple(f"R{number}" for number in range(1, 27))
TABLES = ("failures", "workers")
"""Figures of several machines and processes, which have tables of their own."""
SECURITY = tuple(f"S{number}" for number in range(1, 19))


class Guarantee(NamedTuple):
    """A requirement, and the tests that show that it is met."""

    id: str
    requirement: str
    target: str
    fast: tuple[str, ...] = ()
    thorough: tuple[str, ...] = ()
    limits: str = ""


def tests_in(path: str, *names: str) -> tuple[str, ...]:
    """Tests of a file."""
    return tuple(f"tests/{path}.py::test_{name}" for name in names)


GUARANTEES = (
    Guarantee(
        "R1",
        "Malformed answers of a provider never crash or hang a request.",
        "10,000 mutated streams of each dialect: 0 unexpected exceptions, 0 requests that hang",
        (
            *tests_in(
                "contracts/test_dialect_garbage", "broken_streams_are_decoded_and_encoded_in_any_dialect"
            ),
            *tests_in(
                "faces/gateway/test_mutants",
                "every_client_reads_one_end_of_a_malformed_stream",
                "a_malformed_body_becomes_an_answer_or_an_error",
            ),
            *tests_in("fuzzing/test_targets", "a_property_holds_for_random_bytes"),
        ),
        (
            *tests_in(
                "contracts/test_dialect_garbage", "ten_thousand_broken_streams_are_encoded_in_every_dialect"
            ),
            *tests_in(
                "faces/gateway/test_mutants",
                "every_client_reads_one_end_of_a_thousand_malformed_streams",
            ),
        ),
    ),
    Guarantee(
        "R2",
        "A response ends exactly once, in the format of the client, whatever the provider does.",
        "all faults, providers and clients: 1 end, valid JSON, no lone surrogates",
        (
            *tests_in(
                "faces/gateway/test_faults",
                "every_fault_ends_in_exactly_one_error_of_the_clients_dialect",
                "the_checkers_reject_streams_with_two_ends_or_none",
            ),
            *tests_in("contracts/test_dialect_streams", "a_stream_ends_once_and_nothing_follows"),
            *tests_in("contracts/test_dialect_garbage", "events_in_any_order_make_a_valid_stream"),
        ),
        tests_in("faces/gateway/test_faults", "every_fault_of_every_provider_ends_once_for_every_client"),
    ),
    Guarantee(
        "R3",
        "The output does not depend on how the network splits the input.",
        "single bytes, every split, random splits: identical",
        (
            *tests_in(
                "contracts/test_dialect_streams",
                "a_stream_split_into_bytes_gives_the_same_answer",
                "a_stream_split_at_random_gives_the_same_answer",
            ),
            *tests_in("faces/gateway/test_chunks", "output_does_not_depend_on_how_the_input_is_chunked"),
            *tests_in("transport/test_decoders", "a_compressed_body_is_decoded_however_it_is_split"),
        ),
        (
            *tests_in(
                "contracts/test_dialect_streams",
                "a_stream_split_at_random_two_hundred_times_gives_the_same_answer",
            ),
            *tests_in("faces/gateway/test_chunks", "output_is_the_same_if_the_input_arrives_byte_by_byte"),
        ),
    ),
    Guarantee(
        "R4",
        "When a client disconnects, the upstream request is cancelled: in every phase and dialect, streamed"
        " or not, and also for MCP and the Copilot CLI. On the chat page, an answer goes on until its user"
        " stops it.",
        "1,000 disconnects: 99 % within 250 ms, all within 1 s; no connection, task or process remains",
        (
            *tests_in(
                "faces/gateway/test_cancel", "the_upstream_request_is_cancelled_when_the_client_disconnects"
            ),
            *tests_in("faces/mcp/test_http", "a_client_that_disconnects_cancels_its_search"),
            *tests_in(
                "faces/web/test_pages",
                "an_answer_goes_on_when_the_page_is_closed_until_it_is_stopped",
            ),
            *tests_in(
                "providers/copilot/test_provider", "cancelling_the_caller_kills_the_whole_process_group"
            ),
        ),
        (
            *tests_in(
                "faces/gateway/test_cancel", "a_thousand_disconnecting_clients_leak_no_connections_or_tasks"
            ),
            *tests_in("faces/mcp/test_http", "no_task_remains_after_cancelled_calls"),
        ),
    ),
    Guarantee(
        "R5",
        "Every wait has a deadline; a slow trickle of bytes does not extend the total one.",
        "5,000 faulty answers: none is more than 1 s late",
        (
            *tests_in("faces/gateway/test_deadlines", "no_client_waits_longer_than_the_deadline"),
            *tests_in(
                "providers/test_streaming",
                "every_wait_ends_at_its_deadline",
                "a_slow_stream_does_not_extend_the_total_and_what_arrived_is_kept",
            ),
        ),
        tests_in(
            "faces/gateway/test_deadlines", "none_of_five_thousand_clients_waits_longer_than_the_deadline"
        ),
    ),
    Guarantee(
        "R6",
        "No text is sent twice: failover happens before the first visible event, never after it.",
        "10,000 streams cut at random: 0 repeated bytes, 0 partial answers that look complete",
        tests_in(
            "faces/gateway/test_streams",
            "no_text_is_sent_twice_and_no_partial_answer_looks_complete",
            "before_the_first_text_another_provider_is_tried",
            "after_the_first_text_no_other_provider_is_tried",
        ),
        tests_in("faces/gateway/test_streams", "ten_thousand_broken_streams_are_truthful_prefixes"),
    ),
    Guarantee(
        "R7",
        "Retries have a budget, and there is one retry loop.",
        "1,000 requests of an outage: at most 1.25 attempts each; the first request after it is answered",
        (
            *tests_in("routing/test_failover", "an_outage_costs_at_most_a_quarter_more_attempts"),
            *tests_in("providers/test_failover", "a_dead_provider_gets_at_most_a_quarter_more_requests"),
            *tests_in("faces/gateway/test_outage", "the_first_request_after_an_outage_is_answered"),
        ),
        tests_in("faces/gateway/test_outage", "a_thousand_requests_of_an_outage_cost_at_most_a_quarter_more"),
    ),
    Guarantee(
        "R8",
        "A circuit breaker skips a provider that fails or is slow, probes it with one request, and never"
        " skips the last provider.",
        "any trace of calls: the breaker agrees with its definition",
        (
            *tests_in(
                "routing/test_health",
                "five_failures_in_a_row_open_the_breaker",
                "a_failure_rate_of_half_in_ten_seconds_opens_the_breaker",
                "a_slow_rate_of_half_opens_the_breaker",
                "an_open_breaker_admits_one_probe_after_half_a_minute",
            ),
            *tests_in("routing/test_failover", "the_last_provider_is_always_tried"),
            *tests_in(
                "routing/test_shared_health",
                "a_breaker_opens_and_closes_everywhere",
                "without_redis_every_gateway_decides_alone",
            ),
        ),
        tests_in("routing/test_health", "the_breaker_agrees_with_its_history_for_any_trace_of_calls"),
    ),
    Guarantee(
        "R9",
        "A table decides what each error means; Retry-After is kept up to a limit; waits are random.",
        "every error class; the waits pass a test for even distribution; no retry of a refused request",
        (
            *tests_in(
                "routing/test_error_policy", "the_table_has_every_class", "every_error_has_its_reaction"
            ),
            *tests_in(
                "routing/test_retry",
                "waits_are_spread_evenly_over_a_span_that_doubles",
                "the_test_statistic_detects_clustered_waits",
                "the_retry_delay_of_the_provider_is_kept_up_to_the_limit",
            ),
            *tests_in(
                "providers/test_error_responses",
                "retry_headers_are_in_seconds_in_milliseconds_or_a_date",
            ),
        ),
    ),
    Guarantee(
        "R10",
        "Failover does not wait: the next provider is called at once, or when the first one's time is over.",
        "no pause; with one of two providers down, 99.9 % of 5,000 requests are answered",
        (
            *tests_in(
                "providers/test_failover",
                "the_second_provider_answers_without_a_pause_when_the_first_cannot",
            ),
            *tests_in(
                "routing/test_attempt",
                "eight_silent_providers_take_no_longer_than_one",
                "a_silent_provider_leaves_time_for_the_next",
            ),
            *tests_in(
                "faces/gateway/test_outage", "with_one_of_two_providers_down_every_request_is_answered"
            ),
        ),
        tests_in(
            "faces/gateway/test_outage", "with_one_of_two_providers_down_five_thousand_requests_are_answered"
        ),
    ),
    Guarantee(
        "R11",
        "A second request when the first one is slow (hedging) has a budget.",
        "-",
        limits="not offered: an answer costs money and differs each time; a slow provider has a deadline",
    ),
    Guarantee(
        "R12",
        "Requests with the same Idempotency-Key cause one upstream request.",
        "50 keys, 100 concurrent requests each: 50 upstream requests, equal bodies; another body: refused",
        (
            *tests_in(
                "server/test_idempotency",
                "concurrent_requests_with_one_key_cause_one_upstream_request",
                "another_body_or_path_with_the_same_key_is_refused",
                "keys_belong_to_their_caller",
                "a_key_expires",
            ),
            *tests_in(
                "server/test_shared_gateways",
                "requests_with_one_idempotency_key_on_two_gateways_are_one_upstream_request",
                "another_gateway_takes_over_a_request_whose_client_disconnects",
            ),
        ),
        tests_in(
            "server/test_idempotency",
            "fifty_keys_with_a_hundred_concurrent_requests_each_cause_fifty_upstream_requests",
        ),
        "across workers, machines and restarts with Redis only",
    ),
    Guarantee(
        "R13",
        "Two thousand streams at once are cheap and do not block other requests.",
        "2,000 streams for ten minutes: 0 dropped, at most 60 KB each, an event at least every 2 s",
        tests_in("server/test_load", "held_streams_are_cheap_and_do_not_block_other_requests"),
        tests_in("server/test_load", "two_thousand_held_streams_are_cheap_and_do_not_block_other_requests"),
        "the test raises `timeout`, which ends every request after ten minutes by default",
    ),
    Guarantee(
        "R14",
        "A client that does not read costs little memory and is disconnected.",
        "500 clients: at most 512 KB each, disconnected after 30 s without progress",
        (
            *tests_in(
                "server/test_load",
                "a_client_that_never_reads_is_disconnected_and_its_upstream_request_cancelled",
            ),
            *tests_in("server/test_attacks", "whole_responses_that_are_not_read_are_cut"),
        ),
        tests_in("server/test_load", "five_hundred_clients_that_never_read_cost_little_and_are_disconnected"),
    ),
    Guarantee(
        "R15",
        "Clients that send slowly do not slow others, and are dropped.",
        "1,000 slow clients: other requests take at most 250 ms (99 %); heads 10 s, bodies 30 s",
        (
            *tests_in(
                "server/test_connection",
                "a_request_head_that_does_not_arrive_times_out",
                "a_request_head_that_arrives_slowly_does_not_extend_the_timeout",
                "a_body_that_arrives_too_slowly_is_refused_and_dropped",
            ),
            *tests_in("server/test_attacks", "trailers_that_arrive_too_slowly_time_out"),
        ),
        tests_in("server/test_connection", "a_thousand_slow_clients_do_not_slow_other_clients"),
    ),
    Guarantee(
        "R16",
        "Too many requests are refused at once, and the others are answered as fast as before.",
        "a minute of three times too much: 90 % of what is possible is answered; refusals have Retry-After",
        (
            *tests_in(
                "server/test_overload",
                "three_times_too_much_is_shed_and_the_rest_is_answered",
                "a_loop_that_is_blocked_again_and_again_sheds_and_recovers",
            ),
            *tests_in("server/test_load", "requests_beyond_the_limit_are_refused"),
        ),
        tests_in("server/test_overload", "a_minute_of_three_times_too_much_leaves_no_trace"),
    ),
    Guarantee(
        "R17",
        "Memory and file descriptors do not grow with the number of requests.",
        "5,000 to 100,000 requests: at most 10 MB more, no descriptor more; no queue without a limit",
        (
            *tests_in("server/test_growth", "hundreds_of_requests_leave_no_memory_and_no_descriptor_behind"),
            *tests_in("server/test_workers", "answering_creates_few_reference_cycles"),
            *tests_in(
                "architecture/test_injection",
                "no_source_file_breaks_a_rule_and_every_exception_is_needed",
            ),
        ),
        tests_in(
            "server/test_growth", "a_hundred_thousand_requests_leave_no_memory_and_no_descriptor_behind"
        ),
    ),
    Guarantee(
        "R18",
        "Nothing fails or grows when timeouts, caches, logins and connections expire.",
        "two hours of a clock that runs 60 times as fast: 0 failures outside the injected ones",
        (
            *tests_in("server/test_idempotency", "a_key_expires"),
            *tests_in("routing/test_cache", "a_question_is_sent_once_until_its_answer_expires"),
            *tests_in("faces/web/test_auth", "expired_logouts_are_forgotten"),
            *tests_in("transport/http1/test_connection", "an_idle_connection_is_closed_after_a_while"),
            *tests_in("store/test_clock", "the_time_is_that_of_the_database_and_goes_on_between_readings"),
        ),
        (
            *tests_in(
                "server/test_growth",
                "nothing_fails_or_grows_while_every_timeout_and_expiry_passes_many_times",
            ),
            *tests_in("cluster/test_clocks", "clocks_five_minutes_apart_change_nothing"),
        ),
        "expiries of a day and more (Idempotency-Key, logins) pass in tests with a set clock, not here",
    ),
    Guarantee(
        "R19",
        "Large reads of the page (usage, exports, history) do not delay streams.",
        "1,000,000 usage rows: the event loop is blocked for at most 100 ms",
        (
            *tests_in("server/test_overload", "large_documents_do_not_block_the_loop"),
            *tests_in(
                "faces/web/test_outage",
                "readiness_and_pages_report_an_unresponsive_database_and_threads_stay_few",
            ),
        ),
        tests_in("faces/web/test_busy", "large_reads_never_block_the_event_loop"),
        "on a busy machine, at most twice what a thread that only counts takes",
    ),
    Guarantee(
        "R20",
        "What was acknowledged survives kill -9 and a loss of power; a migration is complete or not started.",
        "200 kills while two processes write, 2,000 cuts of power: 0 lost messages, 0 damaged files",
        (
            *tests_in(
                "store/test_sqlite",
                "nothing_acknowledged_is_lost_to_kill_9",
                "a_killed_migration_is_complete_or_not_started",
            ),
            *tests_in("store/test_power_loss", "no_acknowledged_message_is_lost_with_the_power"),
        ),
        (
            *tests_in(
                "store/test_sqlite",
                "nothing_acknowledged_is_lost_to_two_hundred_kills",
                "a_hundred_killed_migrations_are_complete_or_not_started",
            ),
            *tests_in(
                "store/test_power_loss", "no_acknowledged_message_is_lost_to_two_thousand_cuts_of_power"
            ),
            *tests_in("engine/index/test_crash", "a_kill_loses_nothing_that_was_acknowledged"),
            *tests_in("commands/test_backup", "a_copy_is_the_state_of_one_moment"),
        ),
        "cuts of power are simulated: any of the writes that were not synchronised are dropped",
    ),
    Guarantee(
        "R21",
        "No version of SQLite can lose pages of a write-ahead log, because there is none.",
        "rollback journals in every database",
        (
            *tests_in("store/test_sqlite", "the_journal_mode_is_delete"),
            *tests_in(
                "security/test_known_vulnerabilities", "sqlite_wal_reset_no_database_has_a_write_ahead_log"
            ),
        ),
        tests_in("store/test_sqlite", "nothing_acknowledged_is_lost_to_two_hundred_kills"),
        "the version of SQLite is the one of Python, and is not checked at start",
    ),
    Guarantee(
        "R22",
        "An answer that was interrupted is stored and shown as interrupted, as far as it was sent.",
        "200 kills during an answer: never `completed`, the text is a prefix of what was sent",
        (
            *tests_in(
                "chat/test_turns",
                "an_answer_whose_writer_died_becomes_interrupted",
                "a_disconnect_cancels_the_provider_and_keeps_the_text_so_far",
            ),
            *tests_in("faces/web/test_recorded", "the_text_of_an_interrupted_stream_is_shown_and_marked"),
        ),
        tests_in(
            "chat/test_crash",
            "a_killed_chat_on_sqlite_loses_nothing_and_marks_interrupted_answers",
            "a_killed_chat_on_postgres_loses_nothing_and_marks_interrupted_answers",
        ),
    ),
    Guarantee(
        "R23",
        "On SIGTERM running answers finish or end with an error, and new requests are refused; a large store"
        " does not delay the start.",
        "every stream ends in its dialect; 503 with Retry-After; ready as soon as with a new store",
        (
            *tests_in("server/test_workers", "a_running_stream_finishes_while_new_requests_are_refused"),
            *tests_in(
                "server/test_shutdown",
                "a_waiting_answer_ends_with_an_error_and_its_provider_is_closed",
                "no_answer_begins_after_shutdown",
            ),
            *tests_in("server/test_http_server", "during_the_drain_delay_only_readiness_fails"),
        ),
        (
            *tests_in("server/test_workers", "streams_that_do_not_end_get_an_error_in_their_dialect"),
            *tests_in("faces/web/test_busy", "a_large_store_does_not_delay_the_start"),
        ),
    ),
    Guarantee(
        "R24",
        "A full or read-only disk, a lost database or Redis and a lack of file descriptors are reported;"
        " searches go on, and so does everything when the cause is gone.",
        "0 crashes; 507 or 503; no restart",
        (
            *tests_in(
                "store/test_unavailable",
                "a_full_disk_has_its_own_error_and_the_store_works_again_when_there_is_space",
                "a_read_only_disk_is_reported_with_advice_and_used_when_it_is_writable",
                "a_store_locked_by_another_process_is_reported_and_works_again",
            ),
            *tests_in("store/test_failover", "no_acknowledged_message_is_lost_when_a_standby_takes_over"),
            *tests_in("chat/test_turns", "a_store_failure_during_an_answer_does_not_interrupt_it"),
            *tests_in("server/test_usage", "an_unavailable_store_delays_no_request_and_lost_rows_are_logged"),
            *tests_in("server/test_attacks", "without_file_descriptors_accepting_pauses_and_logs_once"),
            *tests_in("credentials/test_journal", "a_disk_that_fails_after_the_answer_does_not_stop_it"),
            *tests_in("routing/test_shared_cache", "a_follower_goes_on_alone_when_redis_is_lost"),
            *tests_in("server/test_rate_limits", "without_redis_a_gateway_enforces_its_share"),
        ),
        (
            *tests_in(
                "chat/test_crash",
                "a_killed_postgres_loses_nothing_and_the_chat_continues_after_its_restart",
            ),
            *tests_in("server/test_shared_gateways", "clients_do_not_notice_a_redis_that_fails_under_load"),
            *tests_in("cluster/test_failures", "a_standby_of_postgresql_takes_over"),
            *tests_in(
                "cluster/test_partitions",
                "a_gateway_that_is_cut_off_goes_on_admits_no_stranger_and_is_right_again_when_healed",
            ),
            *tests_in("store/test_failover", "a_change_that_no_standby_confirms_is_not_acknowledged"),
        ),
    ),
    Guarantee(
        "R25",
        "Budgets are enforced before a request is sent, and every answer is booked once, also if it is"
        " interrupted.",
        "overspent by one reservation at most; the ledger equals the provider's own count",
        (
            *tests_in(
                "server/test_budgets",
                "a_request_is_settled_by_what_the_provider_billed",
                "issue_26672_a_spent_budget_is_enforced",
                "issue_27639_reservations_do_not_leak",
                "an_aborted_answer_costs_what_was_reported_until_then",
                "each_attempt_that_was_billed_is_booked",
            ),
            *tests_in(
                "store/test_ledger",
                "the_last_reservation_may_exceed_the_limit_and_no_other_can",
                "reserving_and_settling_twice_changes_nothing",
            ),
            *tests_in("server/test_usage", "rows_that_the_store_refuses_are_written_later_and_once"),
            *tests_in("routing/test_attempt", "searches_of_an_interrupted_answer_are_counted"),
        ),
        (
            *tests_in(
                "server/test_budgets",
                "issue_34732_concurrent_requests_exceed_the_budget_by_one_reservation",
                "the_ledger_equals_the_upstreams_own_count",
                "a_killed_gateway_leaves_a_ledger_that_is_exact_for_what_ended",
            ),
            *tests_in("store/test_ledger", "concurrent_reservations_of_the_last_unit_exceed_it_by_one"),
        ),
    ),
    Guarantee(
        "R26",
        "However many processes share a session, each expiry costs one refresh, and a kill loses no token.",
        "8 processes, 200 expiries, 100 kills: 200 refreshes, 0 tokens used twice",
        tests_in(
            "credentials/test_refresh_processes",
            "each_expiry_of_a_session_costs_one_refresh",
            "a_process_killed_inside_a_refresh_loses_nothing",
        ),
        (
            *tests_in(
                "credentials/test_refresh_processes",
                "eight_processes_and_two_hundred_expiries",
                "eight_processes_two_hundred_expiries_and_a_hundred_kills",
            ),
            *tests_in("providers/test_openai_session", "a_process_killed_during_a_refresh_loses_nothing"),
        ),
    ),
    Guarantee(
        "S1",
        "Pages are fetched from public addresses only: the check is made on the address that is connected to,"
        " again for each redirect and each page.",
        "72 forbidden URLs, rebinding names, 14 redirects: 0 connections; all refusals are equal",
        (
            *tests_in(
                "transport/test_ssrf",
                "the_list_of_forbidden_urls_is_complete",
                "every_private_address_is_refused_with_the_same_message",
                "public_addresses_are_allowed",
                "urls_are_parsed_like_the_url_parser_of_browsers",
            ),
            *tests_in(
                "transport/test_safe_fetch",
                "no_forbidden_address_is_connected_to_and_all_refusals_are_equal",
                "dns_rebinding_is_checked_again_for_each_page",
                "a_redirect_is_checked_like_a_url",
                "a_decompression_bomb_is_refused_before_it_fills_the_memory",
            ),
        ),
    ),
    Guarantee(
        "S2",
        "A request chooses no host, credential, header or file of the gateway; nor does a project's file.",
        "2,000 attempts: 0 connections to the attacker's server, 0 keys leave",
        (
            *tests_in("faces/gateway/test_upstream_choice", "two_thousand_attempts_reach_only_the_provider"),
            *tests_in(
                "config/test_hostile_projects",
                "a_project_may_not_set_hosts_or_keys",
                "no_key_of_a_projects_own_file_changes_a_host_or_a_key",
            ),
        ),
        tests_in(
            "config/test_hostile_projects",
            "no_key_of_a_projects_opencode_file_changes_a_host_or_a_key",
        ),
    ),
    Guarantee(
        "S3",
        "No text of a provider, page, file or browser becomes a script on the chat page.",
        "more than 300 strings in every place, in Chromium, also without the page's policy: 0 effects",
        tests_in(
            "faces/web/test_hostile",
            "there_are_enough_hostile_strings",
            "hostile_strings_are_not_executed_or_fetched_during_a_stream",
            "a_hostile_language_is_ignored",
        ),
        tests_in("faces/web/test_hostile", "hostile_strings_are_not_executed_or_fetched"),
    ),
    Guarantee(
        "S4",
        "Showing an answer sends no request to another site.",
        "0 requests to other origins",
        (
            *tests_in(
                "faces/web/test_hostile", "hostile_strings_are_not_executed_or_fetched_during_a_stream"
            ),
            *tests_in("faces/web/test_pages", "static_files_refer_to_no_other_site"),
            *tests_in(
                "security/test_known_vulnerabilities",
                "cve_2025_32711_echoleak_showing_an_answer_fetches_nothing",
            ),
        ),
        tests_in("faces/web/test_hostile", "hostile_strings_are_not_executed_or_fetched"),
    ),
    Guarantee(
        "S5",
        "A link is http or https, and the host that is shown is the host that it leads to.",
        "0 other schemes stored or sent, by API, MCP, command line and page",
        (
            *tests_in(
                "text/test_urls",
                "a_url_that_is_not_a_web_url_becomes_empty",
                "safe_url_does_not_change_the_host",
            ),
            *tests_in("dialects/test_unsafe_urls", "an_unsafe_url_is_emptied_and_all_else_stays"),
            *tests_in("faces/gateway/test_fast_path", "unsafe_urls_are_removed_in_the_middle_of_a_stream"),
            *tests_in(
                "faces/mcp/test_http", "urls_that_are_not_web_addresses_are_neither_linked_nor_fetched"
            ),
            *tests_in("faces/cli/test_output", "a_url_that_is_not_a_web_address_is_not_shown"),
            *tests_in("faces/web/test_markdown", "a_link_shows_the_host_it_leads_to"),
        ),
    ),
    Guarantee(
        "S6",
        "No control characters of the network reach the terminal or the log.",
        "1,000 hostile texts: 0 control characters but line feed and tab; one line for each log record",
        (
            *tests_in("text/test_sanitise", "a_thousand_hostile_texts_come_out_harmless"),
            *tests_in("faces/cli/test_output", "no_output_format_has_control_characters"),
            *tests_in("faces/cli/test_live", "control_characters_of_the_answer_do_nothing"),
            *tests_in("server/test_access_log", "no_request_writes_control_characters_or_a_second_line"),
        ),
    ),
    Guarantee(
        "S7",
        "Invisible characters are removed where a text is shown or given to a model; citations stay exact.",
        "10,000 texts: 0 wrong offsets; emoji and scripts that need joiners stay whole",
        (
            *tests_in(
                "text/test_sanitise",
                "invisible_characters_are_removed",
                "characters_needed_for_writing_stay",
                "offsets_are_mapped_to_the_sanitised_text",
            ),
            *tests_in("engine/compose/test_clean", "no_offset_moves_because_of_invisible_characters"),
            *tests_in("faces/web/test_markdown", "invisible_characters_are_removed_and_offsets_shifted"),
            *tests_in("faces/mcp/test_calls", "results_have_no_invisible_characters"),
        ),
        tests_in("engine/compose/test_clean", "no_offset_moves_in_ten_thousand_cases"),
    ),
    Guarantee(
        "S8",
        "Search results are data: nothing in them causes an action.",
        "60 hostile pages: 0 tool calls, 0 further requests, 0 fetched URLs that were not found",
        (
            *tests_in(
                "engine/compose/test_hostile",
                "there_are_sixty_hostile_pages",
                "a_hostile_page_causes_no_event_of_its_own",
                "a_hostile_page_stays_text_in_every_dialect",
                "a_model_that_repeats_a_hostile_page_produces_only_text_and_citations",
            ),
            *tests_in("contracts/test_recordings", "server_tools_never_become_calls_for_the_client"),
            *tests_in("faces/mcp/test_calls", "urls_that_were_not_found_are_not_allowed"),
            *tests_in("contracts/test_history", "signed_tokens_never_reach_the_real_api"),
        ),
    ),
    Guarantee(
        "S9",
        "The Copilot CLI gets exact arguments and no power: no shell, an empty home, no network but GitHub.",
        "5,000 hostile queries byte for byte; all attempts to leave the sandbox fail",
        (
            *tests_in(
                "providers/copilot/test_command",
                "the_arguments_are_these_and_no_others",
                "tools_are_never_allowed_wholesale",
                "five_thousand_hostile_queries_are_in_the_prompt_unchanged",
            ),
            *tests_in(
                "providers/copilot/test_provider",
                "fifty_hostile_queries_reach_the_cli_byte_for_byte_and_none_is_executed",
                "a_timeout_kills_the_whole_process_group",
                "no_more_searches_run_at_once_than_allowed",
            ),
            *tests_in(
                "providers/copilot/test_sandbox",
                "keys_in_the_home_cannot_be_read",
                "secrets_of_the_environment_cannot_be_seen",
                "nothing_outside_can_be_written",
                "children_that_leave_the_session_die_with_the_run",
                "a_gigabyte_of_output_is_cut_at_two_megabytes",
                "the_resources_of_the_cli_are_limited",
            ),
            *tests_in("providers/copilot/test_egress", "no_address_can_be_reached_from_inside"),
        ),
        tests_in(
            "providers/copilot/test_provider",
            "five_thousand_hostile_queries_reach_the_cli_byte_for_byte_and_none_is_executed",
        ),
    ),
    Guarantee(
        "S10",
        "Host and Origin are checked on every route, also of MCP; without keys only loopback is served.",
        "more than 60 combinations as in the table",
        (
            *tests_in(
                "server/test_auth",
                "only_the_hosts_and_origins_of_the_table_are_accepted",
                "without_keys_the_gateway_does_not_listen_on_a_public_address",
            ),
            *tests_in("faces/mcp/test_route", "only_allowed_hosts_and_origins_reach_mcp"),
        ),
    ),
    Guarantee(
        "S11",
        "Every route needs a key unless it is in the list of public ones.",
        "all routes, more than 50 spellings each: 0 answers without a key",
        tests_in(
            "server/test_routes",
            "only_these_paths_are_public",
            "without_a_key_only_public_paths_answer",
            "every_route_of_a_gateway_is_in_the_table",
        ),
    ),
    Guarantee(
        "S12",
        "A key opens only its routes, sees only what its owner has, and gives no rights that it lacks.",
        "all routes, roles and fields; 10,000 ids of other owners: 0 reads or changes; 404",
        (
            *tests_in(
                "faces/gateway/test_keys",
                "a_key_opens_the_routes_of_its_groups_and_no_others",
                "a_role_opens_the_routes_that_need_no_more",
                "cve_2026_47101_and_47102_no_field_raises_the_rights_of_a_key",
            ),
            *tests_in(
                "server/test_key_manager",
                "no_sequence_of_requests_gives_more_rights_than_the_first_key_has",
                "keys_of_other_owners_do_not_exist",
            ),
            *tests_in("faces/web/test_owners", "no_route_shows_or_changes_what_belongs_to_the_other_key"),
            *tests_in("chat/test_tenancy", "the_owner_field_cannot_transfer_an_agent"),
            *tests_in("store/test_history", "messages_of_other_owners_are_not_found"),
            *tests_in("faces/mcp/test_http", "a_cancellation_of_another_session_is_ignored"),
            *tests_in(
                "security/test_tenants",
                "requests_by_any_method_and_path_count_against_the_limit_of_a_key",
                "the_cache_does_not_tell_what_other_owners_have_asked",
                "many_idempotency_keys_of_one_caller_displace_no_response_of_another",
                "links_to_sessions_end_with_the_last_key_of_their_owner",
            ),
        ),
        (
            *tests_in("chat/test_tenancy", "ids_give_no_access_to_data_of_other_owners"),
            *tests_in("server/test_key_manager", "none_of_ten_thousand_ids_of_another_owner_is_found"),
        ),
    ),
    Guarantee(
        "S13",
        "No text of a request becomes SQL, code, a template or a shell command.",
        "every exception in the source is listed; hostile texts in every column come back unchanged",
        (
            *tests_in(
                "architecture/test_injection",
                "no_source_file_breaks_a_rule_and_every_exception_is_needed",
                "a_rule_detects_its_violation",
            ),
            *tests_in("store/test_contract", "hostile_text_is_only_ever_text"),
            *tests_in("store/test_history", "operators_of_query_languages_are_plain_characters"),
            *tests_in("engine/index/test_postgres", "hostile_text_is_only_ever_text"),
        ),
    ),
    Guarantee(
        "S14",
        "Secrets appear in no log, error, stream, trace, file or argument list.",
        "every kind of failure and sink: 0 pieces of a secret of 8 characters",
        (
            *tests_in(
                "providers/test_secrets",
                "an_echoed_key_is_never_shown",
                "no_failure_of_the_network_shows_the_key",
            ),
            *tests_in("credentials/test_secret", "a_log_record_and_a_traceback_do_not_show_a_secret"),
            *tests_in("credentials/test_redact", "exactly_the_stretches_of_eight_and_more_are_masked"),
            *tests_in("server/test_access_log", "every_request_is_one_line_of_json_without_content_or_key"),
            *tests_in("server/test_telemetry", "nothing_of_the_content_and_no_key_is_sent"),
            *tests_in("providers/copilot/test_sandbox", "no_secret_is_in_the_arguments"),
        ),
        tests_in(
            "providers/test_secrets",
            "an_echoed_key_is_never_shown_however_it_is_encoded",
            "failures_show_no_secret_in_any_sink",
        ),
    ),
    Guarantee(
        "S15",
        "Keys are stored as fingerprints in private files, and are refused at once when revoked.",
        "0600 and 0700 whatever the umask; links and loose files are refused; workers and machines follow",
        (
            *tests_in(
                "server/test_keys",
                "a_key_is_long_and_its_file_contains_only_its_fingerprint",
                "a_file_that_others_can_read_is_refused",
                "a_file_that_is_a_link_is_refused",
            ),
            *tests_in(
                "server/test_auth",
                "a_revoked_key_is_refused_at_once_and_the_last_one_closes_the_gateway",
            ),
            *tests_in("server/test_workers", "workers_share_an_address_are_replaced_and_follow_revocation"),
            *tests_in("cluster/test_one_service", "the_command_line_changes_keys_on_both_gateways"),
            *tests_in(
                "server/test_shared_access",
                "a_key_of_one_gateway_is_known_to_another_and_its_end_too",
            ),
            *tests_in("store/test_sqlite", "the_database_file_is_readable_only_by_its_owner"),
        ),
    ),
    Guarantee(
        "S16",
        "Size, depth, time and number of everything that a client or provider sends are limited.",
        "each kind of excess: 4xx or one error, at linear cost",
        (
            *tests_in(
                "server/test_limits",
                "hostile_bodies_are_refused_in_the_format_of_the_dialect",
                "the_cost_of_scanning_a_body_is_linear",
                "too_many_domains_are_refused_and_a_hundred_are_not",
                "a_query_may_have_eight_kilobytes",
            ),
            *tests_in("server/test_connection", "a_request_head_that_is_too_large_is_refused"),
            *tests_in("server/test_attacks", "trailers_and_chunk_extensions_are_bounded"),
            *tests_in(
                "providers/test_response_reader",
                "a_line_that_is_too_long_is_refused_before_it_takes_much_memory",
                "a_stream_that_is_too_large_ends_with_an_error_after_what_was_read",
            ),
            *tests_in("engine/read/test_hostile", "hostile_html_is_bounded"),
        ),
    ),
    Guarantee(
        "S17",
        "The page has a strict policy, private cookies, and a token in every form; guessing is limited.",
        "all pages: no inline script, no frames; 0 changes by other sites; 10 wrong keys a minute",
        (
            *tests_in(
                "faces/web/test_pages",
                "every_response_has_the_security_headers",
                "forms_of_other_sites_are_rejected",
                "keys_cannot_be_guessed_quickly_nor_cookies_forged",
            ),
            *tests_in("server/test_routes", "no_response_can_be_taken_for_a_page_with_other_scripts"),
            *tests_in(
                "server/test_auth",
                "an_address_may_try_few_keys_in_a_minute",
                "logins_are_limited_by_address",
            ),
        ),
    ),
    Guarantee(
        "S18",
        "Packages are locked by hash; the wheel contains the package alone; importing it touches nothing.",
        "0 packages without a hash; no `.pth`; 0 connections and files at import; equal builds",
        (
            *tests_in(
                "architecture/test_supply_chain",
                "every_locked_package_has_hashes",
                "packages_are_installed_with_their_hashes_only",
                "no_locked_version_has_a_known_vulnerability",
                "the_number_of_packages_grows_only_on_purpose",
                "importing_opens_no_connection_starts_no_process_and_touches_no_file_of_the_user",
            ),
            *tests_in(
                "system/test_wheel",
                "the_wheel_contains_the_package_and_nothing_else",
                "the_wheel_lists_every_pinned_package_in_its_sbom",
            ),
        ),
        tests_in("system/test_wheel", "two_builds_are_identical"),
        "13 direct dependencies; with all that they bring and all platforms, 49 locked packages",
    ),
)
