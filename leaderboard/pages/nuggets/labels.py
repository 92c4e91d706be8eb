"""How labels of nuggets and citations are written: a shape and a word each, so that none needs a colour."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leaderboard.measures.answers.judged import UNLABELLED
from leaderboard.trec.answers.record import Answer
from leaderboard.trec.nuggets.judgments import AnswerJudgments, size_of
from leaderboard.trec.nuggets.packing import PackedAnswers, Part
from leaderboard.trec.nuggets.sets import Nugget

NOT_JUDGED, UNANSWERED = "not_judged", "unanswered"
"""Besides assignments: nobody labelled the run's answer; the run has none, which holds nothing."""


@dataclass(frozen=True, slots=True)
class LabelShape:
    """A label as readers see it."""

    glyph: str
    word: str


OF_NUGGETS: Mapping[str, LabelShape] = {
    "support": LabelShape("●", "held"),
    "partial_support": LabelShape("◐", "held in part"),
    "not_support": LabelShape("○", "not held"),
    "failed": LabelShape("×", "label failed"),
    UNANSWERED: LabelShape("–", "no answer"),
    NOT_JUDGED: LabelShape("?", "not judged"),
}
OF_CITATIONS: Mapping[int, LabelShape] = {
    2: LabelShape("●", "full support"),
    1: LabelShape("◐", "partial support"),
    0: LabelShape("○", "no support"),
    UNLABELLED: LabelShape("?", "not judged"),
}
VITAL_FIRST = {"vital": 0, "okay": 1, "failed": 2}


def in_order(nuggets: Sequence[Nugget]) -> list[int]:
    """The places of a topic's nuggets in the set, vital ones first, else as in the set."""
    return sorted(range(len(nuggets)), key=lambda place: VITAL_FIRST[nuggets[place].importance])


def labels_of(judgments: AnswerJudgments, run: str, topic: str, answer: Answer | None) -> tuple[str, ...]:
    """A key of OF_NUGGETS for each nugget of the topic, in the set's order; run is its answers' digest."""
    labels = judgments.labels(run, topic)
    if labels is not None:
        return labels
    missing = UNANSWERED if size_of(answer).words == 0 else NOT_JUDGED
    return (missing,) * len(judgments.nuggets.topics.get(topic, ()))


def maker(judged: PackedAnswers, *parts: Part) -> str:
    """Who made the first of the parts that is there, in words; empty where none is."""
    return next((str(judged.made_by[part]) for part in parts if part in judged.made_by), "")
