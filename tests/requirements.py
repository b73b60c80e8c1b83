"""Requirements: every behaviour named in the original documents, and the tests that prove it.

`id` is the document and a running number, `line` the line in the document. A behaviour that was replaced
keeps its entry: `overruled` describes what is done instead, and the tests prove that. `test_requirements.py`
checks that all named tests exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests import requirements_agents, requirements_apps
from tests.requirements_apps import Entry

COUNTS = {"000": 55, "001": 34, "002": 51, "003": 65, "004": 23}
"""How many behaviours each document names."""


class Requirement(NamedTuple):
    """One behaviour."""

    id: str
    line: int
    behaviour: str
    tests: tuple[str, ...] = ()
    overruled: str = ""


_CONTRACT = "tests/tools/test_contract.py::"
_RUN = "tests/tools/test_run.py::"
_REGISTRY = "tests/tools/test_registry.py::"
_OWN = "tests/tools/test_geminisearch.py::"
_GROUNDING = "tests/dialects/gemini/test_grounding.py::"
_COPILOT = "tests/providers/copilot/"
_SIDE = "tests/faces/gateway/clients/test_claude_code.py::"
_BLOCKS = "tests/tools/test_anthropic_blocks.py::"

_000 = (
    (15, "one result shape for all providers", (f"{_RUN}test_an_answer_has_numbers_and_sources",)),
    (17, "adding a provider changes no caller", (f"{_REGISTRY}test_every_documented_tool_is_registered",)),
    (34, "`query` is required", (f"{_REGISTRY}test_a_provider_tool_takes_a_query_and_nothing_else",)),
    (34, "`query` is trimmed", (f"{_RUN}test_a_query_is_trimmed",)),
    (
        53,
        "`llmContent` is the answer in Markdown",
        (f"{_RUN}test_an_answer_has_numbers_and_sources",),
    ),
    (54, "`returnDisplay` is a short status", (f"{_RUN}test_an_answer_has_numbers_and_sources",)),
    (55, "`sources` is optional", (f"{_RUN}test_an_answer_without_sources_has_none",)),
    (43, "`title` and `uri` of a source are optional", (f"{_RUN}test_a_source_without_a_title_has_none",)),
    (56, "`error` has a message and a type", (f"{_RUN}test_a_failure_carries_the_code_of_its_tool",)),
    (61, "the result is JSON, always", ("tests/commands/test_commands.py::test_a_tool_prints_its_contract",)),
    (67, "only `query` is accepted", (f"{_REGISTRY}test_a_provider_tool_takes_a_query_and_nothing_else",)),
    (68, "extra keys: INVALID_TOOL_ARGUMENTS", (f"{_RUN}test_an_extra_argument_is_refused_by_name",)),
    (69, "blank query: INVALID_QUERY", (f"{_RUN}test_a_blank_query_is_refused_without_a_request",)),
    (75, "the message of the example error", (f"{_RUN}test_an_extra_argument_is_refused_by_name",)),
    (86, "no interactive login", (f"{_CONTRACT}test_chatgpt_without_a_session_is_an_error_even_with_a_key",)),
    (
        87,
        "credentials from OpenCode, options or the environment",
        (
            f"{_CONTRACT}test_the_key_of_opencode_has_precedence_over_the_gemini_variable",
            f"{_CONTRACT}test_openrouter_uses_the_key_of_opencode",
        ),
    ),
    (
        96,
        "`provider.<id>.options.websearch` gives defaults",
        ("tests/config/test_opencode.py::test_the_search_models_of_opencode_are_mapped_to_our_providers",),
    ),
    (
        120,
        "the options take precedence over the defaults",
        (f"{_CONTRACT}test_gemini_requests_have_the_configured_model_and_the_native_search",),
    ),
    (131, "the tool `websearch_gemini`", (f"{_REGISTRY}test_every_documented_tool_is_registered",)),
    (
        137,
        "Gemini's key: OpenCode's `google` record of type api first",
        (f"{_CONTRACT}test_the_key_of_opencode_has_precedence_over_the_gemini_variable",),
    ),
    (
        138,
        "Gemini's key: then GEMINI_API_KEY",
        (f"{_CONTRACT}test_the_key_of_opencode_has_precedence_over_the_gemini_variable",),
    ),
    (
        139,
        "Gemini's key: else MISSING_GEMINI_API_KEY",
        (f"{_CONTRACT}test_gemini_without_a_key_is_an_error_and_nothing_is_sent",),
    ),
    (
        150,
        "Gemini's endpoint is generateContent of v1beta",
        (f"{_CONTRACT}test_gemini_requests_have_the_configured_model_and_the_native_search",),
    ),
    (
        152,
        "Gemini's default model is gemini-2.5-flash",
        ("tests/providers/test_models.py::test_no_default_model_is_past_the_end_that_its_vendor_announced",),
        "its end was 2026-10-20: the default is the current model of the family",
    ),
    (
        153,
        "a configured model takes precedence over it",
        (f"{_CONTRACT}test_gemini_requests_have_the_configured_model_and_the_native_search",),
    ),
    (
        155,
        "the key is sent in x-goog-api-key, the body is JSON",
        (f"{_CONTRACT}test_the_key_of_opencode_has_precedence_over_the_gemini_variable",),
    ),
    (
        159,
        "one user message and the googleSearch tool",
        (f"{_CONTRACT}test_gemini_requests_have_the_configured_model_and_the_native_search",),
    ),
    (171, "cancelling ends the request", (f"{_CONTRACT}test_cancelling_the_tool_cancels_the_request",)),
    (
        176,
        "the text is all parts of the first candidate but thoughts",
        (f"{_CONTRACT}test_gemini_grounding_supports_become_numbered_citations",),
    ),
    (
        177,
        "no text: nothing found",
        (f"{_CONTRACT}test_an_empty_answer_of_gemini_is_reported_as_no_results",),
    ),
    (
        184,
        "supports count UTF-8 bytes",
        (
            f"{_CONTRACT}test_gemini_grounding_supports_become_numbered_citations",
            f"{_GROUNDING}test_offsets_are_bytes_and_a_missing_start_is_zero",
        ),
    ),
    (
        186,
        "markers are unique and sorted",
        (f"{_CONTRACT}test_gemini_grounding_supports_become_numbered_citations",),
    ),
    (
        191,
        "grounding chunks are the sources",
        (f"{_CONTRACT}test_gemini_grounding_chunks_are_sources_even_if_nothing_is_cited",),
        "where something is cited, only what is cited is listed: pages found are not sources of the answer",
    ),
    (
        194,
        "the list `Sources:` ends the text",
        (f"{_CONTRACT}test_gemini_grounding_supports_become_numbered_citations",),
    ),
    (
        214,
        "GEMINI_WEB_SEARCH_FAILED with a message for the user and details",
        (f"{_CONTRACT}test_a_failure_of_gemini_is_reported_with_its_details",),
    ),
    (235, "the tool `websearch_openai_oauth`", (f"{_REGISTRY}test_every_documented_tool_is_registered",)),
    (241, "no API key", (f"{_CONTRACT}test_chatgpt_without_a_session_is_an_error_even_with_a_key",)),
    (
        245,
        "the stored session of OpenCode is the bearer token",
        (f"{_CONTRACT}test_chatgpt_requests_use_the_stored_session",),
    ),
    (
        251,
        "a configured model is used",
        (f"{_CONTRACT}test_chatgpt_requests_use_the_stored_session",),
        "the prefix `openai/` is not sent: the backend knows bare names only",
    ),
    (
        252,
        "an invalid block means the default model",
        (f"{_CONTRACT}test_chatgpt_has_a_default_model",),
    ),
    (
        260,
        "no session: MISSING_OPENAI_OAUTH_SESSION",
        (f"{_CONTRACT}test_chatgpt_without_a_session_is_an_error_even_with_a_key",),
    ),
    (
        267,
        "plain HTTP to the Codex backend in the shape of the Responses API",
        (
            f"{_CONTRACT}test_chatgpt_requests_use_the_stored_session",
            "tests/providers/test_openai.py::test_required_fields_are_always_sent",
        ),
    ),
    (
        276,
        "answers of ChatGPT are text without sources",
        (f"{_CONTRACT}test_chatgpt_links_become_sources",),
        "the backend searches and cites; sources are listed if it names them",
    ),
    (
        301,
        "OPENAI_OAUTH_WEB_SEARCH_FAILED",
        (f"{_CONTRACT}test_a_failure_of_chatgpt_has_its_own_code",),
    ),
    (311, "the tool `websearch_openrouter`", (f"{_REGISTRY}test_every_documented_tool_is_registered",)),
    (
        317,
        "OpenRouter's key: OPENROUTER_API_KEY, else MISSING_OPENROUTER_API_KEY",
        (
            f"{_CONTRACT}test_openrouter_requests_have_its_key_and_its_search",
            f"{_CONTRACT}test_openrouter_without_a_key_is_an_error_and_nothing_is_sent",
        ),
    ),
    (
        328,
        "OpenRouter's endpoint is /responses with a bearer key",
        (f"{_CONTRACT}test_openrouter_requests_have_its_key_and_its_search",),
    ),
    (
        334,
        "openai/o4-mini with the `web` plugin",
        (f"{_CONTRACT}test_openrouter_requests_have_its_key_and_its_search",),
        "the model has ended and the plugin is deprecated: the current model and `openrouter:web_search`",
    ),
    (
        364,
        "spans count characters",
        (f"{_CONTRACT}test_openrouter_annotations_become_numbers_and_each_page_has_one",),
    ),
    (
        370,
        "sources are deduplicated, with or without a title",
        (f"{_CONTRACT}test_openrouter_annotations_become_numbers_and_each_page_has_one",),
    ),
    (
        376,
        "`[n]` at the end of a citation, and the list of sources",
        (
            f"{_CONTRACT}test_openrouter_annotations_become_numbers_and_each_page_has_one",
            f"{_CONTRACT}test_chatgpt_links_become_sources",
        ),
        "a span that is a link is replaced by its number, not followed by it",
    ),
    (
        404,
        "OPENROUTER_WEB_SEARCH_FAILED with the message of OpenRouter",
        (f"{_CONTRACT}test_a_failure_of_openrouter_contains_its_message",),
    ),
    (
        440,
        "a unified `websearch` takes a provider",
        (
            f"{_RUN}test_the_unified_tool_uses_the_named_provider_and_model",
            f"{_RUN}test_a_failure_of_the_unified_tool_has_the_code_of_its_provider",
        ),
    ),
    (441, "ChatGPT's answers have sources", (f"{_CONTRACT}test_chatgpt_links_become_sources",)),
    (442, "more providers in the same contract", (f"{_RUN}test_an_answer_has_numbers_and_sources",)),
)

_001 = (
    (7, "the tool `geminisearch`", (f"{_REGISTRY}test_every_documented_tool_is_registered",)),
    (
        8,
        "the official client of Google is used",
        (f"{_OWN}test_the_query_is_sent_as_one_user_message_with_google_search",),
        "plain HTTP does the same and is faster to import",
    ),
    (
        10,
        "text with numbers and a list of sources",
        (f"{_RUN}test_an_answer_has_numbers_and_sources",),
    ),
    (
        11,
        "any model may call the tool",
        ("tests/tools/test_definitions.py::test_every_tool_exists_in_every_format_and_language",),
    ),
    (
        41,
        "the key is read from the environment",
        (f"{_OWN}test_an_incomplete_block_falls_back_to_the_variable_and_the_default",),
    ),
    (
        32,
        "stored credentials of other providers are not touched",
        (f"{_OWN}test_settings_of_other_providers_are_not_used",),
    ),
    (83, "the description, word for word", (f"{_REGISTRY}test_geminisearch_is_described_as_callers_expect",)),
    (91, "`query` is required", (f"{_REGISTRY}test_a_provider_tool_takes_a_query_and_nothing_else",)),
    (98, "a blank query sends no request", (f"{_RUN}test_a_blank_query_is_refused_without_a_request",)),
    (105, "the text starts with the query", (f"{_RUN}test_an_answer_has_numbers_and_sources",)),
    (
        106,
        "numbers come from grounding",
        (f"{_CONTRACT}test_gemini_grounding_supports_become_numbered_citations",),
    ),
    (107, "the list `Sources:` may follow", (f"{_RUN}test_an_answer_without_sources_has_none",)),
    (
        108,
        "sources come from grounding chunks",
        (f"{_CONTRACT}test_gemini_grounding_chunks_are_sources_even_if_nothing_is_cited",),
    ),
    (
        111,
        "the result is one JSON object",
        ("tests/commands/test_processes.py::test_a_tool_follows_its_contract",),
    ),
    (
        122,
        "the text of an error matches its message",
        (f"{_RUN}test_a_failure_carries_the_code_of_its_tool",),
    ),
    (
        132,
        "the model is gemini-2.5-flash",
        (f"{_OWN}test_an_incomplete_block_falls_back_to_the_variable_and_the_default",),
        "its end was 2026-10-20: the default is the current model of the family",
    ),
    (133, "googleSearch is on", (f"{_OWN}test_the_query_is_sent_as_one_user_message_with_google_search",)),
    (
        148,
        "the query is one user message",
        (f"{_OWN}test_the_query_is_sent_as_one_user_message_with_google_search",),
    ),
    (
        156,
        "all text parts are joined",
        (f"{_CONTRACT}test_gemini_grounding_supports_become_numbered_citations",),
        "thoughts are not part of the answer",
    ),
    (
        160,
        "supports count bytes over the text",
        (
            f"{_GROUNDING}test_offsets_are_bytes_and_a_missing_start_is_zero",
            f"{_GROUNDING}test_thoughts_and_calls_between_texts_do_not_count",
        ),
    ),
    (
        164,
        "inserting a number does not move the others",
        (f"{_GROUNDING}test_every_citation_survives_in_any_script",),
    ),
    (
        172,
        "no text: nothing found",
        (f"{_CONTRACT}test_an_empty_answer_of_gemini_is_reported_as_no_results",),
    ),
    (
        187,
        "GEMINI_API_KEY and no other provider's settings",
        (f"{_OWN}test_settings_of_other_providers_are_not_used",),
    ),
    (192, "without a key nothing is sent", (f"{_OWN}test_settings_of_other_providers_are_not_used",)),
    (
        216,
        "`provider.geminisearch.options` gives key and model",
        (f"{_OWN}test_the_block_sets_key_and_model",),
    ),
    (
        218,
        "`{env:…}` in the block is understood",
        (
            "tests/config/test_opencode.py::test_the_geminisearch_block_is_read_and_its_key_is_not_shown",
            "tests/config/test_opencode_text.py::test_files_of_the_user_may_insert_variables_and_files",
        ),
    ),
    (
        226,
        "an incomplete block falls back, piece by piece",
        (f"{_OWN}test_an_incomplete_block_falls_back_to_the_variable_and_the_default",),
    ),
    (
        233,
        "blank query: INVALID_QUERY, in a field `code`",
        (f"{_RUN}test_a_blank_query_is_refused_without_a_request",),
        "the field is called `type`, as in the common contract",
    ),
    (
        238,
        "GEMINI_WEB_SEARCH_FAILED, and the advice to check the configuration",
        (f"{_CONTRACT}test_a_failure_of_gemini_is_reported_with_its_details",),
    ),
    (
        248,
        "every wait has a deadline",
        ("tests/providers/test_streaming.py::test_every_wait_ends_at_its_deadline",),
    ),
    (
        255,
        "language, region and number of sources as options",
        (f"{_RUN}test_options_of_the_unified_tool_override_the_configured_ones",),
    ),
    (
        256,
        "a limit of the sources is kept",
        ("tests/providers/test_policy.py::test_a_limit_of_sources_is_kept_in_the_answer",),
    ),
    (257, "raw metadata in a separate field", (f"{_OWN}test_the_raw_metadata_is_returned_on_request",)),
    (
        258,
        "the insertion of markers is tested in any script",
        (f"{_GROUNDING}test_every_citation_survives_in_any_script",),
    ),
)

_004 = (
    (
        9,
        "web search is on by default",
        (f"{_COPILOT}test_provider.py::test_a_disabled_provider_starts_nothing",),
        "a subprocess is never started unless the user chooses it",
    ),
    (
        12,
        "the search is done by Copilot CLI",
        (f"{_COPILOT}test_provider.py::test_a_search_is_requested_and_its_answer_is_cited",),
    ),
    (13, "the answer is encoded as Anthropic blocks", (f"{_BLOCKS}test_the_text_is_last",)),
    (
        15,
        "the default model is gpt-4.1",
        (f"{_COPILOT}test_command.py::test_settings_have_the_defaults_that_are_documented",),
    ),
    (
        17,
        "a CLI that is missing or not logged in is reported",
        (
            f"{_COPILOT}test_provider.py::test_a_cli_that_is_not_installed_is_named",
            f"{_COPILOT}test_provider.py::test_a_cli_without_a_login_fails_with_advice",
        ),
    ),
    (
        46,
        "the side request is recognised by its system text",
        (
            f"{_SIDE}test_every_version_gets_a_search_and_its_result_before_the_text",
            f"{_SIDE}test_requests_that_only_look_similar_are_not_changed",
        ),
        "the text changed; tool and message are evidence",
    ),
    (
        47,
        "the side request is recognised by its message",
        (
            f"{_SIDE}test_every_version_gets_a_search_and_its_result_before_the_text",
            f"{_SIDE}test_requests_that_only_look_similar_are_not_changed",
        ),
    ),
    (
        57,
        "ENABLE_WEB_SEARCH",
        (
            f"{_COPILOT}test_provider.py::test_a_disabled_provider_starts_nothing",
            f"{_SIDE}test_with_the_feature_disabled_it_is_an_ordinary_request",
            f"{_COPILOT}test_command.py::test_the_environment_takes_precedence_over_configured_settings",
        ),
    ),
    (
        58,
        "WEB_SEARCH_MODEL",
        (f"{_COPILOT}test_command.py::test_the_environment_takes_precedence_over_configured_settings",),
    ),
    (
        59,
        "WEB_SEARCH_TIMEOUT in milliseconds",
        (
            f"{_COPILOT}test_command.py::test_the_environment_takes_precedence_over_configured_settings",
            f"{_COPILOT}test_provider.py::test_a_timeout_kills_the_whole_process_group",
        ),
    ),
    (
        60,
        "COPILOT_PATH",
        (f"{_COPILOT}test_command.py::test_the_environment_takes_precedence_over_configured_settings",),
    ),
    (
        83,
        "the query is taken out of the message",
        (f"{_SIDE}test_the_search_target_gets_only_the_query_and_must_search",),
        "a query may have several lines",
    ),
    (
        93,
        "the CLI is started with --allow-all and the query in its arguments",
        (
            f"{_COPILOT}test_command.py::test_tools_are_never_allowed_wholesale",
            f"{_COPILOT}test_command.py::test_the_arguments_are_these_and_no_others",
            f"{_COPILOT}test_provider.py::test_fifty_hostile_queries_reach_the_cli_byte_for_byte_and_none_is_executed",
        ),
        "that would run commands from the web: only its search tool is allowed; the query is sent to stdin",
    ),
    (
        96,
        "the CLI must print JSON: query, summary, sources",
        (
            f"{_COPILOT}test_output.py::test_recorded_bare_text_contains_the_requested_object",
            f"{_COPILOT}test_output.py::test_bare_text_that_is_not_the_requested_object_is_not_grounded",
        ),
        "the raw result of its tool is preferred to the summary of the model",
    ),
    (
        109,
        "first the server_tool_use block with the query",
        (f"{_BLOCKS}test_the_query_is_first_as_a_server_tool_use",),
    ),
    (
        110,
        "then the results with title and URL",
        (f"{_BLOCKS}test_the_results_follow_with_title_and_url",),
    ),
    (111, "then the text", (f"{_BLOCKS}test_the_text_is_last",)),
    (
        140,
        "Claude Code reads title and address of a result",
        (f"{_BLOCKS}test_the_results_follow_with_title_and_url",),
        "it reads no page age",
    ),
    (
        146,
        "Claude Code counts searches",
        (f"{_BLOCKS}test_each_search_is_counted_once",),
        "by blocks, not by the length of their content",
    ),
    (
        180,
        "a search that takes too long is ended",
        (f"{_COPILOT}test_provider.py::test_a_timeout_kills_the_whole_process_group",),
    ),
    (
        201,
        "only the tool web_search is offered",
        (
            f"{_COPILOT}test_output.py::test_a_tool_that_was_not_offered_is_reported_and_its_result_is_not_believed",
        ),
    ),
    (
        217,
        "markers and annotations of Copilot's result become citations",
        (
            f"{_COPILOT}test_output.py::test_the_raw_tool_result_is_emitted_with_markers_as_anchors",
            f"{_COPILOT}test_output.py::test_an_offset_is_used_only_where_a_marker_is",
        ),
    ),
    (
        228,
        "the queries that were made are known",
        (
            f"{_COPILOT}test_output.py::test_the_raw_tool_result_is_emitted_with_markers_as_anchors",
            f"{_COPILOT}test_output.py::test_an_answer_without_searches_and_annotations_is_reported_as_not_grounded",
        ),
    ),
)

_DOCUMENTS: Mapping[str, Sequence[Entry]] = {
    "000": _000,
    "001": _001,
    "002": requirements_apps.ENTRIES,
    "003": requirements_agents.ENTRIES,
    "004": _004,
}

REQUIREMENTS: tuple[Requirement, ...] = tuple(
    Requirement(f"{document}-{number:02}", *entry)
    for document, entries in _DOCUMENTS.items()
    for number, entry in enumerate(entries, 1)
)
"""Every behaviour."""
