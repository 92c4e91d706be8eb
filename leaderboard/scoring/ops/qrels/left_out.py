"""Documents left out by topic of a revision: storage, text, and checks against its judgments."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Pool, Qrels, QrelsRevision
from leaderboard.errors import MAX_PROBLEMS, Invalid, Problem
from leaderboard.measures.judged import UNJUDGED
from leaderboard.scoring.ops.qrels.files import MAIN, Judged, PreparedQrels, of_grades
from leaderboard.trec.qrels.align import DocumentsByTopic
from leaderboard.trec.qrels.left_out import (
    NOTHING,
    LeftOut,
    compiled_left_out,
    lines_naming,
    read_left_out,
    read_renamed,
    sentence,
)
from leaderboard.trec.qrels.packed import pack_left_out, unpack_left_out
from leaderboard.trec.read.lines import shown


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutList:
    """Documents left out by a file, and the file itself for errors that name its lines."""

    listed: LeftOut = NOTHING
    path: Path | None = None
    renamed: Mapping[bytes, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class RevisionLeftOut:
    """Requested documents left out: a list, or residual judgments from earlier revisions.

    earlier: numbers of the revisions whose judged documents are left out; later: revision whose new judgments
    are used if no file is uploaded (None: the newest). query: also leave out the document whose docno is the
    topic id.
    """

    given: LeftOutList = field(default_factory=LeftOutList)
    earlier: tuple[int, ...] = ()
    later: int | None = None
    query: bool = False


def listed(path: Path | None, changed: Path | None = None) -> LeftOutList:
    """Read the documents left out from a file (None: none); changed: a file of `old new` docnos.

    Raises Invalid with the offending lines.
    """
    renamed = read_renamed(changed) if changed is not None else {}
    return LeftOutList(read_left_out([path], renamed) if path is not None else NOTHING, path, renamed)


def of_revision(revision: QrelsRevision | None) -> LeftOut:
    """Documents left out by a revision that was read with them. Raises Damaged."""
    if revision is None or revision.left_out is None:
        return NOTHING
    facts = revision.left_out_facts or {}
    return LeftOut(
        unpack_left_out(revision.left_out),
        bool(facts.get("residual")),
        int(facts.get("repeated", 0)),
        tuple(facts.get("rounds", ())),
    )


def by_id(session: Session, revision_id: int | None) -> Mapping[str, frozenset[bytes]]:
    """Topic -> documents left out by a revision, by its id; at most one statement; raises Damaged."""
    if revision_id is None:
        return {}
    packed = select(QrelsRevision.left_out).where(QrelsRevision.id == revision_id)
    return unpack_left_out(session.scalar(packed))


def of_pool(session: Session, pool: Pool) -> Mapping[str, frozenset[bytes]]:
    """Topic -> documents left out when a pool was created; at most one statement; raises Damaged.

    A pool that reuses no judgments does not record the newest revision of that time.
    """
    if pool.revision_id is not None:
        return by_id(session, pool.revision_id)
    before = (
        select(QrelsRevision.left_out)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(Qrels.task_id == pool.task_id, Qrels.name == MAIN, QrelsRevision.created_at <= pool.created_at)
        .order_by(QrelsRevision.number.desc())
        .limit(1)
    )
    return unpack_left_out(session.scalar(before))


def index(by_topic: Mapping[str, frozenset[bytes]]) -> DocumentsByTopic | None:
    """Documents left out, prepared for lookup in any number of runs; None if absent."""
    return compiled_left_out(LeftOut(by_topic)) if by_topic else None


def columns(left_out: LeftOut, topics: Collection[str]) -> dict[str, Any]:
    """Stored facts on the documents left out by a revision with these judged topics."""
    packed = pack_left_out(left_out.by_topic)
    if packed is None:
        return {}
    facts = {
        "documents": left_out.count(list(topics)),
        "topics": sum(1 for topic in topics if left_out.by_topic.get(topic)),
        "repeated": left_out.repeated,
        "residual": left_out.is_residual,
        "rounds": list(left_out.rounds),
    }
    return {"left_out": packed, "left_out_facts": facts}


def words(facts: Mapping[str, Any], *, with_count: bool = True) -> str:
    """Documents left out as text for boards, from a revision's stored facts.

    >>> words({"documents": 3124, "residual": True})
    'residual, 3,124 documents left out'
    """
    return sentence(int(facts["documents"]) if with_count else None, bool(facts["residual"]))


def left_out_facts(facts: Mapping[str, Any], *, with_count: bool = True) -> dict[str, Any]:
    """The same for files."""
    return {"documents": facts["documents"] if with_count else None, "residual": bool(facts["residual"])}


def are_same(first: LeftOut, second: LeftOut) -> bool:
    """Whether two lists leave the same documents out, for the same reason."""
    return (_documents(first), first.is_residual, first.rounds) == (
        _documents(second),
        second.is_residual,
        second.rounds,
    )


def require_fitting(
    given: LeftOutList, judgments: Judged, task_topics: Collection[str], *, has_preferences: bool = False
) -> None:
    """Raise Invalid if judgments do not fit the documents left out, with up to 25 problems.

    No document left out may be judged relevant, every topic must be in the task or judged, and there must be
    no preferences.
    """
    by_topic = given.listed.by_topic
    if has_preferences and any(by_topic.values()):
        raise Invalid(
            "Documents are left out of graded judgments; this task has preferences next to them. "
            "Leave no document out, or use a task without preferences."
        )
    known_topics = {*task_topics, *judgments}
    unknown = [] if given.listed.rounds else [topic for topic in by_topic if topic not in known_topics]
    strange = [(topic, docno) for topic in unknown for docno in sorted(by_topic[topic])[:1] or [b""]]
    relevant = [
        (topic, docno)
        for topic, docnos in by_topic.items()
        for docno in sorted(docnos)
        if judgments.get(topic, {}).get(docno, 0) > 0
    ]
    if strange or relevant:
        raise _unfit(given, strange, relevant, judgments)


def residual(
    judged: Judged, earlier: Mapping[int, Judged], renamed: Mapping[bytes, bytes]
) -> tuple[PreparedQrels, LeftOut]:
    """Judgments absent from earlier revisions (number -> judgments), and documents judged in these.

    A topic without new judgments keeps one unjudged document, so that it counts as a topic on which every run
    scores 0.

    >>> new, left_out = residual({"1": {b"a": 1, b"b": 2}}, {1: {"1": {b"a": 1}}}, {})
    >>> new.judgments, left_out.by_topic
    ({'1': {b'b': 2}}, {'1': frozenset({b'a'})})
    """
    left_out = judged_before(earlier, renamed)
    kept = {
        topic: _new(grades, left_out.by_topic.get(topic, ())) for topic, grades in judged.items() if grades
    }
    return of_grades(kept, "residual judgments"), left_out


def judged_before(earlier: Mapping[int, Judged], renamed: Mapping[bytes, bytes]) -> LeftOut:
    """Documents judged in earlier revisions (number -> judgments), with current docnos."""
    by_topic: dict[str, set[bytes]] = {}
    for judged in earlier.values():
        for topic, grades in judged.items():
            by_topic.setdefault(topic, set()).update(renamed.get(docno, docno) for docno in grades)
    frozen = {topic: frozenset(docnos) for topic, docnos in by_topic.items()}
    return LeftOut(frozen, True, 0, tuple(sorted(earlier)))


def _new(grades: Mapping[bytes, int], before: Collection[bytes]) -> dict[bytes, int]:
    new = {docno: grade for docno, grade in grades.items() if docno not in before}
    return new or {min(grades): UNJUDGED}


def _documents(left_out: LeftOut) -> dict[str, frozenset[bytes]]:
    return {topic: docnos for topic, docnos in left_out.by_topic.items() if docnos}


def _unfit(
    given: LeftOutList,
    strange: Sequence[tuple[str, bytes]],
    relevant: Sequence[tuple[str, bytes]],
    judgments: Judged,
) -> Invalid:
    named = [*strange, *relevant][:MAX_PROBLEMS]
    lines = lines_naming(given.path, named, given.renamed) if given.path is not None else {}
    problems = [
        Problem(
            "The task has no such topic, and no judgment is of it.",
            "Check the topic, or take the line out.",
            lines.get((topic, docno)),
            "topic",
            topic,
        )
        for topic, docno in strange
    ]
    remedy = "Take it off the list, or correct the judgment."
    if given.listed.is_residual:
        remedy = "Send the judgments of this round alone: it was judged in an earlier one."
    problems += [
        Problem(
            f"It is left out of topic {topic} and judged relevant to it (grade {judgments[topic][docno]}).",
            remedy,
            lines.get((topic, docno)),
            "docno",
            shown(docno),
        )
        for topic, docno in relevant
    ]
    first = problems[0]
    return Invalid(f"The documents left out do not fit: {first}", problems[:MAX_PROBLEMS])
