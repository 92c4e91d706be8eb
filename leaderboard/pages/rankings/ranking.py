"""One run's ranking for one topic: grades, running scores, ties, what it missed, who else found what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.db.tables import QrelsRevision, Run, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.measures.by_rank import Running, running
from leaderboard.measures.judged import UNJUDGED
from leaderboard.pages.rankings.neighbours import Neighbours, neighbours
from leaderboard.pages.scores import fields
from leaderboard.pages.topics.judgments import DocumentFinders, JudgedTopic, judged_topic
from leaderboard.services import collections, policy, shown_names
from leaderboard.services.evaluations import alignments, score
from leaderboard.services.evaluations.columns import MeasureColumn, column_of
from leaderboard.services.evaluations.shown import ShownEdition, shown_edition
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.rankings.stored import OrderedRanking, PassedDocument, ordered_without
from leaderboard.services.tasks import topics
from leaderboard.services.tasks.topics import RunOnTopic
from leaderboard.tables.record import Place, Shown
from leaderboard.trec.documents.documents import Document
from leaderboard.trec.documents.marking import Piece, marked, snippet, terms

SNIPPET = 160
"""Letters of a snippet, about: three lines beside the numbers."""
READ_UP_TO = 200
"""Ranks whose documents have titles and snippets; of those below only the relevant ones have titles."""
MISSED_AT_FIRST = 50
"""Missed documents that are listed where not all of a ranking is asked for."""


class IsAnswer(NotFound):
    """What was asked for as a ranking is an answer."""


class IsBoard(NotFound):
    """What was asked for as a ranking is a topic of a judge; its facts have the task."""


@dataclass(frozen=True, slots=True)
class RunningScores:
    """What the ranking would score had it ended at this rank."""

    precision: float
    recall: float
    average_precision: float
    ndcg: float


@dataclass(frozen=True, slots=True)
class Tie:
    """The ranks that share a score, this one among them."""

    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedDocument:
    """A document of the ranking; grade is None where it is not judged or judgments are held back."""

    rank: int
    docno: Annotated[str, Shown("Document")]
    score: Annotated[float, Shown(shown=Place.DATA)]
    grade: Annotated[int | None, Shown(shown=Place.DATA)]
    title: Annotated[str, Shown(shown=Place.DATA)]
    heading: tuple[Piece, ...]
    """The title with the topic's words marked; without them where texts were not asked for."""
    snippet: tuple[Piece, ...]
    is_relevant: bool
    following: int | None
    """The rank of the next relevant document."""
    running: RunningScores | None
    """None where the topic has no judgments or they are held back."""
    finders: DocumentFinders | None
    """Which runs have a judged document; None for others."""
    tie: Tie | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedDocument:
    """A relevant document that the run does not have, and which runs do."""

    docno: Annotated[str, Shown("Document")]
    grade: Annotated[int, Shown(digits=None)]
    title: str
    heading: tuple[Piece, ...]
    finders: Annotated[DocumentFinders, Shown("Runs that have it", key="found", shown=Place.PAGE)]
    snippet: tuple[Piece, ...] = ()
    """Missed documents are listed by their titles alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties:
    """How many documents share their score with another one, and in how many groups."""

    groups: int
    documents: int
    largest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingPage(RunOnTopic):
    """One run's ranking for one topic; rows are its first documents, total is how many it has."""

    scores: tuple[tuple[MeasureColumn, float], ...]
    """What the run got on this topic; empty where scores are held back."""
    dialect: int
    grade_names: dict[int, str]
    total: int
    rows: tuple[RankedDocument, ...]
    ties: Ties
    is_judged: bool
    relevant: tuple[int, ...]
    """The ranks of all relevant documents, also of those below the rows."""
    relevant_known: int
    """Relevant documents that the topic has."""
    missed: tuple[MissedDocument, ...]
    missed_total: int
    left_out: tuple[PassedDocument, ...]
    """Documents of the run that the judgments leave out of this topic."""
    neighbours: Neighbours | None
    """Other runs to go on with; None where scores are held back or there are none."""


def ranking_page(
    session: Session,
    viewer: Viewer,
    run_id: int,
    topic_id: str,
    limit: int | None = None,
    *,
    read: Literal["nothing", "titles", "texts"] = "nothing",
) -> RankingPage:
    """The first `limit` documents (all where None) in the order they were scored in.

    read: whether documents have titles, and snippets too, with the topic's words marked in both. Raises
    NotFound for an unknown run or topic, and, while judgments are held back, for the runs of others;
    IsAnswer where the run has answers, IsBoard where it is a judge whose topics are shown.
    """
    run, task, sight, topic, shown = _visible(session, viewer, run_id, topic_id)
    dialect = shown.edition.dialect if shown.edition is not None else task.dialect
    field = fields.field(session, viewer, task, sight, shown)
    judged = judged_topic(session, field.source, field.runs, topic_id, task.level) if field else None
    gone = alignments.left_out_of(judged.compiled, topic_id) if judged else frozenset()
    ranking, left_out = ordered_without(session, run.id, topic_id, dialect, gone)
    graded = _Graded.of(ranking, judged, task.level)
    missed = _missed(ranking, judged, task.level)
    listed = missed if limit is None else missed[:MISSED_AT_FIRST]
    titled = _read_of(ranking.docnos[:limit], graded, read)
    reading = _reading(session, task, topic, [*titled, *(docno for docno, _, _ in listed)], read)
    return RankingPage(
        **topics.head(session, task, topic, sight, shown),
        **topics.of_run(viewer, shown_names.shown_names(session, viewer, task), run),
        scores=_scores(session, run, shown, topic_id) if field else (),
        dialect=dialect,
        grade_names=topics.grade_names(task),
        total=len(ranking),
        rows=_rows(reading, ranking, graded, limit),
        ties=_ties(ranking),
        is_judged=judged is not None,
        relevant=graded.relevant,
        relevant_known=len(graded.relevant) + len(missed),
        missed=_listed(reading, listed),
        missed_total=len(missed),
        left_out=left_out,
        neighbours=neighbours(field, run.id, topic_id) if field else None,
    )


def _read_of(
    docnos: Sequence[str], graded: "_Graded", read: Literal["nothing", "titles", "texts"]
) -> list[str]:
    """The documents to be read: for a page of texts, of those far down the relevant ones only."""
    if read != "texts":
        return list(docnos)
    deep = (docnos[rank - 1] for rank in graded.relevant if READ_UP_TO < rank <= len(docnos))
    return [*docnos[:READ_UP_TO], *deep]


def _visible(
    session: Session, viewer: Viewer, run_id: int, topic_id: str
) -> tuple[Run, Task, Sight, Topic, ShownEdition]:
    run, task, sight = policy.visible_run(session, viewer, run_id)
    if not (sight.details or policy.owns(viewer, run.team_id)):
        raise NotFound(f"There is no run {run_id}.", run=run_id)
    if task.kind == "answers":
        topics.find(session, task, topic_id)
        raise IsAnswer(f"Run {run_id} has answers, not rankings: /runs/{run_id}/answers/{topic_id}.")
    if task.kind == "judges":
        topics.find(session, task, topic_id)
        kind = IsBoard if sight.details else NotFound
        raise kind(f"Run {run_id} is a judge, which ranks no documents.", run=run_id, task=task.slug)
    return run, task, sight, topics.find(session, task, topic_id), shown_edition(session, task, sight)


def _scores(
    session: Session, run: Run, shown: ShownEdition, topic_id: str
) -> tuple[tuple[MeasureColumn, float], ...]:
    """What the run got on the topic, in the order of the measures; empty where it is not scored or judged."""
    edition = shown.edition
    if edition is None or run.withdrawn_at is not None:
        return ()
    order = session.get_one(QrelsRevision, edition.revision_id).topics
    if topic_id not in order:
        return ()
    place = order.index(topic_id)
    stored = score.stored(session, run.id, edition)
    columns = (column_of(measure["key"]) for measure in edition.measures)
    return tuple(
        (column, float(stored[column.key].scores[place])) for column in columns if column.key in stored
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """The stored documents, and the words to mark in them: None to leave texts out."""

    documents: Mapping[str, Document]
    words: frozenset[str] | None

    def of(self, docno: str, rank: int = 0) -> tuple[str, tuple[Piece, ...], tuple[Piece, ...]]:
        """Title, the title marked, and a snippet; far down the ranking the title alone."""
        document = self.documents.get(docno)
        if document is None:
            return "", (), ()
        if self.words is None:
            return document.title, (), ()
        if rank > READ_UP_TO:
            return document.title, (Piece(document.title, False),) if document.title else (), ()
        text = snippet(document.text, self.words, SNIPPET)
        return document.title, marked(document.title, self.words), text


@dataclass(frozen=True, eq=False)
class _Graded:
    """A ranking as the judgments see it, by rank."""

    grades: Sequence[int | None]
    relevant: tuple[int, ...]
    running: Running | None
    finders: Mapping[str, DocumentFinders]

    @classmethod
    def of(cls, ranking: OrderedRanking, judged: JudgedTopic | None, level: int) -> "_Graded":
        if judged is None:
            return cls([None] * len(ranking), (), None, {})
        grades = judged.grades_in(ranking.docnos)
        known = np.array([UNJUDGED if grade is None else grade for grade in grades], dtype=np.int64)
        relevant = (np.flatnonzero(known >= level) + 1).tolist()
        return cls(
            grades,
            tuple(relevant),
            running(known, judged.grades, level),
            dict(zip(judged.docnos, judged.finders, strict=True)),
        )

    def running_at(self) -> list[RunningScores | None]:
        """What the ranking would score had it ended there, by rank."""
        if self.running is None:
            return [None] * len(self.grades)
        running = self.running
        columns = (running.precision, running.recall, running.average_precision, running.ndcg)
        return [RunningScores(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]

    def next_relevant(self) -> list[int | None]:
        """The rank of the next relevant document below, by rank."""
        upwards: list[int | None] = []
        following: int | None = None
        relevant = set(self.relevant)
        for rank in range(len(self.grades), 0, -1):
            upwards.append(following)
            following = rank if rank in relevant else following
        return upwards[::-1]


def _reading(
    session: Session,
    task: Task,
    topic: Topic,
    documents: Sequence[str],
    read: Literal["nothing", "titles", "texts"],
) -> _Reading:
    return _Reading(
        collections.texts(session, task.collection_id, documents) if read != "nothing" else {},
        terms(topic.title, topic.description) if read == "texts" else None,
    )


def _rows(
    reading: _Reading, ranking: OrderedRanking, graded: _Graded, limit: int | None
) -> tuple[RankedDocument, ...]:
    relevant = set(graded.relevant)
    columns = zip(
        ranking.docnos[:limit],
        ranking.scores.tolist(),
        graded.grades,
        graded.next_relevant(),
        graded.running_at(),
        zip(ranking.first, ranking.last, strict=True),
        strict=False,
    )
    rows = []
    for rank, (docno, value, grade, following, scores, (first, last)) in enumerate(columns, start=1):
        title, heading, text = reading.of(docno, rank)
        rows.append(
            RankedDocument(
                rank=rank,
                docno=docno,
                score=value,
                grade=grade,
                title=title,
                heading=heading,
                snippet=text,
                is_relevant=rank in relevant,
                following=following,
                running=scores,
                finders=graded.finders.get(docno),
                tie=Tie(first, last) if first < last else None,
            )
        )
    return tuple(rows)


def _ties(ranking: OrderedRanking) -> Ties:
    sizes = [last - first + 1 for first, last in set(zip(ranking.first, ranking.last, strict=True))]
    tied = [size for size in sizes if size > 1]
    return Ties(groups=len(tied), documents=sum(tied), largest=max(tied, default=0))


def _missed(
    ranking: OrderedRanking, judged: JudgedTopic | None, level: int
) -> list[tuple[str, int, DocumentFinders]]:
    """Docno, grade and finders of what is missing: highest grades first, of these what runs have highest."""
    if judged is None:
        return []
    retrieved = set(ranking.docnos)
    rows = zip(judged.docnos, judged.grades.tolist(), judged.finders, strict=True)
    missed = [row for row in rows if row[1] >= level and row[0] not in retrieved]
    return sorted(missed, key=lambda row: (-row[1], row[2].best == 0, row[2].best, row[0]))


def _listed(
    reading: _Reading, missed: Sequence[tuple[str, int, DocumentFinders]]
) -> tuple[MissedDocument, ...]:
    rows = []
    for docno, grade, finders in missed:
        title, heading, _ = reading.of(docno)
        rows.append(MissedDocument(docno=docno, grade=grade, title=title, heading=heading, finders=finders))
    return tuple(rows)
