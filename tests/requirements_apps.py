"""Requirements of the second document: web search as a special tool of generic apps."""

from __future__ import annotations

from typing import TypeAlias

Entry: TypeAlias = tuple[int, str, tuple[str, ...]] | tuple[int, str, tuple[str, ...], str]

_SPECIAL = "tests/tools/test_definitions.py::"
_SCHEMAS = "tests/tools/test_schemas.py::"
_COMMANDS = "tests/commands/test_commands.py::"
_APPS = "tests/chat/test_agents.py::"
_RESPONSE = "tests/dialects/openai_responses/test_response.py::"
_SEARCH = "tests/dialects/openai_responses/test_search.py::"
_BROWSER = "tests/faces/web/test_browser.py::"

_DEFINED = f"{_SPECIAL}test_web_search_takes_filters_a_location_and_live_access"
_BESIDE = f"{_SPECIAL}test_openai_gets_its_search_and_strict_functions"
_OPTIONS = f"{_SPECIAL}test_the_options_of_web_search_become_search_options"
_LANGUAGES = f"{_SPECIAL}test_the_definitions_have_both_languages"
_EITHER = f"{_SPECIAL}test_gemini_searches_with_google_by_either_name"
_EXAMPLE = "tests/test_examples.py::test_the_example_of_an_app_is_an_agent_that_searches"

ENTRIES: tuple[Entry, ...] = (
    (5, "one special tool that uses the provider's own search", (_BESIDE, _EITHER)),
    (
        5,
        "no search where the provider has none",
        (f"{_SPECIAL}test_chat_has_no_search_among_its_tools",),
        "an engine serves such a provider if one is configured",
    ),
    (11, "OpenAI's `web_search`, with parameters", (_BESIDE, _OPTIONS)),
    (12, "OpenAI: `filters.allowed_domains`", (_OPTIONS,)),
    (13, "OpenAI: the user's location", (_OPTIONS,)),
    (14, "OpenAI: control of external access", (_OPTIONS,)),
    (
        15,
        "OpenAI: citations and sources in responses",
        (f"{_RESPONSE}test_a_citation_has_the_span_of_its_link",),
    ),
    (17, "Gemini's Google Search", (_EITHER,)),
    (
        18,
        "`googleSearch` is a special tool",
        (f"{_SPECIAL}test_the_definitions_are_marked_as_special_tools",),
    ),
    (
        20,
        "Gemini: grounding metadata with sources",
        ("tests/dialects/gemini/test_recordings.py::test_every_segment_of_a_body_is_cited_at_its_span",),
    ),
    (
        23,
        "other providers get no entry",
        (
            f"{_SPECIAL}test_chat_has_no_search_among_its_tools",
            f"{_SPECIAL}test_google_search_is_dropped_for_other_vendors",
        ),
    ),
    (29, "the tool names no provider in an app", (_EXAMPLE,)),
    (
        30,
        "`isSpecialTool` means that the provider runs it",
        (f"{_SPECIAL}test_the_definitions_are_marked_as_special_tools",),
    ),
    (
        31,
        "it is converted to each provider's form",
        (_BESIDE, f"{_SPECIAL}test_anthropic_gets_its_own_search", _EITHER),
    ),
    (
        32,
        "it is ignored where it is unknown",
        (f"{_SPECIAL}test_an_unknown_special_tool_is_ignored",),
    ),
    (
        38,
        "`googleSearch` and `webSearch` stay two tools",
        (f"{_SPECIAL}test_the_definitions_are_marked_as_special_tools",),
    ),
    (
        41,
        "`googleSearch` means Google's search and no other",
        (f"{_SPECIAL}test_google_search_is_dropped_for_other_vendors",),
    ),
    (
        42,
        "apps with `googleSearch` keep working",
        (f"{_APPS}test_an_app_with_a_search_tool_makes_an_agent_that_searches",),
    ),
    (
        46,
        "documented: which tool for which model",
        ("tests/tools/test_definitions.py::test_the_documentation_says_what_each_api_gets",),
    ),
    (
        48,
        "`webSearch` for apps of several providers",
        (_EITHER, _BESIDE),
        "Gemini does not ignore it: its own search is meant there",
    ),
    (
        58,
        "the id is `webSearch`",
        (_DEFINED, f"{_SPECIAL}test_the_definitions_are_marked_as_special_tools"),
    ),
    (59, "name and description in English and German", (_LANGUAGES,)),
    (
        67,
        "the provider id `openai-responses` is known",
        (f"{_SPECIAL}test_an_api_is_known_by_its_alias",),
    ),
    (72, "parameter `filters`", (_DEFINED,)),
    (86, "at most 100 domains", (_DEFINED, f"{_SPECIAL}test_too_many_domains_for_an_api_are_refused")),
    (90, "parameter `user_location` with its five fields", (_DEFINED,)),
    (104, "parameter `external_web_access`, true by default", (_DEFINED,)),
    (75, "descriptions of parameters in both languages", (_LANGUAGES,)),
    (126, "the search entry is distinguished from functions by its id", (_BESIDE,)),
    (
        131,
        "the entry `{type: web_search}`",
        (_BESIDE, f"{_COMMANDS}test_the_special_tools_are_declared_as_each_api_does"),
    ),
    (134, "filters are passed if given", (_OPTIONS,)),
    (140, "the location is passed if given", (_OPTIONS,)),
    (
        144,
        "external access is passed if given, also when false",
        (_OPTIONS, f"{_SEARCH}test_filters_and_access_are_restrictions"),
    ),
    (
        154,
        "a function is called by its id, else its name",
        (_BESIDE, f"{_SPECIAL}test_an_invalid_tool_is_refused"),
    ),
    (
        156,
        "schemas are cleaned for the provider",
        (f"{_SPECIAL}test_gemini_gets_functions_in_its_own_format",),
    ),
    (
        157,
        "functions are strict",
        (
            f"{_SCHEMAS}test_the_strict_form_closes_every_object_and_requires_everything",
            f"{_SPECIAL}test_a_function_without_a_strict_form_is_not_strict",
        ),
        "a schema that has no strict form is sent as not strict",
    ),
    (
        172,
        "`web_search_call` items are searches with their queries",
        (f"{_RESPONSE}test_every_action_is_a_search_a_page_or_a_pattern",),
    ),
    (179, "sources of a search are kept", (f"{_RESPONSE}test_sources_have_a_url_or_a_name",)),
    (
        190,
        "`url_citation` annotations with their offsets",
        (f"{_RESPONSE}test_a_citation_has_the_span_of_its_link",),
    ),
    (
        216,
        "id, status and action of a search are kept",
        (f"{_RESPONSE}test_a_search_keeps_an_id_of_this_dialect_and_has_its_status",),
    ),
    (238, "the example app exists and searches", (_EXAMPLE,)),
    (243, "an app's texts by language", (f"{_APPS}test_an_app_is_exported_as_it_was_imported",)),
    (
        255,
        "an app's model is the agent's",
        (f"{_APPS}test_an_app_with_a_search_tool_makes_an_agent_that_searches",),
    ),
    (
        257,
        "settings of an app that are not ours are kept",
        (f"{_APPS}test_an_app_is_exported_as_it_was_imported",),
    ),
    (
        274,
        "the provider searches, not this server",
        (f"{_RESPONSE}test_a_search_is_never_a_call_for_the_client",),
    ),
    (
        275,
        "options that only OpenAI has",
        (f"{_SPECIAL}test_a_restriction_that_the_api_cannot_express_is_refused",),
        "others have them too today; an unsupported one is refused",
    ),
    (
        281,
        "citations are links to click",
        (f"{_BROWSER}test_a_first_time_user_gets_an_answer_by_one_click_asks_on_and_creates_an_agent",),
    ),
    (
        282,
        "queries and sources are shown in the chat",
        (f"{_BROWSER}test_the_indicator_names_the_query_and_text_appears_before_the_answer_is_complete",),
    ),
    (
        283,
        "usage of search is counted and charted",
        ("tests/chat/test_usage.py::test_usage_is_summed_by_model",),
    ),
    (284, "other providers' searches", (f"{_SPECIAL}test_anthropic_gets_its_own_search", _EITHER)),
    (
        285,
        "controls for domains and location",
        ("tests/faces/web/test_page_use.py::test_every_control_is_usable_by_keyboard",),
    ),
)
