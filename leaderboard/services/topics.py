"""A task's topics: their list, and one topic with its judgments and every run's score on it."""

from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session, undefer

from leaderboard.db.tables import Edition, Evaluation, Judgment, QrelsRevision, Run, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.services import collections, policy
from leaderboard.services.boards import MeasureColumn
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.runs import measure_columns
from leaderboard.services.shown_editions import Basis, shown_edition


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic in the list; median and best are by the primary measure over all scored runs."""

    topic_id: str
    title: str
    judged: int | None
    relevant: int | None
    median: float | None
    best: float | None
    excluded: str


@dataclass(frozen=True, slots=True)
class TopicList:
    """All topics of a task."""

    task: str
    slug: str
    primary: MeasureColumn
    basis: Basis | None
    topics: tuple[TopicRow, ...]
    sight: Sight


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """A judged document of a topic."""

    docno: str
    grade: int
    title: str


@dataclass(frozen=True, slots=True)
class RunScore:
    """What one run got on the topic, in the order of the measures."""

    run_id: int
    run: str
    team: str
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TopicPage:
    """One topic; judgments and scores are empty where they are held back."""

    task: str
    slug: str
    topic_id: str
    title: str
    description: str
    narrative: str
    subtopics: tuple[dict[str, Any], ...]
    excluded: str
    basis: Basis | None
    grade_names: dict[int, str]
    grades: dict[int, int]
    judged: tuple[JudgedDocument, ...]
    measures: tuple[MeasureColumn, ...]
    scores: tuple[RunScore, ...]
    level: int
    previous: str | None
    following: str | None
    sight: Sight


def topic_list(session: Session, viewer: Viewer, slug: str) -> TopicList:
    """All topics of a task, with counts and difficulty where the viewer may see them."""
    task, sight = policy.visible_task(session, viewer, slug)
    shown = shown_edition(session, task, sight)
    (primary,) = measure_columns([shown.edition.primary_measure if shown.edition else task.primary_measure])
    rows = session.scalars(select(Topic).where(Topic.task_id == task.id).order_by(Topic.position)).all()
    counts: dict[str, tuple[int, int]] = {}
    scores: dict[str, list[float]] = {}
    if shown.edition is not None and sight.details:
        counts = _counts(session, shown.edition.revision_id, task.level)
        scores = _by_topic(session, shown.edition, primary.key)
    return TopicList(
        task=task.name,
        slug=task.slug,
        primary=primary,
        basis=shown.basis,
        topics=tuple(_topic_row(row, counts, scores, sight.details) for row in rows),
        sight=sight,
    )


def _topic_row(
    row: Topic, counts: dict[str, tuple[int, int]], scores: dict[str, list[float]], details: bool
) -> TopicRow:
    judged, relevant = counts.get(row.topic_id, (0, 0))
    values = scores.get(row.topic_id, [])
    return TopicRow(
        row.topic_id,
        row.title,
        judged if counts else None,
        relevant if counts else None,
        median(values) if values else None,
        max(values) if values else None,
        row.excluded if details else "",
    )


def topic_page(session: Session, viewer: Viewer, slug: str, topic_id: str) -> TopicPage:
    """One topic; raises NotFound where the task has no such topic."""
    task, sight = policy.visible_task(session, viewer, slug)
    topic = find(session, task, topic_id)
    shown = shown_edition(session, task, sight)
    edition = shown.edition
    judged: tuple[JudgedDocument, ...] = ()
    measures: tuple[MeasureColumn, ...] = ()
    scores: tuple[RunScore, ...] = ()
    if edition is not None and sight.details:
        judged = _judged(session, task, edition.revision_id, topic_id)
        measures = measure_columns([each["key"] for each in edition.measures])
        scores = _scores(session, viewer, task, edition, topic_id, measures)
    before, after = neighbours(session, task, topic)
    return TopicPage(
        task=task.name,
        slug=task.slug,
        topic_id=topic.topic_id,
        title=topic.title,
        description=topic.description,
        narrative=topic.narrative,
        subtopics=tuple(topic.subtopics),
        excluded=topic.excluded if sight.details else "",
        basis=shown.basis,
        grade_names=grade_names(task),
        grades=dict(sorted(Counter(each.grade for each in judged).items(), reverse=True)),
        judged=judged,
        measures=measures,
        scores=scores,
        level=task.level,
        previous=before,
        following=after,
        sight=sight,
    )


def grade_names(task: Task) -> dict[int, str]:
    """Grade -> its name in this task."""
    return {int(grade): str(name) for grade, name in task.grade_names.items()}


def find(session: Session, task: Task, topic_id: str) -> Topic:
    """The task's topic of that id; raises NotFound."""
    topic = session.scalar(select(Topic).where(Topic.task_id == task.id, Topic.topic_id == topic_id))
    if topic is None:
        raise NotFound(f"Task {task.name} has no topic {topic_id!r}.", topic=topic_id)
    return topic


def list_json(shown: TopicList) -> dict[str, Any]:
    """The topics as plain values."""
    header, rows = list_table(shown)
    return {
        "task": shown.slug,
        "revision": shown.basis.revision if shown.basis else None,
        "primary": shown.primary.key,
        "topics": [dict(zip(header, row, strict=True)) for row in rows],
    }


def list_table(shown: TopicList) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the topics, for CSV."""
    header = ["topic", "title", "judged", "relevant", "median", "best", "excluded"]
    return header, [
        [each.topic_id, each.title, each.judged, each.relevant, each.median, each.best, each.excluded]
        for each in shown.topics
    ]


def page_json(page: TopicPage) -> dict[str, Any]:
    """The topic as plain values at full precision."""
    keys = [each.key for each in page.measures]
    return {
        "task": page.slug,
        "topic": page.topic_id,
        "title": page.title,
        "description": page.description,
        "narrative": page.narrative,
        "subtopics": list(page.subtopics),
        "revision": page.basis.revision if page.basis else None,
        "judgments": {each.docno: each.grade for each in page.judged},
        "rows": [
            {
                "run": each.run,
                "run_id": each.run_id,
                "team": each.team,
                "scores": dict(zip(keys, each.scores, strict=True)),
            }
            for each in page.scores
        ],
    }


def page_table(page: TopicPage) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of every run's scores on the topic, for CSV."""
    keys = [each.key for each in page.measures]
    return ["run", "team", *keys], [[each.run, each.team, *each.scores] for each in page.scores]


def _counts(session: Session, revision_id: int, level: int) -> dict[str, tuple[int, int]]:
    """Topic -> documents judged (grade -1 is pooled but not judged), and of these relevant."""
    rows = session.execute(
        select(
            Judgment.topic_id,
            func.count(Judgment.docno.distinct()).filter(Judgment.grade != -1),
            func.count(Judgment.docno.distinct()).filter(Judgment.grade >= level),
        )
        .where(Judgment.revision_id == revision_id)
        .group_by(Judgment.topic_id)
    )
    return {topic: (judged, relevant) for topic, judged, relevant in rows}


def _arrays(session: Session, edition: Edition, keys: list[str]) -> list[tuple[Run, Evaluation]]:
    """Every shown run's evaluations by the given measures, with per-topic scores."""
    versions = {each["key"]: each["version"] for each in edition.measures}
    rows = session.execute(
        select(Run, Evaluation)
        .join(Evaluation, Evaluation.run_id == Run.id)
        .where(
            Evaluation.revision_id == edition.revision_id,
            Evaluation.dialect == edition.dialect,
            Evaluation.measure.in_(keys),
            Run.withdrawn_at.is_(None),
        )
        .options(undefer(Evaluation.scores))
        .order_by(Run.name)
    )
    return [(run, each) for run, each in rows if each.measure_version == versions[each.measure]]


def _order(session: Session, edition: Edition) -> dict[str, int]:
    topics = session.get_one(QrelsRevision, edition.revision_id).topics
    return {topic: index for index, topic in enumerate(topics)}


def _by_topic(session: Session, edition: Edition, key: str) -> dict[str, list[float]]:
    arrays = [each.scores for _, each in _arrays(session, edition, [key])]
    if not arrays:
        return {}
    matrix = np.vstack(arrays)
    return {topic: matrix[:, place].tolist() for topic, place in _order(session, edition).items()}


def _judged(session: Session, task: Task, revision_id: int, topic_id: str) -> tuple[JudgedDocument, ...]:
    """The topic's judgments, highest grade first; a document judged for several subtopics at its highest."""
    rows = session.execute(
        select(Judgment.docno, func.max(Judgment.grade).label("grade"))
        .where(Judgment.revision_id == revision_id, Judgment.topic_id == topic_id)
        .group_by(Judgment.docno)
    ).all()
    texts = collections.texts(session, task.collection_id, [row.docno for row in rows])
    found = [
        JudgedDocument(row.docno, row.grade, texts[row.docno].title if row.docno in texts else "")
        for row in rows
    ]
    return tuple(sorted(found, key=lambda each: (-each.grade, each.docno)))


def _scores(
    session: Session,
    viewer: Viewer,
    task: Task,
    edition: Edition,
    topic_id: str,
    measures: tuple[MeasureColumn, ...],
) -> tuple[RunScore, ...]:
    """Every run's scores on the topic, best by the first measure first; empty where it is not judged."""
    place = _order(session, edition).get(topic_id)
    if place is None:
        return ()
    keys = [each.key for each in measures]
    found: dict[int, dict[str, float]] = {}
    runs: dict[int, Run] = {}
    for run, evaluation in _arrays(session, edition, keys):
        runs[run.id] = run
        found.setdefault(run.id, {})[evaluation.measure] = float(evaluation.scores[place])
    names = policy.team_names(session, viewer, task)
    rows = [
        RunScore(
            run_id, runs[run_id].name, names.get(runs[run_id].team_id, ""), tuple(scores[key] for key in keys)
        )
        for run_id, scores in found.items()
        if len(scores) == len(keys)
    ]
    primary = keys.index(edition.primary_measure)
    return tuple(sorted(rows, key=lambda row: (-row.scores[primary], row.run)))


def neighbours(session: Session, task: Task, topic: Topic) -> tuple[str | None, str | None]:
    """The ids of the topics before and after this one in the task's order."""
    around = select(Topic.topic_id).where(Topic.task_id == task.id)
    before = around.where(Topic.position < topic.position).order_by(Topic.position.desc()).limit(1)
    after = around.where(Topic.position > topic.position).order_by(Topic.position).limit(1)
    return session.scalar(before), session.scalar(after)
