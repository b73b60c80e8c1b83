"""Cleans page text for an answer: removes documentation markup and hidden characters, joins lines.

Only the answer is cleaned. The quote of a citation stays verbatim.
"""

from __future__ import annotations

import re
from functools import lru_cache

from groundwire.text.lazy_pattern import lazy_pattern

# Invisible characters that change what a program or a model reads: controls, bidi marks, tags, fillers, and
# private-use citation markers of other products. Joiners stay where scripts and emoji need them.
_HIDDEN = lazy_pattern(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ue000-\uf8ff"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff\U0001d173-\U0001d17a]"
)
_BREAKS = lazy_pattern("\r\n|[\r\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")
_CONTROLS = lazy_pattern("[\x00-\x08\x0e-\x1b\x7f]")
_LOOSE_JOINERS = lazy_pattern("(?<![^\\s\x00-\x7f])[\u200c\u200d]+|[\u200c\u200d]+(?![^\\s\x00-\x7f])")
_SELECTORS = lazy_pattern("([\ufe00-\ufe0f])[\ufe00-\ufe0f]+")
_HALF_PAIRS = lazy_pattern("[\ud800-\udfff]")
_FOREIGN = lazy_pattern(r"【[^】\n]{0,60}】")

_MARKUP = lazy_pattern(
    r"(?P<literal>``(?P<literal_text>[^`]+)``)"
    r"|(?P<role>(?<![\w`]):[\w+.-]+(?::[\w+.-]+)*:`(?P<role_text>[^`]+)`)"
    r"|(?P<reference>`(?P<reference_text>[^`<>]+?)\s*(?:<[^<>`]*>)?`__?(?!\w))"
    r"|(?P<code>`[^`]+`)"
    r"|(?P<link>!?\[(?P<link_text>[^\[\]\n]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"\n]*\")?\))"
    r"|(?P<strong>(?<![\w*])\*\*(?P<strong_text>[^*\s](?:[^*]*[^*\s])?)\*\*(?![\w*]))"
    r"|(?P<emphasis>(?<![\w*/)\]])\*(?P<emphasis_text>[^*\s](?:[^*]*[^*\s])?)\*(?![\w*]))"
    r"|(?P<tag></?(?:a|b|i|p|br|em|strong|code|span|div|img|script|style|iframe|svg|form|input|meta|link|base|"
    r"object|embed|table|t[rdh]|ul|ol|li|h[1-6]|sup|sub|u|font|pre|blockquote)\b[^<>]*>)"
    r"|(?P<number>(?:(?<=[\s.,;:!?)\"”’»])|^)\[\^?\d{1,4}\](?!\())"
)
_MARKUP_CHARACTERS = frozenset("`*[<")
_LEADING = lazy_pattern(r"\A(?:#{1,6}|>+|\|)\s+")
_SPACE = lazy_pattern(r"\s+")
_SPACE_BEFORE = lazy_pattern(r"\s+(?=[,;:.!?](?:\s|$))")
_LOOSE_ENDS = (" ,", " ;", " :", " .", " !", " ?")
ENDED = tuple(".!?…:。！？;")
CLOSING = "\"'”’»)]*_`"


def visible(text: str) -> str:
    """The text without invisible characters, with uniform line breaks; joiners stay where they join."""
    if text.isascii() and text.isprintable():
        return text
    text = _BREAKS.sub("\n", text)
    if text.isascii():
        return _CONTROLS.sub("", text)
    text = _HIDDEN.sub("", _HALF_PAIRS.sub("\ufffd", text))
    return _SELECTORS.sub(r"\1", _LOOSE_JOINERS.sub("", text))


def without_markup(text: str) -> str:
    """The text for comparing: without invisible characters and without markup."""
    return visible(text) if _MARKUP_CHARACTERS.isdisjoint(text) else clean_sentence(text)


@lru_cache(maxsize=1024)
def clean_sentence(sentence: str) -> str:
    """A sentence of a page as it appears in an answer: on one line, with a full stop."""
    text = clean_line(sentence)
    if text.endswith(":"):
        # The list or code it announces is not shown.
        text = text.rstrip(":").rstrip()
    return text if not text or text.rstrip(CLOSING).endswith(ENDED) else text + "."


def clean_line(line: str) -> str:
    """Text of a page on one line, without markup."""
    text = visible(line)
    if "【" in text:
        text = _FOREIGN.sub("", text)
    text = _LEADING.sub("", " ".join(text.split()), count=1)
    if not _MARKUP_CHARACTERS.isdisjoint(text):
        text = _SPACE.sub(" ", _MARKUP.sub(_plain, text)).strip()
    if any(map(text.__contains__, _LOOSE_ENDS)):
        text = _SPACE_BEFORE.sub("", text)
    return text


def one_line(text: str) -> str:
    """The text on one line, for titles and queries."""
    return " ".join(visible(text).split())


def _plain(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    if kind == "code":
        return match[0]
    if kind in _NOTHING:
        return ""
    text = match[f"{kind}_text"]
    return f"`{_target(text) if kind == 'role' else text.strip()}`" if kind in _LITERAL else text


_NOTHING = frozenset(["tag", "number"])
_LITERAL = frozenset(["literal", "role"])


def _target(text: str) -> str:
    """What a reST role shows: its title, or its target without the prefix that shortens it."""
    return text.partition("<")[0].strip().lstrip("~!.") or text
