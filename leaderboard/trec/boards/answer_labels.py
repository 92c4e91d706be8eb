"""Labels of answers submitted by a judge instead of a board.

They are assignments or Auto-ARGUE's judgments, with or without their own nugget set, support labels, or
several of these in a file each. Runs are called as on the reference.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from leaderboard.errors import MAX_PROBLEMS, Invalid, Problem
from leaderboard.measures.answers.judged import UNLABELLED
from leaderboard.measures.answers.record import Basis
from leaderboard.trec.nuggets import packing
from leaderboard.trec.nuggets.assignments import read_assignments
from leaderboard.trec.nuggets.judgments import AnswerJudgments
from leaderboard.trec.nuggets.packing import PackedAnswers, Part
from leaderboard.trec.nuggets.sets import NuggetSet, read_argued, read_nuggets
from leaderboard.trec.nuggets.support import LabelledSegments, SupportLabels, read_support
from leaderboard.trec.read.json_objects import Fault, id_value, read_each, required
from leaderboard.trec.read.lines import Problems, shown

Read = TypeVar("Read")
Places = Mapping[tuple[str, str], tuple[int, ...]]
"""(Run, topic) -> how many documents each segment of its answer cites."""


@dataclass(frozen=True, slots=True, eq=False)
class KeptAnswerLabels:
    """The labels of a judge by the names of runs: the reference's runs are scored by them."""

    answers: PackedAnswers

    @property
    def sha256(self) -> str:
        """The digest of all labels, in any order of the lines."""
        return packing.sha256(self.answers)

    @property
    def graded(self) -> tuple[Part, ...]:
        """The parts with labels that can be compared as grades: assignments, support.

        Auto-ARGUE's judgments are assignments of the nuggets that come with them, and have none otherwise.
        """
        judgments = self.answers.judgments
        parts: list[Part] = ["assignments"] if judgments.has("nuggets") else []
        return (*parts, "support") if judgments.support.cells else tuple(parts)

    @property
    def documents(self) -> int:
        """Number of labels."""
        return self.answers.labels

    def labelled(self, basis: Basis) -> set[tuple[str, str]]:
        """The (run, topic) with labels that measures of a basis are computed from."""
        judgments = self.answers.judgments
        assigned = set(judgments.assignments.cells if judgments.assignments is not None else ())
        argued, support = set(judgments.argued.cells), judgments.support.cells
        return {
            "nuggets": assigned | argued,
            "support": support,
            "sentences": argued,
            "nuggets and sentences": argued,
            "answers": assigned | argued | support,
        }[basis]


def pack_answer_labels(kept: KeptAnswerLabels) -> bytes:
    """Labels in their stored form."""
    return packing.packed(kept.answers)


def unpack_answer_labels(stored: bytes) -> KeptAnswerLabels:
    """The labels that were stored; raises Damaged."""
    return KeptAnswerLabels(packing.unpacked(stored))


@dataclass(frozen=True, slots=True)
class PartOfLabels:
    """A file of one part; name: in an archive, which problems then say, empty for a file sent alone."""

    path: Path
    name: str = ""


@dataclass(slots=True)
class _Reading:
    """The files of a judge while they are read: problems of all of them, each with its file's name."""

    files: Mapping[Part, PartOfLabels]
    problems: list[Problem] = field(default_factory=list)

    def read(self, part: Part, reader: Callable[[Path], Read]) -> Read | None:
        """The contents of the part's file; None where it is missing or unreadable."""
        if part not in self.files:
            return None
        try:
            return reader(self.files[part].path)
        except Invalid as error:
            problems = error.problems or (Problem(error.message),)
            self.add(part, problems)
            return None

    def add(self, part: Part, problems: Collection[Problem]) -> None:
        """Keep problems of a part."""
        name = self.files[part].name
        self.problems += [
            replace(problem, rule=f"In {shown(name)}: {problem.rule}") if name else problem
            for problem in problems
        ]


def read_answer_labels(
    files: Mapping[Part, PartOfLabels], places: Places, runs: Collection[str], topics: Collection[str]
) -> KeptAnswerLabels:
    """The labels in files of JSON lines, one a part.

    Assignments name exactly the nuggets of the set, where there is one; Auto-ARGUE's judgments its questions.
    Raises Invalid, with up to 25 problems, for what a reader refuses, a run or topic that is not among
    those given, a support label of a place that an answer does not have, and a question not in the set.
    """
    reading = _Reading(files)

    def known(reader: Callable[[Path], Read]) -> Callable[[Path], Read]:
        def read(path: Path) -> Read:
            problems = Problems("file of labels")
            read_each(path, problems, lambda _, record: _require_known(record, runs, topics))
            return reader(path)

        return read

    nuggets = reading.read("nuggets", lambda path: _nuggets(path, topics))
    assigned = reading.read("assignments", known(lambda path: read_assignments(path, nuggets)))
    support = reading.read("support", known(lambda path: _whole(read_support(path), places)))
    argued = reading.read("argue", known(read_argued))
    judgments = AnswerJudgments(nuggets or NuggetSet(), assigned)
    if assigned is not None:
        judgments = replace(judgments, nuggets=replace(assigned.nuggets, notes=judgments.nuggets.notes))
    if support is not None:
        judgments = replace(judgments, support=support)
    if argued is not None:
        judgments = replace(judgments, argued=argued)
        reading.add("argue", tuple(_unknown_questions(judgments)) if nuggets is not None else ())
    if reading.problems:
        raise Invalid("The labels cannot be read.", reading.problems[:MAX_PROBLEMS])
    return KeptAnswerLabels(PackedAnswers(judgments))


def _nuggets(path: Path, topics: Collection[str]) -> NuggetSet:
    problems = Problems("nugget set")
    read_each(path, problems, lambda _, record: _require_topic(record, topics))
    return read_nuggets(path)


def _unknown_questions(judgments: AnswerJudgments) -> Iterator[Problem]:
    """Questions that Auto-ARGUE found answered and the set does not have: they would count as none."""
    questions = {
        topic: {nugget.text for nugget in given} for topic, given in judgments.nuggets.topics.items()
    }
    seen = set()
    for (_, topic), cell in judgments.argued.cells.items():
        for question in sorted(set(cell.matched) - questions.get(topic, set())):
            if (topic, question) not in seen:
                seen.add((topic, question))
                rule = f"The nugget set does not have this question of topic {shown(topic)}."
                remedy = "Send the nuggets that were judged, each question in the same words."
                yield Problem(rule, remedy, None, "question_text", shown(question))


def as_grades(answers: PackedAnswers, part: Part, names: Mapping[str, str]) -> dict[str, dict[bytes, int]]:
    """Topic -> labelled item -> its label as a grade; names: run as labels call it -> its name.

    Of assignments a nugget of an answer: 2 held, 1 in part, 0 not; those that Auto-ARGUE made from nuggets
    count. Of support labels a citation: 2, 1 or 0. A failed or missing label does not count.
    """
    grades: dict[str, dict[bytes, int]] = {}
    for run, topic, what, grade in _GRADED[part](answers.judgments) if part in _GRADED else ():
        if run in names:
            grades.setdefault(topic, {})[_named(names[run], what)] = grade
    return grades


def _of_nuggets(judgments: AnswerJudgments) -> Iterator[tuple[str, str, str, int]]:
    assigned = judgments.assignments
    for run, topic in assigned.cells if assigned is not None else judgments.argued.cells:
        nuggets, words = judgments.nuggets.topics.get(topic, ()), judgments.labels(run, topic) or ()
        for nugget, word in zip(nuggets, words, strict=True):
            if word in _HELD:
                yield run, topic, nugget.text, _HELD[word]


def _of_citations(judgments: AnswerJudgments) -> Iterator[tuple[str, str, str, int]]:
    for (run, topic), labelled in judgments.support.answers.items():
        for segment, labels in enumerate(labelled.labels):
            for citation, label in enumerate(labels):
                if label != UNLABELLED:
                    yield run, topic, f"segment {segment + 1}, citation {citation + 1}", label


_HELD = {"support": 2, "partial_support": 1, "not_support": 0}
_GRADED: Mapping[Part, Callable[[AnswerJudgments], Iterator[tuple[str, str, str, int]]]] = {
    "assignments": _of_nuggets,
    "support": _of_citations,
}
"""Part -> run, topic, labelled item and its grade."""


def _named(run: str, what: str) -> bytes:
    return f"{run}\t{what}".encode("utf-8", "surrogateescape")


def _require_known(record: dict[str, Any], runs: Collection[str], topics: Collection[str]) -> None:
    """Raise Fault where an object has an unknown run or topic."""
    facts = record
    for within in ("report", "metadata"):
        if isinstance(facts.get(within), dict):
            facts = facts[within]
    run = id_value(required(facts, "run_id"), "run_id")
    if run not in runs:
        remedy = "Use the run names of the reference, and remove runs that it does not have."
        raise Fault("The reference has no such run.", remedy, "run_id", shown(run))
    _require_topic(facts, topics)


def _require_topic(facts: dict[str, Any], topics: Collection[str]) -> None:
    """Raise Fault where an object, or the metadata of a nugget bank, has an unknown topic."""
    if "nugget_bank" in facts and "query_id" not in facts and isinstance(facts.get("metadata"), dict):
        facts = facts["metadata"]
    keys = ("qid", "query_id", "narrative_id", "topic_id", "request_id")
    key = next((key for key in keys if key in facts), "topic_id")
    topic = id_value(required(facts, key), key)
    if topic not in topics:
        raise Fault("The task has no such topic.", "Remove lines of other topics.", key, shown(topic))


def _whole(support: SupportLabels, places: Places) -> SupportLabels:
    """Labels of whole answers, those of pairs among them; raises Invalid where an answer lacks the place."""
    problems = Problems("file of support labels")
    answers = {}
    for run, topic in sorted(support.cells):
        cited = places.get((run, topic), ())
        whole = support.answers.get((run, topic))
        pairs = support.pairs[run, topic] if whole is None else {}
        given = pairs or [(at, len(row) - 1) for at, row in enumerate(whole.labels if whole else ()) if row]
        # Checked before they are laid out: a place may be any number.
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
    """Labels of pairs as those of a whole answer, whose segments cite these numbers of documents."""
    segments = (
        tuple(pairs.get((at, place), UNLABELLED) for place in range(most)) for at, most in enumerate(cited)
    )
    return LabelledSegments(tuple(segments))


def _misplaced(given: Iterable[tuple[int, int]], cited: tuple[int, ...]) -> tuple[int, int] | None:
    """The first segment and citation with a label that the answer does not have."""
    beyond = (place for place in sorted(given) if place[0] >= len(cited) or place[1] >= cited[place[0]])
    return next(beyond, None)
