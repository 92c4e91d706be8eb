"""Assignments: whether each answer holds each nugget, as TREC 2024 released them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaderboard.errors import Problem
from leaderboard.measures.answers.judged import Assignment
from leaderboard.trec.answers.record import folded
from leaderboard.trec.nuggets.sets import Nugget, NuggetSet, importance_in
from leaderboard.trec.read.json_objects import Fault, id_value, objects_in, read_each, required, text_in
from leaderboard.trec.read.lines import Problems, shown

LABELS: dict[str, Assignment] = {
    "support": "support",
    "partial_support": "partial_support",
    "not_support": "not_support",
    "failed": "failed",
    "fail": "failed",
}


@dataclass(frozen=True)
class AssignedNuggets:
    """One line: the label of each nugget of the set, in the set's order, and the judged answer.

    answer_text has blanks folded, None where the line has none.
    """

    labels: tuple[Assignment, ...]
    answer_text: str | None = None


@dataclass(frozen=True)
class Assignments:
    """The assignments of all runs by (run, topic), and their nugget set."""

    nuggets: NuggetSet
    cells: Mapping[tuple[str, str], AssignedNuggets] = field(default_factory=dict)

    @property
    def failed_share(self) -> float:
        """The share of labels that failed, 0 if absent."""
        labels = [label for cell in self.cells.values() for label in cell.labels]
        return labels.count("failed") / len(labels) if labels else 0.0


@dataclass
class _Line:
    number: int
    run: str
    topic: str
    nuggets: dict[str, tuple[Nugget, Assignment]]
    answer_text: str | None


def read_assignments(path: Path, nuggets: NuggetSet | None = None) -> Assignments:
    """The assignments in a file of JSON lines, one per run and topic.

    A line names exactly the topic's nuggets of the set, in any order, with their importance; without a set,
    the nuggets of all lines of a topic are its set. Raises Invalid with up to 25 problems.
    """
    problems = Problems("file of assignments")
    lines: list[_Line] = []
    read_each(path, problems, lambda number, record: lines.append(_line(number, record)))
    nugget_set = nuggets if nuggets is not None else _union(lines)
    cells: dict[tuple[str, str], AssignedNuggets] = {}
    for line in lines:
        try:
            _take(cells, line, nugget_set)
        except Fault as fault:
            problems.add(fault.problem(line.number))
    if not lines:
        problems.add(
            Problem("The file has no assignments.", "Write one JSON object per line, for a run and topic.")
        )
    problems.stop()
    return Assignments(nugget_set, cells)


def _line(number: int, record: dict[str, Any]) -> _Line:
    run = id_value(required(record, "run_id"), "run_id")
    topic = id_value(required(record, "qid"), "qid")
    named: dict[str, tuple[Nugget, Assignment]] = {}
    for entry in objects_in(record, "nuggets"):
        text = text_in(entry, "text")
        if text in named:
            raise Fault("The line names this nugget twice.", "Keep one.", "nugget", shown(text))
        named[text] = Nugget(text, importance_in(entry), entry.get("importance") is not None), _label(entry)
    stated = record.get("answer_text")
    return _Line(number, run, topic, named, folded(stated) if isinstance(stated, str) else None)


def _label(record: dict[str, Any]) -> Assignment:
    word = text_in(record, "assignment")
    label = LABELS.get(word.strip().lower())
    if label is None:
        allowed = ", ".join(dict.fromkeys(LABELS.values()))
        raise Fault(f"An assignment is one of {allowed}.", "Write one of them.", "assignment", shown(word))
    return label


def _union(lines: Iterable[_Line]) -> NuggetSet:
    """The nuggets of all lines of each topic, in the order of their first mention."""
    topics: dict[str, dict[str, Nugget]] = {}
    for line in lines:
        of_topic = topics.setdefault(line.topic, {})
        for text, (nugget, _) in line.nuggets.items():
            of_topic.setdefault(text, nugget)
    return NuggetSet({topic: tuple(nuggets.values()) for topic, nuggets in topics.items()})


def _take(cells: dict[tuple[str, str], AssignedNuggets], line: _Line, nugget_set: NuggetSet) -> None:
    if (line.run, line.topic) in cells:
        rule = f"There are assignments of this run for topic {shown(line.topic)} already."
        raise Fault(rule, "Keep one line per run and topic.", "run_id", shown(line.run))
    nuggets = nugget_set.topics.get(line.topic)
    if nuggets is None:
        rule = "The nugget set does not have this topic."
        raise Fault(rule, "Add it, or leave the line out.", "qid", shown(line.topic))
    differences = list(_differences(nuggets, line))
    if differences:
        more = f" and {len(differences) - 3} more" if len(differences) > 3 else ""
        raise Fault(
            f"The line does not name the nuggets of the set: {'; '.join(differences[:3])}{more}.",
            "Name each nugget of the set once, with its text and importance as they are there.",
            "qid",
            shown(line.topic),
        )
    labels = tuple(line.nuggets[nugget.text][1] for nugget in nuggets)
    cells[line.run, line.topic] = AssignedNuggets(labels, line.answer_text)


def _differences(asked: tuple[Nugget, ...], line: _Line) -> Iterator[str]:
    texts = {nugget.text for nugget in asked}
    for text in line.nuggets:
        if text not in texts:
            yield f"{shown(text, 40)!r} is not in the set"
    for nugget in asked:
        if nugget.text not in line.nuggets:
            yield f"{shown(nugget.text, 40)!r} is missing"
            continue
        given = line.nuggets[nugget.text][0]
        if given.stated and given.importance != nugget.importance:
            yield f"{shown(nugget.text, 40)!r} is {nugget.importance} there, {given.importance} here"


def differing_texts(assignments: Assignments, run: str, texts: Mapping[str, str]) -> list[str]:
    """The topics where what was judged is not the run's text, given by topic with blanks folded."""
    return [
        topic
        for (of_run, topic), cell in assignments.cells.items()
        if of_run == run and cell.answer_text is not None and cell.answer_text != texts.get(topic, "")
    ]
