"""Lines of judgments: each a name, a kind and an origin that never change, and its numbered revisions."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass, replace

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Judgment, Qrels, QrelsRevision, Task
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.services.accounts import names
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels import files, left_out
from leaderboard.services.qrels.files import (
    COMPANIONS,
    KINDS,
    MAIN,
    Judged,
    PreparedQrels,
    of_grades,
    of_preferences,
    of_subtopics,
)
from leaderboard.trec.qrels.distractors import pack_distractors, unpack_distractors
from leaderboard.trec.qrels.left_out import NOTHING, LeftOut
from leaderboard.trec.qrels.packed_judgments import unpack_judgments
from leaderboard.trec.qrels.revision_inputs import pack_subtopics, unpack_preferences, unpack_subtopics

DRAFT = "draft "
"""How the names of lines begin that hold what is not published yet."""
ROWS_AT_ONCE = 5_000
PACKED = ("answers", "board")
"""Kinds whose revisions say themselves who made them."""
MOST_NAMED = 10
"""Documents named in a message."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who judged; kind None stands for those who judged the line before, people where there is none."""

    kind: str | None = None
    name: str = ""


def find(session: Session, task_id: int, name: str) -> Qrels | None:
    """The line of a task with a name."""
    return session.scalar(select(Qrels).where(Qrels.task_id == task_id, Qrels.name == name))


def fitting(session: Session, task: Task, kind: str, by: Origin, name: str) -> Qrels | None:
    """The line that judgments of a kind and origin go to, None where it would be a new one.

    Raises Conflict where the line's judgments are of another kind or origin, or not of the kind that the
    task's board rests on, Invalid for a name that no line may have. Judgments of answers say of each of their
    parts who made it, so they share a line.
    """
    if name in (MAIN, *COMPANIONS) and (kind == "answers") != (task.kind == "answers"):
        raise Conflict(
            f"{task.name} takes {task.kind}: its board does not rest on {KINDS[kind]}. "
            "Give them a line of their own: name it when you add them."
        )
    qrels = find(session, task.id, name)
    if qrels is None:
        if name not in (MAIN, *COMPANIONS) and (names.displayed(name, "a line") != name or _is_kept(name)):
            raise Invalid(f"A line of judgments cannot be called {name!r}; choose another name.")
        return None
    who = "this task" if name == MAIN else f"the line {name}"
    is_one = kind == qrels.kind and kind in PACKED
    if (
        not is_one
        and by.kind is not None
        and (by.kind, by.name or qrels.origin_name) != (qrels.origin, qrels.origin_name)
    ):
        theirs = f"{qrels.origin} ({qrels.origin_name})" if qrels.origin_name else qrels.origin
        ours = f"{by.kind} ({by.name})" if by.name else by.kind
        raise Conflict(
            f"The judgments of {who} are marked {theirs}; {ours} ones are never mixed with them. "
            "Give them a line of their own: name it when you add them."
        )
    if kind != qrels.kind:
        raise Conflict(
            f"The judgments of {who} are {KINDS[qrels.kind]}; these are {KINDS[kind]}: they need a line of "
            "their own, named when you add them."
        )
    return qrels


def new(session: Session, task: Task, kind: str, by: Origin, name: str) -> Qrels:
    """A new line without a revision."""
    made = Qrels(task_id=task.id, name=name, kind=kind, origin=by.kind or "human", origin_name=by.name)
    session.add(made)
    session.flush()
    return made


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
    """The next revision of a line; without rows of its judgments where it is not to be listed."""
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
    """What a revision holds, as it was prepared; the revision was read with its packed judgments."""
    qrels = session.get_one(Qrels, revision.qrels_id)
    name, sha256, read_as = revision.file_name, revision.sha256, tuple(map(Problem, revision.read_as))
    if qrels.kind in PACKED:
        if qrels.kind == "board":
            from leaderboard.services.judges import sending

            return sending.of_packed(revision.packed, name)
        from leaderboard.services.nuggets import reading

        return reading.of_packed(revision.packed, name)
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
    """The distractors of a revision that was read with them."""
    return frozenset(unpack_distractors(revision.distractors)) if revision is not None else frozenset()


def is_packed_whole(qrels: Qrels) -> bool:
    """Whether all that the line's revisions hold is in their packed judgments, not in rows."""
    return qrels.kind != "subtopic" or _is_kept(qrels.name)


def has_its_digest(session: Session, revision: QrelsRevision) -> bool:
    """Whether a revision that was read whole has its digest, as far as what it was taken of is stored.

    A file of judgments is not: its digest says whether the same file is sent again.
    """
    qrels = session.get_one(Qrels, revision.qrels_id)
    if qrels.kind in PACKED:
        return revision.sha256 == stored(session, revision).sha256
    if not is_packed_whole(qrels):
        return True
    return revision.sha256 == _digest(session, revision, revision.packed)


def require_irrelevant(judgments: Judged, distractors: Collection[bytes]) -> None:
    """Raise Invalid where a document that is known not to be relevant to any topic is relevant to one."""
    known = set(distractors)
    clashes = [
        f"{docno.decode()} (topic {topic}, grade {grade})"
        for topic, grades in judgments.items()
        for docno, grade in grades.items()
        if grade > 0 and docno in known
    ]
    if clashes:
        named = ", ".join(clashes[:MOST_NAMED])
        more = f" and {len(clashes) - MOST_NAMED:,} more" if len(clashes) > MOST_NAMED else ""
        raise Invalid(
            f"Distractors are relevant to no topic, but these judgments say otherwise: {named}{more}. "
            "Take them off the list of distractors, or fix the judgments."
        )


def _is_kept(name: str) -> bool:
    """Whether a name is kept for lines beside a board's, and drafts: these hold whole what was prepared."""
    return name in COMPANIONS or name.startswith(DRAFT)


def _digest(session: Session, revision: QrelsRevision, content: bytes) -> str:
    """Of the file alone where nothing stands beside its judgments, else of all that scores rest on."""
    beside = files.companions(session, revision)
    if not beside and revision.distractors is None and revision.left_out is None:
        return revision.sha256
    digests = session.scalars(
        select(QrelsRevision.sha256).where(QrelsRevision.id.in_(beside.values())).order_by(QrelsRevision.id)
    ).all()
    others = hashlib.sha256(revision.distractors).hexdigest() if revision.distractors else ""
    facts = [hashlib.sha256(content).hexdigest(), *digests, others]
    if revision.left_out is not None:
        facts.append(hashlib.sha256(revision.left_out).hexdigest())
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
