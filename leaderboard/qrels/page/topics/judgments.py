"""Judgments by document: a topic's grades with the runs that found each, and history of a document."""

import hashlib
import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, pairwise
from typing import Any, cast

import numpy as np
from numpy import typing as npt
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.boards.page.scores.table import ComparedRun
from leaderboard.db.tables import Edition, Judgment, QrelsRevision, Task, Topic
from leaderboard.measures.judged import IntArray, Relevant
from leaderboard.scoring.ops import rankings
from leaderboard.scoring.ops.evaluations.shown import Source, whole_editions
from leaderboard.scoring.ops.statistics import requests
from leaderboard.trec.qrels.align import CompiledJudgments, among_distractors
from leaderboard.trec.read.lines import bytes_of

VERSION = 1
"""Version of cached results; a new version invalidates older ones."""
NEAR, FAR = 10, 100
"""Ranks down to which a document counts as near the top, and as seen at all."""
NOBODY, SEVERAL = -1, -2
NEVER = np.iinfo(np.int64).max

Counts = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class RunFinds:
    """Judged documents found by the runs; documents are indices into judgments.grades.

    runs, near, far, best, best_run, teams, team: (documents,). relevant, first: (runs, judged topics).
    """

    runs: Counts
    """Number of runs that retrieved each document."""
    near: Counts
    """Number of runs with it in the top 10."""
    far: Counts
    """Number of runs with it in the top 100."""
    best: Counts
    """Best rank of the document in any run, 0 if not retrieved."""
    best_run: Counts
    """Index of the first run with that rank; -1 for none."""
    teams: Counts
    """Number of teams of the runs."""
    team: Counts
    """The id of the only team that found it, else NOBODY or SEVERAL."""
    relevant: Counts
    """Number of relevant documents of each run for a topic."""
    first: Counts
    """Rank of the first relevant document, 0 without one."""


def documents_found(session: Session, source: Source, runs: Sequence[ComparedRun], level: int) -> RunFinds:
    """Documents found by the runs, relevant from grade level; cached.

    At most two statements for any number of runs, none if cached.
    """
    digest = _digest(source, runs, level)
    arrays = requests.kept.get(digest)
    if arrays is None:
        arrays = requests.kept.put(digest, cast(Any, _count(session, source, runs, level)))
    return RunFinds(**cast(Any, arrays))


def _digest(source: Source, runs: Sequence[ComparedRun], level: int) -> str:
    """Cache key of all inputs."""
    facts = (
        *("found documents", VERSION, source.revision_sha256, source.dialect, level),
        [(run.ranking_sha256, run.team_id) for run in runs],
    )
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _count(session: Session, source: Source, runs: Sequence[ComparedRun], level: int) -> dict[str, Counts]:
    judgments = rankings.compiled_judgments(session, source).judgments
    judged = rankings.alignments(session, source, [run.run_id for run in runs])
    documents, topics = len(judgments.grades), len(judgments)
    counts = {name: np.zeros(documents, dtype=np.int32) for name in ("runs", "near", "far", "teams")}
    # Rank and run in one number, so that the minimum is the best rank and then the first run.
    leading = np.full(documents, NEVER, dtype=np.int64)
    team = np.full(documents, NOBODY, dtype=np.int32)
    relevant, first = (np.zeros((len(runs), topics), dtype=np.int32) for _ in range(2))
    by_team = groupby(sorted(enumerate(runs), key=lambda pair: pair[1].team_id), lambda pair: pair[1].team_id)
    for team_id, of_team in by_team:
        theirs = np.zeros(documents, dtype=np.bool_)
        for place, run in of_team:
            hits = judged[run.run_id]
            document, rank = hits.document, hits.rank
            theirs[document] = True
            counts["runs"][document] += 1
            for name, depth in (("near", NEAR), ("far", FAR)):
                counts[name][document[rank <= depth]] += 1
            leading[document] = np.minimum(leading[document], rank * len(runs) + place)
            _note_relevant(hits.relevant(level), relevant[place], first[place])
        counts["teams"] += theirs
        team[theirs] = team_id
    is_found = leading != NEVER
    best, best_run = np.divmod(leading, max(len(runs), 1))
    team[counts["teams"] > 1] = SEVERAL
    return {
        **counts,
        "best": np.where(is_found, best, 0).astype(np.int32),
        "best_run": np.where(is_found, best_run, -1).astype(np.int32),
        "team": team,
        "relevant": relevant,
        "first": first,
    }


def _note_relevant(hits: Relevant, relevant: Counts, first: Counts) -> None:
    """Fill in the number of relevant documents of a run by topic and the rank of the first."""
    relevant[:] = np.bincount(hits.topic, minlength=len(relevant))
    leading = hits.nth == 1
    first[hits.topic[leading]] = hits.rank[leading]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFinders:
    """Number of runs that retrieved a document for a topic, and the run with its best rank."""

    runs: int
    of: int
    best: int
    """Best rank; 0 if no run retrieved it."""
    best_run_id: int
    best_run: str


@dataclass(frozen=True, eq=False)
class JudgedTopic:
    """The judgments of one topic, in byte order of the docnos."""

    docnos: tuple[str, ...]
    grades: IntArray
    """(documents,) grades, highest over subtopics."""
    finders: tuple[DocumentFinders, ...]
    compiled: CompiledJudgments
    """Of the whole revision."""

    def grades_in(self, docnos: Sequence[str]) -> list[int | None]:
        """The grade of each document; 0 for distractors, None if unjudged."""
        grade_of = self.grade_of
        irrelevant = among_distractors(self.compiled, [docno.encode() for docno in docnos])
        return [
            grade_of.get(docno, 0 if is_irrelevant else None)
            for docno, is_irrelevant in zip(docnos, irrelevant, strict=True)
        ]

    @property
    def grade_of(self) -> dict[str, int]:
        """Docno -> grade."""
        return dict(zip(self.docnos, self.grades.tolist(), strict=True))


def grades_of(session: Session, revision_id: int, topic_id: str) -> dict[str, int]:
    """Docno -> grade of one topic's judged documents, highest over subtopics."""
    rows = session.execute(
        select(Judgment.docno, func.max(Judgment.grade))
        .where(Judgment.revision_id == revision_id, Judgment.topic_id == topic_id)
        .group_by(Judgment.docno)
    )
    return {docno: grade for docno, grade in rows}


def judged_topic(
    session: Session, source: Source, runs: Sequence[ComparedRun], topic_id: str, level: int
) -> JudgedTopic | None:
    """A topic's judgments with the runs that found them; None without judgments."""
    compiled = rankings.compiled_judgments(session, source)
    place = compiled.index.get(bytes_of(topic_id))
    if place is None:
        return None
    start, end = rankings.listed(compiled, place)
    finds = documents_found(session, source, runs, level)
    counts = zip(
        finds.runs[start:end].tolist(),
        finds.best[start:end].tolist(),
        finds.best_run[start:end].tolist(),
        strict=True,
    )
    return JudgedTopic(
        tuple(rankings.docnos_of(compiled, np.arange(start, end))),
        compiled.judgments.grades[start:end],
        tuple(_finders(runs, count, best, run) for count, best, run in counts),
        compiled,
    )


def finders_of(
    session: Session, source: Source, runs: Sequence[ComparedRun], docno: str, level: int
) -> dict[str, DocumentFinders]:
    """Topic -> runs that found a document, for topics that judge it."""
    compiled = rankings.compiled_judgments(session, source)
    places = document_places(compiled, docno)
    if not places:
        return {}
    finds = documents_found(session, source, runs, level)
    return {
        compiled.judgments.topics[topic]: _finders(
            runs, int(finds.runs[place]), int(finds.best[place]), int(finds.best_run[place])
        )
        for topic, place in places.items()
    }


def document_places(compiled: CompiledJudgments, docno: str) -> dict[int, int]:
    """Topic index -> document index in judgments.grades, for topics that judge the document.

    Docnos are in byte order within each topic, so that each topic takes a few steps.
    """
    sought, index = docno.encode(), compiled.documents
    starts, at, length = compiled.judgments.starts.tolist(), index.at, index.length

    def name(place: int) -> bytes:
        start = int(at[place])
        return bytes(index.letters[start : start + int(length[place])])

    places = {}
    for topic, (start, end) in enumerate(pairwise(starts)):
        place = start + bisect_left(range(start, end), sought, key=name)
        if place < end and name(place) == sought:
            places[topic] = place
    return places


def _finders(runs: Sequence[ComparedRun], count: int, best: int, place: int) -> DocumentFinders:
    if not best:
        return DocumentFinders(runs=0, of=len(runs), best=0, best_run_id=0, best_run="")
    run = runs[place]
    return DocumentFinders(runs=count, of=len(runs), best=best, best_run_id=run.run_id, best_run=run.name)


def finder_facts(finders: DocumentFinders | None) -> dict[str, Any]:
    """Number of runs that retrieved a document and its best rank; empty for an unjudged one."""
    if finders is None:
        return {"runs": None, "best_rank": None, "best_run": None}
    return {"runs": finders.runs, "best_rank": finders.best or None, "best_run": finders.best_run or None}


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision that a board was ever shown with."""

    id: int
    number: int
    at: datetime
    note: str


@dataclass(frozen=True, slots=True)
class GradeThen:
    """A document's grade in one revision, and its change from the previous one."""

    grade: int | None
    change: str
    """`new`, `raised`, `lowered`, `removed`, or nothing."""


@dataclass(frozen=True, slots=True)
class GradesOfTopic:
    """Grades of a document for a topic, in revision order."""

    topic_id: str
    title: str
    grades: tuple[GradeThen, ...]

    def of(self, revision_id: int | None, revisions: Sequence[Revision]) -> int | None:
        """The grade in a revision, None if unjudged."""
        pairs = zip(revisions, self.grades, strict=True)
        return next((then.grade for revision, then in pairs if revision.id == revision_id), None)


def shown_revisions(session: Session, task: Task) -> tuple[Revision, ...]:
    """Revisions of a task that a board was ever shown with, oldest first."""
    rows = whole_editions(
        session,
        select(Edition, QrelsRevision.number, QrelsRevision.created_at, QrelsRevision.note)
        .join(QrelsRevision, QrelsRevision.id == Edition.revision_id)
        .where(Edition.task_id == task.id, Edition.shown_from.is_not(None))
        .order_by(QrelsRevision.id),
    )
    revisions = [Revision(row.Edition.revision_id, row.number, row.created_at, row.note) for row in rows]
    return tuple({revision.id: revision for revision in revisions}.values())


def grades_over_time(
    session: Session, task: Task, revisions: Sequence[Revision], docno: str
) -> tuple[GradesOfTopic, ...]:
    """Grades of a document in all revisions, by topic in task order."""
    rows = session.execute(
        select(Judgment.topic_id, Judgment.revision_id, func.max(Judgment.grade))
        .where(Judgment.revision_id.in_([revision.id for revision in revisions]), Judgment.docno == docno)
        .group_by(Judgment.topic_id, Judgment.revision_id)
    )
    by_topic: dict[str, dict[int, int]] = {}
    for topic_id, revision_id, grade in rows:
        by_topic.setdefault(topic_id, {})[revision_id] = grade
    titles = session.execute(
        select(Topic.topic_id, Topic.title)
        .where(Topic.task_id == task.id, Topic.topic_id.in_(by_topic))
        .order_by(Topic.position)
    )
    titled = {row.topic_id: row.title for row in titles}
    unknown = {topic_id: "" for topic_id in sorted(set(by_topic) - set(titled))}
    return tuple(
        GradesOfTopic(
            topic_id, title, _changes([by_topic[topic_id].get(revision.id) for revision in revisions])
        )
        for topic_id, title in {**titled, **unknown}.items()
    )


def _changes(grades: Sequence[int | None]) -> tuple[GradeThen, ...]:
    """Each grade with its change from the previous one; the first one is not new.

    >>> [grade.change for grade in _changes([None, 1, 2, 2, 0, None])]
    ['', 'new', 'raised', '', 'lowered', 'removed']
    """
    before = [*grades[:1], *grades[:-1]]
    return tuple(GradeThen(now, _change(then, now)) for then, now in zip(before, grades, strict=True))


def _change(then: int | None, now: int | None) -> str:
    if then == now:
        return ""
    if then is None:
        return "new"
    if now is None:
        return "removed"
    return "raised" if now > then else "lowered"
