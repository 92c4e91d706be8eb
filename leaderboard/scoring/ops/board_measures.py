"""Measures of a task's board: which ones are possible, and later changes."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from leaderboard.core import audit, kinds, policy
from leaderboard.core.phase_rules import PUBLIC_TOPICS
from leaderboard.core.policy import Viewer
from leaderboard.db import words
from leaderboard.db.engine import lock_row
from leaderboard.db.tables import Collection as CollectionOfDocuments
from leaderboard.db.tables import Edition, Pool, Run, Task, Topic, TopicSet
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.fields import Field
from leaderboard.measures.binding import BoundMeasure, bind, with_level
from leaderboard.measures.catalogue.names import examples
from leaderboard.measures.judged import UNJUDGED, Judged, ratio
from leaderboard.measures.naming import kind_of, parse
from leaderboard.measures.registry import NAMES
from leaderboard.scoring.ops import rankings, scored_topics, setting_values
from leaderboard.scoring.ops.evaluations import editions
from leaderboard.scoring.ops.evaluations.shown import ShownEdition, Source
from leaderboard.scoring.ops.qrels import files
from leaderboard.scoring.ops.setting_values import TEXT_CHARACTERS, tidy
from leaderboard.stats.arrays import Arrays
from leaderboard.trec.topics import topics as trec_topics

PROCEDURE, VERSION = "coverage", 1
TOP = 10
"""The depth at which a run is classified as outside the pool."""
LEAST_RUNS = 30
"""Smaller boards are computed on request: a run takes a third of a millisecond."""
Progress = Callable[[float], None]


def depth(bound: BoundMeasure) -> int | None:
    """The rank cutoff of a measure; None if it uses all retrieved documents."""
    cutoff = bound.params.get("cutoff")
    return cutoff if isinstance(cutoff, int) else None


def shares(judged: Judged, source: Source, cutoff: int | None) -> tuple[float, float]:
    """The share of unjudged documents down to the cutoff, and of judged ones in the top ten, 0 to 1."""
    unjudged = _unjudged(judged, source, cutoff)
    return unjudged, 1.0 - (unjudged if cutoff == TOP else _unjudged(judged, source, TOP))


def compute(
    session: Session, source: Source, run_ids: Sequence[int], measure: str, method: str, progress: Progress
) -> Arrays:
    """The shares of every run, (runs, 2); method is the cutoff, or `None`."""
    cutoff = None if method == str(None) else int(method)
    aligned = rankings.alignments(session, source, run_ids)
    return {"shares": np.array([shares(aligned[run_id], source, cutoff) for run_id in run_ids])}


def _unjudged(judged: Judged, source: Source, cutoff: int | None) -> float:
    """The mean share of unjudged documents in the top ranks over the topics that have any; nan without."""
    is_judged = judged.grade != UNJUDGED
    looked_at = judged.retrieved
    if cutoff is not None:
        is_judged &= judged.rank <= cutoff
        looked_at = np.minimum(looked_at, cutoff)
    count = np.bincount(judged.topic[is_judged], minlength=len(judged.judgments))
    places = np.array(source.places, dtype=np.int64)
    of_topics = ratio(looked_at - count, looked_at)[places][looked_at[places] > 0]
    return float(of_topics.mean()) if len(of_topics) else float("nan")


SIZE = "collection size"
EXTRA_NEEDS = frozenset({"subtopics", "preferences"})
"""Needs that judgments can meet in addition to grades."""
REMEDIES = {
    "subtopics": "add subtopic judgments first",
    "preferences": "add preferences first",
    "documents": "remove it",
    SIZE: "assign a collection to the task",
}


def for_board(
    names: Sequence[str], primary: str, level: int, available: Collection[str]
) -> tuple[tuple[str, ...], str]:
    """Canonical keys of a board's measures, including the primary one, and the primary key.

    names: any form that the grammar accepts; level: default lowest relevant grade; available: needs met by
    the task. Raises UnknownMeasure, or Invalid if a board cannot have a measure.
    """
    keys = [_fit(with_level(parse(name), level), available).key for name in names]
    bound = _fit(with_level(parse(primary), level), available)
    if bound.measure.direction == "none":
        raise Invalid(
            f"{primary} has no direction (higher or lower is better); choose another primary measure.",
            field="primary_measure",
        )
    if bound.key not in keys:
        keys.insert(0, bound.key)
    return tuple(dict.fromkeys(keys)), bound.key


def choose(session: Session, viewer: Viewer, slug: str, names: Sequence[str], primary: str) -> None:
    """Change the measures or the primary measure of a board, and build a new edition.

    Raises Conflict if nothing changes.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    if not put(session, task, names, primary):
        raise Conflict("The board already has these measures; nothing was changed.")
    rebuild(session, task)
    keys, chosen = " ".join(task.measures), task.primary_measure
    audit.record(session, viewer, "task.measures", f"task:{task.id}", measures=keys, primary=chosen)


def put(session: Session, task: Task, names: Sequence[str], primary: str) -> bool:
    """Set the measures of a task with a locked row; returns whether they changed. `rebuild` follows."""
    if not names:
        raise Invalid("A board needs at least one measure.")
    keys, chosen = for_board(names, primary or names[0], task.level, available(session, task))
    if list(keys) == task.measures and chosen == task.primary_measure:
        return False
    task.measures, task.primary_measure = list(keys), chosen
    return True


def rebuild(session: Session, task: Task) -> None:
    """Build a new edition of the task's board, if it has one.

    Known scores are reused, missing ones are computed, and the board switches once all are available.
    """
    session.flush()
    revision = files.newest(session, task.id)
    if revision is not None and task.published_at is not None:
        editions.build(session, task, revision)


def at_level(keys: Sequence[str], before: int, after: int) -> list[str]:
    """The keys of measures, with one relevance level replaced by another.

    >>> at_level(["AP", "nDCG@10", "P(rel=3)@5"], 1, 2)
    ['AP(rel=2)', 'nDCG@10', 'P(rel=3)@5']
    """
    return [_at_level(parse(key), before, after).key for key in keys]


def _at_level(bound: BoundMeasure, before: int, after: int) -> BoundMeasure:
    if bound.params.get("rel") != before:
        return bound
    others = {name: bound.params[name] for name in bound.given if name != "rel"}
    given = {name: value for name, value in others.items() if value is not None}
    return with_level(bind(bound.measure, given), after)


def available(session: Session, task: Task) -> frozenset[str]:
    """Needs of measures that the task meets now or may meet with future judgments."""
    if not kinds.of(task.kind).ranks_documents:
        return frozenset({task.kind})
    size = session.get_one(CollectionOfDocuments, task.collection_id).size
    needs = {"graded"} if size is None else {"graded", SIZE}
    revision = files.newest(session, task.id)
    return frozenset(needs | (EXTRA_NEEDS if revision is None else files.has(session, revision)))


def offered(name: str, level: int, there: Collection[str]) -> str:
    """The key of a catalogue measure on a board; empty if the board cannot have it."""
    try:
        return _fit(with_level(parse(examples(NAMES[name])[0]), level), there).key
    except Invalid:
        return ""


def lacking(shown: ShownEdition) -> tuple[str, ...]:
    """Sentences on measures of the shown edition without scores; empty if absent."""
    if shown.edition is None or shown.basis is None:
        return ()
    if not all(kinds.judged_by(kind).ranks_documents for kind in shown.kinds):
        return _lacking_of_answers(shown.edition, shown.basis.revision)
    bound = {measure["key"]: parse(measure["key"]) for measure in shown.edition.measures}
    needs = {key: need for key, measure in bound.items() if (need := measure.measure.needs & EXTRA_NEEDS)}
    has = files.needs_met_by(shown.kinds) if needs else frozenset()
    revision = shown.basis.revision
    return tuple(
        f"{key} has no scores: qrels revision {revision} has no {' and no '.join(sorted(missing))}."
        for key, need in needs.items()
        if (missing := need - has)
    )


def _lacking_of_answers(edition: Edition, revision: int) -> tuple[str, ...]:
    """Sentences on measures of answers without scores, because labels are missing."""
    counted = {topic for topic_set in edition.topic_sets.values() for topic in topic_set["topics"]}
    return tuple(
        f"{measure['key']} has no scores: revision {revision} has no judgments for it."
        for measure in edition.measures
        if counted and not counted - set(measure["left_out"])
    )


def _fit(bound: BoundMeasure, there: Collection[str]) -> BoundMeasure:
    """The measure itself; raises Invalid if a board cannot have it."""
    of = kind_of(bound.measure)
    takes = next((kind for kind in kinds.KINDS if kind in there), kinds.RANKINGS)
    if of != takes:
        raise Invalid(f"{bound.key} is a measure of {of}, and this task takes {takes}; remove it.")
    missing = sorted(bound.measure.needs - {"graded"} - set(there))
    if missing:
        remedy = " and ".join(REMEDIES.get(need, "remove it") for need in missing)
        raise Invalid(f"{bound.key} needs {' and '.join(missing)}, which this task lacks; {remedy}.")
    if bound.measure.aggregate == "none":
        raise Invalid(f"{bound.key} has no value for a whole run, so a board cannot show it; remove it.")
    return bound


ROWS_AT_ONCE = 5_000
PARTS = ("title", "description", "narrative")


@dataclass(frozen=True, slots=True)
class TopicText:
    """Title, description and narrative of a topic."""

    title: Annotated[str, Field(title="Title", longest=TEXT_CHARACTERS, least=0)]
    description: Annotated[str, Field(title="Description", rows=3, longest=TEXT_CHARACTERS)] = ""
    narrative: Annotated[str, Field(title="Narrative", rows=6, longest=TEXT_CHARACTERS)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic(TopicText):
    """A topic to add."""

    topic: Annotated[str, Field(title="Topic id, as in the runs")]


FieldsOfTopics = Annotated[
    str,
    Field(
        title="Topic fields",
        help="The fields to read from the topics file, such as “id=qid, title=query”. Leave empty to use "
        "the names in the file.",
        option="map",
    ),
]
ReadingSeen = Annotated[str | None, Field(title="Reading of the topics", is_carried=True)]
"""The stamp of the reading that the sender saw; None without an interactive sender."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFields:
    """How to read a topics file."""

    fields: FieldsOfTopics = ""
    topics_seen: ReadingSeen = None

    def read(self, path: Path) -> trec_topics.TopicsFile:
        """The topics; raises Invalid where something was guessed that an interactive sender did not see."""
        topics = trec_topics.read(path, self.fields)
        if self.topics_seen is not None:
            topics.require_seen(self.topics_seen)
        return topics


def correct(session: Session, viewer: Viewer, slug: str, topic_id: str, text: TopicText) -> None:
    """Edit the title, description or narrative of a topic; no score depends on them."""
    task = policy.own_task(session, viewer, slug)
    topic = scored_topics.find_topic(session, task, topic_id)
    _check(topic_id, text)
    for part in PARTS:
        before, after = getattr(topic, part), tidy(getattr(text, part)).strip()
        setattr(topic, part, after)
        setting_values.note_change(session, viewer, task, f"{part} of topic {topic_id}", before, after)


def add_topics(session: Session, viewer: Viewer, slug: str, topic_id: str, text: TopicText) -> None:
    """Add a topic after the others.

    Raises Conflict if the id exists, or if the board's judgments already include it, because means would
    change under the same revision.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    _check(topic_id, text)
    places = session.execute(select(Topic.topic_id, Topic.position).where(Topic.task_id == task.id)).all()
    if topic_id in {row.topic_id for row in places}:
        raise Conflict(f"Topic {topic_id!r} already exists; edit it instead.", field="topic")
    _refuse_judged(session, task, topic_id)
    place = max((row.position for row in places), default=-1) + 1
    parts = {part: tidy(getattr(text, part)).strip() for part in PARTS}
    session.add(Topic(task_id=task.id, topic_id=topic_id, position=place, **parts))
    setting_values.note_change(session, viewer, task, "topics", "", f"{topic_id} added")


def replace(
    session: Session, viewer: Viewer, slug: str, file: trec_topics.TopicsFile
) -> trec_topics.TopicsFile:
    """Replace all topics of a task by those of a file; a public half is drawn again.

    Raises Conflict if a run or pool exists, or if a topic set would lose one of its topics.
    """
    task, new = policy.own_task(session, viewer, slug), file.topics
    lock_row(session, Task, task.id)
    _refuse_used(session, task, {topic.topic_id for topic in new})
    before = session.scalar(select(func.count()).where(Topic.task_id == task.id)) or 0
    session.execute(delete(Topic).where(Topic.task_id == task.id))
    insert_all(session, task, new)
    scored_topics.draw_again(session, task)
    rebuild(session, task)
    setting_values.note_change(
        session, viewer, task, "topics", f"{before} topics", f"{len(new)} topics from a new file"
    )
    return file


def insert_all(session: Session, task: Task, new: Iterable[trec_topics.Topic]) -> None:
    """Store the topics of a task that has none, in their order."""
    rows = [_row(task.id, position, topic) for position, topic in enumerate(new)]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        # Bulk insert: one object per topic would lock the database for minutes with 200,000 topics.
        session.execute(insert(Topic), rows[start : start + ROWS_AT_ONCE])
    words.keep_topics(session, task.id)


def _row(task_id: int, position: int, topic: trec_topics.Topic) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "topic_id": topic.topic_id,
        "position": position,
        "title": topic.title,
        "description": topic.description,
        "narrative": topic.narrative,
        "answer_limit": topic.limit,
        "subtopics": [
            {"number": subtopic.number, "text": subtopic.text, "kind": subtopic.kind}
            for subtopic in topic.subtopics
        ],
    }


def _check(topic_id: str, text: TopicText) -> None:
    problems = []
    fault = trec_topics.fault_of_id(topic_id)
    if fault is not None:
        problems.append(Problem(*fault, field="topic", value=topic_id[:40]))
    if any(len(getattr(text, part)) > TEXT_CHARACTERS for part in PARTS):
        problems.append(Problem(f"may have at most {TEXT_CHARACTERS:,} characters.", "", field="text"))
    if problems:
        raise Invalid("The topic was not saved.", problems)


def _refuse_judged(session: Session, task: Task, topic_id: str) -> None:
    revision = files.newest(session, task.id)
    if task.published_at is not None and revision is not None and topic_id in revision.topics:
        raise Conflict(
            f"Qrels revision {revision.number} judges topic {topic_id}, so adding it now would change the "
            "board under the same revision. Publish judgments without it first, then add it.",
            field="topic",
        )


def _refuse_used(session: Session, task: Task, new: set[str]) -> None:
    for table, what in ((Run, "a run"), (Pool, "a pool")):
        if session.scalar(select(table.id).where(table.task_id == task.id).limit(1)) is not None:
            raise Conflict(f"The topics can no longer be replaced because {what} uses them.")
    others = select(TopicSet).where(TopicSet.task_id == task.id, TopicSet.name != PUBLIC_TOPICS)
    for chosen in session.scalars(others):
        lost = sorted(set(chosen.topics or ()) - new)
        if lost:
            raise Conflict(
                f"The topics of {chosen.name!r} include {lost[0]}, which is missing from the new file."
            )
