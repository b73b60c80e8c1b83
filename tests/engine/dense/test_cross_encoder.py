"""The cross-encoder: it distinguishes passages with the detail from those with the subject alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from groundwire.engine.dense import cross_encoder
from groundwire.engine.dense.cross_encoder import CrossEncoder, load_cross_encoder, passage_input
from groundwire.engine.dense.packages import READER, EncoderPackage, MeaningUnavailable
from groundwire.engine.pages import ClosestSentence, Passage
from groundwire.model.value import replace

pytestmark = pytest.mark.server

BOATS = (
    "Rowing club: boats. Borrowing a boat. Members may borrow a boat from April to October. Sign the book in "
    "the boat house, take a life jacket, and be back one hour before sunset. Guests row only with a member."
)
ROOMS = (
    "Rowing club: club house. Hiring the hall. The hall holds 60 people and costs 90 euros for an evening. "
    "Book it with Marta Quell, at least two weeks ahead. Music ends at eleven."
)
ANSWERED = [
    ("when do we have to bring a boat back", BOATS),
    ("can my friend who is not a member come rowing", BOATS),
    ("what does an evening in the hall cost", ROOMS),
    ("who do i ask about renting the club house", ROOMS),
]
UNANSWERED = [
    ("how heavy is a boat", BOATS),
    ("who repairs the boats when they leak", BOATS),
    ("is there a piano in the hall", ROOMS),
    ("when was the club house built", ROOMS),
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> CrossEncoder:
    if READER.problem():
        pytest.skip(f"{READER.problem()}: not run")
    return load_cross_encoder(tmp_path_factory.mktemp("models"))


def test_passages_with_the_detail_score_above_those_without(encoder: CrossEncoder) -> None:
    answered = [encoder.log_odds(question, [passage])[0] for question, passage in ANSWERED]
    unanswered = [encoder.log_odds(question, [passage])[0] for question, passage in UNANSWERED]
    above = sum(one > other for one in answered for other in unanswered)
    assert above >= 0.8 * len(answered) * len(unanswered)


def test_a_pair_is_judged_the_same_alone_and_among_others(encoder: CrossEncoder) -> None:
    question = ANSWERED[0][0]
    passages = [BOATS, ROOMS, "", "One line.", BOATS * 20]
    together = encoder.log_odds(question, passages)
    assert together == pytest.approx([encoder.log_odds(question, [one])[0] for one in passages], abs=1e-3)
    assert encoder.log_odds(question, []) == []


def test_the_heading_is_read_once() -> None:
    passage = Passage("https://a.example/", "Club", "Boats\n\nSign the book.", 0, section="Rules\nBoats")
    assert passage_input(passage) == "Club. Boats. \n\nSign the book."


def test_a_long_passage_is_read_near_the_sentence_that_is_closest_to_the_question() -> None:
    text = f"{'Before. ' * 100}Sign the book.{' After.' * 100}"
    start = text.index("Sign")
    passage = Passage("https://club.example/", "Club", text, 0, section="Boats")
    assert passage_input(passage) == f"Club. Boats. {text}"
    near = passage_input(replace(passage, closest=ClosestSentence(start, start + 14, 0.9)))
    assert "Sign the book." in near
    assert len(near) < len(text) // 2
    first = passage_input(replace(passage, closest=ClosestSentence(0, 7, 0.9)))
    assert first.startswith("Club. Boats. Before.")


def test_a_missing_adapter_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if READER.problem():
        pytest.skip(f"{READER.problem()}: not run")
    monkeypatch.setattr(cross_encoder, "ADAPTER", cross_encoder.ADAPTER.with_name("missing.npz"))
    with pytest.raises(MeaningUnavailable, match="cannot be read"):
        load_cross_encoder(tmp_path)


def test_without_the_weights_the_command_that_installs_them_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(EncoderPackage, "path", lambda self, file: None)
    with pytest.raises(MeaningUnavailable, match="pip install"):
        load_cross_encoder(tmp_path)


def test_the_delivered_adapter_fits_the_network() -> None:
    with np.load(cross_encoder.ADAPTER, allow_pickle=False) as stored:
        shapes = {name: stored[name].shape for name in stored.files}
    assert shapes["classifier.weight"] == (1, 384)
    ups = [name for name in shapes if name.endswith(":up")]
    assert len(ups) == 9 * 6 + 1
    for name in ups:
        matrix = name.removesuffix(":up")
        assert shapes[name][1] == shapes[f"{matrix}:down"][0] == shapes[f"{matrix}:scales"][0]
