"""Judgment files: parsed and packed without a session, and compared.

A separate revision of subtopics or preferences is always followed by a new revision of the judgments that a
board is computed from. The companions of that revision are therefore the newest ones before it, and its
number identifies everything that scores, comparisons and snapshots depend on.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.orm import Session, undefer

from leaderboard.db.tables import Collection as TablesCollection
from leaderboard.db.tables import Judgment, Qrels, QrelsRevision, Task
from leaderboard.errors import Invalid, Problem
from leaderboard.trec.qrels.judgment_lists import by_query
from leaderboard.trec.qrels.packed import pack_judgments
from leaderboard.trec.qrels.preferences import PreferenceJudgments, read_preferences
from leaderboard.trec.qrels.qrels import read_qrels
from leaderboard.trec.qrels.revision_inputs import (
    BySubtopic,
    RevisionInputs,
    highest_grades,
    pack_preferences,
    pack_subtopics,
)
from leaderboard.trec.read.forms import USUAL, Asked
from leaderboard.trec.read.lines import shown
from leaderboard.trec.topics.records import EXAMPLES, TopicNames

MAIN = "main"
"""Name of the qrels a board is computed from."""
WHOLE = tuple(map(undefer, (QrelsRevision.packed, QrelsRevision.distractors, QrelsRevision.left_out)))
"""Options of a statement that reads revisions with all their contents."""
COMPANIONS = ("subtopic", "preference")
"""Kinds of qrels that supplement graded ones, each stored under its kind as name."""


def companions(session: Session, revision: QrelsRevision) -> dict[str, int]:
    """Kind -> id of the companion of a revision of a board's judgments; one statement."""
    main = select(Qrels.task_id).where(Qrels.id == revision.qrels_id, Qrels.name == MAIN).scalar_subquery()
    rows = session.execute(
        select(Qrels.kind, func.max(QrelsRevision.id))
        .join(QrelsRevision, QrelsRevision.qrels_id == Qrels.id)
        .where(Qrels.task_id == main, Qrels.name.in_(COMPANIONS), QrelsRevision.id < revision.id)
        .group_by(Qrels.kind)
    )
    return {kind: revision_id for kind, revision_id in rows}


def inputs(session: Session, revision_id: int) -> RevisionInputs:
    """All inputs of the scores under a revision, packed; a few statements."""
    row = session.execute(
        select(QrelsRevision, Qrels.kind, TablesCollection.size)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .join(Task, Task.id == Qrels.task_id)
        .join(TablesCollection, TablesCollection.id == Task.collection_id)
        .where(QrelsRevision.id == revision_id)
        .options(*WHOLE)
    ).one()
    revision = row.QrelsRevision
    ids = companions(session, revision)
    others = select(QrelsRevision.id, QrelsRevision.packed).where(QrelsRevision.id.in_(ids.values()))
    bodies = {row.id: row.packed for row in session.execute(others)} if ids else {}
    packed = {kind: bodies[companion] for kind, companion in ids.items()}
    if row.kind == "subtopic":
        packed["subtopic"] = pack_subtopics(subtopics(session, revision_id))
    return RevisionInputs(
        judgments=revision.packed,
        subtopics=packed.get("subtopic"),
        preferences=packed.get("preference"),
        distractors=revision.distractors,
        left_out=revision.left_out,
        collection_size=row.size,
        name=f"revision {revision.number} (number {revision.id} of all)",
        kind=row.kind,
    )


def subtopics(session: Session, revision_id: int) -> dict[str, dict[str, dict[bytes, int]]]:
    """Topic -> subtopic -> docno -> grade of a subtopic revision."""
    by_topic: dict[str, dict[str, dict[bytes, int]]] = {}
    rows = session.execute(
        select(Judgment.topic_id, Judgment.subtopic, Judgment.docno, Judgment.grade).where(
            Judgment.revision_id == revision_id
        )
    )
    for topic, subtopic, docno, grade in rows:
        by_topic.setdefault(topic, {}).setdefault(subtopic, {})[docno.encode()] = grade
    return by_topic


def has(session: Session, revision: QrelsRevision) -> frozenset[str]:
    """Needs of measures that the judgments meet in addition to grades: subtopics, preferences."""
    kinds = set(companions(session, revision))
    kinds.add(session.scalars(select(Qrels.kind).where(Qrels.id == revision.qrels_id)).one())
    return needs_met_by(kinds)


def needs_met_by(kinds: Iterable[str]) -> frozenset[str]:
    """Needs of measures that judgments of these kinds meet in addition to grades.

    >>> needs_met_by(["graded", "subtopic"])
    frozenset({'subtopics'})
    """
    words = {"subtopic": "subtopics", "preference": "preferences"}
    return frozenset(words[kind] for kind in kinds if kind in words)


KINDS = {
    "graded": "grades",
    "subtopic": "grades by subtopic",
    "preference": "preferences",
    "answers": "nuggets and labels",
    "board": "values of a reference",
}
"""Kind of judgments -> its name as text."""

Judged = Mapping[str, Mapping[bytes, int]]
"""Topic -> docno -> grade."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PreparedQrels:
    """Judgments of one kind, parsed and packed; made without a session."""

    file_name: str
    sha256: str
    kind: str
    judgments: dict[str, dict[bytes, int]]
    """Topic -> docno -> grade (highest over subtopics); empty for preferences."""
    rows: tuple[tuple[str, str, bytes, int], ...]
    """(topic, subtopic, docno, grade)."""
    packed: bytes
    warnings: tuple[Problem, ...]
    """Notes on the reading of the file: its format, and lines skipped, guessed or ignored."""
    subtopics: dict[str, dict[str, dict[bytes, int]]] = field(default_factory=dict)
    preferences: PreferenceJudgments | None = None
    task_topics: bool = False
    """Whether to convert topic ids to the task's form."""

    @property
    def made_by(self) -> tuple[str, str] | None:
        """Origin and origin name for the judgment series from now on; None if it never changes."""
        return None

    @property
    def grades(self) -> dict[int, int]:
        """Grade -> number of judgments."""
        return grade_counts(self.judgments)

    @property
    def topics(self) -> list[str]:
        """Judged topics, in byte order."""
        named = self.judgments if self.preferences is None else self.preferences.pairs
        return sorted((topic for topic in named if named[topic]), key=str.encode)

    @property
    def size(self) -> int:
        """Number of judgments or preferences."""
        return len(self.facts)

    @property
    def facts(self) -> dict[tuple[str, ...], float]:
        """(topic, subtopic, docno) -> grade; of preferences (topic, judge, better, worse) -> weight."""
        if self.preferences is not None:
            return {
                (topic, judge, better.decode(), worse.decode()): weight
                for topic, judges in self.preferences.pairs.items()
                for judge, pairs in judges.items()
                for (better, worse), weight in pairs.items()
            }
        return {(topic, part, docno.decode()): grade for topic, part, docno, grade in self.rows}


@dataclass(frozen=True, slots=True)
class Change:
    """Differences from the previous revision: judgments added, changed, removed; topics too."""

    added: int
    changed: int
    removed: int
    topics_gained: tuple[str, ...]
    topics_lost: tuple[str, ...]


def prepare(
    path: Path, file_name: str = "", kind: str = "graded", second: str = "", asked: Asked = USUAL
) -> PreparedQrels:
    """Read the judgments of a file; raises Invalid with the offending lines.

    kind: `preference` for a file of preferences. second: meaning of the second column of a qrels file,
    `subtopics` or `rounds`; empty: detect. asked: how to read grades, columns and topics. A guess is refused
    with a mapping to confirm, before anything is stored.
    """
    name, sha256 = file_name or path.name, hashlib.sha256(path.read_bytes()).hexdigest()
    if kind == "preference":
        read = read_preferences(path)
        return of_preferences(read, name, sha256)
    qrels = read_qrels(path, second=second, asked=asked)
    if qrels.guessed:
        raise _unconfirmed(qrels.guessed)
    prepared = (
        of_subtopics(qrels.subtopics, name, sha256, tuple(qrels.notes))
        if qrels.kind == "subtopic"
        else of_grades(qrels.judgments, name, sha256, tuple(qrels.notes))
    )
    if not prepared.rows:
        raise Invalid(f"{name} contains no judgments.")
    return replace(prepared, task_topics=asked.task_topics)


def _unconfirmed(guessed: Sequence[str]) -> Invalid:
    """The error for a file whose mapping needs confirmation, with the mapping."""
    words = " ".join(
        f"--map {shown(entry)!r}" if " " in entry else f"--map {shown(entry)}" for entry in guessed
    )
    rule = f"The file can be read with this mapping: {', '.join(map(shown, guessed))}."
    remedy = f"Confirm or correct it under Mapping and upload the file again ({words})."
    problem = Problem(rule, remedy, None, "map")
    return Invalid(f"{rule} {remedy}", [problem], map="\n".join(guessed))


def as_task(prepared: PreparedQrels, titles: Mapping[str, str]) -> PreparedQrels:
    """The judgments with topic ids converted to the task's form: those that are titles, others if requested.

    titles: topic -> title.

    Raises Invalid if no judged topic is in the task, with ids of both and their difference.
    """
    topics, queries = titles.keys(), by_query(titles)
    if prepared.preferences is None and any(topic in queries for topic in prepared.topics):
        prepared = _renamed(
            prepared, {query: queries[query] for query in prepared.topics if query in queries}
        )
    names = TopicNames(topics)
    unknown = [topic for topic in prepared.topics if topic not in names]
    if not unknown or not topics:
        return prepared
    meant = {topic: names.meant(topic) for topic in unknown}
    if prepared.task_topics and prepared.preferences is None:
        return _renamed(prepared, {topic: task_topic for topic, task_topic in meant.items() if task_topic})
    if len(unknown) < len(prepared.topics):
        return prepared
    some = ", ".join(map(shown, unknown[:EXAMPLES]))
    rule = f"No judged topic is a topic of the task: the file has {some}; the task has {names.examples()}."
    first = next((topic for topic in unknown if meant[topic]), "")
    remedy = "Upload judgments of these topics, or create the task with the topics of these judgments."
    if first:
        difference = names.difference(first, meant[first])
        remedy = (
            f"The file's ids {difference}: to read {shown(first)} as {shown(meant[first])}, use the mapping "
            "topics=task (--map topics=task)."
        )
    problem = Problem(rule, remedy, None, "topic", shown(unknown[0]), len(unknown))
    raise Invalid(f"{rule} {remedy}", [problem], map="topics=task" if first else "")


def _renamed(prepared: PreparedQrels, ids: Mapping[str, str]) -> PreparedQrels:
    topics = [ids.get(topic, topic) for topic in prepared.topics]
    if len(set(topics)) < len(topics):
        twice = next(topic for topic in topics if topics.count(topic) > 1)
        both = [topic for topic in prepared.topics if ids.get(topic, topic) == twice]
        rule = f"Topics {' and '.join(map(shown, both[:2]))} would both become {shown(twice)}."
        raise Invalid(
            rule, [Problem(rule, "Give them distinct ids in the file.", None, "topic", shown(both[1]))]
        )
    first = next(iter(ids))
    rule = f"{len(ids):,} of {len(topics):,} topic ids were converted to the task's form, such as "
    note = Problem(f"{rule}{shown(first)} as {shown(ids[first])}.")
    name, sha256, warnings = prepared.file_name, prepared.sha256, (*prepared.warnings, note)
    if prepared.kind == "subtopic":
        parts = {ids.get(topic, topic): part for topic, part in prepared.subtopics.items()}
        return of_subtopics(parts, name, sha256, warnings)
    grades = {ids.get(topic, topic): grades for topic, grades in prepared.judgments.items()}
    return of_grades(grades, name, sha256, warnings)


def of_grades(
    judgments: Judged, file_name: str, sha256: str = "", warnings: tuple[Problem, ...] = ()
) -> PreparedQrels:
    """Prepare graded judgments; without a file digest, their own is used."""
    plain = {topic: dict(grades) for topic, grades in judgments.items() if grades}
    rows = tuple((topic, "", docno, grade) for topic in plain for docno, grade in plain[topic].items())
    packed = pack_judgments(plain)
    return PreparedQrels(
        file_name=file_name,
        sha256=sha256 or _digest(packed),
        kind="graded",
        judgments=plain,
        rows=rows,
        packed=packed,
        warnings=warnings,
    )


def of_subtopics(
    by_topic: BySubtopic, file_name: str, sha256: str = "", warnings: tuple[Problem, ...] = ()
) -> PreparedQrels:
    """Prepare subtopic judgments; packed: highest grades, as in graded qrels."""
    plain = {
        topic: {part: dict(grades) for part, grades in parts.items() if grades}
        for topic, parts in by_topic.items()
    }
    plain = {topic: parts for topic, parts in plain.items() if parts}
    rows = tuple(
        (topic, part, docno, grade)
        for topic, parts in plain.items()
        for part, grades in parts.items()
        for docno, grade in grades.items()
    )
    highest = highest_grades(plain)
    return PreparedQrels(
        file_name=file_name,
        sha256=sha256 or _digest(pack_subtopics(plain)),
        kind="subtopic",
        judgments=highest,
        rows=rows,
        packed=pack_judgments(highest),
        warnings=warnings,
        subtopics=plain,
    )


def of_preferences(given: PreferenceJudgments, file_name: str, sha256: str = "") -> PreparedQrels:
    """Prepare preferences."""
    packed = pack_preferences(given)
    return PreparedQrels(
        file_name=file_name,
        sha256=sha256 or _digest(packed),
        kind="preference",
        judgments={},
        rows=(),
        packed=packed,
        warnings=given.notes,
        preferences=given,
    )


def newest(session: Session, task_id: int, line: str = MAIN) -> QrelsRevision | None:
    """The newest revision of a judgment series of the task, with its packed judgments."""
    return session.scalar(
        select(QrelsRevision)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(Qrels.task_id == task_id, Qrels.name == line)
        .order_by(QrelsRevision.number.desc())
        .limit(1)
        .options(*WHOLE)
    )


def grade_counts(judgments: Judged) -> dict[int, int]:
    """Grade -> number of judgments, lowest grade first.

    >>> grade_counts({"1": {b"a": 1, b"b": 0}, "2": {b"a": 1}})
    {0: 1, 1: 2}
    """
    counted = Counter(grade for grades in judgments.values() for grade in grades.values())
    return dict(sorted(counted.items()))


def compare(before: Mapping[tuple[str, ...], float], after: Mapping[tuple[str, ...], float]) -> Change:
    """The changes between two sets of facts; the first part of a fact's key is its topic.

    >>> change = compare({("1", "", "a"): 1, ("1", "", "b"): 0}, {("1", "", "a"): 2, ("2", "", "a"): 0})
    >>> change.added, change.changed, change.removed, change.topics_gained, change.topics_lost
    (1, 1, 1, ('2',), ())
    """
    old, new = {key[0] for key in before}, {key[0] for key in after}
    return Change(
        added=len(after.keys() - before.keys()),
        changed=sum(1 for key in after.keys() & before.keys() if after[key] != before[key]),
        removed=len(before.keys() - after.keys()),
        topics_gained=tuple(sorted(new - old)),
        topics_lost=tuple(sorted(old - new)),
    )


def _digest(packed: bytes) -> str:
    return hashlib.sha256(packed).hexdigest()
