"""What judgments say of one answer: labels of its citations, and which nuggets it holds."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.measures.answers.judged import UNLABELLED
from leaderboard.pages.nuggets.labels import OF_CITATIONS, OF_NUGGETS, LabelShape, in_order, labels_of, maker
from leaderboard.services.evaluations.shown import ShownEdition
from leaderboard.services.nuggets import stored
from leaderboard.services.policy import Sight
from leaderboard.trec.answers.record import Answer
from leaderboard.trec.nuggets.packing import PackedAnswers


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldNugget:
    """A nugget of the topic with its label of this answer, a key of OF_NUGGETS."""

    text: str
    importance: str
    label: str

    @property
    def is_vital(self) -> bool:
        """Whether a good answer has to hold it."""
        return self.importance == "vital"

    @property
    def shape(self) -> LabelShape:
        """The label as readers see it."""
        return OF_NUGGETS[self.label]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLabels:
    """The labels of an answer, all empty without judgments and while these are held back.

    citations: of each segment that counts the labels of its citations, keys of OF_CITATIONS, None where
    nobody labelled any of the answer. borne_out: of each segment as Auto-ARGUE judged it how many of its
    citations bear it out, else empty. The makers are words, empty where nobody made that part.
    """

    nuggets: tuple[HeldNugget, ...] = ()
    citations: tuple[tuple[int, ...], ...] | None = None
    borne_out: tuple[int, ...] = ()
    nuggets_by: str = ""
    labels_by: str = ""
    support_by: str = ""

    @property
    def made_by(self) -> tuple[tuple[str, str], ...]:
        """Who made each part, as far as there are some."""
        parts = (
            ("nuggets", self.nuggets_by),
            ("assignments", self.labels_by),
            ("support labels", self.support_by),
        )
        return tuple((part, maker) for part, maker in parts if maker)

    def of_citation(self, segment: int, citation: int) -> LabelShape | None:
        """The label of a citation by its places, from 0; None where nobody labelled any of the answer."""
        if self.citations is None:
            return None
        labels = self.citations[segment] if segment < len(self.citations) else ()
        return OF_CITATIONS[labels[citation] if citation < len(labels) else UNLABELLED]


NO_LABELS = AnswerLabels()


def answer_labels(
    session: Session, shown: ShownEdition, sight: Sight, run: str, topic: str, answer: Answer | None
) -> AnswerLabels:
    """What the shown edition's judgments say of an answer; run: the digest of its answers; one statement."""
    if shown.edition is None or not sight.details:
        return NO_LABELS
    judged = stored.of_revision(session, shown.edition.revision_id)
    argued = judged.judgments.argued.cells.get((run, topic))
    segments = answer.segments if answer is not None else ()
    sentences = argued.sentences if argued is not None else ()
    return AnswerLabels(
        nuggets=tuple(_nuggets(judged, run, topic, answer)),
        citations=judged.judgments.support.of(run, topic, answer),
        # Of an answer that was split otherwise no sentence is known to be a segment.
        borne_out=tuple(one.supporting for one in sentences) if len(sentences) == len(segments) else (),
        nuggets_by=maker(judged, "nuggets"),
        labels_by=maker(judged, "assignments", "argue"),
        support_by=maker(judged, "support", "argue"),
    )


def _nuggets(judged: PackedAnswers, run: str, topic: str, answer: Answer | None) -> Sequence[HeldNugget]:
    given = judged.judgments.nuggets.topics.get(topic, ())
    labels = labels_of(judged.judgments, run, topic, answer)
    return [
        HeldNugget(text=given[place].text, importance=given[place].importance, label=labels[place])
        for place in in_order(given)
    ]
