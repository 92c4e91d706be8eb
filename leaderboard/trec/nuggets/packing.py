"""Judgments of answers as a revision keeps them: one canonical text, compressed, and back."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from leaderboard import checksums
from leaderboard.measures.answers.judged import JudgedSentence
from leaderboard.measures.answers.registry import NAMES
from leaderboard.measures.binding import BoundMeasure
from leaderboard.trec.nuggets.assignments import AssignedNuggets, Assignments
from leaderboard.trec.nuggets.judgments import AnswerJudgments
from leaderboard.trec.nuggets.sets import ArguedAnswer, ArguedAnswers, Nugget, NuggetAnswer, NuggetSet
from leaderboard.trec.nuggets.support import LabelledSegments, SupportLabels

_MAGIC = b"LBNUGGT1"
_LEVEL = 9
Part = Literal["nuggets", "assignments", "support", "argue"]
PARTS: tuple[Part, ...] = ("nuggets", "assignments", "support", "argue")
"""Possible parts of judgments of answers."""
Maker = Literal["human", "machine", "both"]


@dataclass(frozen=True, slots=True)
class MadeBy:
    """Author of a part of the judgments: people, a machine by its name, or a machine edited by people."""

    kind: Maker = "human"
    name: str = ""

    def __str__(self) -> str:
        """As text, such as `GPT-4o, edited by people`."""
        if self.kind == "human":
            return "people"
        machine = self.name or "a machine"
        return machine if self.kind == "machine" else f"{machine}, edited by people"


@dataclass(frozen=True, slots=True)
class Note:
    """A note from reading the judgments; run: the digest of the answers it is about, or empty."""

    rule: str
    remedy: str = ""
    run: str = ""
    topics: tuple[str, ...] = ()


@dataclass(frozen=True)
class PackedAnswers:
    """All judgments of one revision, each run known by the digest of its answers.

    made_by: who made each part that is there. leaves_out: whether topics without vital nuggets are left out
    of measures of vital nuggets, where they would be 0. notes are not part of the digest.
    """

    judgments: AnswerJudgments
    made_by: Mapping[Part, MadeBy] = field(default_factory=dict)
    leaves_out: bool = False
    notes: tuple[Note, ...] = ()

    @property
    def topics(self) -> list[str]:
        """The topics with nuggets or labels, in byte order."""
        return sorted(self.judgments.topics("answers", ()), key=str.encode)

    def topics_of(self, measure: BoundMeasure) -> frozenset[str]:
        """The topics that a measure is over, the same for all runs."""
        basis = NAMES[measure.measure.name].basis
        topics = frozenset(self.judgments.topics(basis, ())) if self.judgments.has(basis) else frozenset()
        if self.leaves_out and measure.params.get("set") == "vital":
            topics -= frozenset(self.without_vital)
        return topics

    @property
    def without_vital(self) -> tuple[str, ...]:
        """The topics with nuggets but no vital ones."""
        return tuple(
            topic
            for topic, nuggets in self.judgments.nuggets.topics.items()
            if nuggets and not any(nugget.importance == "vital" for nugget in nuggets)
        )

    @property
    def labels(self) -> int:
        """Number of labels of nuggets, citations and sentences."""
        judgments = self.judgments
        assigned = judgments.assignments.cells.values() if judgments.assignments else ()
        supported = judgments.support.answers.values()
        return (
            sum(len(cell.labels) for cell in assigned)
            + sum(len(segment) for cell in supported for segment in cell.labels)
            + sum(len(cell.sentences) for cell in judgments.argued.cells.values())
        )


def packed(answers: PackedAnswers) -> bytes:
    """The judgments in their stored form; the same judgments give the same text, see `sha256`."""
    return checksums.compressed(_MAGIC, text(answers), _LEVEL)


def text(answers: PackedAnswers) -> bytes:
    """The judgments and notes as one JSON text."""
    notes = [asdict(note) for note in answers.notes]
    return _text({"notes": notes, "body": _body(answers)})


def sha256(answers: PackedAnswers) -> str:
    """The digest of the canonical text."""
    return hashlib.sha256(_text(_body(answers))).hexdigest()


def unpacked(stored: bytes) -> PackedAnswers:
    """The judgments of `packed`; raises Damaged."""
    return of_record(json.loads(checksums.plain_bytes(_MAGIC, stored, "judgments of answers")))


def of_record(whole: dict[str, Any]) -> PackedAnswers:
    """The judgments in the object of `text`, without a check of its values."""
    data = whole["body"]
    nuggets = NuggetSet({topic: tuple(map(_nugget, given)) for topic, given in data["nuggets"].items()})
    assigned = data["assignments"]
    assignments = None if assigned is None else Assignments(nuggets, _cells(assigned, _assigned))
    judgments = AnswerJudgments(
        nuggets,
        assignments,
        SupportLabels(_cells(data["support"], lambda rows: LabelledSegments(tuple(map(tuple, rows))))),
        ArguedAnswers(_cells(data["argued"], _argued)),
    )
    made_by = {part: MadeBy(**given) for part, given in data["made_by"].items()}
    notes = tuple(Note(**{**note, "topics": tuple(note["topics"])}) for note in whole["notes"])
    return PackedAnswers(judgments, made_by, data["leaves_out"], notes)


def _text(data: dict[str, Any]) -> bytes:
    return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def _body(answers: PackedAnswers) -> dict[str, Any]:
    judgments = answers.judgments
    assigned = judgments.assignments
    return {
        "nuggets": {
            topic: [_of_nugget(nugget) for nugget in nuggets]
            for topic, nuggets in judgments.nuggets.topics.items()
        },
        "assignments": None if assigned is None else _rows(assigned.cells, lambda cell: cell.labels),
        "support": _rows(judgments.support.answers, lambda cell: cell.labels),
        "argued": _rows(judgments.argued.cells, _of_argued),
        "made_by": {part: asdict(maker) for part, maker in answers.made_by.items()},
        "leaves_out": answers.leaves_out,
    }


def _rows(cells: Mapping[tuple[str, str], Any], of: Any) -> dict[str, dict[str, Any]]:
    """Run -> topic -> the stored part of a cell."""
    rows: dict[str, dict[str, Any]] = {}
    for (run, topic), cell in cells.items():
        rows.setdefault(run, {})[topic] = of(cell)
    return rows


def _cells(rows: Mapping[str, Mapping[str, Any]], of: Any) -> dict[tuple[str, str], Any]:
    return {(run, topic): of(given) for run, topics in rows.items() for topic, given in topics.items()}


def _of_nugget(nugget: Nugget) -> list[Any]:
    answers = [[answer.text, list(answer.documents)] for answer in nugget.answers]
    return [nugget.text, nugget.importance, nugget.stated, nugget.aggregator, answers]


def _nugget(given: list[Any]) -> Nugget:
    text, importance, stated, aggregator, answers = given
    nugget_answers = tuple(NuggetAnswer(answer, tuple(documents)) for answer, documents in answers)
    return Nugget(text, importance, stated, nugget_answers, aggregator)


def _assigned(labels: list[Any]) -> AssignedNuggets:
    return AssignedNuggets(tuple(labels))


def _of_argued(cell: ArguedAnswer) -> list[Any]:
    sentences = [
        [sentence.citations, sentence.supporting, sentence.relevant, sentence.needs]
        for sentence in cell.sentences
    ]
    return [sentences, {question: sorted(answers) for question, answers in cell.matched.items()}]


def _argued(given: list[Any]) -> ArguedAnswer:
    sentences, matched = given
    by_question = {question: frozenset(answers) for question, answers in matched.items()}
    return ArguedAnswer(tuple(JudgedSentence(*sentence) for sentence in sentences), by_question)
