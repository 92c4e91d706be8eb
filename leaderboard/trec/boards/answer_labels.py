"""Labels of answers that a judge sent in place of a board.

A file has assignments, support labels or Auto-ARGUE's judgments. Runs are called as on the reference.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaderboard.errors import Problem
from leaderboard.measures.answers.judged import UNLABELLED
from leaderboard.trec.nuggets import packing
from leaderboard.trec.nuggets.argue import read_argued
from leaderboard.trec.nuggets.assignments import read_assignments
from leaderboard.trec.nuggets.judgments import AnswerJudgments
from leaderboard.trec.nuggets.packing import PackedAnswers, Part
from leaderboard.trec.nuggets.support import LabelledSegments, SupportLabels, read_support
from leaderboard.trec.read.json_objects import Fault, id_value, read_each, required
from leaderboard.trec.read.lines import Problems, shown

Places = Mapping[tuple[str, str], tuple[int, ...]]
"""(Run, topic) -> how many documents each segment of its answer cites."""


@dataclass(frozen=True, slots=True, eq=False)
class KeptAnswerLabels:
    """The labels of a judge by the names of runs: the reference's runs are scored by them."""

    answers: PackedAnswers

    @property
    def sha256(self) -> str:
        """The digest of all labels, whatever the order of the lines."""
        return packing.sha256(self.answers)

    @property
    def part(self) -> Part:
        """Which of the three it is."""
        judgments = self.answers.judgments
        if judgments.assignments is not None:
            return "assignments"
        return "support" if judgments.support.cells else "argue"

    @property
    def documents(self) -> int:
        """How many labels there are."""
        return self.answers.labels

    @property
    def cells(self) -> set[tuple[str, str]]:
        """The (run, topic) that have labels."""
        judgments = self.answers.judgments
        assigned = judgments.assignments.cells if judgments.assignments is not None else ()
        return {*assigned, *judgments.support.cells, *judgments.argued.cells}


def pack_answer_labels(kept: KeptAnswerLabels) -> bytes:
    """Labels as they are stored."""
    return packing.packed(kept.answers)


def unpack_answer_labels(stored: bytes) -> KeptAnswerLabels:
    """The labels that were stored; raises Damaged."""
    return KeptAnswerLabels(packing.unpacked(stored))


def read_answer_labels(
    path: Path, part: Part, places: Places, runs: Collection[str], topics: Collection[str]
) -> KeptAnswerLabels:
    """The labels in a file of JSON lines of one part.

    Raises Invalid, with up to 25 problems, for what its reader refuses, a run or topic that is not among
    those given, and a support label of a place that an answer does not have.
    """
    problems = Problems("file of labels")
    read_each(path, problems, lambda _, record: _require_known(record, runs, topics))
    problems.stop()
    if part == "assignments":
        assigned = read_assignments(path)
        judgments = AnswerJudgments(assigned.nuggets, assigned)
    elif part == "support":
        judgments = AnswerJudgments(support=_whole(read_support(path), places))
    else:
        judgments = AnswerJudgments(argued=read_argued(path))
    return KeptAnswerLabels(PackedAnswers(judgments))


def as_grades(answers: PackedAnswers, part: Part, names: Mapping[str, str]) -> dict[str, dict[bytes, int]]:
    """Topic -> what was labelled -> its label as a grade; names: run as labels call it -> its name.

    Of assignments a nugget of an answer: 2 held, 1 in part, 0 not. Of support labels a citation: 2, 1 or 0.
    A label that failed, or was not given, is none. Auto-ARGUE's judgments have no grades.
    """
    grades: dict[str, dict[bytes, int]] = {}
    judgments = answers.judgments
    if part == "assignments" and judgments.assignments is not None:
        for (run, topic), cell in judgments.assignments.cells.items():
            for nugget, word in zip(judgments.nuggets.topics[topic], cell.labels, strict=True):
                if run in names and word in _HELD:
                    grades.setdefault(topic, {})[_named(names[run], nugget.text)] = _HELD[word]
    if part == "support":
        for (run, topic), labelled in judgments.support.answers.items():
            for segment, labels in enumerate(labelled.labels):
                for citation, label in enumerate(labels):
                    if run in names and label != UNLABELLED:
                        what = f"segment {segment + 1}, citation {citation + 1}"
                        grades.setdefault(topic, {})[_named(names[run], what)] = label
    return grades


_HELD = {"support": 2, "partial_support": 1, "not_support": 0}


def _named(run: str, what: str) -> bytes:
    return f"{run}\t{what}".encode("utf-8", "surrogateescape")


def _require_known(record: dict[str, Any], runs: Collection[str], topics: Collection[str]) -> None:
    """Raise Fault where an object is of a run or a topic that is not known."""
    facts = record
    for within in ("report", "metadata"):
        if isinstance(facts.get(within), dict):
            facts = facts[within]
    run = id_value(required(facts, "run_id"), "run_id")
    if run not in runs:
        remedy = "Call runs as the reference does, and leave out those that it does not have."
        raise Fault("The reference has no such run.", remedy, "run_id", shown(run))
    key = next((key for key in ("qid", "narrative_id", "topic_id") if key in facts), "topic_id")
    topic = id_value(required(facts, key), key)
    if topic not in topics:
        raise Fault("The task has no such topic.", "Leave out labels of other topics.", key, shown(topic))


def _whole(support: SupportLabels, places: Places) -> SupportLabels:
    """Labels of whole answers, those of pairs among them; raises Invalid where an answer lacks the place."""
    problems = Problems("file of support labels")
    answers = {}
    for run, topic in sorted(support.cells):
        cited = places.get((run, topic), ())
        whole = support.answers.get((run, topic))
        pairs = support.pairs[run, topic] if whole is None else {}
        given = pairs or [(at, len(row) - 1) for at, row in enumerate(whole.labels if whole else ()) if row]
        # Looked at before they are laid out: a place may be any number.
        beyond = _misplaced(given, cited)
        if beyond is not None:
            rule = f"Run {shown(run)} has labels of a citation that its answer to {shown(topic)} lacks."
            remedy = "Check that labels and run belong together."
            value = f"segment {beyond[0]}, citation {beyond[1]} (from 0)"
            problems.add(Problem(rule, remedy, None, "label", value))
        else:
            answers[run, topic] = whole or _by_segment(pairs, cited)
    problems.stop()
    return SupportLabels({cell: LabelledSegments(labelled.labels) for cell, labelled in answers.items()})


def _by_segment(pairs: Mapping[tuple[int, int], int], cited: tuple[int, ...]) -> LabelledSegments:
    """Labels of pairs as those of a whole answer, whose segments cite so many documents."""
    segments = (
        tuple(pairs.get((at, place), UNLABELLED) for place in range(most)) for at, most in enumerate(cited)
    )
    return LabelledSegments(tuple(segments))


def _misplaced(given: Iterable[tuple[int, int]], cited: tuple[int, ...]) -> tuple[int, int] | None:
    """The first segment and citation with a label that the answer does not have."""
    beyond = (place for place in sorted(given) if place[0] >= len(cited) or place[1] >= cited[place[0]])
    return next(beyond, None)
