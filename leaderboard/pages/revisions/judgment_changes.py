"""What one set of judgments says otherwise than another: counts, grades, topic by topic."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leaderboard.services.qrels.files import Change, PreparedQrels, compare


@dataclass(frozen=True, slots=True)
class GradeChange:
    """How many judgments have a grade, before and after."""

    grade: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class TopicChange:
    """One topic before and after; relevant counts documents of at least the task's level."""

    topic_id: str
    title: str
    before: int
    after: int
    added: int
    changed: int
    removed: int
    relevant_before: int
    relevant_after: int
    is_topic: bool
    """Whether the task has this topic; judgments may know more of them."""

    @property
    def is_changed(self) -> bool:
        """Whether anything is said otherwise."""
        return bool(self.added or self.changed or self.removed)


@dataclass(frozen=True, slots=True)
class Changes:
    """What is new in judgments of one kind, and in the distractors beside them."""

    kind: str
    total: Change
    before: int
    after: int
    grades: tuple[GradeChange, ...]
    topics: tuple[TopicChange, ...]
    """All topics that one of the two judges, in the task's order."""
    distractors_before: int
    distractors_after: int
    distractors_added: int
    distractors_removed: int
    unknown: tuple[str, ...]
    """Topics that are judged now and that the task does not have."""
    without_relevant: tuple[str, ...]
    """Topics that are judged now, none of whose documents is relevant."""

    @property
    def changed_topics(self) -> tuple[TopicChange, ...]:
        """The topics of which something is said otherwise."""
        return tuple(each for each in self.topics if each.is_changed)


def changes(
    before: PreparedQrels | None,
    after: PreparedQrels,
    distractors: tuple[frozenset[bytes], frozenset[bytes]],
    titles: Mapping[str, str],
    level: int,
) -> Changes:
    """What changes from one set of judgments, None for no judgment at all, to another of the same kind.

    distractors: those of both; titles: topic -> title in the task's order; level: least relevant grade.
    """
    old, new = (before.facts if before is not None else {}), after.facts
    kinds = Counter((key[0], _what(old.get(key), new.get(key))) for key in old.keys() | new.keys())
    judged = (Counter(key[0] for key in old), Counter(key[0] for key in new))
    relevant = tuple(_relevant(each, level) for each in (before, after))
    named = sorted(judged[0].keys() | judged[1].keys(), key=str.encode)
    order = [*(topic for topic in titles if topic in judged[0] or topic in judged[1])]
    order += [topic for topic in named if topic not in titles]
    graded = after.preferences is None
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
    )


def as_json(found: Changes) -> dict[str, Any]:
    """The changes as plain values."""
    header, rows = table(found)
    return {
        "kind": found.kind,
        "before": found.before,
        "after": found.after,
        "added": found.total.added,
        "changed": found.total.changed,
        "removed": found.total.removed,
        "topics_gained": list(found.total.topics_gained),
        "topics_lost": list(found.total.topics_lost),
        "grades": {str(each.grade): [each.before, each.after] for each in found.grades},
        "distractors": [found.distractors_before, found.distractors_after],
        "topics": [dict(zip(header, row, strict=True)) for row in rows],
    }


def table(found: Changes) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the topics for CSV."""
    header = ["topic", "title", "before", "after", "added", "changed", "removed"]
    header += ["relevant_before", "relevant_after"]
    return header, [
        [
            *(each.topic_id, each.title, each.before, each.after, each.added, each.changed, each.removed),
            *(each.relevant_before, each.relevant_after),
        ]
        for each in found.topics
    ]


def _what(before: float | None, after: float | None) -> str:
    if before is None:
        return "added"
    if after is None:
        return "removed"
    return "changed" if before != after else ""


def _relevant(judged: PreparedQrels | None, level: int) -> Counter[str]:
    """Topic -> how many documents are relevant."""
    found = judged.judgments if judged is not None else {}
    return Counter(
        {topic: sum(1 for grade in grades.values() if grade >= level) for topic, grades in found.items()}
    )


def _grades(before: PreparedQrels | None, after: PreparedQrels) -> tuple[GradeChange, ...]:
    old, new = (before.grades if before is not None else {}), after.grades
    return tuple(
        GradeChange(grade, old.get(grade, 0), new.get(grade, 0))
        for grade in sorted(old.keys() | new.keys(), reverse=True)
    )
