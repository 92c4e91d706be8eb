"""The judged documents of a topic: how many at each grade, who found them, which nobody did."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.db.tables import Task
from leaderboard.errors import Invalid
from leaderboard.measures.judged import IntArray
from leaderboard.pages.scores.table import ComparedRun
from leaderboard.pages.topics.found_documents import NOBODY, SEVERAL, RunFinds
from leaderboard.services import collections
from leaderboard.services.evaluations import alignments
from leaderboard.tables.record import Place, Shown
from leaderboard.trec.qrels.align import CompiledJudgments

KINDS = {
    "": "all judged",
    "relevant": "relevant",
    "missed": "relevant, found by nobody",
    "far": "relevant, in nobody’s top 100",
    "near": "relevant, in nobody’s top 10",
    "alone": "relevant, found by one team only",
}
"""Which documents can be listed, by their name in an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocument:
    """A judged document and what became of it in the rankings."""

    docno: Annotated[str, Shown("Document")]
    grade: Annotated[int, Shown(digits=None)]
    title: str
    runs: int
    teams: int
    best: Annotated[int | None, Shown(key="best_rank")]
    """The highest rank any run has it at."""
    best_run: Annotated[str, Shown("By")]
    best_run_id: int | None
    only_team: str
    """The team whose runs alone found it; empty where none or several did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeCount:
    """The documents of one grade: how many there are, and how many of them were found."""

    grade: Annotated[int, Shown(digits=None)]
    documents: int
    near: int
    """In some run's top 10."""
    far: int
    """In some run's top 100."""
    found: int
    """By any run at all."""
    alone: int
    """By one team only."""
    share: Annotated[float, Shown(digits=None, shown=Place.PAGE)]
    """Of the grade with most documents, from 0 to 1."""

    @property
    def missed(self) -> int:
        """Found by nobody."""
        return self.documents - self.found


@dataclass(frozen=True, slots=True)
class Documents:
    """A topic's judged documents: counts by grade, highest first, and those of one kind."""

    grades: tuple[GradeCount, ...] = ()
    kind: str = ""
    kinds: tuple[tuple[str, str, int], ...] = ()
    """(name, words, documents) of every kind."""
    total: int = 0
    """Documents of the kind; as many as were asked for are in rows."""
    rows: tuple[FoundDocument, ...] = ()
    runs: int = 0
    """How many runs were looked through."""
    teams: int = 0

    def count(self, kind: str) -> int:
        """How many of the topic's documents are of a kind."""
        return next((count for name, _, count in self.kinds if name == kind), 0)

    @property
    def relevant(self) -> int:
        """How many are relevant, whichever kind is listed."""
        return self.count("relevant")

    @property
    def judged(self) -> int:
        """All documents of the topic."""
        return sum(row.documents for row in self.grades)


def documents(
    session: Session,
    task: Task,
    compiled: CompiledJudgments,
    place: int,
    runs: Sequence[ComparedRun],
    found: RunFinds,
    kind: str,
    limit: int | None,
) -> Documents:
    """The judged documents of the topic at a place of the judgments, highest grade first, most found first.

    Raises Invalid for an unknown kind.
    """
    if kind not in KINDS:
        raise Invalid(f"There are no documents of the kind {kind!r}; choose one of {', '.join(KINDS)}.")
    judgments = compiled.judgments
    start, end = alignments.listed(compiled, place)
    here = np.arange(start, end)
    grade = judgments.grades[here]
    relevant = grade >= task.level
    teams = len({run.team_id for run in runs})
    chosen = {
        "": np.ones(len(here), dtype=np.bool_),
        "relevant": relevant,
        "missed": relevant & (found.runs[here] == 0),
        "far": relevant & (found.far[here] == 0),
        "near": relevant & (found.near[here] == 0),
        "alone": relevant & (found.teams[here] == 1) & (teams > 1),
    }
    listed = here[chosen[kind]]
    order = np.lexsort((listed, -found.runs[listed], -judgments.grades[listed]))
    return Documents(
        grades=_by_grade(found, here, grade),
        kind=kind,
        kinds=tuple((name, KINDS[name], int(mask.sum())) for name, mask in chosen.items()),
        total=len(listed),
        rows=_rows(session, task, compiled, listed[order][:limit], runs, found),
        runs=len(runs),
        teams=teams,
    )


def _by_grade(found: RunFinds, here: IntArray, grade: IntArray) -> tuple[GradeCount, ...]:
    grades, counts = np.unique(grade, return_counts=True)
    most = int(counts.max())
    rows = []
    for value, count in zip(grades.tolist(), counts.tolist(), strict=True):
        those = here[grade == value]
        rows.append(
            GradeCount(
                grade=value,
                documents=count,
                near=int(np.count_nonzero(found.near[those])),
                far=int(np.count_nonzero(found.far[those])),
                found=int(np.count_nonzero(found.runs[those])),
                alone=int(np.count_nonzero(found.teams[those] == 1)),
                share=count / most,
            )
        )
    return tuple(reversed(rows))


def _rows(
    session: Session,
    task: Task,
    compiled: CompiledJudgments,
    listed: IntArray,
    runs: Sequence[ComparedRun],
    found: RunFinds,
) -> tuple[FoundDocument, ...]:
    docnos = alignments.docnos(compiled, listed)
    texts = collections.texts(session, task.collection_id, docnos)
    teams = {run.team_id: run.team for run in runs} | {NOBODY: "", SEVERAL: ""}
    columns = (compiled.judgments.grades, found.runs, found.teams, found.best, found.best_run, found.team)
    rows = []
    for docno, *facts in zip(docnos, *(column[listed].tolist() for column in columns), strict=True):
        grade, count, of_teams, best, best_run, team = facts
        leader = runs[best_run] if best_run >= 0 else None
        rows.append(
            FoundDocument(
                docno=docno,
                grade=grade,
                title=texts[docno].title if docno in texts else "",
                runs=count,
                teams=of_teams,
                best=best or None,
                best_run=leader.name if leader else "",
                best_run_id=leader.run_id if leader else None,
                only_team=teams[team],
            )
        )
    return tuple(rows)
