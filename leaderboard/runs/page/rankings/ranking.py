"""One run's ranking for one topic: grades, running scores, ties, missed documents, and other runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.boards.page.scores import table
from leaderboard.boards.page.scores.table import Field
from leaderboard.core import policy, shown_names
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.db.tables import Run, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.measures.judged import UNJUDGED, Running, running
from leaderboard.qrels.page.topics.judgments import DocumentFinders, JudgedTopic, finder_facts, judged_topic
from leaderboard.scoring.ops import collections, rankings, scored_topics
from leaderboard.scoring.ops.evaluations.shown import ShownEdition, left_out_facts, shown_edition
from leaderboard.scoring.ops.rankings import OrderedRanking, PassedDocument, ordered_without
from leaderboard.scoring.ops.scored_topics import MeasureColumn, PlacedTopic, RunOnTopic, column_of
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from
from leaderboard.trec.documents.documents import Document
from leaderboard.trec.documents.marking import Piece, marked, snippet, terms


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another run and its score on the topic."""

    run_id: int
    run: str
    score: float


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A run among the others on one topic, by the primary measure."""

    measure: MeasureColumn
    rank: int | None
    """Rank among the `of` ranked runs on this topic; None if the run is not one of them."""
    of: int
    better: Neighbour | None
    """The run just above, equal scores by name."""
    worse: Neighbour | None
    rival: Neighbour | None
    """The run with the best mean over all topics, other than this one."""


def neighbours(field: Field, run_id: int, topic_id: str) -> Neighbours | None:
    """The neighbouring runs on a topic; None if the run or the topic has no score."""
    column = field.place.get(topic_id)
    ids = [run.run_id for run in field.runs]
    if column is None or run_id not in ids:
        return None
    mine = ids.index(run_id)
    scores = field.sign * field.scores[:, column]
    ordered = np.lexsort((np.arange(len(ids)), -scores)).tolist()
    at = ordered.index(mine)
    compared = field.compared
    means = np.where(compared, field.sign * field.scores.mean(axis=1), -np.inf)
    means[mine] = -np.inf
    rival = int(np.argmax(means))

    def neighbour(place: int) -> Neighbour:
        return Neighbour(ids[place], field.runs[place].name, float(field.scores[place, column]))

    return Neighbours(
        measure=field.measure,
        rank=1 + int((scores[compared] > scores[mine]).sum()) if compared[mine] else None,
        of=int(compared.sum()),
        better=neighbour(ordered[at - 1]) if at else None,
        worse=neighbour(ordered[at + 1]) if at + 1 < len(ids) else None,
        rival=neighbour(rival) if np.isfinite(means[rival]) else None,
    )


SNIPPET = 160
"""Approximate snippet length in characters: three lines next to the numbers."""
READ_UP_TO = 200
"""Ranks whose documents have titles and snippets; of those below only the relevant ones have titles."""
MISSED_AT_FIRST = 50
"""Missed documents listed unless the whole ranking is requested."""


class IsAnswer(NotFound):
    """Raised if the requested ranking is an answer."""


class IsBoard(NotFound):
    """Raised if the requested ranking is a judge's topic; its facts contain the task."""


@dataclass(frozen=True, slots=True)
class RunningScores:
    """The scores of the ranking cut at this rank."""

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
    """A document of the ranking; grade is None if it is unjudged or judgments are hidden."""

    rank: int
    docno: Annotated[str, Shown("Document")]
    score: Annotated[float, Shown(shown=Place.DATA)]
    grade: Annotated[int | None, Shown(shown=Place.DATA)]
    title: Annotated[str, Shown(shown=Place.DATA)]
    heading: tuple[Piece, ...]
    """The title with the topic's words marked; unmarked if texts were not requested."""
    snippet: tuple[Piece, ...]
    is_relevant: bool
    following: int | None
    """The rank of the next relevant document."""
    running: RunningScores | None
    """None where the topic has no judgments or they are hidden."""
    finders: DocumentFinders | None
    """Runs that retrieved a judged document; None for others."""
    tie: Tie | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedDocument:
    """A relevant document that the run does not have, and which runs do."""

    docno: Annotated[str, Shown("Document")]
    grade: Annotated[int, Shown(digits=None)]
    title: str
    heading: tuple[Piece, ...]
    finders: Annotated[DocumentFinders, Shown("Retrieved by", key="found", shown=Place.PAGE)]
    snippet: tuple[Piece, ...] = ()
    """Missed documents are listed by their titles alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties:
    """The number of tied documents, and of tie groups."""

    groups: int
    documents: int
    largest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingPage(RunOnTopic):
    """One run's ranking for one topic; rows are its first documents, total is how many it has."""

    scores: tuple[tuple[MeasureColumn, float], ...]
    """The run's scores on this topic; empty if scores are hidden."""
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
    """Neighbouring runs; None if scores are hidden or there are none."""


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
    NotFound for an unknown run or topic, and, while judgments are hidden, for the runs of others;
    IsAnswer where the run has answers, IsBoard where it is a judge whose topics are shown.
    """
    run, task, access, topic, shown = _visible(session, viewer, run_id, topic_id)
    dialect = shown.edition.dialect if shown.edition is not None else task.dialect
    field = table.field(session, viewer, task, access, shown, run_id=run.id)
    judged = judged_topic(session, field.source, field.runs, topic_id, task.level) if field else None
    gone = rankings.left_out_of(judged.compiled, topic_id) if judged else frozenset()
    ranking, left_out = ordered_without(session, run.id, topic_id, dialect, gone)
    graded = _Graded.of(ranking, judged, task.level)
    missed = _missed(ranking, judged, task.level)
    listed = missed if limit is None else missed[:MISSED_AT_FIRST]
    titled = _read_of(ranking.docnos[:limit], graded, read)
    reading = _reading(session, task, topic[0], [*titled, *(docno for docno, _, _ in listed)], read)
    return RankingPage(
        **scored_topics.task_head(task, topic, access, shown),
        **_of_run(session, viewer, task, run, field),
        scores=_scores(run, field, shown, topic_id) if field else (),
        dialect=dialect,
        grade_names=scored_topics.grade_names(task),
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


def _of_run(session: Session, viewer: Viewer, task: Task, run: Run, field: Field | None) -> dict[str, Any]:
    """The run's fields of RunOnTopic, taken from the field if present, because names are resolved there."""
    listed = next((each for each in field.runs if each.run_id == run.id), None) if field else None
    if listed is None:
        return scored_topics.of_run(viewer, shown_names.shown_names(session, viewer, task), run)
    is_own = policy.owns(viewer, run.team_id)
    return {"run_id": run.id, "run": listed.name, "team": listed.team, "is_own": is_own}


def _visible(
    session: Session, viewer: Viewer, run_id: int, topic_id: str
) -> tuple[Run, Task, TaskAccess, PlacedTopic, ShownEdition]:
    run, task, access = policy.visible_run(session, viewer, run_id)
    if not (access.details or policy.owns(viewer, run.team_id)):
        raise NotFound(f"There is no run {run_id}.", run=run_id)
    if task.kind == "answers":
        scored_topics.find_topic(session, task, topic_id)
        raise IsAnswer(f"Run {run_id} has answers, not rankings. See /runs/{run_id}/answers/{topic_id}.")
    if task.kind == "judges":
        scored_topics.find_topic(session, task, topic_id)
        kind = IsBoard if access.details else NotFound
        raise kind(f"Run {run_id} is a judge and has no document rankings.", run=run_id, task=task.slug)
    return (
        run,
        task,
        access,
        scored_topics.placed_topic(session, task, topic_id),
        shown_edition(session, task, access),
    )


def _scores(
    run: Run, field: Field, shown: ShownEdition, topic_id: str
) -> tuple[tuple[MeasureColumn, float], ...]:
    """The run's scores on the topic, in measure order; empty if it is not scored or judged."""
    edition, revision = shown.edition, shown.revision
    if edition is None or revision is None or run.withdrawn_at is not None:
        return ()
    if topic_id not in revision.topics:
        return ()
    place = revision.topics.index(topic_id)
    columns = (column_of(measure["key"]) for measure in edition.measures)
    return tuple(
        (column, float(field.own[column.key][place])) for column in columns if column.key in field.own
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
        filled = np.array([UNJUDGED if grade is None else grade for grade in grades], dtype=np.int64)
        relevant = (np.flatnonzero(filled >= level) + 1).tolist()
        return cls(
            grades,
            tuple(relevant),
            running(filled, judged.grades, level),
            dict(zip(judged.docnos, judged.finders, strict=True)),
        )

    def running_at(self) -> list[RunningScores | None]:
        """The scores of the ranking cut at each rank."""
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
    """Docno, grade and finders of missing documents: highest grades first, then highest ranks first."""
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


RUNNING = {"precision": "P", "recall": "R", "average_precision": "AP", "ndcg": "nDCG"}
"""Running scores by their name in files, with their heads."""


def ranking_facts(page: RankingPage) -> dict[str, Any]:
    """The ranking as plain values at full precision."""
    return {
        "task": page.slug,
        "run": page.run,
        "run_id": page.run_id,
        "topic": page.topic_id,
        "revision": page.basis.revision if page.basis else None,
        **left_out_facts(page.basis),
        "dialect": page.dialect,
        "level": page.level,
        "scores": {column.key: value for column, value in page.scores},
        "relevant": page.relevant_known if page.is_judged else None,
        "ties": {"groups": page.ties.groups, "documents": page.ties.documents},
        "documents": [_document(row) for row in page.rows],
        **_left_out(page),
        "missed": [
            {"docno": row.docno, "grade": row.grade, **finder_facts(row.finders)} for row in page.missed
        ],
    }


def _left_out(page: RankingPage) -> dict[str, Any]:
    rows = [{"docno": row.docno, "score": row.score, "before": row.before} for row in page.left_out]
    return {"documents_left_out": rows} if rows else {}


def left_out_table(page: RankingPage) -> Table[PassedDocument]:
    """The documents of the run that are left out of the topic."""
    return Table(
        f"{page.run}-{page.topic_id}-left-out",
        f"Documents of run {page.run} left out of topic {page.topic_id} of {page.task}.",
        columns_from(PassedDocument),
        page.left_out,
    )


def ranking_table(page: RankingPage) -> Table[RankedDocument]:
    """The documents in order; readers get no column that has nothing to say."""
    judged = Place.EVERYWHERE if page.is_judged else Place.DATA
    printed = Place.PAGE if page.is_judged else Place.PAGE | Place.PRINT
    return Table(
        f"{page.run}-{page.topic_id}",
        _caption(page),
        columns_from(
            RankedDocument,
            "rank",
            Column("grade", lambda row: row.grade, "Grade", shown=judged & ~Place.DATA),
            "docno score grade title",
            *(_running(key, head, judged) for key, head in RUNNING.items()),
            Column("found", lambda row: row.finders, "Runs", shown=judged & Place.PAGE),
            *(_finders(key) for key in ("runs", "best_rank", "best_run")),
            Column("score", lambda row: row.score, "Score", digits=4, shown=printed),
        ),
        page.rows,
    )


def missed_table(page: RankingPage) -> Table[MissedDocument]:
    """The relevant documents that the run does not have."""
    return Table(
        f"{page.run}-{page.topic_id}-missed",
        (
            f"{len(page.missed):,} of {page.missed_total:,} relevant documents for topic {page.topic_id} of "
            f"{page.task} that run {page.run} misses."
        ),
        columns_from(
            MissedDocument,
            "grade docno finders",
            *(_missed_by(key) for key in ("runs", "best_rank", "best_run")),
        ),
        page.missed,
    )


RANKING_FILES = Files(
    facts=ranking_facts, tables={"ranking": ranking_table, "missed": missed_table, "left_out": left_out_table}
)


def _running(key: str, head: str, where: Place) -> Column[RankedDocument]:
    return Column(
        key,
        lambda row: getattr(row.running, key) if row.running else None,
        head,
        digits=4,
        shown=where,
        group="running",
    )


def _finders(key: str) -> Column[RankedDocument]:
    return Column(key, lambda row: finder_facts(row.finders)[key], shown=Place.DATA)


def _missed_by(key: str) -> Column[MissedDocument]:
    head = key.replace("_", " ").capitalize()
    return Column(key, lambda row: finder_facts(row.finders)[key], head, shown=~Place.PAGE)


def _document(row: RankedDocument) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "docno": row.docno,
        "score": row.score,
        "grade": row.grade,
        "tied": [row.tie.first, row.tie.last] if row.tie else None,
        **{key: getattr(row.running, key) if row.running else None for key in RUNNING},
        **finder_facts(row.finders),
    }


def _caption(page: RankingPage) -> str:
    shown = f"{len(page.rows):,} of {page.total:,} documents" if page.rows else "No document"
    parts = [
        f"{shown} of run {page.run} for topic {page.topic_id} of {page.task}, by score, ties by descending "
        f"document id (trec_eval {page.dialect})."
    ]
    if page.is_judged and page.basis is not None:
        parts.append(
            f"P, R, AP and nDCG are the scores of the ranking cut at each rank, under {page.basis.qrels}, "
            f"relevant from grade {page.level}; a dash means unjudged."
        )
    return " ".join(parts)
