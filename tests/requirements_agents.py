"""Requirements of the third document: chat agents that search with their provider."""

from __future__ import annotations

from tests.requirements_apps import Entry

_APPS = "tests/chat/test_agents.py::"
_TURNS = "tests/chat/test_turns.py::"
_BROWSER = "tests/faces/web/test_browser.py::"
_USING = "tests/faces/web/test_page_use.py::"
_SEARCHES = "tests/faces/web/test_searches.py::"
_STORE = "tests/store/test_contract.py::"
_MIGRATIONS = "tests/store/test_migrations.py::"
_MESSAGES = "tests/dialects/anthropic_messages/test_stream.py::"
_CHAT = "tests/dialects/openai_chat/"
_GEMINI = "tests/dialects/gemini/"

_FIRST_TIME = f"{_BROWSER}test_a_first_time_user_gets_an_answer_by_one_click_asks_on_and_creates_an_agent"
_INDICATOR = f"{_BROWSER}test_the_indicator_names_the_query_and_text_appears_before_the_answer_is_complete"
_ONLY_IF_WANTED = f"{_TURNS}test_search_is_requested_only_if_the_agent_enables_it"
_NEVER_A_CALL = f"{_MESSAGES}test_a_search_becomes_a_call_and_a_result_never_a_tool_call"
_AGENT_KEPT = f"{_STORE}test_an_agent_is_read_back_unchanged"
_ANSWER_KEPT = f"{_TURNS}test_an_answer_is_stored_and_read_back_unchanged"
_RECORDED = "tests/contracts/test_recordings.py::test_each_source_is_cited_where_the_wire_put_it"

ENTRIES: tuple[Entry, ...] = (
    (19, "an agent has a switch for web search, and it is stored", (_AGENT_KEPT,)),
    (20, "the request declares the search in the provider's own format", (_ONLY_IF_WANTED,)),
    (21, "citations of all providers have one data model", (_RECORDED,)),
    (22, "searches and citations are events", (_NEVER_A_CALL, _RECORDED)),
    (23, "citations are stored with the answer", (_ANSWER_KEPT,)),
    (24, "a list of sources below the answer", (_INDICATOR,)),
    (25, "a search of the server is never a call for the client", (_NEVER_A_CALL,)),
    (
        29,
        "domain lists (later)",
        (
            f"{_USING}test_every_control_is_usable_by_keyboard",
            "tests/providers/test_policy.py::test_every_option_is_treated_as_in_the_table",
        ),
    ),
    (
        30,
        "the user's location (later)",
        ("tests/providers/test_policy.py::test_every_option_is_treated_as_in_the_table",),
    ),
    (
        31,
        "markers within the text (later)",
        ("tests/faces/web/test_markdown.py::test_a_chip_follows_its_claim",),
    ),
    (32, "the query is shown (later)", (_INDICATOR,)),
    (
        33,
        "found pages are shown before the answer (later)",
        (f"{_SEARCHES}test_found_pages_are_shown_before_the_answer_arrives",),
    ),
    (
        34,
        "another search where the provider has none (later)",
        (
            "tests/routing/test_tool_loop.py::test_known_numbers_become_citations_of_the_claims_before_them_with_quotes",
        ),
    ),
    (93, "a citation has a URL", (_RECORDED,)),
    (
        94,
        "a citation has a title; without one the URL is shown",
        ("tests/text/test_sources.py::test_a_source_is_called_by_the_best_name_it_has",),
    ),
    (
        98,
        "what only one provider understands is not kept",
        (f"{_TURNS}test_encrypted_results_are_sent_to_their_provider_and_readable_ones_to_others",),
        "it is kept: without it the next turn loses what was found",
    ),
    (
        95,
        "a citation has a domain, shown without `www.`",
        (f"{_SEARCHES}test_domains_are_shown_without_www_and_urls_are_unchanged",),
    ),
    (104, "agents have id, name, description, prompt, provider, model", (_AGENT_KEPT,)),
    (113, "search is off by default", (f"{_APPS}test_search_is_off_unless_an_app_has_its_tool", _FIRST_TIME)),
    (
        122,
        "old rows have search off",
        (f"{_MIGRATIONS}test_a_store_of_an_earlier_version_keeps_all_rows",),
    ),
    (
        131,
        "a message may have no citations",
        (f"{_STORE}test_any_answer_and_any_message_is_read_back_unchanged",),
    ),
    (144, "citations are stored as JSON", (f"{_STORE}test_question_and_answer_are_read_back_unchanged",)),
    (
        147,
        "unknown keys in stored JSON are ignored",
        ("tests/model/test_json.py::test_unknown_fields_are_ignored",),
    ),
    (
        168,
        "a migration adds the columns",
        (
            f"{_MIGRATIONS}test_a_store_of_an_earlier_version_keeps_all_rows",
            f"{_STORE}test_a_migration_is_atomic",
        ),
    ),
    (
        190,
        "a search that begins is an event, with its query",
        (
            _INDICATOR,
            "tests/dialects/openai_responses/test_decoder.py::test_a_search_is_emitted_when_it_begins_and_again_when_its_query_is_known",
        ),
        "for every provider that reports it, not only Anthropic",
    ),
    (
        191,
        "citations are emitted as soon as they are known",
        (
            "tests/dialects/openai_responses/test_decoder.py::test_a_citation_is_emitted_at_once_if_its_link_is_there",
        ),
    ),
    (205, "without the switch nothing is searched", (_ONLY_IF_WANTED,)),
    (
        213,
        "OpenAI Chat: `web_search_options`",
        (f"{_CHAT}test_search.py::test_options_of_another_dialect_are_written_as_web_search_options",),
    ),
    (
        229,
        "OpenAI Chat: context size medium",
        (f"{_CHAT}test_search.py::test_options_of_another_dialect_are_written_as_web_search_options",),
        "medium is the vendor's own default, so it is not sent; `search.context_size` sets another",
    ),
    (
        240,
        "OpenAI Chat: annotations of the last delta",
        (f"{_CHAT}test_decoder.py::test_the_stream_ends_with_citations_then_settled_text_then_usage",),
    ),
    (
        247,
        "OpenAI Chat: the title may be missing",
        (f"{_CHAT}test_citations.py::test_a_missing_title_or_span_loses_nothing",),
    ),
    (
        251,
        "each page is listed once",
        (
            "tests/text/test_sources.py::test_a_page_with_another_url_has_the_same_number_and_keeps_its_first_url",
        ),
    ),
    (
        254,
        "OpenAI Chat: citations after the text",
        (f"{_CHAT}test_decoder.py::test_the_stream_ends_with_citations_then_settled_text_then_usage",),
    ),
    (
        279,
        "Anthropic: the tool `web_search_20250305`",
        ("tests/tools/test_definitions.py::test_anthropic_gets_its_own_search",),
    ),
    (
        274,
        "Anthropic: functions are sent with it",
        ("tests/tools/test_definitions.py::test_anthropic_gets_its_own_search",),
    ),
    (
        281,
        "Anthropic: at most five searches",
        ("tests/providers/test_policy.py::test_every_option_is_treated_as_in_the_table",),
        "no limit unless the user sets one (`search.max_uses`): it would cut answers short",
    ),
    (301, "Anthropic: `server_tool_use` is a search", (_NEVER_A_CALL,)),
    (310, "Anthropic: the results with URL and title", (_NEVER_A_CALL, _RECORDED)),
    (
        331,
        "Anthropic: the query arrives in fragments",
        (_RECORDED, "tests/contracts/test_recordings.py::test_every_search_page_and_pattern_is_emitted"),
    ),
    (
        343,
        "a search of the server is not executed here",
        (f"{_TURNS}test_an_unrequested_tool_call_is_neither_executed_nor_sent_back",),
    ),
    (
        355,
        "Anthropic: citations of text blocks",
        (f"{_MESSAGES}test_a_citation_before_its_text_spans_the_whole_block",),
    ),
    (
        372,
        "encrypted results are sent back in the next turn",
        (f"{_TURNS}test_encrypted_results_are_sent_to_their_provider_and_readable_ones_to_others",),
    ),
    (
        377,
        "raw blocks are not stored",
        (_ANSWER_KEPT,),
        "they are stored: a reloaded session continues with what was found",
    ),
    (404, "Gemini: `google_search`", (f"{_GEMINI}test_search.py::test_search_is_on_in_either_spelling",)),
    (
        393,
        "Gemini: functions with it",
        (f"{_GEMINI}test_tools.py::test_search_and_functions_together_need_a_flag",),
    ),
    (
        413,
        "Gemini: metadata in the last chunk",
        (f"{_GEMINI}test_recordings.py::test_every_segment_of_a_stream_is_cited_at_its_span",),
    ),
    (
        419,
        "Gemini: chunks are sources",
        (f"{_GEMINI}test_grounding.py::test_pages_found_and_not_cited_are_results_of_the_search",),
    ),
    (
        424,
        "Gemini: the domain is given or taken from the URL",
        (f"{_GEMINI}test_grounding.py::test_the_domain_is_given_or_is_the_title_of_a_redirect",),
    ),
    (442, "the agent's switch reaches the provider", (_ONLY_IF_WANTED,)),
    (457, "citations are collected over the stream and saved", (_ANSWER_KEPT,)),
    (479, "a search never waits for a client", (_NEVER_A_CALL,)),
    (489, "the page shows that a search began", (_INDICATOR,)),
    (496, "the sources can be folded", (_FIRST_TIME,)),
    (502, "the list shows how many there are", (_INDICATOR,)),
    (
        542,
        "a source is a link",
        ("tests/faces/web/test_recorded.py::test_recorded_answers_are_shown_as_their_providers_sent_them",),
    ),
    (
        571,
        "a source shows its title",
        ("tests/faces/web/test_recorded.py::test_recorded_answers_are_shown_as_their_providers_sent_them",),
    ),
    (588, "while it searches, the page shows it", (_INDICATOR,), "for every provider that reports it"),
    (602, "the indicator names the query if it is known", (_INDICATOR,)),
    (618, "the agent's form has the switch", (_FIRST_TIME,)),
    (627, "the form mentions the cost of searches", (_FIRST_TIME,)),
    (
        716,
        "the built-in agent does not search",
        (f"{_TURNS}test_an_agent_without_search_is_not_routed_to_an_engine",),
    ),
    (768, "a switch that is off sends nothing about search", (_ONLY_IF_WANTED,)),
    (769, "a reload shows what was shown", (_FIRST_TIME, _INDICATOR)),
    (
        643,
        "unsaved changes of an agent are noticed",
        ("tests/faces/web/test_unsaved.py::test_leaving_a_changed_agent_form_asks_for_confirmation",),
    ),
    (
        748,
        "a malformed row does not break a session",
        ("tests/faces/web/test_unreadable.py::test_a_damaged_message_is_shown_as_a_placeholder",),
    ),
)
