"""Differences between two sets of judgments: counts, grades, topics."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from leaderboard.scoring.ops.qrels.files import Change, PreparedQrels, compare
from leaderboard.scoring.ops.scored_topics import MeasureColumn
from leaderboard.tables.record import Column, Place, Shown, Table, columns_from
from leaderboard.trec.qrels.left_out import NOTHING, LeftOut


@dataclass(frozen=True, slots=True)
class TopicMeans:
    """The mean over the runs of one topic's scores, before and after."""

    before: float
    after: float


@dataclass(frozen=True, slots=True)
class GradeChange:
    """Number of judgments of a grade, before and after."""

    grade: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class TopicChange:
    """One topic before and after; relevant: documents of at least the task's level."""

    topic_id: Annotated[str, Shown(key="topic")]
    title: Annotated[str, Shown(shown=Place.DATA)]
    before: int
    after: int
    added: int
    changed: int
    removed: int
    relevant_before: int
    relevant_after: int
    is_topic: bool
    """Whether the task has this topic; judgments may have others."""

    @property
    def is_changed(self) -> bool:
        """Whether any of its judgments differs."""
        return bool(self.added or self.changed or self.removed)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutChange:
    """Documents left out by topic, before and after."""

    before: int
    after: int
    added: int
    removed: int
    topics: tuple[tuple[str, int], ...]
    """(topic, number of documents left out) afterwards, in task order."""
    repeated: int
    """Number of repeated lines."""
    is_residual: bool
    rounds: tuple[int, ...]
    """The revisions that judged them, if known."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes in judgments of one kind and in distractors."""

    kind: str
    total: Change
    before: int
    after: int
    grades: tuple[GradeChange, ...]
    topics: tuple[TopicChange, ...]
    """All topics judged before or after, in task order."""
    distractors_before: int
    distractors_after: int
    distractors_added: int
    distractors_removed: int
    unknown: tuple[str, ...]
    """Judged topics that the task does not have."""
    without_relevant: tuple[str, ...]
    """Judged topics without relevant documents."""
    left_out: LeftOutChange | None = None
    """None if nothing is left out, before or after."""

    @property
    def changed_topics(self) -> tuple[TopicChange, ...]:
        """Topics with changed judgments."""
        return tuple(topic for topic in self.topics if topic.is_changed)


def changes(
    before: PreparedQrels | None,
    after: PreparedQrels,
    distractors: tuple[frozenset[bytes], frozenset[bytes]],
    titles: Mapping[str, str],
    level: int,
    left_out: tuple[LeftOut, LeftOut] = (NOTHING, NOTHING),
) -> Changes:
    """The changes from one set of judgments (None: no judgments) to another of the same kind.

    distractors, left_out: those of both sets; titles: topic -> title in task order; level: lowest relevant
    grade.
    """
    old, new = (before.facts if before is not None else {}), after.facts
    kinds = Counter((key[0], _what(old.get(key), new.get(key))) for key in old.keys() | new.keys())
    judged = Counter(key[0] for key in old), Counter(key[0] for key in new)
    relevant = _relevant(before, level), _relevant(after, level)
    named = sorted(judged[0].keys() | judged[1].keys(), key=str.encode)
    order = [topic for topic in titles if topic in judged[0] or topic in judged[1]]
    order += [topic for topic in named if topic not in titles]
    graded = after.kind in ("graded", "subtopic")
    return Changes(
        kind=after.kind,
        total=compare(old, new),
        before=len(old),
        after=len(new),
        grades=_grades(before, after),
        topics=tuple(
            TopicChange(
                topic_id=topic,
                title=titles.get(topic, ""),
                before=judged[0][topic],
                after=judged[1][topic],
                added=kinds[topic, "added"],
                changed=kinds[topic, "changed"],
                removed=kinds[topic, "removed"],
                relevant_before=relevant[0][topic],
                relevant_after=relevant[1][topic],
                is_topic=topic in titles,
            )
            for topic in order
        ),
        distractors_before=len(distractors[0]),
        distractors_after=len(distractors[1]),
        distractors_added=len(distractors[1] - distractors[0]),
        distractors_removed=len(distractors[0] - distractors[1]),
        unknown=tuple(topic for topic in after.topics if topic not in titles),
        without_relevant=tuple(topic for topic in after.topics if graded and not relevant[1][topic]),
        left_out=_left_out(*left_out, titles),
    )


def facts(changes: Changes) -> dict[str, Any]:
    """The changes as plain values."""
    return {
        "kind": changes.kind,
        "before": changes.before,
        "after": changes.after,
        "added": changes.total.added,
        "changed": changes.total.changed,
        "removed": changes.total.removed,
        "topics_gained": list(changes.total.topics_gained),
        "topics_lost": list(changes.total.topics_lost),
        "grades": {str(grade.grade): [grade.before, grade.after] for grade in changes.grades},
        "distractors": [changes.distractors_before, changes.distractors_after],
        **({"left_out": left_out_facts(changes.left_out)} if changes.left_out else {}),
        "topics": topic_table(changes, "", "").facts(),
    }


def left_out_facts(change: LeftOutChange) -> dict[str, Any]:
    """Documents left out as plain values."""
    return {
        "before": change.before,
        "after": change.after,
        "added": change.added,
        "removed": change.removed,
        "topics": dict(change.topics),
        "repeated": change.repeated,
        "residual": change.is_residual,
        "earlier": list(change.rounds),
    }


def _left_out(before: LeftOut, after: LeftOut, titles: Mapping[str, str]) -> LeftOutChange | None:
    old, new = (
        {(topic, docno) for topic, docnos in side.by_topic.items() for docno in docnos}
        for side in (before, after)
    )
    if not old and not new:
        return None
    named = sorted(after.by_topic, key=str.encode)
    order = [topic for topic in titles if topic in after.by_topic]
    order += [topic for topic in named if topic not in titles]
    return LeftOutChange(
        before=len(old),
        after=len(new),
        added=len(new - old),
        removed=len(old - new),
        topics=tuple((topic, len(after.by_topic[topic])) for topic in order if after.by_topic[topic]),
        repeated=after.repeated,
        is_residual=after.is_residual,
        rounds=after.rounds,
    )


def topic_table(
    changes: Changes,
    name: str,
    caption: str,
    means: Mapping[str, TopicMeans] | None = None,
    by: MeasureColumn | None = None,
) -> Table[TopicChange]:
    """Table of all topics before and after; on a page with mean run scores by a measure."""
    graded = Place.EVERYWHERE if changes.kind in ("graded", "subtopic") else Place.DATA
    return Table(
        name,
        caption,
        columns_from(
            TopicChange,
            "topic_id title before after added changed removed",
            Column(
                "relevant_before", lambda row: row.relevant_before, "Relevant before", digits=0, shown=graded
            ),
            Column(
                "relevant_after", lambda row: row.relevant_after, "Relevant after", digits=0, shown=graded
            ),
            *(_means(means, by) if means and by is not None else ()),
        ),
        changes.topics,
    )


def grade_table(changes: Changes, name: str, caption: str) -> Table[GradeChange]:
    """Table of judgments by grade, before and after."""
    return Table(
        name,
        caption,
        columns_from(
            GradeChange,
            "grade before after",
            Column("difference", lambda row: row.after - row.before, "Difference", digits=0),
        ),
        changes.grades,
    )


def _means(means: Mapping[str, TopicMeans], by: MeasureColumn) -> list[Column[TopicChange]]:
    def before(row: TopicChange) -> float | None:
        return means[row.topic_id].before if row.topic_id in means else None

    def after(row: TopicChange) -> float | None:
        return means[row.topic_id].after if row.topic_id in means else None

    head = f"Mean {by.key} before"
    return [
        Column("mean_before", before, head, digits=by.digits, shown=Place.PAGE),
        Column("mean_after", after, "After", digits=by.digits, shown=Place.PAGE),
    ]


def _what(before: float | None, after: float | None) -> str:
    if before is None:
        return "added"
    if after is None:
        return "removed"
    return "changed" if before != after else ""


def _relevant(judged: PreparedQrels | None, level: int) -> Counter[str]:
    """Topic -> number of relevant documents."""
    by_topic = judged.judgments if judged is not None else {}
    return Counter(
        {topic: sum(1 for grade in grades.values() if grade >= level) for topic, grades in by_topic.items()}
    )


def _grades(before: PreparedQrels | None, after: PreparedQrels) -> tuple[GradeChange, ...]:
    old, new = (before.grades if before is not None else {}), after.grades
    return tuple(
        GradeChange(grade, old.get(grade, 0), new.get(grade, 0))
        for grade in sorted(old.keys() | new.keys(), reverse=True)
    )
