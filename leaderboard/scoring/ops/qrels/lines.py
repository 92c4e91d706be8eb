"""Judgment series: fixed name, kind and origin, with numbered revisions."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass, replace

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import names
from leaderboard.core import kinds
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Judgment, Qrels, QrelsRevision, Task, Topic
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.scoring.ops.qrels import files, left_out
from leaderboard.scoring.ops.qrels.files import (
    COMPANIONS,
    KINDS,
    MAIN,
    Judged,
    PreparedQrels,
    of_grades,
    of_preferences,
    of_subtopics,
)
from leaderboard.trec.qrels.left_out import NOTHING, LeftOut
from leaderboard.trec.qrels.packed import pack_distractors, unpack_distractors, unpack_judgments
from leaderboard.trec.qrels.revision_inputs import pack_subtopics, unpack_preferences, unpack_subtopics

DRAFT = "draft "
"""Name prefix of judgment series that contain unpublished drafts."""
ROWS_AT_ONCE = 5_000
PACKED = ("answers", "board")
"""Kinds whose revisions record their own origin."""
MOST_NAMED = 10
"""Maximum number of documents named in a message."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of judgments; kind None: as in the series before, people for a new one."""

    kind: str | None = None
    name: str = ""


def find(session: Session, task_id: int, name: str) -> Qrels | None:
    """The judgment series of a task with a name."""
    return session.scalar(select(Qrels).where(Qrels.task_id == task_id, Qrels.name == name))


def titles(session: Session, task_id: int) -> dict[str, str]:
    """Topic -> title of all topics of a task."""
    rows = session.execute(select(Topic.topic_id, Topic.title).where(Topic.task_id == task_id))
    return {topic: title for topic, title in rows}


def fitting(session: Session, task: Task, kind: str, by: Origin, name: str) -> Qrels | None:
    """The judgment series for judgments of a kind and origin, None if it must be created.

    Raises Conflict if the series has another kind or origin, or a kind that the task's board cannot use,
    Invalid for a reserved name. Judgments of answers record the origin of each part, so they share a
    series.
    """
    if name in (MAIN, *COMPANIONS) and (kind == "answers") != (task.kind == "answers"):
        raise Conflict(
            f"{task.name} takes {task.kind}, so its board cannot use {KINDS[kind]}. "
            "Put them in a separate judgment series: name it when you add them."
        )
    qrels = find(session, task.id, name)
    if qrels is None:
        if name not in (MAIN, *COMPANIONS) and (names.displayed(name, "a line") != name or _is_kept(name)):
            raise Invalid(f"A judgment series cannot be named {name!r}; choose another name.")
        return None
    who = "this task" if name == MAIN else f"the judgment series {name}"
    is_one = kind == qrels.kind and kind in PACKED
    if (
        not is_one
        and by.kind is not None
        and (by.kind, by.name or qrels.origin_name) != (qrels.origin, qrels.origin_name)
    ):
        theirs = f"{qrels.origin} ({qrels.origin_name})" if qrels.origin_name else qrels.origin
        ours = f"{by.kind} ({by.name})" if by.name else by.kind
        raise Conflict(
            f"The judgments of {who} are marked {theirs}; {ours} judgments are never mixed with them. "
            "Put them in a separate judgment series: name it when you add them."
        )
    if kind != qrels.kind:
        raise Conflict(
            f"The judgments of {who} are {KINDS[qrels.kind]}; these are {KINDS[kind]}. "
            "Put them in a separate judgment series: name it when you add them."
        )
    return qrels


def new(session: Session, task: Task, kind: str, by: Origin, name: str) -> Qrels:
    """Create a judgment series without revisions."""
    qrels = Qrels(task_id=task.id, name=name, kind=kind, origin=by.kind or "human", origin_name=by.name)
    session.add(qrels)
    session.flush()
    return qrels


def add(
    session: Session,
    viewer: Viewer,
    qrels: Qrels,
    parent: QrelsRevision | None,
    prepared: PreparedQrels,
    note: str,
    distractors: Collection[bytes] = (),
    *,
    leaves: LeftOut = NOTHING,
    listed: bool = True,
) -> QrelsRevision:
    """Add the next revision of a series; without judgment rows if it is not to be listed."""
    content = pack_subtopics(prepared.subtopics) if prepared.kind == "subtopic" else prepared.packed
    revision = QrelsRevision(
        qrels_id=qrels.id,
        number=(parent.number if parent else 0) + 1,
        parent_id=parent.id if parent else None,
        sha256=prepared.sha256,
        file_name=prepared.file_name,
        note=note.strip(),
        topics=prepared.topics,
        judgments=prepared.size,
        read_as=list(map(str, prepared.warnings)),
        packed=content if _is_kept(qrels.name) else prepared.packed,
        distractors=pack_distractors(distractors),
        **left_out.columns(leaves, prepared.topics),
        created_at=now(session),
        created_by=viewer.account_id,
    )
    session.add(revision)
    if prepared.made_by is not None:
        qrels.origin, qrels.origin_name = prepared.made_by
    session.flush()
    revision.sha256 = _digest(session, revision, content)
    for start in range(0, len(prepared.rows) if listed else 0, ROWS_AT_ONCE):
        session.execute(
            insert(Judgment),
            [
                {
                    "revision_id": revision.id,
                    "topic_id": topic,
                    "subtopic": subtopic,
                    "docno": docno.decode(),
                    "grade": grade,
                }
                for topic, subtopic, docno, grade in prepared.rows[start : start + ROWS_AT_ONCE]
            ],
        )
    return revision


def stored(session: Session, revision: QrelsRevision) -> PreparedQrels:
    """The contents of a revision as prepared; it must have been read with its packed judgments."""
    qrels = session.get_one(Qrels, revision.qrels_id)
    name, sha256, read_as = revision.file_name, revision.sha256, tuple(map(Problem, revision.read_as))
    if qrels.kind in PACKED:
        packed = kinds.judged_by(qrels.kind).packed
        assert packed is not None, "their revisions are packed"
        prepared: PreparedQrels = packed(revision.packed, name)
        return replace(prepared, warnings=read_as)
    if qrels.kind == "preference":
        return replace(of_preferences(unpack_preferences(revision.packed), name, sha256), warnings=read_as)
    if qrels.kind == "subtopic":
        whole = (
            unpack_subtopics(revision.packed)
            if _is_kept(qrels.name)
            else files.subtopics(session, revision.id)
        )
        return of_subtopics(whole, name, sha256, read_as)
    return of_grades(unpack_judgments(revision.packed), name, sha256, read_as)


def distractors_of(revision: QrelsRevision | None) -> frozenset[bytes]:
    """The distractors of a revision, which must have been read with them."""
    return frozenset(unpack_distractors(revision.distractors)) if revision is not None else frozenset()


def is_packed_whole(qrels: Qrels) -> bool:
    """Whether the revisions of the series are stored entirely in packed form, not in rows."""
    return qrels.kind != "subtopic" or _is_kept(qrels.name)


def has_its_digest(session: Session, revision: QrelsRevision) -> bool:
    """Whether a fully read revision matches its digest, if the hashed content is stored.

    A judgment file is not stored: its digest only identifies a repeated upload.
    """
    qrels = session.get_one(Qrels, revision.qrels_id)
    if qrels.kind in PACKED:
        return revision.sha256 == stored(session, revision).sha256
    if not is_packed_whole(qrels):
        return True
    return revision.sha256 == _digest(session, revision, revision.packed)


def require_irrelevant(judgments: Judged, distractors: Collection[bytes]) -> None:
    """Raise Invalid if a distractor is judged relevant to a topic."""
    irrelevant = set(distractors)
    clashes = [
        f"{docno.decode()} (topic {topic}, grade {grade})"
        for topic, grades in judgments.items()
        for docno, grade in grades.items()
        if grade > 0 and docno in irrelevant
    ]
    if clashes:
        named = ", ".join(clashes[:MOST_NAMED])
        more = f" and {len(clashes) - MOST_NAMED:,} more" if len(clashes) > MOST_NAMED else ""
        raise Invalid(
            f"Distractors must not be relevant to any topic, but these judgments contradict that: "
            f"{named}{more}. Remove them from the list of distractors, or correct the judgments."
        )


def _is_kept(name: str) -> bool:
    """Whether a name is reserved for companion series and drafts, which store prepared contents."""
    return name in COMPANIONS or name.startswith(DRAFT)


def _digest(session: Session, revision: QrelsRevision, content: bytes) -> str:
    """The digest: of the file alone without companions, otherwise of all inputs of the scores."""
    ids = files.companions(session, revision)
    if not ids and revision.distractors is None and revision.left_out is None:
        return revision.sha256
    digests = session.scalars(
        select(QrelsRevision.sha256).where(QrelsRevision.id.in_(ids.values())).order_by(QrelsRevision.id)
    ).all()
    others = hashlib.sha256(revision.distractors).hexdigest() if revision.distractors else ""
    facts = [hashlib.sha256(content).hexdigest(), *digests, others]
    if revision.left_out is not None:
        facts.append(hashlib.sha256(revision.left_out).hexdigest())
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
