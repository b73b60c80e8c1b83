"""Words that mean something to the composer, in English and German: tables and nothing else."""

from __future__ import annotations

from collections.abc import Mapping


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS = _words(
    """
    a about after all also am an and any are as at be because been before being between both but by can
    cannot could did do does doing done each either else for from further get gets getting give given
    gives go goes had has have having he her here hers him his how however i if in into is it its itself
    just let lets like made make makes making may me might mine more most much must my need needs no nor
    not of off on once one only or other our ours out over own please same say says shall she should so
    some such tell than that the their theirs them then there these they thing things this those through
    to too under until up us use used useful uses using very via want wants was way ways we were what
    whatever when where whether which while who whom whose why will with within without work works would
    you your yours explain exactly mean means happen happens know find something anything everything
    someone anyone somebody anybody every few several many lot another really simply easily properly
    aber alle allem allen aller alles als auch auf aus bei beim bin bis bist da dabei dadurch dafür
    damit dann daran darauf daraus das dass dein deine dem den denn der deren des dessen dich die dies
    diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwa
    etwas für gegen geht gibt hab habe haben hat hatte hier ich ihm ihn ihnen ihr ihre im ins ist ja
    jede jedem jeden jeder jedes kann kannst kein keine keinem keinen keiner können könnte man mehr mein
    meine mich mir mit muss müssen nach nicht noch nur ob oder ohne sehr sein seine seit sich sie sind
    soll sollte sowie um und uns unser unter vom von vor war waren warum welche welchem welchen welcher
    welches wenn wer werde werden wie wieder wieso wir wird wo wofür womit wurde wurden zu zum zur
    zwischen über funktioniert bedeutet heißt macht machen nutze nutzt verwende verwendet verwenden
    benutzen funktionen
    """
)

ARTICLES = _words(
    """
    a an the of in on at to for by its this that these those der die das den dem des ein eine einen
    einem einer eines im am zu zum zur von vom
    """
)
"""Words that do not change what is said."""

NEGATIONS = _words(
    """
    not no never none nor neither cannot without n't nicht kein keine keinen keinem keiner keines nie
    niemals ohne weder
    """
)

_MONTHS = (
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
)
MONTHS: Mapping[str, str] = {
    name: str(number) for names in _MONTHS for number, name in enumerate(names.split(), 1)
}

GERMAN = _words(
    """
    wie ist und der das ein eine einen welche welcher welches wann wo warum kann nicht für mit von zu
    wer wird werden gibt es ich man sind zwischen heißt funktioniert
    """
)
"""Words of questions that no English question has."""

ABBREVIATIONS = _words(
    """
    e.g i.e etc vs cf resp approx incl excl al fig figs eq no nos vol vols pp ed eds rev dept mr mrs ms
    dr prof st sr jr inc ltd co corp jan feb mar apr jun jul aug sep sept oct nov dec u.s u.k u.s.a a.m
    p.m ph.d cca ver z.b d.h u.a o.ä u.ä bzw usw evtl ggf ca vgl s.o s.u zzgl inkl exkl nr abs art bspw
    i.d.r v.a z.t str tel sog bsp abb hrsg aufl jh z d i v u o dipl ing
    """
)
"""What stands before a full stop that ends no sentence."""

DANGLING = _words(
    """
    this these that those it its they their them he she his her such here there however but also thus
    therefore hence then otherwise instead moreover furthermore additionally similarly likewise
    consequently and or so nevertheless still alternatively again both neither former latter conversely
    besides meanwhile dies diese dieser dieses dabei dadurch daher damit darum deshalb dennoch jedoch
    aber außerdem dann dort sie er es hier hierbei ebenso somit stattdessen zudem andernfalls sonst
    trotzdem allerdings denn
    """
)
"""A sentence that begins with one of these leans on the sentence before it."""
