"""Which stored runs the labels of files are of, and whether they fit what these runs say."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Team
from leaderboard.errors import MAX_PROBLEMS, Invalid, Problem
from leaderboard.services.answers import store
from leaderboard.trec.answers.record import Answer, folded
from leaderboard.trec.nuggets.argue import ArguedAnswers
from leaderboard.trec.nuggets.assignments import Assignments, differing_texts
from leaderboard.trec.nuggets.judgments import AnswerJudgments
from leaderboard.trec.nuggets.packing import Note
from leaderboard.trec.nuggets.support import LabelledSegments, SupportLabels
from leaderboard.trec.read.json_objects import Fault
from leaderboard.trec.read.lines import shown

NAMED = 20
"""Runs named in one note."""
Cell = TypeVar("Cell")


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run of the task, by its number and the digest of its answers."""

    id: int
    sha256: str


def resolved(
    session: Session, task_id: int, sent: AnswerJudgments
) -> tuple[AnswerJudgments, tuple[Note, ...]]:
    """The labels with each run known by its digest, and notes on runs passed over and texts that differ.

    A run is found by its name, its tag, or `TEAM/NAME`. Raises Invalid where an id is of several runs, and
    where a label is of a place that an answer does not have.
    """
    names = _named_in(sent)
    known = _known(session, task_id)
    several = [name for name in names if len(known.get(name, ())) > 1]
    if several:
        problems = [_ambiguous(name, known[name]) for name in several[:MAX_PROBLEMS]]
        raise Invalid("The files name runs that several runs could be.", problems)
    found = {name: known[name][0] for name in names if name in known}
    notes = [*_passed_over([name for name in names if name not in found])]
    support: dict[tuple[str, str], LabelledSegments] = {}
    faults: list[Problem] = []
    for name, run in found.items():
        answers = {answer.topic: answer for answer in store.of_run(session, run.id)}
        notes += _other_texts(sent, name, run, answers)
        for topic in (topic for of_run, topic in sent.support.cells if of_run == name):
            try:
                labels = _fitting(sent.support, name, topic, answers.get(topic))
            except Fault as fault:
                faults.append(Problem(fault.rule, fault.remedy, None, fault.field, fault.value))
                continue
            support[name, topic] = LabelledSegments(labels)
    if faults:
        raise Invalid("Support labels are of places that answers do not have.", faults[:MAX_PROBLEMS])
    return _by_digest(sent, support, found, notes), tuple(notes)


def _by_digest(
    sent: AnswerJudgments,
    support: Mapping[tuple[str, str], LabelledSegments],
    found: Mapping[str, StoredRun],
    notes: list[Note],
) -> AnswerJudgments:
    of_digest: defaultdict[str, list[str]] = defaultdict(list)
    for name, run in found.items():
        of_digest[run.sha256].append(name)
    first = {names[0]: sha256 for sha256, names in of_digest.items()}
    for names in of_digest.values():
        if len(names) > 1:
            others = ", ".join(map(shown, names[1:]))
            notes.append(Note(f"Runs with the answers of run {shown(names[0])} share its labels: {others}."))
    assigned = sent.assignments
    return replace(
        sent,
        assignments=assigned and Assignments(sent.nuggets, _renamed(assigned.cells, first)),
        support=SupportLabels(_renamed(support, first)),
        argued=ArguedAnswers(_renamed(sent.argued.cells, first)),
    )


def _renamed(cells: Mapping[tuple[str, str], Cell], names: Mapping[str, str]) -> dict[tuple[str, str], Cell]:
    return {(names[run], topic): cell for (run, topic), cell in cells.items() if run in names}


def _named_in(sent: AnswerJudgments) -> list[str]:
    """The ids of the runs that files name, in byte order."""
    cells: Iterable[tuple[str, str]] = (
        *(sent.assignments.cells if sent.assignments else ()),
        *sent.support.cells,
        *sent.argued.cells,
    )
    return sorted({run for run, _ in cells})


def _known(session: Session, task_id: int) -> dict[str, Sequence[StoredRun]]:
    """What a run may be called -> the runs that are; its own name goes before the tags of others."""
    rows = session.execute(
        select(Run.id, Run.name, Run.tag, Run.ranking_sha256, Team.name.label("team"))
        .join(Team, Team.id == Run.team_id)
        .where(Run.task_id == task_id, Run.withdrawn_at.is_(None))
        .order_by(Run.id)
    ).all()
    named: defaultdict[str, list[StoredRun]] = defaultdict(list)
    tagged: defaultdict[str, list[StoredRun]] = defaultdict(list)
    whole: dict[str, list[StoredRun]] = {}
    for row in rows:
        run = StoredRun(row.id, row.ranking_sha256)
        named[row.name].append(run)
        tagged[row.tag].append(run)
        whole[f"{row.team}/{row.name}"] = [run]
    return {**whole, **tagged, **named}


def _ambiguous(name: str, runs: Sequence[StoredRun]) -> Problem:
    numbers = ", ".join(str(run.id) for run in runs)
    return Problem(
        f"Run id {shown(name)} is of {len(runs)} runs (numbers {numbers}).",
        "Write the team and the name of the run, as TEAM/NAME.",
        None,
        "run_id",
        shown(name),
    )


def _passed_over(unknown: Sequence[str]) -> Iterator[Note]:
    if unknown:
        named = ", ".join(map(shown, unknown[:NAMED])) + (", ..." if len(unknown) > NAMED else "")
        rule = f"Labels of runs that the task does not have are passed over: {len(unknown):,} ({named})."
        yield Note(rule, "Send these runs first, if they should have scores.")


def _other_texts(
    sent: AnswerJudgments, name: str, run: StoredRun, answers: Mapping[str, Answer]
) -> Iterator[Note]:
    """Where what was judged is not what the run says."""
    texts = {topic: answer.text for topic, answer in answers.items()}
    judged = {"assignments": differing_texts(sent.assignments, name, texts) if sent.assignments else []}
    judged["support labels"] = [
        topic
        for (of_run, topic), labelled in sent.support.answers.items()
        if of_run == name and any(labelled.texts) and labelled.texts != _texts(answers.get(topic))
    ]
    for what, topics in judged.items():
        if topics:
            rule = f"The {what} of run {shown(name)} are of another text than its answers: {len(topics):,}."
            yield Note(rule, "Check that they belong to this version of the run.", run.sha256, tuple(topics))


def _texts(answer: Answer | None) -> tuple[str, ...]:
    return tuple(map(folded, answer.texts)) if answer else ()


def _fitting(
    support: SupportLabels, run: str, topic: str, answer: Answer | None
) -> tuple[tuple[int, ...], ...]:
    """The labels of an answer's segments; raises Fault where they are of a place that it does not have."""
    labels = support.of(run, topic, answer) or ()
    cited: list[Any] = [len(segment.citations) for segment in answer.segments] if answer else []
    for place, given in enumerate(labels):
        if given and (place >= len(cited) or len(given) > cited[place]):
            rule = f"Run {shown(run)} has labels of a citation that its answer to {shown(topic)} lacks."
            where = f"segment {place}, citation {len(given) - 1} (from 0)"
            raise Fault(rule, "Check that labels and run belong together.", "label", where)
    return labels
