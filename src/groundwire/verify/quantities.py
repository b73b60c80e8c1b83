"""Numbers, dates and times in a text: their values, whatever their format.

`1,204` and `1.204` may be the same number or not, so a number has every value that it can mean. English and
German are known: separators, multipliers, months, numbers below a thousand in words, ordinals, fractions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias
from zlib import crc32

from groundwire.model.value import replace, value

QuantityKind: TypeAlias = Literal["number", "date", "time"]


@value
class Quantity:
    """A number with its unit, a date of which parts may be missing, or a time of day."""

    kind: QuantityKind
    values: frozenset[float] = frozenset()
    """Every value that a number can mean."""
    unit: str = ""
    step: float = 0.0
    """The last digit that is written, as a number: 0.1 million is 100,000. Zero if it cannot be rounded."""
    year: int = 0
    month: int = 0
    day: int = 0
    swapped: tuple[int, int] = (0, 0)
    """Month and day in the other order, where the format is ambiguous: 03/12/2021."""
    is_bare: bool = False
    """Digits alone, without separator, unit or multiplier: it may be a year."""
    bound: Literal["", "above", "below"] = ""
    """Is the number said to be more, or less, than this?"""


_MONTHS = (
    ("january", "januar", "jan", "jänner"),
    ("february", "februar", "feb"),
    ("march", "märz", "mar", "mär"),
    ("april", "apr"),
    ("may", "mai"),
    ("june", "juni", "jun"),
    ("july", "juli", "jul"),
    ("august", "aug"),
    ("september", "sep", "sept"),
    ("october", "oktober", "oct", "okt"),
    ("november", "nov"),
    ("december", "dezember", "dec", "dez"),
)
MONTH_NUMBERS: Mapping[str, int] = {name: number for number, names in enumerate(_MONTHS, 1) for name in names}
# Months are written with a capital letter: `may` and `march` are verbs.
_MONTH = "|".join(sorted((name.capitalize() for name in MONTH_NUMBERS), key=len, reverse=True))

MULTIPLIERS: Mapping[str, tuple[float, ...]] = {
    **dict.fromkeys(("dozen", "dutzend"), (12.0,)),
    **dict.fromkeys(("hundred", "hundert"), (1e2,)),
    **dict.fromkeys(("thousand", "tausend", "tsd", "k"), (1e3,)),
    **dict.fromkeys(("million", "millions", "millionen", "mio", "mn"), (1e6,)),
    **dict.fromkeys(("milliarde", "milliarden", "mrd", "bn"), (1e9,)),
    **dict.fromkeys(("billions",), (1e9,)),
    **dict.fromkeys(("billionen",), (1e12,)),
    "billion": (1e9, 1e12),  # English, German
    **dict.fromkeys(("trillion", "trillions", "tn"), (1e12,)),
}
_MULTIPLIER = "|".join(sorted(MULTIPLIERS, key=len, reverse=True))

_UNITS = (
    "% percent prozent pct",
    "pp percentage prozentpunkt prozentpunkte prozentpunkten",
    "$ usd dollar dollars us$",
    "€ eur euro euros",
    "£ gbp pound pounds pfund",
    "¥ jpy yen",
    "chf franken francs",
    "ct cent cents",
    "km kilometer kilometers kilometre kilometres kilometern",
    "m metre metres meter meters metern",
    "cm centimetre centimetres centimeter centimeters zentimeter zentimetern",
    "mm millimetre millimetres millimeter millimeters millimetern",
    "mi mile miles meile meilen",
    "ft feet foot fuß",
    "km2 quadratkilometer quadratkilometern",
    "m2 quadratmeter quadratmetern",
    "ha hectare hectares hektar",
    "m3 kubikmeter kubikmetern",
    "kg kilogram kilograms kilogramm kilo kilos",
    "g gram grams gramm",
    "mg milligram milligrams milligramm",
    "µg mcg microgram micrograms mikrogramm",
    "t ton tons tonne tonnes tonnen",
    "lb lbs",
    "l litre litres liter liters litern",
    "ml millilitre millilitres milliliter milliliters millilitern",
    "kb kilobyte kilobytes",
    "mb megabyte megabytes",
    "gb gigabyte gigabytes",
    "tb terabyte terabytes",
    "w watt watts",
    "kw kilowatt kilowatts",
    "mw megawatt megawatts",
    "gw gigawatt gigawatts",
    "kwh kilowattstunde kilowattstunden",
    "mwh megawattstunde megawattstunden",
    "gwh gigawattstunde gigawattstunden",
    "twh terawattstunde terawattstunden",
    "hz hertz",
    "khz kilohertz",
    "mhz megahertz",
    "ghz gigahertz",
    "mmhg",
    "° degree degrees grad",
    "°c celsius",
    "°f fahrenheit",
    "ms millisecond milliseconds millisekunde millisekunden",
    "second seconds sekunde sekunden",
    "min minute minutes minuten",
    "h hour hours stunde stunden hrs",
    "day days tag tage tagen",
    "week weeks woche wochen",
    "month months monat monate monaten",
    "year years jahr jahre jahren",
)
UNITS: Mapping[str, str] = {word: line.split()[0] for line in _UNITS for word in line.split()}
"""Units in every spelling, with the one that stands for all."""
_SCALES: tuple[Mapping[str, float], ...] = (
    {"km": 1e3, "m": 1.0, "cm": 1e-2, "mm": 1e-3},
    {"km2": 1e6, "m2": 1.0, "ha": 1e4},
    {"t": 1e6, "kg": 1e3, "g": 1.0, "mg": 1e-3, "µg": 1e-6},
    {"l": 1.0, "ml": 1e-3},
    {"tb": 1e12, "gb": 1e9, "mb": 1e6, "kb": 1e3},
    {"gw": 1e9, "mw": 1e6, "kw": 1e3, "w": 1.0},
    {"twh": 1e9, "gwh": 1e6, "mwh": 1e3, "kwh": 1.0},
    {"ghz": 1e9, "mhz": 1e6, "khz": 1e3, "hz": 1.0},
    {"ms": 1e-3, "second": 1.0, "min": 60.0, "h": 3600.0, "day": 86400.0, "week": 604800.0},
    {"month": 1.0, "year": 12.0},
)
"""Units of one scale are converted into each other."""
_SCALE_OF = {unit: number for number, scale in enumerate(_SCALES) for unit in scale}
_FACTORS = {unit: factor for scale in _SCALES for unit, factor in scale.items()}
_LIKE = ({"$", "€", "£", "¥", "chf"}, {"°c", "°f"}, {"km", "mi", "m", "ft"}, {"kg", "lb"}, {"t", "lb"})
"""Units of the same kind without a fixed or exact rate: the same number with another one of them is wrong,
and of other numbers nothing is known."""
ORDINAL, _FRACTION, _QUARTER = "ordinal", "fraction", "quarter"
STRICT_UNITS = frozenset({"%", "pp", _FRACTION, _QUARTER})
"""Numbers with these units never equal or contradict a number without: 6 percent are not 6."""

_SMALL = (
    "zero null",
    "- -",
    "two zwei",
    "three drei",
    "four vier",
    "five fünf",
    "six sechs",
    "seven sieben",
    "eight acht",
    "nine neun",
    "ten zehn",
    "eleven elf",
    "twelve zwölf",
    "thirteen dreizehn",
    "fourteen vierzehn",
    "fifteen fünfzehn",
    "sixteen sechzehn",
    "seventeen siebzehn",
    "eighteen achtzehn",
    "nineteen neunzehn",
)
_TENS = (
    ("twenty", "zwanzig"),
    ("thirty", "dreißig"),
    ("forty", "vierzig"),
    ("fifty", "fünfzig"),
    ("sixty", "sechzig"),
    ("seventy", "siebzig"),
    ("eighty", "achtzig"),
    ("ninety", "neunzig"),
)


def _number_words() -> dict[str, int]:
    """Cardinal numbers below a hundred. `one` and `ein` are left out: they are mostly no numbers."""
    words = {word: number for number, pair in enumerate(_SMALL) for word in pair.split() if word != "-"}
    units = {number: pair.split() for number, pair in enumerate(_SMALL[:10]) if number > 1}
    units[1] = ["one", "ein"]
    for index, (english, german) in enumerate(_TENS, 2):
        words |= {english: 10 * index, german: 10 * index}
        for number, (one, ein) in units.items():
            words[f"{english}-{one}"] = 10 * index + number
            words[f"{ein}und{german}"] = 10 * index + number
    return words


NUMBER_WORDS: Mapping[str, int] = _number_words()
_WORDS = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))

_COUNTS: Mapping[str, int] = {
    **dict.fromkeys(("", "a", "one", "ein", "eine", "einem", "eines"), 1),
    **{word: number for number, pair in enumerate(_SMALL[:10]) if number > 1 for word in pair.split()},
}
"""How many hundreds or parts: `a hundred`, `hundert`, `two thirds`, `ein Drittel`."""
_BELOW_HUNDRED = "|".join(sorted((*NUMBER_WORDS, "one", "eins"), key=len, reverse=True))
_HUNDRED_WORDS = (
    rf"(?:a|one|two|three|four|five|six|seven|eight|nine)[ -]hundred(?:[ ](?:and[ ])?(?:{_BELOW_HUNDRED}))?"
    rf"|(?:ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun)?hundert(?:und)?(?:{_BELOW_HUNDRED})?"
)
_HUNDREDS = re.compile(
    rf"(?P<count>[a-zäöüß]*?)[ -]?(?:hundred|hundert)(?:[ ]and[ ]|und|[ ])?(?P<rest>{_BELOW_HUNDRED})?"
)

_NTH = (
    *("- -", "- -", "- -", "third dritte", "fourth vierte", "fifth fünfte", "sixth sechste"),
    *("seventh siebte", "eighth achte", "ninth neunte", "tenth zehnte", "eleventh elfte", "twelfth zwölfte"),
)
"""Ordinals, by number. `first` and `second` are left out: they are mostly no numbers."""
_ORDINALS = {word: number for number, pair in enumerate(_NTH) for word in pair.split() if word != "-"}
_ORDINAL_WORDS = "|".join(f"{word}[mnrs]?" if word.endswith("te") else word for word in _ORDINALS)
_COMPOUND_NTH = ("-", "-", "zweit", "dritt", "viert", "fünft", "sechst", "siebt", "acht", "neunt", "zehnt")
_COMPOUND_ORDINALS = (
    rf"(?:{'|'.join(_COMPOUND_NTH[2:])})(?=[a-zäöüß]+[sß]te[mnrs]?\b)|second(?=[ -](?:[a-z]+est|most)\b)"
)
"""`drittgrößte`, `second-largest`: the number is a word of its own."""
_PARTS = {
    **dict.fromkeys(("half", "hälfte"), 2),
    **dict.fromkeys(("third", "drittel"), 3),
    **dict.fromkeys(("quarter", "viertel"), 4),
    **dict.fromkeys(("fifth", "fünftel"), 5),
    **dict.fromkeys(("sixth", "sechstel"), 6),
    **dict.fromkeys(("eighth", "achtel"), 8),
    **dict.fromkeys(("tenth", "zehntel"), 10),
}
_PART_NAMES = "|".join(name for name, number in _PARTS.items() if number > 2)
_FRACTION_WORDS = (
    rf"(?:a|one|two|three|four|eine?[ms]?|zwei|drei|vier)[ -](?:{_PART_NAMES})s?"
    r"|half(?=[ ]of\b)|hälfte"
)

QUANTITY = re.compile(
    rf"""
    (?P<iso>(?<!\d)\d{{4}}-\d{{2}}-\d{{2}}(?!\d))
  | (?P<dotted>(?<![\d.])\d{{1,2}}\.[ ]?\d{{1,2}}\.[ ]?\d{{4}}(?!\d))
  | (?P<slashed>(?<![\d/])\d{{1,2}}/\d{{1,2}}/\d{{4}}(?![\d/]))
  | (?P<day_first>(?<![\d.,])\d{{1,2}}(?:st|nd|rd|th|\.)?[ ](?:of[ ])?(?:{_MONTH})\b\.?(?:,?[ ]\d{{4}}\b)?)
  | (?P<month_first>\b(?:{_MONTH})\b\.?[ ]\d{{1,2}}(?:st|nd|rd|th)?(?![\d:.,]\d|\d)(?:,?[ ]\d{{4}}\b)?)
  | (?P<month_year>\b(?:{_MONTH})\b\.?,?[ ](?:of[ ])?\d{{4}}\b)
  | (?P<clock>(?<![\d:.,])(?:\d{{1,2}}[:.]\d{{2}}|\d{{1,2}})[ ]?(?:[ap]\.?m\b\.?|Uhr\b)
      |(?<![\d:])\d{{1,2}}:\d{{2}}(?![\d:]))
  | (?P<decade>(?<![\w.,])[12]\d\d0(?:s\b|er[ ](?=Jahre)))
  | (?P<quarter>\bQ[1-4]\b)
  | (?P<number>(?<![\w.,])(?P<digits>\d+(?:[.,']\d+)*)
      (?:[ -]?(?i:(?P<multiplier>{_MULTIPLIER}))\b(?:(?<=[Mm]io)\.|(?<=[Mm]rd)\.|(?<=[Tt]sd)\.)?)?
      (?P<ordinal>(?:st|nd|rd|th)\b)?)
  | (?P<hundreds>\b(?i:{_HUNDRED_WORDS})\b(?:[ ](?i:(?P<factor>{_MULTIPLIER}))\b)?)
  | (?P<fraction>\b(?i:{_FRACTION_WORDS})\b)
  | (?P<ordinal_word>\b(?i:{_ORDINAL_WORDS})\b|\b(?i:{_COMPOUND_ORDINALS}))
  | (?P<word>\b(?i:{_WORDS})\b(?:[ ](?i:(?P<times>{_MULTIPLIER}))\b)?)
    """,
    re.VERBOSE,
)
"""Finds quantities in a text in normal form; `read_quantity` takes a match."""

_HEDGES = re.compile(
    r"(?i:(?:about|around|roughly|approximately|some|up to|circa|ca\.?|rund|etwa|ungefähr|bis zu)"
    r"|(?P<above>over|more than|at least|above|exceeding|exceeds|exceeded|über|mehr als|gut|mindestens)"
    r"|(?P<below>nearly|almost|under|less than|fewer than|below|close to|just under|fast|knapp|unter"
    r"|weniger als|nahezu|beinahe|höchstens))\s[$€£¥]?$"
)
_MOST_ABOVE, _MOST_BELOW = 1.5, 0.7
"""How far a number may be from what it is said to be more or less than."""
_DIGITS = re.compile(r"\d+")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:([.,'])\d{3})(?:\1\d{3})*")
_FEWEST_YEAR, _LATEST_YEAR = 1000, 2199
_HALF = 0.5
_TOLERANCE = 1e-9


def read_quantity(match: re.Match[str], unit: str = "") -> Quantity:
    """The quantity of a match of `QUANTITY`; `unit` is that of the words around it."""
    kind = match.lastgroup if match.lastgroup in _DATE_READERS else ""
    if kind:
        return _DATE_READERS[kind](match[0])
    if match["number"]:
        return _read_number(match, unit)
    for name, reader in _WORD_READERS.items():
        if match[name]:
            return reader(match, unit)
    factors = MULTIPLIERS.get((match["times"] or "").lower(), (1.0,))
    small = NUMBER_WORDS[match["word"].split()[0].lower()]
    step = min(factors) if match["times"] else 0.0
    return Quantity("number", frozenset(small * factor for factor in factors), unit, step)


def _read_clock(match: re.Match[str], _: str) -> Quantity:
    hours, *minutes = map(int, _DIGITS.findall(match["clock"]))
    half = re.search(r"(?i)([ap])\.?m", match["clock"])
    if half is not None:
        hours = hours % 12 + (12 if half[1].lower() == "p" else 0)
    return Quantity("time", frozenset({60.0 * hours + sum(minutes)}))


def _read_decade(match: re.Match[str], _: str) -> Quantity:
    first = int(match["decade"][:4])
    return Quantity("number", frozenset(map(float, range(first, first + 10))), "decade")


def _read_quarter(match: re.Match[str], _: str) -> Quantity:
    return Quantity("number", frozenset({float(match["quarter"][1])}), _QUARTER)


def _read_ordinal_word(match: re.Match[str], _: str) -> Quantity:
    word = match["ordinal_word"].lower()
    number = next((number for stem, number in _ORDINALS.items() if word.startswith(stem)), 2)
    if word in _COMPOUND_NTH:
        number = _COMPOUND_NTH.index(word)
    return Quantity("number", frozenset({float(number)}), ORDINAL)


def _read_fraction(match: re.Match[str], _: str) -> Quantity:
    *counted, name = re.split(r"[ -]", match["fraction"].lower())
    parts = next(number for stem, number in _PARTS.items() if name.startswith(stem))
    return Quantity("number", frozenset({_COUNTS["".join(counted)] / parts}), _FRACTION)


def _read_hundreds(match: re.Match[str], unit: str) -> Quantity:
    read = _HUNDREDS.match(match["hundreds"].lower())
    count, rest = (read["count"], read["rest"] or "") if read is not None else ("", "")
    number = 100 * _COUNTS[count] + (NUMBER_WORDS.get(rest, 1) if rest else 0)
    factors = MULTIPLIERS.get((match["factor"] or "").lower(), (1.0,))
    return Quantity("number", frozenset(number * factor for factor in factors), unit)


_WORD_READERS = {
    "clock": _read_clock,
    "decade": _read_decade,
    "quarter": _read_quarter,
    "hundreds": _read_hundreds,
    "fraction": _read_fraction,
    "ordinal_word": _read_ordinal_word,
}


def _read_number(match: re.Match[str], unit: str) -> Quantity:
    digits = match["digits"]
    factors = MULTIPLIERS.get((match["multiplier"] or "").lower(), (1.0,))
    decimals = re.search(r"[.,](\d+)$", digits)
    # Before a multiplier a separator is the decimal one: nobody writes 3,878 million for 3.878 billion.
    is_decimal = decimals is not None and (bool(match["multiplier"]) or not _THOUSANDS.fullmatch(digits))
    readings = _readings(digits)
    if is_decimal and len(readings) > 1:
        readings = {min(readings)}
    values = {number * factor for number in readings for factor in factors}
    step = 10.0 ** -len(decimals[1]) if decimals is not None and is_decimal else 1.0
    hedge = _HEDGES.search(match.string[max(0, match.start() - 16) : match.start()])
    hedged = hedge is not None
    if hedged and not is_decimal:
        plain = "".join(_DIGITS.findall(digits))
        step = 10.0 ** (len(plain.rstrip("0")) and len(plain) - len(plain.rstrip("0")))
    rounds = hedged or is_decimal or bool(match["multiplier"])
    is_bare = digits.isdigit() and not match["multiplier"] and not match["ordinal"]
    unit = ORDINAL if match["ordinal"] else unit
    bound: Literal["", "above", "below"] = ""
    if hedge is not None:
        bound = "above" if hedge["above"] else "below" if hedge["below"] else ""
    return Quantity(
        "number",
        frozenset(values),
        unit,
        step * min(factors) if rounds else 0.0,
        is_bare=is_bare,
        bound=bound,
    )


def _readings(digits: str) -> set[float]:
    """Every number that digits with separators can mean."""
    if digits.isdigit():
        return {float(digits[:300])}
    found: set[float] = set()
    if _THOUSANDS.fullmatch(digits):
        found.add(float("".join(_DIGITS.findall(digits))[:300]))
    head, tail = re.fullmatch(r"(.*)[.,'](\d+)", digits).groups()  # type: ignore[union-attr]
    if digits[-len(tail) - 1] in ".," and (head.isdigit() or _THOUSANDS.fullmatch(head)):
        whole = "".join(_DIGITS.findall(head))
        if head.isdigit() or digits[-len(tail) - 1] not in head:
            found.add(float(f"{whole[:300]}.{tail[:30]}"))
    # A version or an outline number such as 3.11.2: compared by its digits.
    return found or {crc32(digits.encode()) + 0.25}


def _date(year: int, month: int, day: int, swapped: tuple[int, int] = (0, 0)) -> Quantity:
    return Quantity("date", year=year, month=month, day=day, swapped=swapped)


def _read_iso(text: str) -> Quantity:
    year, month, day = map(int, text.split("-"))
    return _date(year, month, day)


def _read_dotted(text: str) -> Quantity:
    day, month, year = map(int, _DIGITS.findall(text))
    return _date(year, month, day)


def _read_slashed(text: str) -> Quantity:
    first, second, year = map(int, text.split("/"))
    if first > 12:
        return _date(year, second, first)
    return _date(year, first, second, (second, first) if second <= 12 else (0, 0))


def _read_named(text: str) -> Quantity:
    numbers = [int(digits) for digits in _DIGITS.findall(text)]
    month = next(
        MONTH_NUMBERS[word] for word in re.findall(r"[^\W\d_]+", text.lower()) if word in MONTH_NUMBERS
    )
    year = next((number for number in numbers if number > 31), 0)
    day = next((number for number in numbers if 0 < number <= 31), 0)
    return _date(year, month, day)


_DATE_READERS = {
    "iso": _read_iso,
    "dotted": _read_dotted,
    "slashed": _read_slashed,
    "day_first": _read_named,
    "month_first": _read_named,
    "month_year": _read_named,
}


def year_of(quantity: Quantity) -> int:
    """The year that a bare number or a date may mean; zero if none."""
    if quantity.kind == "date":
        return quantity.year
    if quantity.kind == "number" and quantity.is_bare and not quantity.unit:
        number = next(iter(quantity.values))
        if _FEWEST_YEAR <= number <= _LATEST_YEAR:
            return int(number)
    return 0


def is_less_specific(found: Quantity, wanted: Quantity) -> bool:
    """Has a date fewer parts than another one?"""
    return bool(wanted.month and not found.month) or bool(wanted.day and not found.day)


def says(found: Quantity, wanted: Quantity) -> bool:
    """Does a quantity of the page say what a quantity of the claim says? The claim may be rounded, and a date
    of the claim may have fewer parts."""
    if wanted.kind == "date" or found.kind == "date":
        return _says_date(found, wanted)
    if wanted.kind != found.kind or not _units_agree(found.unit, wanted.unit):
        return False
    if found.unit != wanted.unit and {found.unit, wanted.unit} <= _SCALE_OF.keys():
        if len(found.values) > 1 and found.values == wanted.values:
            return False  # 1,260 MW are not 1,260 GW, though 1.26 GW are
        found, wanted = _on_one_scale(found, wanted)
    if not wanted.values.isdisjoint(found.values):
        return True
    if found.bound and wanted.bound:
        return _is_rounder(found, wanted)
    return any(
        _rounds_to(number, value, wanted.step) or _is_within(number, value, wanted.bound)
        for number in found.values
        for value in wanted.values
    )


def _on_one_scale(one: Quantity, other: Quantity) -> tuple[Quantity, Quantity]:
    """Two numbers in the same unit, if theirs are of one scale."""
    if one.unit == other.unit or not (one.unit and other.unit):
        return one, other
    return _converted(one), _converted(other)


def _converted(quantity: Quantity) -> Quantity:
    factor = _FACTORS[quantity.unit]
    values = frozenset(round(number * factor, 9) for number in quantity.values)
    return replace(quantity, values=values, step=quantity.step * factor)


def _is_rounder(found: Quantity, wanted: Quantity) -> bool:
    """Is `more than 300` said of what is `more than 340`? `Below 30` is not said of what is `below 25`."""
    return found.bound == wanted.bound == "above" and any(
        _is_within(number, value, "above") and _digits(value) < _digits(number)
        for number in found.values
        for value in wanted.values
    )


def _digits(number: float) -> int:
    """How many digits a number has without the zeros at its end."""
    return len(f"{number:f}".rstrip("0").rstrip(".").rstrip("0"))


def _is_within(number: float, value: float, bound: str) -> bool:
    if bound == "above":
        return value <= number <= value * _MOST_ABOVE
    return bound == "below" and value * _MOST_BELOW <= number <= value


def contradicts(found: Quantity, wanted: Quantity) -> bool:
    """Can the two not both be right for the same thing? False if they are of different kinds, or one may be
    the other one rounded."""
    if says(found, wanted) or says(wanted, found):
        return False
    if "date" in (found.kind, wanted.kind):
        return _dates_differ(found, wanted)
    if found.is_bare != wanted.is_bare and _is_shortened(found, wanted):
        return False
    if _are_like(found.unit, wanted.unit):
        return not found.values.isdisjoint(wanted.values)
    if not _units_agree(found.unit, wanted.unit):
        return False
    if (found.unit == ORDINAL) != (wanted.unit == ORDINAL):
        return False  # the third season may be season 3, but three ships do not contradict the fourth ship
    return found.kind == wanted.kind and bool(year_of(found)) == bool(year_of(wanted))


def _is_shortened(one: Quantity, other: Quantity) -> bool:
    """May one lack the multiplier of the other, as in `61 of the 248 million`?"""
    factors = {factor for many in MULTIPLIERS.values() for factor in many}
    return any(
        low and high / low in factors
        for left in one.values
        for right in other.values
        for low, high in (sorted((left, right)),)
    )


def _are_like(one: str, other: str) -> bool:
    is_scale = one in _SCALE_OF and _SCALE_OF.get(other) == _SCALE_OF[one]
    return one != other and not is_scale and any({one, other} <= units for units in _LIKE)


def _units_agree(one: str, other: str) -> bool:
    if one == other or (one in _SCALE_OF and _SCALE_OF.get(other) == _SCALE_OF[one]):
        return True
    if {one, other} in ({"°", "°c"}, {"°", "°f"}):
        return True
    return not ((one and other) or {one, other} & STRICT_UNITS)


def _rounds_to(number: float, value: float, step: float) -> bool:
    # A step larger than the value belongs to another reading of it: `about 3,500` is not about 3.5.
    return 0 < step <= abs(value) and abs(number - value) <= step * _HALF * (1 + _TOLERANCE)


def _says_date(found: Quantity, wanted: Quantity) -> bool:
    if wanted.kind == "number":  # a year alone
        return bool(year_of(wanted)) and found.year == year_of(wanted)
    if found.kind == "number":
        return not wanted.month and year_of(found) == wanted.year
    if wanted.year and wanted.year != found.year:
        return False
    return any(
        (not month or month == found_month) and (not day or day == found_day)
        for month, day in _orders(wanted)
        for found_month, found_day in _orders(found)
    )


def _orders(date: Quantity) -> list[tuple[int, int]]:
    return [(date.month, date.day), *([date.swapped] if date.swapped[0] else [])]


def _dates_differ(found: Quantity, wanted: Quantity) -> bool:
    years = year_of(found), year_of(wanted)
    if all(years) and years[0] != years[1]:
        return True
    if "number" in (found.kind, wanted.kind) or found.swapped[0] or wanted.swapped[0]:
        return False
    pairs = (found.month, wanted.month), (found.day, wanted.day)
    return any(all(pair) and pair[0] != pair[1] for pair in pairs)
